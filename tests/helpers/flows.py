"""Collectives as flows over links: who sends what to whom, on rings, lines, tori and switches.

D is one byte. Every chip of the network takes part, in a group of its own: those of a run that is
`stride` apart have as many other groups between them, at work on the same links. What each chip has
to hold in the end is asserted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from math import isclose, prod
from typing import Literal

from links import Chip, Flow, Hop, Outcome, run
from scipy.optimize import linprog

Kind = Literal["ring", "one-way", "line", "switch"]
Order = tuple[int, ...]
"""Numbers of axes, in the order in which a block goes along them."""


@dataclass(frozen=True, slots=True)
class Way:
    """The coordinate `number` of a chip: `size` chips in a row, `stride` apart."""

    number: int
    size: int
    kind: Kind
    stride: int = 1

    @property
    def length(self) -> int:
        """How many chips lie along it, of all groups."""
        return self.size * self.stride

    @property
    def bandwidth(self) -> int:
        """How many links lead into a chip where fewest do."""
        return 2 if self.kind == "ring" else 1

    def place(self, chip: Chip) -> int:
        """Which one of its group a chip is."""
        return chip[self.number] // self.stride

    def member(self, chip: Chip, place: int) -> Chip:
        """Another one of its group."""
        new = place % self.size * self.stride + chip[self.number] % self.stride
        return (*chip[: self.number], new, *chip[self.number + 1 :])

    def walk(self, chip: Chip, places: int) -> Iterator[Hop]:
        """So many places forwards or, less than 0, backwards, over all chips in between."""
        step = 1 if places > 0 else -1
        for _ in range(abs(places) * self.stride):
            new = (chip[self.number] + step) % self.length
            target = (*chip[: self.number], new, *chip[self.number + 1 :])
            yield Hop(chip, target, self.number, step)
            chip = target

    def spread(self, chip: Chip, turn: int) -> Iterator[Hop]:
        """To all of its group. To the farthest of an even ring it goes one way or, at the next
        turn, the other."""
        if self.kind == "switch":
            yield from self._doubled(chip)
            return
        place, half = self.place(chip), (self.size // 2, (self.size - 1) // 2)
        ends = {
            "ring": (half[turn], half[1 - turn]),
            "one-way": (self.size - 1, 0),
            "line": (self.size - 1 - place, place),
        }[self.kind]
        yield from self.walk(chip, ends[0])
        yield from self.walk(chip, -ends[1])

    def _doubled(self, chip: Chip) -> Iterator[Hop]:
        """Bruck's: in each round all who have it send it on, twice as far as in the one before."""
        place, apart = self.place(chip), 1
        while apart < self.size:
            for near in range(min(apart, self.size - apart)):
                source, target = (self.member(chip, place + near + far) for far in (0, apart))
                yield Hop(source, target, self.number, 0)
            apart *= 2

    def toward(self, chip: Chip, target: Chip, turn: int) -> Iterator[Hop]:
        """The shortest path to where the target is on this axis; of two, each at its turn. A switch
        leads to the target itself."""
        place, to = self.place(chip), self.place(target)
        ahead = (to - place) % self.size
        if self.kind == "switch":
            if ahead:
                yield Hop(chip, target, self.number, 0)
        elif self.kind == "line":
            yield from self.walk(chip, to - place)
        elif self.kind == "one-way" or 2 * ahead < self.size or (2 * ahead == self.size and turn):
            yield from self.walk(chip, ahead)
        else:
            yield from self.walk(chip, ahead - self.size)


def chips(ways: Sequence[Way]) -> list[Chip]:
    """Every chip of the network."""
    return list(product(*(range(way.length) for way in ways)))


def group(ways: Sequence[Way], chip: Chip) -> list[Chip]:
    """Those that a chip moves data with, itself first, then in turn: everyone's next is another."""
    found = [chip]
    for way in ways:
        place = way.place(chip)
        found = [way.member(one, place + away) for one in found for away in range(way.size)]
    return found


def _tree(ways: Sequence[Way], order: Order, chip: Chip, turn: int) -> Iterator[Hop]:
    """From a chip to its whole group, along one axis after the other."""
    reached, members = [chip], set(group(ways, chip))
    for number in order:
        hops = [hop for one in reached for hop in ways[number].spread(one, turn)]
        yield from hops
        reached += [hop.target for hop in hops if hop.target in members]


def _path(
    ways: Sequence[Way], order: Order, chip: Chip, target: Chip, turn: int
) -> tuple[Hop, ...]:
    """From a chip to another of its group, along one axis after the other."""
    hops: list[Hop] = []
    for number in order:
        here = hops[-1].target if hops else chip
        hops += ways[number].toward(here, target, turn)
    return tuple(hops)


def shares(ways: Sequence[Way]) -> dict[Order, float]:
    """How much of a block goes in which order along the axes, so that the busiest of them is least
    busy. Gathering along an axis last, when all else is there, takes most of it."""
    orders = list(permutations(range(len(ways))))
    busy = [[_work(ways, order, way) for order in orders] + [-1.0] for way in ways]
    ones = [[1.0] * len(orders) + [0.0]]
    least = [0.0] * len(orders) + [1.0]
    found = linprog(least, A_ub=busy, b_ub=[0.0] * len(ways), A_eq=ones, b_eq=[1.0])
    return {o: float(x) for o, x in zip(orders, found.x, strict=False) if x > 1e-9}


