"""The cheapest way from each layout of a tensor to each other, statement by statement.

Costs are tuples compared in order, as in `layoutc.solver.eliminate`; the first component is
what is minimised, the others settle ties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutc.solver.eliminate import TOLERANCE, Costs
from layoutc.solver.space import Edges, Floats


@dataclass(frozen=True, slots=True)
class Routes:
    """All-pairs least costs: `costs[k][i, j]` is component k of the way from node i to j."""

    edges: Edges
    weights: Costs
    costs: Costs

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
        first = int(self.edges.starts[end])
        later = self.edges.starts[self.edges.starts > first]
        block = range(first, int(later[0]) if len(later) else len(self.edges.source))
        options = []
        for edge in block:
            source = int(self.edges.source[edge])
            if source == end:
                continue
            arrived = [c[start, source] + w[edge] for c, w in
                       zip(self.costs, self.weights, strict=True)]  # fmt: skip
            wanted = [c[start, end] for c in self.costs]
            if all(abs(a - b) <= 4 * TOLERANCE * max(1.0, abs(b)) or a == b
                   for a, b in zip(arrived, wanted, strict=True)):  # fmt: skip
                options.append((tuple(c[start, source] for c in self.costs), edge))
        return min(options)[1]


def routes(edges: Edges, weights: Costs, valid: NDArray[np.bool_]) -> Routes:
    """Relaxes every edge until nothing changes; ways have a handful of edges.

    `weights[k][e]` is component k of edge e, with 0 for a node's edge to itself; nodes that are
    not `valid` are not passed through.
    """
    count = len(valid)
    usable = valid[edges.source] & valid[edges.target]
    closed = tuple(np.where(usable, w, np.inf) for w in weights)
    start = np.where(np.eye(count, dtype=bool) & valid[:, None], 0.0, np.inf)
    costs: Costs = tuple(start.copy() for _ in weights)
    for _ in range(count):
        relaxed = _relax(edges, closed, costs)
        if all(np.array_equal(a, b) for a, b in zip(relaxed, costs, strict=True)):
            break
        costs = relaxed
    return Routes(edges, closed, costs)


def _relax(edges: Edges, weights: Costs, costs: Costs) -> Costs:
    """One more edge at the end of every way, where that is cheaper."""
    arrived = [c[:, edges.source] + w for c, w in zip(costs, weights, strict=True)]
    tied: NDArray[np.bool_] | None = None
    found: list[Floats] = []
    for cost in arrived:
        masked = cost if tied is None else np.where(tied, cost, np.inf)
        least = np.minimum.reduceat(masked, edges.starts, axis=1)
        found.append(least)
        if len(arrived) > 1:
            slack = least + np.abs(np.where(np.isfinite(least), least, 0)) * TOLERANCE
            near = masked <= slack[:, edges.target]
            tied = near if tied is None else tied & near
    return tuple(found)
