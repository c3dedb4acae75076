"""The formulas of network times against links that carry blocks: tests/helpers/links.py."""

from __future__ import annotations

from itertools import pairwise, permutations
from random import Random

import pytest
from flows import Kind, Way, chips, cut, exchange, gather, permute, reordered, scatter, shares
from links import Chip, Outcome

from layoutc.dsl.operation import MoveKind
from layoutc.dsl.program import Axis
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.placement import placements
from layoutc.solver.hardware.tier import Tier
from layoutc.solver.hardware.timing import Run, Stage, latency, rate

SIZES = (2, 3, 4, 5, 6, 7, 8, 12, 16)
GRIDS = ((4, 4), (4, 8), (3, 5), (2, 3, 4), (4, 4, 4))
KINDS: tuple[Kind, ...] = ("ring", "one-way", "line", "switch")
SHAPED: tuple[Kind, ...] = ("ring", "line")


def exactly(number: float) -> object:
    return pytest.approx(number, rel=1e-12)


def stage(*ways: Way) -> Stage:
    """What the solver makes of these axes, a link of one byte a second."""
    if ways[0].kind == "switch":
        return Stage(Tier("switch", "switch", 1.0), (Run(ways[0].size),))
    tier = Tier("torus", "torus", 1.0, both_ways=all(way.kind != "one-way" for way in ways))
    return Stage(tier, tuple(Run(w.size, w.stride, w.kind in ("ring", "one-way")) for w in ways))


def grid(kind: Kind, *sizes: int) -> list[Way]:
    return [Way(number, size, kind) for number, size in enumerate(sizes)]


