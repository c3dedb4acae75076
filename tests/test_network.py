"""Closed forms over the bandwidths of axes: held against what the network takes, move by move."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, prod
from random import Random
from typing import Any

import pytest
from formulas import NAMES, SWIGLU, document, example, formula, same
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import random_program
from texts import read

from layoutc.cli import main
from layoutc.dsl.operation import Move
from layoutc.dsl.program import DTYPES, Axis, Define, Program
from layoutc.solver.algebra import communication
from layoutc.solver.collectives import RULES, held, moves_nothing
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.shapes import Shapes
from layoutc.solver.hardware.tier import Tier
from layoutc.solver.network import network, speed, speeds
from layoutc.solver.sites import sites
from layoutc.solver.spelling import Speller
from layoutc.solver.surd import Sum

TORUS, TIERS = load_machine("tpu-v4"), load_machine("h100")
CHIP = {"peaks": {"bf16": 1.0}, "memory_bytes": 1, "memory_bandwidth": 1.0}
WAFER = Machine(
    "wafer",
    tiers=(Tier("mesh", "line", 3.0, cut=True, shapes=Shapes(2)),),
    **CHIP,  # type: ignore[arg-type]
)
"""Lines, of which axes may take parts."""
ONE_WAY = Machine(
    "rings",
    tiers=(
        Tier("ring", "torus", 2.0, both_ways=False, shapes=Shapes(2, longest=(4, 6), chips=24)),
        Tier("switch", "switch", 0.5),
    ),
    **CHIP,  # type: ignore[arg-type]
)
"""Rings that run one way, groups of which are switched."""

EXPLICIT = [f"{d}_weight_stationary" for d in ("1d", "2d")] + [
    f"{axes}_weight_gathered" for axes in ("x", "xy", "xyz")
]


def added_up(program: Program, fabric: Fabric, exact: bool) -> float:
    """Seconds over all moves, D by the rate of the network, starting left out."""
    total, types, sizes = 0.0, program.types, {**program.sizes, **fabric.mesh}
    for item, times in program.walk():
        if not isinstance(item, Define) or not isinstance(item.operation, Move):
            continue
        move, before, after = item.operation, types[item.operation.operand].shape, item.type.shape
        if moves_nothing(move, before, after, fabric.mesh):
            continue
        side = before if RULES[move.kind].side == "before" else after
        bytes_ = float(held(side).exact(sizes)) * DTYPES[item.type.dtype]
        rate = fabric.rate(move.kind, move.axes)
        total += times * bytes_ * (rate.per_byte if exact else rate.large)
    return total


def by_formula(program: Program, fabric: Fabric, exact: bool) -> float:
    """The closed form of the place, with the place's numbers in it."""
    ones = frozenset(axis for axis, size in fabric.mesh.items() if size == 1)
    cost = Sum.from_cost(
        communication(program, exact, ones, network(program, fabric.machine, fabric))
    )
    known = {s: speed(s, fabric, exact) for s in speeds(cost.symbols())}
    assert all(map(isfinite, known.values()))
    sizes = {axis.upper(): size for axis, size in fabric.mesh.items()}
    found = cost.value({**program.sizes, **sizes, **known})
    return found * DTYPES[program.dtype]


def assert_equal_everywhere(program: Program, fabric: Fabric) -> None:
    for exact in (False, True):
        told, counted = by_formula(program, fabric, exact), added_up(program, fabric, exact)
        assert told == pytest.approx(counted, rel=1e-9, abs=1e-30), str(fabric)


PLACES = [
    (TORUS, 64),
    (TORUS, 32),
    (TORUS, 256),
    (TIERS, 8),
    (TIERS, 16),
    (WAFER, 24),
    (ONE_WAY, 48),
]


