"""The solver against plain enumeration on machines with networks: every slice, every place.

Random small programs on random small machines: tori, lines, switches, nodes of chips; what the mesh
after the best takes, what explicit programs do, and what has another name. LAYOUTC_LONG=1 takes
many more.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from itertools import combinations, product
from math import prod
from random import Random

import pytest
from enumerate import Minimize, optimum, tables_of
from enumerate_phases import optimum_of_phases
from layouts import all_shapes
from random_machines import random_machine
from small_layers import small_layer
from small_programs import Small, small
from texts import read

from layoutc.dsl.operation import Move
from layoutc.dsl.printer import print_program
from layoutc.dsl.program import Axis, Program
from layoutc.dsl.shape import Shape
from layoutc.solver.contenders import called, contenders
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.shapes import Shapes
from layoutc.solver.hardware.tier import Tier
from layoutc.solver.meshes import pinned
from layoutc.solver.plan import Plan
from layoutc.solver.price import price
from layoutc.solver.sites import sites
from layoutc.solver.solve import objective, solve
from layoutc.solver.unsolvable import Unsolvable

LONG = os.environ.get("LAYOUTC_LONG")
CHEAP = (4, 5, 7, 9, 10, 13, 16, 19, 21, 23)
"""Of the first few, those that enumeration takes least for."""
ONE = range(300) if LONG else CHEAP
LAYERS = range(300) if LONG else range(16)
TWO = range(200) if LONG else range(14)
NEXT = (*range(60), 73, 76, 92, 94) if LONG else (73, 92)
BOTH: tuple[Minimize, ...] = ("time", "communication")
CLOSE = 1e-8
"""Seconds: enumeration rounds what a move takes to 1e-10, and there are tens of them."""


def machine_for(seed: int, chips: int) -> Machine:
    return random_machine(Random(f"machine {seed}"), chips)


def solved(program: Program, task: Small, machine: Machine, minimize: Minimize) -> Plan | None:
    try:
        return solve(program, task.chips, machine, minimize)
    except Unsolvable:
        return None


def assert_the_best(task: Small, machine: Machine) -> None:
    holes = read(task.text)
    tables = tables_of(holes, task.chips, machine)
    for number, minimize in enumerate(BOTH):
        plan = solved(holes, task, machine, minimize)
        best = optimum(holes, task.chips, machine, minimize, tables)
        assert (plan is None) == (best is None), (task, machine)
        if plan and best:
            found = objective(plan.only.prices, minimize)
            assert found == pytest.approx(best.objective, abs=CLOSE, rel=1e-9), (
                minimize,
                task,
                machine,
            )
            assert plan.bound == pytest.approx(best.objective[number], abs=CLOSE, rel=1e-9), (
                task,
                machine,
            )
            again = read(print_program(plan.only.program))
            assert price(again, plan.fabric) == plan.only.prices
            assert price(again, plan.fabric).seconds == plan.seconds


@pytest.mark.parametrize("seed", ONE)
def test_the_solver_finds_what_enumeration_finds(seed: int) -> None:
    task = small(seed)
    assert_the_best(task, machine_for(seed, task.chips))


@pytest.mark.parametrize("seed", LAYERS)
def test_and_so_of_a_layers_operations(seed: int) -> None:
    """Of every second one the weights are int8, where that can be."""
    task = small_layer(seed)
    if seed % 2:
        task = replace(task, text=narrow(task.text))
    assert_the_best(task, machine_for(seed, task.chips))


def narrow(text: str) -> str:
    """With every matrix that is a weight in int8."""
    return re.sub(r"(?m)^(weight \w+ : [A-Z](_\S)?[A-Z]\S*)$", r"\1 int8", text)


@pytest.mark.parametrize("seed", TWO)
def test_phases_that_share_weights_and_hand_caches_over(seed: int) -> None:
    task = small_layer(seed, phases=2)
    holes, machine = read(task.text), machine_for(seed, task.chips)
    for number, minimize in enumerate(BOTH):
        plan = solved(holes, task, machine, minimize)
        best = optimum_of_phases(holes, task.chips, machine, minimize)
        assert (plan is None) == (best is None), (task, machine)
        if plan and best:
            assert plan.value == pytest.approx(best[number], abs=CLOSE, rel=1e-9), (
                minimize,
                task,
                machine,
            )
            assert plan.bound == pytest.approx(best[number], abs=CLOSE, rel=1e-9), (
                minimize,
                task,
                machine,
            )


# What else the search says.


@pytest.mark.parametrize("seed", NEXT)
def test_the_next_best_mesh_is_that_in_whichever_place(seed: int) -> None:
    """By solving for each mesh by itself."""
    task = small_layer(seed) if seed % 2 else small(seed)
    holes, machine = read(task.text), machine_for(seed, task.chips)
    places = sites(holes.axes, task.chips, machine)
    meshes = [dict(m) for m in dict.fromkeys(tuple(f.mesh.items()) for f in places)]
    for minimize in BOTH:
        plan = solved(holes, task, machine, minimize)
        if plan is None:
            continue
        alone = (solved(pinned(holes, mesh), task, machine, minimize) for mesh in meshes)
        values = [objective(one.only.prices, minimize) for one in alone if one is not None]
        least = objective(plan.only.prices, minimize)
        assert min(values) == pytest.approx(least)
        worse = [value for value in values if value != pytest.approx(least)]
        if minimize == "time":
            following = min((first for first, _ in worse), default=None)
        else:
            alike = (second for first, second in worse if first == pytest.approx(least[0]))
            following = min(alike, default=None)
        found = plan.runner_up and plan.runner_up.seconds
        assert found == (None if following is None else pytest.approx(following)), (task, machine)


@pytest.mark.parametrize("seed", range(60) if LONG else range(5))
def test_an_explicit_program_is_placed_where_it_costs_least(seed: int) -> None:
    task = small(seed)
    machine = machine_for(seed, task.chips)
    plan = solved(read(task.text), task, machine, "time")
    if plan is None:
        return
    stands = read(print_program(plan.only.program))
    free = replace(stands, axes=tuple(Axis(axis.name, None) for axis in stands.axes))
    prices = []
    for place in sites(free.axes, task.chips, machine):
        try:
            prices.append(price(free, place).seconds)
        except ValueError:
            continue
    placed = solve(free, task.chips, machine)
    assert placed.seconds == placed.bound == pytest.approx(min(prices))


@pytest.mark.parametrize("seed", range(60) if LONG else range(4))
def test_one_flat_tier_is_the_flat_network(seed: int) -> None:
    """A switch that takes no time to start is one, too."""
    task = small(seed)
    holes, (tier,) = read(task.text), task.machine.tiers
    switch = replace(task.machine, tiers=(replace(tier, topology="switch"),))
    plan, same = (solved(holes, task, machine, "time") for machine in (task.machine, switch))
    assert (plan is None) == (same is None)
    if plan and same:
        assert print_program(same.only.program) == print_program(plan.only.program)
        assert (same.seconds, same.bound) == pytest.approx((plan.seconds, plan.bound))


# What has another name.

ONE_PRODUCT = """\
dims B=64 E=8 F=8
mesh {mesh}
input x : BE?
weight w : {stored}
{moved}h : BF? = x * {used}
y = relu(h)
output y
"""


def nodes() -> Machine:
    """Two nodes of two chips, between which everything takes long."""
    within = Tier("within", "switch", 8.0, start=1.0, shapes=Shapes(chips=2))
    tiers = within, Tier("across", "switch", 1.0, start=2.0)
    return Machine("nodes", {"bf16": 64.0}, 1 << 30, 16.0, tiers)


def one_product(mesh: str = "x=2 y=2", stored: str = "EF!", used: str = "") -> Program:
    """`used`: the layout to which the weight is moved, "" if it is used as it is stored."""
    moved, name = (f"u : {used} = w\n", "u") if used else ("", "w")
    return read(ONE_PRODUCT.format(mesh=mesh, stored=stored, moved=moved, used=name))


def test_the_best_of_each_name_is_found() -> None:
    """Of those that enumeration finds where a weight is moved from one layout to another."""
    machine, holes = nodes(), one_product()
    plan = solve(holes, 4, machine)
    others = contenders(holes, plan, thorough=True).plans
    for other in others:
        assert other.value >= plan.value * (1 - 1e-9)
        assert other.bound == pytest.approx(other.value)
        assert price(other.only.program, other.fabric).seconds == other.seconds
    found = {called(one): one.value for one in (plan, *others)}
    least = by_name(machine)
    for name in found.keys() & least.keys():
        assert found[name] == pytest.approx(least[name]), name
    assert len(found.keys() & least.keys()) >= 3


def by_name(machine: Machine) -> dict[str, float]:
    """The least of what is called so, of weights that all chips split, and gather or leave."""
    shapes = [s for s in all_shapes(("E", "F"), ("x", "y")) if not s.partial]
    least: dict[str, float] = {}
    for stored, used in product(shapes, repeat=2):
        if len(stored.axes) == 2 and gathers(stored, used):
            program = one_product(stored=str(stored), used="" if stored == used else str(used))
            best, name = optimum(program, 4, machine), called(solve(program, 4, machine))
            assert best
            least[name] = min(best.objective[0], least.get(name, best.objective[0]))
    return least


def gathers(stored: Shape, used: Shape) -> bool:
    """Whether one is the other with axes taken off its ends."""
    return all(s.axes[: len(u.axes)] == u.axes for s, u in zip(stored, used, strict=True))


def test_weights_are_gathered_over_the_faster_of_two_axes_of_one_size() -> None:
    holes = one_product(mesh="x y")
    plan = solve(holes, 4, nodes())
    found = {called(p): p for p in contenders(holes, plan, thorough=True).plans}
    (gathered,) = (p for name, p in found.items() if name.startswith("weights gathered over"))
    (move,) = (s for s in gathered.only.prices.collectives if s.elements)
    assert isinstance(move.define.operation, Move)
    assert move.define.operation.axes == ("x",)
    assert "x → within; y → across" in str(gathered.fabric)


def test_what_is_sharded_otherwise_lies_somewhere_too() -> None:
    """Attention over another side is weighed in a place, not in the cheapest of all at once."""
    task = small_layer(27)
    holes, machine = read(task.text), machine_for(27, task.chips)
    plan = solve(holes, task.chips, machine)
    others = contenders(holes, plan, thorough=True).plans
    assert any("attention over batch" in called(other) for other in others)
    assert all(other.bound == pytest.approx(other.value) for other in others)


@pytest.mark.parametrize("mesh", [{"x": 4}, {"x": 2, "y": 2}])
def test_nothing_is_received_faster_than_at_the_fastest(mesh: dict[str, int]) -> None:
    """What bounds a class of layouts; over two tiers most of it comes through the faster one."""
    axes = tuple(Axis(name, size) for name, size in mesh.items())
    for place in sites(axes, 4, nodes()):
        for some in (s for n in range(len(mesh)) for s in combinations(mesh, n + 1)):
            received = 64 * (1 - 1 / prod(mesh[a] for a in some))
            assert received / place.fastest <= place.rate("all-gather", some).per_byte * 64 * 1.001


SHIFTED = """\
dims B=2 E=16
mesh x=2 y=2 z=4
input x : BE_xyz
y : BE_zyx = permute({axes}) x
output y
"""


def test_a_permute_goes_over_the_axes_between_too() -> None:
    """y keeps its place, but behind an axis of another size: what it counts shifts."""
    within = Tier("within", "switch", 8.0, shapes=Shapes(chips=8))
    machine = replace(nodes(), tiers=(within, Tier("across", "switch", 1.0)))
    some, every = (solve(read(SHIFTED.format(axes=a)), 16, machine) for a in ("xz", "xyz"))
    assert some.seconds == every.seconds == 2 * 2  # two elements a chip, at a byte a second


# What the random machines are.


def test_the_random_machines_reach_what_they_should() -> None:
    reached: Counter[object] = Counter()
    for seed in range(300):
        machine = machine_for(seed, (2, 3, 4, 6, 8, 12)[seed % 6])
        for tier in machine.tiers:
            reached[tier.topology] += 1
            reached["cut"] += tier.cut and tier.shaped and tier.shapes.axes > 1
            reached["one way"] += tier.topology == "torus" and not tier.both_ways
            reached["no ring"] += tier.topology == "torus" and tier.wraparound.multiple == 0
            reached["start"] += tier.start > 0
            reached["hop"] += tier.hop > 0
            reached[tier.topology, tier.shapes.axes] += 1
        reached["tiers", len(machine.tiers)] += 1
        reached["peaks"] += len(machine.peaks) > 1
    wanted = ("torus", "line", "switch", "cut", "one way", "no ring", "start", "hop", "peaks")
    shapes = (("torus", 2), ("torus", 3), ("line", 1), ("line", 2), ("tiers", 1), ("tiers", 2))
    assert all(reached[one] >= 10 for one in (*wanted, *shapes)), reached