def priced(kind: MoveKind, ways: list[Way]) -> float:
    return rate(kind, [stage(*ways)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
def test_one_axis(kind: Kind, size: int) -> None:
    """The busiest link works as long as the formula says, and no link waits for another so long
    that all takes longer. Hops are those of the formula; through a switch, in whose rounds what
    has come late is not always what goes on, one may be less."""
    ways = grid(kind, size)
    hops = stage(*ways).hops("all-gather")
    gathered, scattered, exchanged = gather(ways), scatter(ways), exchange(ways)
    assert gathered.bound == exactly(priced("all-gather", ways))
    assert scattered.bound == exactly(priced("reduce-scatter", ways))
    assert exchanged.bound == exactly(priced("all-to-all", ways))
    assert gathered.finished == exactly(gathered.bound)
    assert exchanged.finished == exactly(exchanged.bound)
    if kind == "switch":
        assert hops - 1 <= gathered.hops <= hops
        assert gathered.hops == hops or size & (size - 1)
    else:
        assert scattered.finished == exactly(priced("reduce-scatter", ways))
        assert gathered.hops == scattered.hops == exchanged.hops == hops
    assert exchanged.hops == stage(*ways).hops("all-to-all")


@pytest.mark.parametrize(("size", "times"), [(4, 4 / 8), (8, 8 / 8), (5, 24 / 40), (7, 48 / 56)])
def test_an_all_to_all_as_one_counts_it_by_hand(size: int, times: float) -> None:
    """On a ring K·D/8 where K is even and (K²-1)·D/8K where it is odd; on a line twice that."""
    assert exchange(grid("ring", size)).bound == exactly(times)
    assert exchange(grid("line", size)).bound == exactly(2 * times)


@pytest.mark.parametrize("kind", SHAPED)
@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("stride", [2, 3, 4])
def test_chips_that_are_apart_share_their_links(kind: Kind, size: int, stride: int) -> None:
    ways = [Way(0, size, kind, stride)]
    gathered, scattered, exchanged = gather(ways), scatter(ways), exchange(ways)
    assert gathered.finished == exactly(priced("all-gather", ways))
    assert scattered.finished == exactly(priced("reduce-scatter", ways))
    assert exchanged.finished == exactly(priced("all-to-all", ways))
    assert gathered.hops == scattered.hops == exchanged.hops == stage(*ways).hops("all-gather")


@pytest.mark.parametrize("kind", SHAPED)
@pytest.mark.parametrize("sizes", GRIDS)
def test_bandwidths_add(kind: Kind, sizes: tuple[int, ...]) -> None:
    """Each part of a block goes along the axes in another order, such that all links have as much
    to carry; the axes need not be of one size. On most no link even waits for another."""
    ways = grid(kind, *sizes)
    gathered, scattered = gather(ways), scatter(ways)
    assert gathered.bound == exactly(priced("all-gather", ways))
    assert scattered.bound == exactly(priced("reduce-scatter", ways))
    assert min(gathered.busiest.values()) == exactly(gathered.bound)
    if sizes != (2, 3, 4):
        assert gathered.finished == exactly(gathered.bound)
    assert gathered.hops == scattered.hops == stage(*ways).hops("all-gather")


def test_what_is_cut_smaller_waits_less() -> None:
    """Where links wait for whole blocks, the formula is what small pieces come down to."""
    ways = grid("ring", 2, 3, 4)
    idle = [gather(ways, pieces=n).finished / priced("all-gather", ways) - 1 for n in (1, 2, 4)]
    assert idle[0] == pytest.approx(0.1, abs=0.01)
    assert all(less < 0.55 * more for more, less in pairwise(idle))


def test_one_order_is_slower() -> None:
    """What the parts are for: all along x and then all along y leaves links idle."""
    ways = grid("ring", 4, 8)
    assert shares(ways) == {(0, 1): exactly(17 / 42), (1, 0): exactly(25 / 42)}
    assert gather(ways, {(0, 1): 1.0}).bound == exactly(28 / 32 / 2)
    assert gather(ways).bound == exactly(31 / 32 / 4)


MIXED = [
    ([Way(0, 4, "line"), Way(1, 4, "ring")], 1.0),
    ([Way(0, 4, "line"), Way(1, 8, "ring")], 1.0),
    ([Way(0, 2, "line"), Way(1, 16, "ring")], 1.0),
    ([Way(0, 2, "ring", 4), Way(1, 8, "ring")], 1.0),
    ([Way(0, 4, "ring", 4), Way(1, 4, "ring")], 1.0),
    ([Way(0, 8, "ring", 4), Way(1, 4, "ring")], 35 / 31),
    ([Way(0, 8, "line"), Way(1, 2, "ring")], 7 / 5),
]


@pytest.mark.parametrize(("ways", "ratio"), MIXED)
def test_a_long_slow_axis_beside_a_short_fast_one(ways: list[Way], ratio: float) -> None:
    """Bandwidths add as long as no axis needs longer alone, with the others idle: then what comes
    in along it is the bound, by so much more than the formula."""
    gathered = gather(ways)
    assert gathered.bound == exactly(ratio * priced("all-gather", ways))
    assert gathered.bound == exactly(cut(ways))


@pytest.mark.parametrize("kind", SHAPED)
@pytest.mark.parametrize("sizes", GRIDS)
def test_an_all_to_all_takes_as_long_as_its_slowest_axis(
    kind: Kind, sizes: tuple[int, ...]
) -> None:
    ways = grid(kind, *sizes)
    exchanged = exchange(ways)
    assert exchanged.bound == exactly(priced("all-to-all", ways))
    assert exchanged.finished <= 1.15 * exchanged.bound
    assert exchanged.hops == stage(*ways).hops("all-to-all")


@pytest.mark.parametrize("nodes", [2, 3, 4])
@pytest.mark.parametrize("inside", [2, 4, 8])
def test_tiers(nodes: int, inside: int) -> None:
    """Across nodes and within them, each on its own share, one after the other."""
    ways = [Way(0, nodes, "switch"), Way(1, inside, "switch")]
    inner, outer = (Tier(name, "switch", w, hop=1.0) for name, w in (("in", 9.0), ("out", 1.0)))
    stages = [Stage(inner, (Run(inside),)), Stage(outer, (Run(nodes),))]
    gathered, exchanged = gather(ways, {(0, 1): 1.0}), exchange(ways)
    moves: dict[MoveKind, Outcome] = {"all-gather": gathered, "all-to-all": exchanged}
    for kind, moved in moves.items():
        seconds = moved.busiest[0] / outer.bandwidth + moved.busiest[1] / inner.bandwidth
        assert seconds == exactly(rate(kind, stages))
    assert gathered.hops <= latency("all-gather", stages) <= gathered.hops + 1


@pytest.mark.parametrize("kind", SHAPED)
@pytest.mark.parametrize("sizes", [(2, 4), (4, 4), (4, 8), (8, 4), (3, 5), (2, 3, 4), (4, 4, 4)])
def test_axes_that_change_places(kind: Kind, sizes: tuple[int, ...]) -> None:
    """Blocks of a dim over x and y that is over y and x afterwards, by shortest paths."""
    ways, order = grid(kind, *sizes), tuple(range(len(sizes)))
    for new in permutations(order):
        if new != order:
            moved = permute(ways, reordered(ways, order, new))
            assert 0.4 < moved.bound / priced("permute", ways) <= 2
            assert moved.hops <= stage(*ways).hops("permute")


@pytest.mark.parametrize("kind", SHAPED)
@pytest.mark.parametrize("sizes", [(4, 4), (4, 8), (3, 5), (2, 3, 4)])
def test_permutes_at_random(kind: Kind, sizes: tuple[int, ...]) -> None:
    ways, random = grid(kind, *sizes), Random(1)
    for _ in range(10):
        targets = chips(ways)
        random.shuffle(targets)
        moved = permute(ways, dict(zip(chips(ways), targets, strict=True)))
        assert 0.4 < moved.bound / priced("permute", ways) <= 2
        assert moved.hops <= stage(*ways).hops("permute")


@pytest.mark.parametrize("kind", SHAPED)
@pytest.mark.parametrize("size", [2, 4, 6, 8])
def test_a_permute_halfway_along_one_axis(kind: Kind, size: int) -> None:
    """Halfway round a ring, where both ways are as short, or across the middle of a line."""
    ways = grid(kind, size)
    moves: dict[Chip, Chip] = {(n,): ((n + size // 2) % size,) for n in range(size)}
    moved = permute(ways, moves)
    assert moved.bound == exactly(priced("permute", ways))


@pytest.mark.parametrize(("shape", "kind"), [((4, 4, 4), "ring"), ((2, 2, 4), "line")])
def test_a_mesh_on_a_torus(shape: tuple[int, ...], kind: Kind) -> None:
    """TPU v4, an axis of the mesh on two of its own: rings where all three sizes are multiples of
    4."""
    machine = load_machine("tpu-v4")
    (ici,) = machine.tiers
    (placement, *_) = placements(machine.tiers, (shape,), (Axis("x", shape[0]), Axis("y", None)))
    fabric, ways = Fabric(machine, placement.mesh, placement), grid(kind, *shape[1:])
    for found, moved in (
        (fabric.rate("all-gather", "y"), gather(ways)),
        (fabric.rate("all-to-all", "y"), exchange(ways)),
    ):
        assert found.per_byte == exactly(moved.bound / ici.bandwidth)
        assert found.start == exactly(ici.start + moved.hops * ici.hop)