@pytest.mark.parametrize(("machine", "chips"), PLACES, ids=lambda value: getattr(value, "name", ""))
@pytest.mark.parametrize("name", EXPLICIT)
def test_formulas_are_what_the_network_takes(name: str, machine: Machine, chips: int) -> None:
    with open(example(name)) as file:
        program = read(file.read())
    places = list(sites(program.axes, chips, machine))
    for place in Random(name).sample(places, min(6, len(places))):
        assert_equal_everywhere(program, place)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(PLACES), st.randoms(use_true_random=False))
def test_random_programs_too(seed: int, where: tuple[Machine, int], draw: Random) -> None:
    """Whatever moves there are, by way of whichever axes; sizes need not divide here."""
    machine, chips = where
    program, _ = random_program(seed)
    axes = tuple(Axis(axis.name, None) for axis in program.axes)
    places = list(sites(axes, chips, machine)) if len(axes) <= 3 else []
    if places:
        assert_equal_everywhere(program, draw.choice(places))


@pytest.mark.parametrize(
    ("before", "move", "torus", "tiers"),
    [
        ("BLE_zxy", "BLE_z = all-gather(xy)", "Z*(bandwidth_x + bandwidth_y)", "Z*bandwidth_xy"),
        ("BLE_zyx", "B_xLE_zy = all-to-all(x)", "4*Y*Z*bandwidth_x", "X*Y*Z*exchange_x"),
        ("BLE_zyx", "B_yxLE_z = all-to-all(yx)", "X*Y*Z*exchange_xy", "X*Y*Z*exchange_xy"),
        ("BLE_zyx", "BLE_zxy = permute(xy)", "X*Y*Z*permute_xy", "X*Y*Z*permute_xy"),
    ],
)
def test_what_does_not_add_up_has_a_symbol_of_its_own(
    before: str, move: str, torus: str, tiers: str
) -> None:
    """Where no number of chips gives axes a place; a ring exchanges in X/4 of D."""
    program = read(f"dims B L E\nmesh x y z\ninput a : {before}\ny : {move} a\noutput y\n")
    for machine, under in ((TORUS, torus), (TIERS, tiers)):
        found = Sum.from_cost(communication(program, network=network(program, machine)))
        text = Speller().sum(found)
        assert same(text, f"B*L*E/({under})"), machine.name


# What derive says.


