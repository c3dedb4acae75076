"""The cheapest way from each layout of a tensor to each other, statement by statement.

Costs are tuples compared in order, as in `layoutc.solver.eliminate`; the first component is
what is minimised, the others settle ties.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import isclose

import numpy as np
from numpy.typing import NDArray

from layoutc.solver.eliminate import TOLERANCE, Costs
from layoutc.solver.space import Edges, Floats, Ints

SLAB = 1 << 20
"""So many edges are relaxed at once, over all starts: what stays near the processor."""

FEW = 128
"""Up to so many layouts it is faster to know every way than to look for those that are asked."""


@dataclass(frozen=True)
class Routes:
    """The moves between the layouts that may be passed through, and what each costs.

    `place[node]` is a node's number among those, or -1; `source` and `target` hold such numbers,
    edges sorted by target, `starts` is where each target's edges begin. `back` sorts the edges by
    source, for `pulled`. `rows` remembers the ways from a node, `priced` all ways at a rate.
    """

    edges: Edges
    numbers: Ints
    place: Ints
    source: Ints
    target: Ints
    starts: Ints
    back: Ints
    begins: Ints
    weights: Costs
    rows: dict[int, Costs] = field(default_factory=dict)
    priced: dict[float, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, edges: Edges, weights: Costs, valid: NDArray[np.bool_]) -> Routes:
        """`weights[k][e]` is component k of edge e, with 0 for a node's edge to itself; nodes
        that are not `valid` are not passed through."""
        nodes = np.flatnonzero(valid)
        place = np.full(len(valid), -1)
        place[nodes] = np.arange(len(nodes))
        numbers = np.flatnonzero(valid[edges.source] & valid[edges.target])
        source, target = place[edges.source[numbers]], place[edges.target[numbers]]
        every = np.arange(len(nodes))
        back = np.argsort(source, kind="stable")
        starts, begins = np.searchsorted(target, every), np.searchsorted(source[back], every)
        kept = tuple(w[numbers] for w in weights)
        return cls(edges, numbers, place, source, target, starts, back, begins, kept)

    @property
    def layouts(self) -> Ints:
        """The nodes that may be passed through, by their numbers here."""
        return np.flatnonzero(self.place >= 0)

    def spread(self, nodes: Ints, costs: Floats) -> Floats:
        """[layouts], `costs` at `nodes` and infinity elsewhere."""
        found = np.full(len(self.starts), np.inf)
        found[self.place[nodes]] = costs
        return found

    @cached_property
    def closure(self) -> Floats:
        """[layouts, layouts], the seconds that the cheapest ways take."""
        count = len(self.starts)
        ways = np.full((count, count), np.inf)
        np.minimum.at(ways, (self.source, self.target), self.weights[0])
        through = np.empty_like(ways)
        for k in range(count):
            np.add(ways[:, k, None], ways[k], out=through)
            np.minimum(ways, through, out=ways)
        return ways

    def ways(self, rate: float) -> Floats | None:
        """[layouts, layouts], every way, `rate` times what it takes; None if they are many."""
        if len(self.starts) > FEW:
            return None
        if rate not in self.priced:
            # Where nothing is counted for moving, what can't be reached stays out of reach.
            free = np.where(np.isfinite(self.closure), 0.0, np.inf)
            self.priced[rate] = self.closure * rate if rate else free
        return self.priced[rate]

    def pushed(self, costs: Floats, rate: float) -> Floats:
        """[layouts], the least of the cost of a layout and the way from there."""
        ways = self.ways(rate)
        if ways is not None:
            return np.asarray(np.minimum.reduce(ways + costs[:, None], axis=0))
        return _swept(costs, self.source, self.weights[0] * rate, self.starts)

    def pulled(self, costs: Floats, rate: float) -> Floats:
        """[layouts], the least of the cost of a layout and the way to there."""
        ways = self.ways(rate)
        if ways is not None:
            return np.asarray(np.minimum.reduce(ways + costs, axis=1))
        weights = self.weights[0][self.back] * rate
        return _swept(costs, self.target[self.back], weights, self.begins)

    def between(self, starts: Ints, ends: Ints) -> Costs:
        """[starts, ends] for each component: the cheapest ways, ties settled."""
        if len(self.weights) == 1 and len(self.starts) <= FEW:
            return (self.closure[np.ix_(self.place[starts], self.place[ends])],)
        missing = np.array([s for s in starts if int(s) not in self.rows], dtype=np.int64)
        step = max(1, SLAB // len(self.source))
        for slab in (missing[i : i + step] for i in range(0, len(missing), step)):
            found = self._relaxed(slab)
            for i, start in enumerate(slab):
                self.rows[int(start)] = tuple(c[i] for c in found)
        rows = [self.rows[int(s)] for s in starts]
        columns = self.place[ends]
        return tuple(np.array([r[k][columns] for r in rows]) for k in range(len(self.weights)))

    def _relaxed(self, nodes: Ints) -> Costs:
        """[nodes, all], relaxing every edge until nothing changes; ways have few edges."""
        first = np.full((len(nodes), len(self.starts)), np.inf)
        first[np.arange(len(nodes)), self.place[nodes]] = 0.0
        costs: Costs = tuple(first.copy() for _ in self.weights)
        for _ in self.starts:
            arrived = [c[:, self.source] + w for c, w in zip(costs, self.weights, strict=True)]
            relaxed = _least(arrived, self.starts, self.target)
            if all(np.array_equal(a, b) for a, b in zip(relaxed, costs, strict=True)):
                break
            costs = relaxed
        return costs

    def cost(self, start: int, end: int) -> tuple[float, ...]:
        """The cost of the way between two nodes."""
        found = self.between(np.array([start]), np.array([end]))
        return tuple(float(c[0, 0]) for c in found)

    def way(self, start: int, end: int) -> list[int]:
        """The edges from `start` to `end`, in order; none if they are the same."""
        way: list[int] = []
        while end != start:
            edge = self._last(start, end)
            way.append(edge)
            end = int(self.edges.source[edge])
        return way[::-1]

    def _last(self, start: int, end: int) -> int:
        """The last edge of a cheapest way; of equals the one that leaves the least to go."""
        wanted, options = self.cost(start, end), []
        for i in np.flatnonzero(self.target == self.place[end]):
            edge = int(self.numbers[i])
            source = int(self.edges.source[edge])
            if source == end:
                continue
            before = self.cost(start, source)
            after = (b + float(w[i]) for b, w in zip(before, self.weights, strict=True))
            if all(
                isclose(a, b, rel_tol=4 * TOLERANCE) for a, b in zip(after, wanted, strict=True)
            ):
                options.append((before, edge))
        return min(options)[1]


def _swept(costs: Floats, ends: Ints, weights: Floats, starts: Ints) -> Floats:
    """[layouts], each edge relaxed until nothing changes: ways have few edges."""
    while True:
        further = np.minimum.reduceat(costs[ends] + weights, starts)
        if np.array_equal(further, costs):
            return costs
        costs = further


def _least(arrived: list[Floats], starts: Ints, target: Ints) -> Costs:
    """[start, end], the least tuple over the edges into each end."""
    tied: NDArray[np.bool_] | None = None
    found: list[Floats] = []
    for cost in arrived:
        masked = cost if tied is None else np.where(tied, cost, np.inf)
        least = np.minimum.reduceat(masked, starts, axis=1)
        found.append(least)
        if len(arrived) > 1:
            slack = least + np.abs(np.where(np.isfinite(least), least, 0)) * TOLERANCE
            near = masked <= slack[:, target]
            tied = near if tied is None else tied & near
    return tuple(found)