def _work(ways: Sequence[Way], order: Order, way: Way) -> float:
    """How long the links of an axis work where everything goes in this order, a block a second."""
    before = prod(ways[n].size for n in order[: order.index(way.number)])
    return before * (way.size - 1) * way.stride / way.bandwidth


def cut(ways: Sequence[Way]) -> float:
    """Seconds below which no all-gather goes: of the chips that differ along the other axes alone,
    all that they lack comes in over the links of these, and that for any axes."""
    sets = (s for n in range(len(ways)) for s in combinations(ways, n + 1))
    least = max(
        (prod(w.size for w in s) - 1) / sum(w.bandwidth / w.stride for w in s) for s in sets
    )
    return least / prod(w.size for w in ways)


def gather(
    ways: Sequence[Way], split: Mapping[Order, float] | None = None, pieces: int = 1
) -> Outcome:
    """An all-gather, each chip's block split over orders of the axes, and cut in pieces."""
    flows = list(_copied(ways, split or shares(ways), pieces))
    outcome = run(flows)
    block = 1 / len(group(ways, flows[0].hops[0].source))
    for chip in chips(ways):
        got = _amounts(flows, outcome, chip)
        assert all(isclose(got[source], block) for source in group(ways, chip))
    return outcome


def scatter(ways: Sequence[Way], split: Mapping[Order, float] | None = None) -> Outcome:
    """A reduce-scatter: an all-gather backwards, what was copied there is summed here."""
    flows = [_summed(ways, flow) for flow in _copied(ways, split or shares(ways), 1)]
    outcome = run(flows)
    for flow, held in zip(flows, outcome.held, strict=True):
        to = flow.hops[-1].target
        assert held[to] == set(group(ways, to)), f"{to} lacks terms"
    return outcome


def _copied(ways: Sequence[Way], split: Mapping[Order, float], pieces: int) -> Iterator[Flow]:
    """Each chip's block, to all of its group."""
    block = 1 / prod(way.size for way in ways)
    turns = range(2 if any(way.kind == "ring" for way in ways) else 1)
    for _, turn, chip, order in product(range(pieces), turns, chips(ways), split):
        size = split[order] / sum(split.values()) * block / len(turns) / pieces
        yield Flow(size, {chip: frozenset({chip})}, tuple(_tree(ways, order, chip, turn)))


def _summed(ways: Sequence[Way], flow: Flow) -> Flow:
    """The same hops backwards, from all of the group, each with its own term."""
    terms = {chip: frozenset({chip}) for chip in group(ways, flow.hops[0].source)}
    return Flow(flow.size, terms, tuple(hop.back for hop in reversed(flow.hops)))


def _amounts(flows: Sequence[Flow], outcome: Outcome, chip: Chip) -> dict[Chip, float]:
    """The bytes that a chip has of each chip's data."""
    got: dict[Chip, float] = defaultdict(float)
    for flow, held in zip(flows, outcome.held, strict=True):
        for source in held.get(chip, ()):
            got[source] += flow.size
    return got


def exchange(ways: Sequence[Way]) -> Outcome:
    """An all-to-all by shortest paths, along one axis after the other."""
    pairs = [(a, b) for a in chips(ways) for b in group(ways, a) if a != b]
    return _carried(ways, pairs, 1 / prod(w.size for w in ways), [tuple(range(len(ways)))])


def permute(ways: Sequence[Way], moves: Mapping[Chip, Chip]) -> Outcome:
    """What each chip has goes to another, half of it along the axes in order, half backwards."""
    order = tuple(range(len(ways)))
    return _carried(ways, [(a, b) for a, b in moves.items() if a != b], 1.0, [order, order[::-1]])


def _carried(
    ways: Sequence[Way], pairs: Sequence[tuple[Chip, Chip]], size: float, orders: Sequence[Order]
) -> Outcome:
    """So many bytes from the first of each pair to the second, in equal parts on every path."""
    paths = [(pair, order, turn) for pair in pairs for order in orders for turn in (0, 1)]
    part = size / len(orders) / 2
    flows = [
        Flow(part, {a: frozenset({a})}, _path(ways, order, a, b, turn))
        for (a, b), order, turn in paths
    ]
    outcome = run(flows)
    assert all(a in held[b] for ((a, b), _, _), held in zip(paths, outcome.held, strict=True))
    return outcome


def reordered(ways: Sequence[Way], old: Order, new: Order) -> dict[Chip, Chip]:
    """Where the blocks of a dim go that was split over the axes in one order and is in another:
    number i of the chips in the one order to number i of them in the other."""

    def listed(order: Order) -> list[Chip]:
        return sorted(chips(ways), key=lambda chip: [chip[number] for number in order])

    return dict(zip(listed(old), listed(new), strict=True))
