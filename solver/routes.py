"""The cheapest way from each layout of a tensor to each other, statement by statement.

Costs are tuples compared in order, as in `layoutc.solver.eliminate`; the first component is
what is minimised, the others settle ties.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose

import numpy as np
from numpy.typing import NDArray

from layoutc.solver.eliminate import TOLERANCE, Costs
from layoutc.solver.space import Edges, Floats, Ints


@dataclass(frozen=True, slots=True)
class Routes:
    """Least costs between the layouts that may be passed through.

    `place[node]` is a node's row and column in each array of `costs`, or -1.
    """

    edges: Edges
    weights: Costs
    place: Ints
    costs: Costs

    def between(self, starts: Ints, ends: Ints) -> Costs:
        """[starts, ends] for each component."""
        block = np.ix_(self.place[starts], self.place[ends])
        return tuple(c[block] for c in self.costs)

    def cost(self, start: int, end: int) -> tuple[float, ...]:
        """The cost of the way between two nodes."""
        row, column = self.place[start], self.place[end]
        return tuple(float(c[row, column]) for c in self.costs)

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
        for edge in np.flatnonzero(self.edges.target == end):
            source = int(self.edges.source[edge])
            if source == end or self.place[source] < 0:
                continue
            before = self.cost(start, source)
            after = (b + float(w[edge]) for b, w in zip(before, self.weights, strict=True))
            if all(
                isclose(a, b, rel_tol=4 * TOLERANCE) for a, b in zip(after, wanted, strict=True)
            ):
                options.append((before, int(edge)))
        return min(options)[1]


def routes(edges: Edges, weights: Costs, valid: NDArray[np.bool_]) -> Routes:
    """Relaxes every edge until nothing changes; ways have a handful of edges.

    `weights[k][e]` is component k of edge e, with 0 for a node's edge to itself; nodes that are
    not `valid` are not passed through.
    """
    nodes = np.flatnonzero(valid)
    place = np.full(len(valid), -1)
    place[nodes] = np.arange(len(nodes))
    usable = valid[edges.source] & valid[edges.target]
    source, target = place[edges.source[usable]], place[edges.target[usable]]
    starts = np.searchsorted(target, np.arange(len(nodes)))
    own = tuple(w[usable] for w in weights)
    costs: Costs = tuple(np.where(np.eye(len(nodes), dtype=bool), 0.0, np.inf) for _ in own)
    for _ in nodes:
        arrived = [c[:, source] + w for c, w in zip(costs, own, strict=True)]
        relaxed = _least(arrived, starts, target)
        if all(np.array_equal(a, b) for a, b in zip(relaxed, costs, strict=True)):
            break
        costs = relaxed
    return Routes(edges, weights, place, costs)


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
