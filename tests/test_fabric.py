"""What holds of network times on every machine, wherever the axes of a mesh lie on it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import combinations, product
from math import prod

import pytest
from fabrics import AXES, fabrics, machine, machines, tiers
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from layoutc.dsl.operation import MoveKind
from layoutc.dsl.program import Axis
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import STILL, Cheapest, Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.placement import Part, placements
from layoutc.solver.hardware.shapes import Shape
from layoutc.solver.hardware.tier import Slice, Tier
from layoutc.solver.hardware.timing import Run, Stage, latency, rate

MOVES: tuple[MoveKind, ...] = (
    "all-gather", "reduce-scatter", "all-reduce", "all-to-all", "permute", "slice",
)  # fmt: skip
SETS = [s for n in range(4) for s in combinations("xyz", n)]
NEARLY = 1 + 1e-12
runs = st.builds(Run, st.integers(2, 9), st.integers(1, 3))
torus = tiers(("torus",))
few = settings(max_examples=30, deadline=None)


def costs(kind: MoveKind, stage: Stage) -> tuple[float, float]:
    """Seconds a byte, and before the first byte."""
    return rate(kind, [stage]), latency(kind, [stage])


def no_slower(kind: MoveKind, stage: Stage, than: Stage) -> bool:
    return all(a <= b * NEARLY for a, b in zip(costs(kind, stage), costs(kind, than), strict=True))


# Links.


@given(torus, runs, st.sampled_from(MOVES))
def test_a_line_is_never_faster_than_a_ring(tier: Tier, run: Run, kind: MoveKind) -> None:
    tier = replace(tier, both_ways=True)
    ring, line = (Stage(tier, (replace(run, ring=closed),)) for closed in (True, False))
    assert no_slower(kind, ring, line)


@given(torus, runs, st.sampled_from(MOVES))
def test_both_ways_are_never_slower_than_one(tier: Tier, run: Run, kind: MoveKind) -> None:
    closed = (replace(run, ring=True),)
    both, one = (Stage(replace(tier, both_ways=ways), closed) for ways in (True, False))
    assert no_slower(kind, both, one)


@given(torus, st.integers(2, 6), st.integers(2, 6), st.booleans(), st.sampled_from(MOVES))
def test_two_axes_are_never_slower_than_one_of_as_many_chips(
    tier: Tier, a: int, b: int, ring: bool, kind: MoveKind
) -> None:
    two = Stage(tier, (Run(a, 1, ring), Run(b, 1, ring)))
    assert no_slower(kind, two, Stage(tier, (Run(a * b, 1, ring),)))


@given(tiers(("torus", "line", "switch")), runs, st.booleans(), st.sampled_from(MOVES))
def test_more_chips_never_take_less(tier: Tier, run: Run, ring: bool, kind: MoveKind) -> None:
    run = replace(run, ring=ring and tier.topology == "torus")
    more = replace(run, size=run.size + 1)
    assert no_slower(kind, Stage(tier, (run,)), Stage(tier, (more,)))


# Meshes on machines.


@few
@given(fabrics(), st.floats(1.0, 100.0))
def test_more_bandwidth_divides_and_starts_stay(fabric: Fabric, factor: float) -> None:
    faster = fabric.on(fabric.machine.faster(network=factor))
    for kind, axes in product(MOVES, SETS):
        here, there = fabric.rate(kind, axes), faster.rate(kind, axes)
        assert there.per_byte * factor == pytest.approx(here.per_byte)
        assert there.large * factor == pytest.approx(here.large)
        assert there.start == here.start


@few
@given(fabrics())
def test_rates_are_never_negative_and_zero_for_one_chip_alone(fabric: Fabric) -> None:
    for kind, axes in product(MOVES, SETS):
        found = fabric.rate(kind, axes)
        if kind == "slice" or prod(fabric.mesh[a] for a in axes) == 1:
            assert found == STILL
        else:
            assert 0 < found.per_byte <= found.large * NEARLY
            assert found.start >= 0


@few
@given(fabrics())
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(fabric: Fabric) -> None:
    for axes in SETS:
        gather, scatter, both = (
            fabric.rate(kind, axes) for kind in ("all-gather", "reduce-scatter", "all-reduce")
        )
        assert gather == scatter
        assert (both.per_byte, both.large) == (2 * gather.per_byte, 2 * gather.large)
        assert gather.start <= both.start <= 2 * gather.start


@few
@given(fabrics())
def test_all_axes_at_once_are_never_slower_than_one_after_the_other(fabric: Fabric) -> None:
    """In whichever order: of what is gathered last, all comes in. So it is where what is inside is
    no slower than what is outside."""
    for first, last in (("x", "y"), ("y", "x"), ("xy", "z"), ("z", "xy")):
        speeds = [stage.received for stage in fabric.stages(first + last)]
        assume(speeds == sorted(speeds, reverse=True))
        before, after = fabric.rate("all-gather", first), fabric.rate("all-gather", last)
        share = 1 / prod(fabric.mesh[a] for a in last)
        together = fabric.rate("all-gather", first + last)
        assert together.per_byte <= (share * before.per_byte + after.per_byte) * NEARLY


@few
@given(fabrics(), st.permutations("xyz"))
def test_names_do_not_matter(fabric: Fabric, names: list[str]) -> None:
    new = dict(zip("xyz", names, strict=True))
    renamed = fabric.renamed(new)
    for kind, axes in product(MOVES, SETS):
        assert renamed.rate(kind, [new[a] for a in axes]) == fabric.rate(kind, axes)


@few
@given(machines())
def test_the_cheapest_of_several_is_below_each(drawn: tuple[Machine, Slice]) -> None:
    on, one = drawn
    by_mesh = defaultdict(list)
    for placement in placements(on.tiers, one, AXES):
        by_mesh[tuple(placement.mesh.items())].append(Fabric(on, placement.mesh, placement))
    several = max(by_mesh.values(), key=len)
    cheapest = Cheapest(several)
    for kind, axes in product(MOVES, SETS):
        least, found = cheapest.rate(kind, axes), [f.rate(kind, axes) for f in several]
        assert least.start == min(r.start for r in found)
        assert least.per_byte == min(r.per_byte for r in found)
        assert least.large == min(r.large for r in found)


@few
@given(st.floats(1.0, 1000.0), st.integers(1, 64), st.data())
def test_a_flat_machine_is_the_papers(bandwidth: float, chips: int, data: st.DataObject) -> None:
    """Bytes received over one bandwidth, wherever the axes lie."""
    flat = machine(Tier("network", "flat", bandwidth))
    placement = data.draw(st.sampled_from(list(placements(flat.tiers, ((chips,),), AXES))))
    fabric = Fabric(flat, placement.mesh, placement)
    for axes in SETS:
        size = prod(fabric.mesh[a] for a in axes)
        received: dict[MoveKind, tuple[float, float]] = {
            "all-gather": ((size - 1) / size, 1),
            "reduce-scatter": ((size - 1) / size, 1),
            "all-reduce": (2 * (size - 1) / size, 2),
            "all-to-all": ((size - 1) / size, 1),
            "permute": (1, 1),
            "slice": (0, 0),
        }
        for kind, (exact, large) in received.items():
            found = fabric.rate(kind, axes)
            alone = size == 1
            assert found.start == 0
            assert found.per_byte == pytest.approx(0 if alone else exact / bandwidth)
            assert found.large == pytest.approx(0 if alone else large / bandwidth)


# Tiers.


@st.composite
def nodes(draw: st.DrawFn) -> Machine:
    """Nodes of 8 with a switch inside and one between, what is inside no slower."""
    inner, outer = draw(tiers(("switch",))), draw(tiers(("switch",)))
    slower = min(inner.bandwidth, outer.bandwidth)
    later = [max(getattr(t, key) for t in (inner, outer)) for key in ("hop", "start")]
    return machine(inner, replace(outer, bandwidth=slower, hop=later[0], start=later[1]))


@few
@given(nodes(), st.sampled_from(((2, 1), (4, 1), (4, 2), (8, 2), (8, 4))))
def test_no_axis_leaves_the_node_at_the_bandwidth_inside(
    on: Machine, size: tuple[int, int]
) -> None:
    """What goes between nodes, a share of all, does so at the bandwidth between them."""
    _, between = on.tiers
    total, inside = size
    found = list(placements(on.tiers, ((8,), (8,)), (Axis("x", total), Axis("y", None))))
    by_inside = {_inside(p.parts["x"]): Fabric(on, p.mesh, p) for p in found}
    here, there = by_inside[total], by_inside[inside]
    across = total // inside
    leaves = {
        "all-gather": (1 - 1 / across) / inside,
        "all-to-all": 1 - 1 / across,
        "permute": 1.0,
    }
    for kind in ("all-gather", "all-to-all", "permute"):
        within, out = here.rate(kind, "x"), there.rate(kind, "x")
        assert out.per_byte * NEARLY >= leaves[kind] / between.bandwidth
        assert out.per_byte * NEARLY >= within.per_byte
        assert out.start >= between.start
        assert out.start * NEARLY >= within.start


def _inside(parts: tuple[Part, ...]) -> int:
    return prod(part.size for part in parts if part.tier == 0)


# What is known from pencil and paper.


@pytest.mark.parametrize(
    ("name", "on_x", "on_yz", "elements"),
    [
        ("tpu-v4", (4,), (8, 8), 8064),
        ("tpu-v4", (8,), (4, 8), 9216),
        ("tpu-v4-flat", (8,), (4, 8), 11_520),
        ("tpu-v4-flat", (4,), (8, 8), 12_672),
    ],
)
def test_a_gated_layer_of_palm(
    name: str, on_x: Shape, on_yz: tuple[int, int], elements: float
) -> None:
    """On 256 chips 2E/X elements a token over y and z and 3F/(Y·Z) over x, K large, in what one
    axis brings. On the torus, which has x on one axis and so a third of the bandwidth for it, the
    smaller X is better; on the flat network, the larger one."""
    on, e, f = load_machine(name), 18_432, 73_728
    one: Slice = ((4, 8, 8),) if name == "tpu-v4" else ((256,),)
    sizes = dict(zip("xyz", on_x + on_yz, strict=True))
    axes = tuple(Axis(axis, size) for axis, size in sizes.items())
    placement, *_ = placements(on.tiers, one, axes)
    fabric = Fabric(on, sizes, placement)
    seconds = 2 * e / sizes["x"] * fabric.rate("all-gather", "yz").large
    seconds += 3 * f / (sizes["y"] * sizes["z"]) * fabric.rate("all-gather", "x").large
    axis = fabric.bandwidth("x")
    assert seconds * axis == pytest.approx(elements, rel=1e-12)
