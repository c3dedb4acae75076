"""Collectives inside matmuls: which can be, what they take there, and what is proven of it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from machines import plain
from small_programs import small
from texts import read

from layoutc.dsl.program import Program
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import Fabric, uniform
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.tier import Tier
from layoutc.solver.meshes import mesh_of, pinned
from layoutc.solver.overlap import groups
from layoutc.solver.price import Prices, price
from layoutc.solver.solve import solve

EXAMPLES = Path(__file__).parent.parent / "examples"
CUBE = {"x": 4, "y": 4, "z": 4}

Run = Callable[..., dict[str, Any]]


def example(stem: str, **dims: int) -> Program:
    program = read((EXAMPLES / f"{stem}.layout").read_text(), stem)
    return replace(program, dims={**program.dims, **dims})


def overlapping(machine: Machine) -> Machine:
    return replace(machine, overlap=True)


def priced(program: Program, peak: float, memory: float, network: float) -> Prices:
    """On 4x4x4 chips of a machine with these rates, with overlap."""
    machine = overlapping(plain("plain", peak, 1 << 40, memory, network))
    return price(program, uniform(CUBE, machine))


def inside(program: Program) -> dict[str, tuple[str, ...]]:
    return {group.matmul: group.inside for group in groups(program)}


def test_what_runs_inside_which_matmul() -> None:
    assert inside(example("ffn_2d_weight_stationary")) == {"h": ("x1", "h1"), "p": ("g1", "y")}


def test_weights_that_are_gathered_run_inside_the_matmul_that_reads_them() -> None:
    assert inside(example("ffn_xyz_weight_gathered")) == {"h": ("v",), "y": ("u",)}


def test_what_several_matmuls_read_runs_inside_the_first() -> None:
    text = """\
dims   B=8 E=8 F=8
mesh   x=2
input  x : BE_x
weight u : EF
weight w : EF
x1 : BE = all-gather(x) x
h  : BF = x1 * u
g  : BF = x1 * w
y  : BF = h * g
output y
"""
    assert inside(read(text)) == {"h": ("x1",)}


def test_what_no_matmul_is_next_to_runs_alone() -> None:
    """An all-reduce, a gather whose result an elementwise product reads, or a slice."""
    text = """\
dims   B=8 E=8 F=8
mesh   x=2
input  x : BE_x
weight w : E_xF
h  : BF(partialsum-x) = x * w
h1 : BF               = all-reduce(x) h
x1 : BE               = all-gather(x) x
y  : BE               = x1 * x1
output y, h1
"""
    assert inside(read(text)) == {}


# By hand, on 4x4x4 chips with B=512: each matmul 2·512·18432·73728/64 = 21,743,271,936 FLOP, its
# weight 2·18432·73728/64 = 42,467,328 bytes, and moves of 4,423,680 and 3,538,944 bytes inside it.
WORK, READ, MOVED = 21_743_271_936, 42_467_328, 4_423_680 + 3_538_944


@pytest.mark.parametrize(
    ("network", "seconds"),
    [
        (MOVED, 2.0),  # as long as a matmul: all is hidden
        (2 * MOVED, 2.0),
        (MOVED / 3, 6.0),  # three times a matmul, which is hidden in it
    ],
)
def test_a_pass_is_the_longer_of_computing_and_moving(network: float, seconds: float) -> None:
    found = priced(example("ffn_2d_weight_stationary"), WORK, 1e18, network)
    assert found.compute.seconds == pytest.approx(2.0)
    assert found.seconds == pytest.approx(seconds)
    assert found.apart == pytest.approx(2.0 + 2 * MOVED / network)
    assert found.overlap is not None
    hidden = sum(one.seconds for one in found.overlap.hidden)
    assert found.apart - found.seconds == pytest.approx(hidden)


def test_where_memory_is_slower_moves_run_while_weights_are_read() -> None:
    found = priced(example("ffn_2d_weight_stationary"), 1e20, READ, MOVED / 1.5)
    assert found.memory.seconds == pytest.approx(2.0)
    assert found.seconds == pytest.approx(3.0)


SEEDS = (0, 2, 3, 4, 5, 6, 7, 8)
"""Random programs that some mesh satisfies."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pass_is_never_less_than_any_of_the_three_nor_more_than_apart(seed: int) -> None:
    made = small(seed)
    plan = solve(read(made.text), made.chips, made.machine)
    machine = overlapping(made.machine)
    found = price(plan.only.program, uniform(mesh_of(plan.only.program), machine))
    three = found.compute.seconds, found.memory.seconds, found.communication.seconds
    assert max(three) * (1 - 1e-12) <= found.seconds <= found.apart * (1 + 1e-12)


