"""Memory: what does not fit is not chosen, and where nothing fits the reason is said."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from texts import read

from layoutc.dsl.program import Program
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.plan import Plan
from layoutc.solver.price import price
from layoutc.solver.solve import solve
from layoutc.solver.unsolvable import Unsolvable

FFN = """\
dims   B=4096  L=1  E=18432  F=73728
mesh   {mesh}
input  x     : BLE?
weight w_in  : EF?
weight w_out : FE?
h : BLF? = x * w_in
g        = gelu(h)
y : BLE? = g * w_out
output y -> x
"""


def program(mesh: str = "x y z") -> Program:
    return read(FFN.format(mesh=mesh))


def machine(memory: float) -> Machine:
    return replace(load_machine(), memory_bytes=int(memory))


def taken(plan: Plan) -> int:
    return max(part.prices.memory.bytes for part in plan.passes)


@pytest.mark.parametrize("minimize", ["time", "communication"])
def test_less_memory_never_makes_it_faster_and_what_is_chosen_fits(minimize: str) -> None:
    """Where the best fits it is chosen; below, each plan fits and is no better than with more."""
    free = solve(program(), 16, machine(1e12), minimize)  # type: ignore[arg-type]
    before = free
    for memory in (taken(free), taken(free) - 1, 0.9e9, 0.85e9, 0.8e9):
        plan = solve(program(), 16, machine(memory), minimize)  # type: ignore[arg-type]
        assert taken(plan) <= memory
        assert plan.value >= before.value * (1 - 1e-9)
        assert plan.bound == pytest.approx(plan.value, rel=1e-9)
        before = plan
    assert solve(program(), 16, machine(taken(free)), minimize).value == free.value  # type: ignore[arg-type]
    assert before.value > free.value


def test_no_plan_that_fits_is_better() -> None:
    """Against both weights pinned to each of their layouts, unconfined, those that fit."""
    tight = machine(1.6e9)
    plan = solve(program("x=4 y=2"), 8, tight)
    layouts = ["EF_{xy}", "E_{xy}F", "E_xF_y", "E_yF_x", "EF_x", "E_xF", "EF"]
    for one in layouts:
        for other in layouts:
            turned = re.sub(r"E(_\{?[xy]+\}?)?F(_\{?[xy]+\}?)?", r"F\2E\1", other)
            text = FFN.format(mesh="x=4 y=2").replace("EF?", one).replace("FE?", turned)
            free = solve(read(text), 8, tight, fit=False)
            if taken(free) <= tight.memory_bytes:
                assert free.value >= plan.value * (1 - 1e-9), (one, turned)


def test_what_never_fits_is_refused_with_the_reason() -> None:
    """Weights alone take 5.4 GB: 680 MB on each of 8 chips."""
    with pytest.raises(Unsolvable) as refusal:
        solve(program(), 8, machine(650e6))
    said = refusal.value
    assert said.name == "w_in"
    assert re.fullmatch(
        r"on 8 chips nothing fits in memory: the leanest layout found takes \d+ MB of each, and "
        r"there are 650 MB; the largest tensor in it is w_in : [EF_xyz]+, 340 MB",
        said.message,
    )
    (enough,) = re.findall(r"^(\d+) chips would do$", said.hint)
    assert taken(solve(program(), int(enough), machine(650e6))) <= 650e6
    for fewer in range(9, int(enough)):
        with pytest.raises(Unsolvable):
            solve(program(), fewer, machine(650e6))


def test_on_a_mesh_of_given_sizes_no_other_number_is_named() -> None:
    with pytest.raises(Unsolvable) as refusal:
        solve(program("x=2 y=2 z=2"), 8, machine(650e6))
    assert refusal.value.hint == ""


def test_an_activation_can_be_in_the_way() -> None:
    """h is 4096 * 73728 * 2 bytes = 604 MB, the weights are small."""
    text = FFN.format(mesh="x y").replace("E=18432", "E=16")
    with pytest.raises(Unsolvable) as refusal:
        solve(read(text), 2, machine(200e6))
    assert refusal.value.name in {"h", "g"}


def test_an_explicit_program_stands_only_where_it_fits() -> None:
    """Split by y alone, the weight takes 2 GB / Y."""
    text = """\
        dims   B=64 E=32768 F=32768
        mesh   x y
        input  x : BE_y
        weight w : E_yF
        h : BF(partialsum-y) = x * w
        y : BF_y             = reduce-scatter(y) h
        output y
        """
    explicit = read(text)
    assert solve(explicit, 16, machine(1e12), "communication").mesh["y"] == 16
    plan = solve(explicit, 16, machine(300e6))
    assert taken(plan) <= 300e6
    with pytest.raises(Unsolvable, match="the largest tensor in it is w : E_yF, 134 MB"):
        solve(explicit, 16, machine(100e6))
    assert solve(explicit, 16, machine(100e6), fit=False).mesh == plan.mesh


def test_the_phase_that_takes_most_counts() -> None:
    """Prefill's activations do not fit beside whole weights, decode's would."""
    text = FFN.format(mesh="x y").replace("B=4096  L=1", "B  L=1")
    lines = "phase prefill : B=65536\nphase decode : B=16  weight=9999\n"
    phases = text.replace("input", f"{lines}input", 1)
    free, tight = (solve(read(phases), 16, machine(m)) for m in (1e12, 2.4e9))
    assert taken(tight) <= 2.4e9 < taken(free)
    for part in tight.passes:
        assert price(part.program, tight.fabric).memory.bytes <= 2.4e9
    with pytest.raises(Unsolvable, match="the leanest layout found in prefill takes"):
        solve(read(phases), 2, machine(2.4e9))


# Stopping early.


def test_a_gap_is_kept_and_said() -> None:
    exact = solve(program(), 64, load_machine())
    for gap in (0.0, 0.01, 0.5, 0.99):
        plan = solve(program(), 64, load_machine(), gap=gap)
        assert plan.bound <= exact.value * (1 + 1e-9) <= plan.value * (1 + 2e-9)
        assert plan.gap <= gap + 1e-9
    assert [solve(program(), 64, load_machine(), gap=g).gap for g in (0.0,)] == [pytest.approx(0)]


def test_memory_falls_as_chips_are_added() -> None:
    plans = [solve(program(), n, machine(1e12), "communication") for n in (8, 16, 32)]
    for fewer, more in pairwise(plans):
        assert taken(more) < taken(fewer)