@pytest.fixture
def derived(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    return lambda file, *options: document(capsys, ["derive", str(file), *options])


PALM = {"B": 1, "L": 1, "E": 18_432, "F": 73_728}
EVEN = {"bandwidth_x": 1, "bandwidth_y": 1, "bandwidth_z": 1}
"""Times are in units of what one axis receives."""


def at(text: str, **values: float) -> float:
    return float(formula(text).subs({NAMES[name]: value for name, value in values.items()}))


def test_2d_weight_stationary_on_a_torus(derived: Callable[..., dict[str, Any]]) -> None:
    found = derived(example("2d_weight_stationary"), "--hardware", "tpu-v4")
    assert found["communication"] == (
        "2*B*L*(E/(X*(bandwidth_y + bandwidth_z)) + F/(Y*Z*bandwidth_x))"
    )
    assert found["optimum"]["X"] == "sqrt(E*n*bandwidth_x/(F*(bandwidth_y + bandwidth_z)))"
    symbols = ["B", "L", "E", "F", "X", "Y", "Z", "n", "bandwidth_x", "bandwidth_y", "bandwidth_z"]
    assert found["symbols"] == symbols
    sizes = {**PALM, **EVEN, "n": 256}
    x = at(found["optimum"]["X"], **sizes)
    assert x == pytest.approx((18_432 * 256 / (2 * 73_728)) ** 0.5)
    least = at(found["communication"], X=x, Y=256 / x, Z=1, **sizes)
    assert least == pytest.approx(at(found["at_optimum"], **sizes))


SIZED = SWIGLU.replace("B L E F", "B=256 L=1 E=18432 F=73728")


def test_on_4x8x8_the_short_axis_of_the_torus_is_the_better_x(
    derived: Callable[..., dict[str, Any]], tmp_path: Any
) -> None:
    """For each token, in units of one axis' bandwidth: over y and z there are two, so that less of
    them is wanted. On the flat network it is the other way round."""
    file = tmp_path / "swiglu.layout"
    file.write_text(SIZED)
    torus, flat = derived(file, "--hardware", "tpu-v4"), derived(file)
    sizes = {**PALM, **EVEN}
    assert at(torus["communication"], X=4, Y=8, Z=8, **sizes) == 8064
    assert at(torus["communication"], X=8, Y=4, Z=8, **sizes) == 9216
    one = {**PALM, "bandwidth": 1}
    assert at(flat["communication"], X=8, Y=4, Z=8, **one) == 11_520
    assert at(flat["communication"], X=4, Y=8, Z=8, **one) == 12_672
    best = derived(file, "--hardware", "tpu-v4", "--slice", "4x8x8", "--chips", "256")
    assert best["on_chips"]["mesh"] == {"x": 4, "y": 8, "z": 8}
    assert best["placement"]["axes"]["x"] == "ICI 0"
    known = {**PALM, "B": 256, "X": 4, "Y": 8, "Z": 8}
    told = at(best["communication"], **known, **best["bandwidths"])
    start = best["on_chips"]["latency_seconds"]
    assert told + start == pytest.approx(best["on_chips"]["formula_seconds"])
    exactly = at(best["exact"], **known, **best["bandwidths_exact"])
    assert exactly + start == pytest.approx(best["on_chips"]["seconds"])


def test_of_two_tiers_the_inner_has_the_larger_part(
    derived: Callable[..., dict[str, Any]], tmp_path: Any
) -> None:
    file = tmp_path / "gather.layout"
    file.write_text(
        "dims B=64 E=64\nmesh x y\ninput a : BE_yx\nb : BE = all-gather(yx) a\noutput b\n"
    )
    placed = derived(file, "--hardware", "h100", "--mesh", "x=8,y=2")
    assert placed["communication"] == "B*E*(1/(X*bandwidth_y) + 1/bandwidth_x)"
    assert derived(file, "--hardware", "h100")["communication"] == "B*E/bandwidth_xy"
    assert placed["placement"]["axes"] == {"x": "NVLink", "y": "InfiniBand"}
    spanning = derived(file, "--hardware", "h100", "--mesh", "x=16,y=1")
    assert spanning["communication"] == "B*E/bandwidth_x"
    large, exact = (spanning[key]["bandwidth_x"] for key in ("bandwidths", "bandwidths_exact"))
    switch, between = (tier.bandwidth / 2 for tier in TIERS.tiers)
    assert 1 / large == pytest.approx(1 / switch + 1 / (8 * between))
    assert (15 / 16) / exact == pytest.approx((7 / 8) / switch + (1 / 2) / (8 * between))


def test_sizes_do_not_go_from_tier_to_tier(derived: Callable[..., dict[str, Any]]) -> None:
    found = derived(example("2d_weight_stationary"), "--hardware", "h100", "--chips", "16")
    assert found["optimum"] is None
    assert "tier" in found["reason"]


def test_the_best_place_is_that_of_enumeration(derived: Callable[..., dict[str, Any]]) -> None:
    with open(example("2d_weight_stationary")) as file:
        program = read(file.read())
    for machine, chips in ((TORUS, 256), (TIERS, 32)):
        found = derived(
            example("2d_weight_stationary"), "--hardware", machine.name, "--chips", str(chips)
        )["on_chips"]
        each = []
        for place in sites(program.axes, chips, machine):
            moves = (d for d, _ in program.walk() if isinstance(d, Define))
            kinds = [m.operation for m in moves if isinstance(m.operation, Move)]
            start = sum(place.rate(m.kind, m.axes).start for m in kinds)
            each.append((added_up(program, place, exact=True) + start, dict(place.mesh)))
        least = min(seconds for seconds, _ in each)
        assert found["seconds"] == pytest.approx(least)
        assert prod(found["mesh"].values()) == chips
        good = {tuple(m.values()) for s, m in each if s == pytest.approx(least, rel=1e-9)}
        assert {tuple(m.values()) for m in found["ties"]} == good


def test_the_report_of_a_place(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["derive", example("2d_weight_stationary"), "--hardware", "tpu-v4"]
    assert main(command) == 0
    assert "starting collectives and hops are in no formula" in capsys.readouterr().out
    assert main([*command, "--chips", "256"]) == 0
    said = capsys.readouterr().out
    assert "of it to start and for hops" in said
    assert "bandwidth_x    90 GB/s, 45 billion elements/s" in said
    assert main([*command, "--chips", "100"]) == 1
    assert "no slice of 100 chips" in capsys.readouterr().err
    assert main([*command, "--chips", "64", "--mesh", "x=2,y=4,z=8"]) == 1
    assert "has no place on tpu-v4" in capsys.readouterr().err


def test_latex_writes_an_axis_as_an_index(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", example("2d_weight_stationary"), "--hardware", "tpu-v4", "--latex"]) == 0
    assert r"\mathrm{bandwidth}_{x}" in capsys.readouterr().out


def test_a_flat_network_has_one_bandwidth(derived: Callable[..., dict[str, Any]]) -> None:
    file = example("2d_weight_stationary")
    flat = derived(file, "--hardware", "tpu-v4", "--network", "flat", "--chips", "64")
    same = derived(file, "--chips", "64")
    assert {k: v for k, v in flat.items() if k != "hardware"} == {
        k: v for k, v in same.items() if k != "hardware"
    }


# Two programs.


def test_each_in_its_best_place(capsys: pytest.CaptureFixture[str]) -> None:
    """Where they change places both take as long, and the one that is said is ahead beyond."""
    files = [example("1d_weight_stationary"), example("2d_weight_stationary")]
    on = ["--hardware", "tpu-v4", "--chips", "64"]
    found = document(capsys, ["compare", *files, *on])
    assert found["places"]["a"]["seconds"] > found["places"]["b"]["seconds"]
    assert found["ahead"] == "b"
    for key, tokens in (("a_exact", 512), ("b_exact", 512)):
        told = at(found[key], B=tokens, L=1)
        assert told == pytest.approx(found["places"][key[0]]["seconds"])
    (switch,) = found["switches_exact"]
    assert (switch["in"], switch["cheaper_beyond"]) == ("B*L", "b")
    where = float(switch["at"])
    assert at(found["a_exact"], B=where, L=1) == pytest.approx(at(found["b_exact"], B=where, L=1))
    # For large K, E/(3w) is less than E/(4·2w) + F/(16w) = 3E/8w.
    assert (found["switches"], found["cheaper"]) == ([], "a")
    assert main(["compare", *files, *on]) == 0
    assert "x → ICI 0; y → ICI 1; z → ICI 2 (4x4x4)" in capsys.readouterr().out


def test_a_program_and_itself_are_the_same_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    file = example("2d_weight_stationary")
    found = document(capsys, ["compare", file, file, "--hardware", "h100", "--chips", "16"])
    assert found["ahead"] == found["cheaper"] == found["cheaper_exact"] == "same"


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--hardware", "tpu-v4"], 2, "how many chips?"),
        (["--hardware", "tpu-v4", "--chips", "100"], 1, "no slice of 100 chips"),
        (["--hardware", "tpu-v4", "--chips", "64", "--slice", "4x4x8"], 1, "no slice"),
    ],
)
def test_what_compare_wants(
    options: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = example("2d_weight_stationary")
    assert main(["compare", file, file, *options]) == status
    assert said in capsys.readouterr().err
