"""The versions of one value that are at hand: what it takes to have more of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from layouts import FAR, Layouts


class Versions:
    """Sets of layouts of one value, in which it is at hand; costs as in `Layouts.distances`."""

    def __init__(self, layouts: Layouts) -> None:
        self.layouts = layouts
        self.distances = layouts.distances
        self.distance: list[list[int]] = layouts.distances.tolist()
        self._ways: dict[tuple[frozenset[int], int, int], list[tuple[int, frozenset[int]]]] = {}
        self._prices: dict[tuple[frozenset[int], frozenset[int], int], int] = {}

    def ways(self, at: frozenset[int], target: int, later: int) -> list[tuple[int, frozenset[int]]]:
        """Every way worth considering of having `target`: its cost, and the versions kept after.

        A way is a path from a version at hand. Each of the `later` readings leaves the paths
        made before it at one point, so of this path no more than `later` points matter, and
        between two of them the path is the shortest.
        """
        key = at, target, later
        if key not in self._ways:
            self._ways[key] = self._worthwhile(at, target, later)
        return self._ways[key]

    def _worthwhile(
        self, at: frozenset[int], target: int, later: int
    ) -> list[tuple[int, frozenset[int]]]:
        if not later:
            cost = self._to(at, target)
            return [(cost, frozenset())] if cost < FAR else []
        cheapest: dict[frozenset[int], int] = {}
        for cost, points in self._paths(at, target, later):
            versions = self.needed(at | {*points, target})
            cheapest[versions] = min(cost, cheapest.get(versions, FAR))
        kept: list[tuple[int, frozenset[int]]] = []
        for versions, cost in sorted(cheapest.items(), key=lambda way: way[1]):
            if not any(c + self.price(have, versions, later) <= cost for c, have in kept):
                kept.append((cost, versions))
        return kept

    def _to(self, at: frozenset[int], target: int) -> int:
        return min(self.distance[a][target] for a in at)

    def _paths(
        self, at: frozenset[int], target: int, later: int
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Every path to `target` through up to `later` points: its cost, and the points.

        Left out are those that cost no less than the direct way and then each point by itself,
        from what that leaves at hand: whoever needs the points can have them for as much.
        """
        start = self.distances[sorted(at)].min(axis=0)
        direct = int(start[target])
        if direct < FAR:
            yield direct, ()
        bought = np.minimum(start, self.distances[target])
        costs, apart = start, bought
        for count in range(1, later + 1):
            whole = costs + self.distances[:, target]
            for points in np.argwhere((whole < FAR) & (whole < direct + apart)):
                yield int(whole[tuple(points)]), tuple(int(p) for p in points)
            if count < later:
                costs = np.minimum(costs[..., None] + self.distances, FAR)
                apart = np.minimum(apart[..., None] + bought, FAR)

    def needed(self, versions: frozenset[int]) -> frozenset[int]:
        """Without the versions that the others give for nothing."""
        kept = set(versions)
        for version in sorted(versions):
            if any(self.distance[other][version] == 0 for other in kept - {version}):
                kept.remove(version)
        return frozenset(kept)

    def price(self, have: frozenset[int], want: frozenset[int], later: int) -> int:
        """What is enough to make of `have` what `later` readings may take from `want`.

        They start from no more than `later` of its versions: the dearest, at worst.
        """
        key = have, want, later
        if key not in self._prices:
            costs = sorted((self._to(have, version) for version in want), reverse=True)
            self._prices[key] = min(sum(costs[:later]), FAR)
        return self._prices[key]