LATE = Tier("switch", "switch", 1.0, hop=0.5, start=2.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_plan_is_no_worse_than_the_best_without_and_no_better_than_its_bound(
    seed: int,
) -> None:
    made = small(seed)
    for machine in (made.machine, replace(made.machine, tiers=(LATE,))):
        program = read(made.text)
        apart = solve(program, made.chips, machine)
        plan = solve(program, made.chips, overlapping(machine))
        again = price(plan.only.program, Fabric(plan.machine, plan.mesh, plan.fabric.placement))
        assert again.seconds == pytest.approx(plan.seconds)
        assert plan.seconds <= apart.seconds * (1 + 1e-9)
        assert plan.bound <= plan.seconds * (1 + 1e-9)


def test_an_explicit_program_takes_the_mesh_that_is_best_with_overlap() -> None:
    """64 chips, compute far above communication on every mesh: all of them tie, and the most even
    one is taken; without overlap, too, but others are worse there."""
    program = example("ffn_2d_weight_stationary")
    plan = solve(program, 64, overlapping(load_machine()))
    assert plan.mesh == CUBE
    assert plan.seconds == pytest.approx(plan.only.prices.compute.seconds)
    worse = solve(pinned(program, {"x": 64, "y": 1, "z": 1}), 64, overlapping(load_machine()))
    assert worse.seconds > plan.seconds


def test_the_command_says_what_is_hidden(compiled: Run, capsys: pytest.CaptureFixture[str]) -> None:
    from layoutc.cli import main

    path = EXAMPLES / "ffn_2d_weight_stationary.layout"
    found = compiled(path, "--chips", "64", "--overlap")["phases"]["main"]
    apart = compiled(path, "--chips", "64")["phases"]["main"]
    homes = {c["statement"].split()[0]: c["inside"] for c in found["collectives"]}
    assert homes == {"x1": "h", "h1": "h", "g1": "p", "y": "p"}
    assert all("inside" not in c for c in apart["collectives"])
    hidden = sum(c["hidden_seconds"] for c in found["collectives"])
    assert found["seconds"] == pytest.approx(apart["seconds"] - hidden)
    assert main(["compile", str(path), "--chips", "64", "--overlap"]) == 0
    out = capsys.readouterr().out
    assert "16.4 µs  inside h" in out
    assert "communication 59.0 µs - 59.0 µs of it inside matmuls" in out


def test_where_collectives_start_halves_run_inside_matmuls_and_all_reduces_do_not(
    compiled: Run,
) -> None:
    """An all-reduce starts once and is the better one alone; inside matmuls its two halves are."""
    asked = EXAMPLES / "ffn.layout", "--chips", "256", "--hardware", "tpu-v4"
    apart, inside = compiled(*asked), compiled(*asked, "--overlap")
    kinds = [{c["op"] for c in found["phases"]["main"]["collectives"]} for found in (apart, inside)]
    assert kinds == [{"all-reduce"}, {"all-gather", "reduce-scatter"}]
    assert inside["seconds"] < 0.8 * apart["seconds"]
    assert inside["gap"] < 0.05
