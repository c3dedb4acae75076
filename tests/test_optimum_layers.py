"""The solver against plain enumeration: the same cost, on random programs of a layer's operations.

Of one phase, and of two that hand a cache over; both objectives. LAYOUTC_LONG=1 takes many more.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import pytest
from enumerate import Minimize, optimum, tables_of
from enumerate_phases import handed_over, optimum_of_phases
from machines import plain
from networks import Flat
from small_layers import small_layer
from small_programs import Small
from steps import declared
from texts import read

from layoutc.dsl.operation import Layer, Reduce
from layoutc.dsl.printer import print_program
from layoutc.dsl.program import Define, Program
from layoutc.dsl.shape import Shape
from layoutc.solver import capacity
from layoutc.solver.asked import Asked
from layoutc.solver.eliminate import Infeasible
from layoutc.solver.hardware.fabric import uniform
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.meshes import mesh_of
from layoutc.solver.plan import Plan
from layoutc.solver.price import price
from layoutc.solver.search import Answer, search
from layoutc.solver.solve import objective, solve
from layoutc.solver.unsolvable import Unsolvable

LONG = os.environ.get("LAYOUTC_LONG")
ONE, TWO = range(400 if LONG else 40), range(300 if LONG else 40)
BOTH: tuple[Minimize, ...] = ("time", "communication")


def solved(task: Small, minimize: Minimize) -> Plan | None:
    try:
        return solve(read(task.text), task.chips, task.machine, minimize)
    except Unsolvable:
        return None


@pytest.mark.parametrize("seed", ONE)
def test_the_solver_finds_what_enumeration_finds(seed: int) -> None:
    task = small_layer(seed)
    holes = read(task.text)
    tables = tables_of(holes, task.chips, task.machine)
    for minimize in BOTH:
        plan = solved(task, minimize)
        best = optimum(holes, task.chips, task.machine, minimize, tables)
        assert (plan is None) == (best is None), task
        if plan and best:
            found = objective(plan.only.prices, minimize)
            assert found == pytest.approx(best.objective, rel=1e-9), (minimize, task)
            assert_explicit(plan)


@pytest.mark.parametrize("seed", TWO)
def test_and_what_it_costs_to_hand_caches_over(seed: int) -> None:
    """It is part of what is proven, whatever the plan says of it."""
    task = small_layer(seed, phases=2)
    for minimize in BOTH:
        plan = solved(task, minimize)
        best = optimum_of_phases(read(task.text), task.chips, task.machine, minimize)
        assert (plan is None) == (best is None), task
        if plan and best:
            assert total(plan) == pytest.approx(best, rel=1e-9), (minimize, task)
            assert plan.bound == pytest.approx(best[BOTH.index(minimize)], rel=1e-9), task
            assert_explicit(plan)


def total(plan: Plan) -> tuple[float, float]:
    """What is minimised of all passes, and of handing over the caches as the plan holds them."""
    passes = [one.program for one in plan.passes]
    moving = handed_over(passes, Flat.of(plan.mesh), plan.machine, map(caches, passes))
    found = [(one.weight, objective(one.prices, plan.minimize)) for one in plan.passes]
    first, second = (sum(often * value[i] for often, value in found) for i in (0, 1))
    return (first + moving, second) if plan.minimize == "time" else (first, second + moving)


def caches(program: Program) -> tuple[Shape, ...]:
    return tuple(d.type.shape for d in declared(program).values() if d.kind == "cache")


def assert_explicit(plan: Plan) -> None:
    """What was priced can be printed and read, costs what is read, and compiles to itself."""
    for one in plan.passes:
        again = read(print_program(one.program))
        assert again.explicit
        assert price(again.passes[0], plan.fabric) == one.prices
        itself = solve(again, plan.chips, plan.machine, plan.minimize)
        assert print_program(itself.only.program) == print_program(one.program)


# What is decided beforehand: layouts that may be taken alike.

HEAD = "dims B=4 E=8\nmesh x\n"
ALIKE = {
    "a maximum is reduced before it is scaled, not moved before it is taken": (
        "input a : BE_x\nm = max[E](a)\ns : B? = scale[E](m)\noutput s\n"
    ),
    "positions that are to be split": (
        "input a : BE_x\ninput pos : B! int32\nm : BE? = valid[E](a, pos)\noutput m\n"
    ),
    "positions that something else is to be held like": (
        "input a : B_xE\ninput pos : B? int32\nm : B_xE = valid[E](a, pos)\n"
        "n : B? int32 = sum[E](a)\noutput m\noutput n -> pos\n"
    ),
}


@pytest.mark.parametrize("text", ALIKE.values(), ids=ALIKE.keys())
def test_nothing_is_lost(text: str) -> None:
    machine = plain("plain", 1.0, 1 << 30, 1.0, 1.0)
    best = optimum(read(HEAD + text), 2, machine, "communication")
    plan = solved(Small(HEAD + text, 2, machine), "communication")
    assert plan
    assert best
    assert objective(plan.only.prices, "communication") == best.objective


# What the search weighed is what the statements cost.


@pytest.mark.parametrize("phases", [1, 2])
def test_what_was_weighed_is_what_is_priced(phases: int) -> None:
    """Compute, memory and communication apart, with caches and with weights of int8."""
    seen = 0
    for seed in range(100, 112):
        task = small_layer(seed, phases)
        try:
            outcome = search(read(narrow(task.text)), task.chips, task.machine, Asked("time"))
        except Infeasible:
            continue
        for answer in outcome.answers:
            assert_weighed(answer, task.machine)
            seen += 1
    assert seen >= 10


def assert_weighed(answer: Answer, machine: Machine) -> None:
    passes = [f.program for f in capacity.filled(answer.node.instance, answer.found)]
    mesh = mesh_of(passes[0])
    handed = handed_over(passes, Flat.of(mesh), machine, map(caches, passes))
    more = (handed / passes[0].phase.weight, 0.0)
    for alone, times, moving in zip(passes, answer.found.times, more, strict=False):
        prices = price(alone, uniform(mesh, machine))
        assert prices.compute.seconds == pytest.approx(times.compute)
        assert prices.memory.seconds == pytest.approx(times.memory)
        assert prices.communication.seconds + moving == pytest.approx(times.communication)


def narrow(text: str) -> str:
    """With every matrix that is a weight in int8."""
    return re.sub(r"(?m)^(weight \w+ : [A-Z](_\S)?[A-Z]\S*)$", r"\1 int8", text)


# What the random programs are.


def test_the_random_programs_reach_what_they_should() -> None:
    """Every operation, what is split where it reduces, and every way to hand a cache over."""
    reached: Counter[object] = Counter()
    for seed in ONE:
        task = small_layer(seed)
        reached.update(_kinds(read(task.text)))
        plan = solved(task, "communication")
        reached.update(_spelled(plan.only.program) if plan else ())
        reached["int8"] += " int8" in narrow(task.text)
    for seed in TWO:
        reached.update(_handed(read(small_layer(seed, phases=2).text)))
    kinds = ("rmsnorm", "layernorm", "softmax", "rope", "causal", "valid", "scale", "rename")
    others = ("embed", "write", "mean", "max", "int8")
    assert all(reached[one] >= 3 for one in (*kinds, *others)), reached
    assert all(reached[one] >= 4 for one in ("alike", "resized", "not handed")), reached


def _kinds(program: Program) -> Iterator[str]:
    for item, _ in program.walk():
        if isinstance(item, Define) and isinstance(item.operation, Layer):
            yield item.operation.kind


def _spelled(program: Program) -> Iterator[str]:
    """The kinds of what is reduced in the statements of a norm or a softmax."""
    for item, _ in program.walk():
        match item:
            case Define(name, _, Reduce(kind)) if name.endswith(("_max", "_mean")):
                yield kind
            case _:
                pass


def _handed(program: Program) -> Iterator[str]:
    for source, target in pairwise(program.passes):
        for item in declared(source).values():
            if item.kind == "cache":
                changes = [target.sizes[d] - source.sizes[d] for d in item.type.shape.names]
                yield "not handed" if min(changes) < 0 else "resized" if any(changes) else "alike"


def test_what_is_written_is_no_activation() -> None:
    """It is the cache, which is there anyhow; so is what is renamed the same memory."""
    program = read(
        """\
dims B=4 E=8 M=16
mesh x
input k : BE
cache c : BM
cn = write[M](c, k, 0)
r = rename[M -> E](cn)
output cn, r
""".replace("M=16", "M=8")
    )
    memory = price(program, uniform({"x": 1}, small_layer(0).machine)).memory
    assert memory.peak == ("k",)
    assert (memory.traffic_bytes, memory.bytes) == (2 * 4 * 8, 2 * 2 * 4 * 8)


@pytest.mark.parametrize("seed", range(6))
def test_a_gap_is_kept_inside_a_mesh_too(seed: int) -> None:
    """What is found may be worse than the best by the gap, and what is proven is below both."""
    made = small_layer(seed)
    program = read(made.text)
    exact = solve(program, made.chips, made.machine)
    near = solve(program, made.chips, made.machine, gap=0.2)
    assert near.bound <= exact.seconds * (1 + 1e-9)
    assert exact.seconds <= near.seconds * (1 + 1e-9)
    assert near.seconds * (1 - 0.2) <= near.bound * (1 + 1e-9)
    assert near.gap <= 0.2 + 1e-9
