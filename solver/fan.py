"""The layouts of one value: from the one in which it comes to be to all in which it is used.

What moves a value is a tree of statements: its root is the layout that an operation makes, its
leaves are the layouts that operations read, and what is shared on the way to two leaves is paid
once. Which tree is best is a Steiner problem on the graph of layouts, and has few leaves: it is
solved by the recursion of Dreyfus and Wagner over sets of leaves, on all layouts at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, reduce

import numpy as np

from layoutc.solver.eliminate import Costs, lexmin
from layoutc.solver.routes import Routes
from layoutc.solver.space import Floats, Ints

Edge = tuple[int, int]

AT_ONCE = 1 << 16
"""Sums that are looked at together: few enough to stay small, and enough to be quick."""


@dataclass(frozen=True, slots=True)
class Fan:
    """The cost of the best tree, for each layout of the root and of each leaf.

    A table that is not written out. `scope` is the root and the leaves; `nodes` are their domains
    as layouts, `rate` is how often a way is gone, times what a second of moving counts.
    """

    scope: tuple[int, ...]
    nodes: tuple[Ints, ...]
    routes: Routes
    rate: float

    @property
    def leaves(self) -> range:
        """The places of the leaves in `scope`."""
        return range(1, len(self.scope))

    # Bounds: the least over all trees, one end being held.

    def direct(self) -> Floats | None:
        """[root, leaf], where there is one leaf and few layouts to pass through."""
        ways = self.routes.ways(self.rate) if len(self.scope) == 2 else None
        if ways is None:
            return None
        root, leaf = (self.routes.place[n] for n in self.nodes)
        return ways[np.ix_(root, leaf)]

    def tell(self, to: Sequence[int], known: Sequence[Floats]) -> list[Floats]:
        """For each end of `to`, [nodes of the end], the least of a tree and of what the other
        ends add to it."""
        trees, full = _Parts(self, known), _mask(self.leaves)
        found = [trees.above(full ^ 1 << at) if at else trees.below(full) for at in to]
        return [f[self.routes.place[self.nodes[at]]] for f, at in zip(found, to, strict=True)]

    def through(self, known: Sequence[Floats]) -> Floats:
        """[layouts of the routes], the least of a tree that passes through each."""
        trees, full = _Parts(self, known), _mask(self.leaves)
        ways = [trees.above(full ^ s) + trees.below(s) for s in _parts(full)]
        return _minimum(ways)

    # Written out, for few layouts.

    def table(self, kept: Sequence[Ints], via: Ints) -> Costs:
        """[root, leaf, leaf, ...] for each component, over the layouts `kept` for each end,
        branching only at the layouts `via`."""
        if len(self.scope) == 2:
            return self._seconds(self.routes.between(kept[0], kept[1]))
        below = self._tables(kept, via)
        return self._step(self._seconds(self.routes.between(kept[0], via)), below)

    def _seconds(self, costs: Costs) -> Costs:
        """Where nothing is counted for moving, what can't be reached stays out of reach."""
        first, *rest = costs
        seconds = first * self.rate if self.rate else np.where(np.isfinite(first), 0.0, np.inf)
        return (seconds, *rest)

    def _tables(self, kept: Sequence[Ints], via: Ints) -> Costs:
        """[via, leaf, leaf, ...]: trees that branch there."""
        leaves, found = list(self.leaves), {}
        for leaf in leaves:
            found[1 << leaf] = self._seconds(self.routes.between(via, kept[leaf]))
        ways = self._seconds(self.routes.between(via, via))
        for chosen in _by_size(leaves):
            options = [
                _joined(found[s], s, found[chosen ^ s], chosen ^ s, leaves) for s in _halves(chosen)
            ]
            if options:
                best = _least(options)
                found[chosen] = best if chosen == _mask(leaves) else self._step(ways, best)
        return found[_mask(leaves)]

    def _step(self, ways: Costs, below: Costs) -> Costs:
        """[start, ...]: the least over `via` of the way there and what follows."""
        shape, rest = ways[0].shape, below[0].shape[1:]
        flat = [b.reshape(shape[1], -1).T for b in below]
        columns = flat[0].shape[0]
        found = [np.empty((shape[0], columns)) for _ in ways]
        some = max(1, AT_ONCE // max(1, flat[0].size))
        for first in range(0, shape[0], some):
            rows = slice(first, first + some)
            sums = tuple(w[rows, None, :] + f for w, f in zip(ways, flat, strict=True))
            for into, cost in zip(found, lexmin(sums)[0], strict=True):
                into[rows] = cost
        return tuple(f.reshape(shape[0], *rest) for f in found)

    # One tree.

    def tree(self, ends: Sequence[int]) -> tuple[Edge, ...]:
        """The best tree between given layouts: its edges as pairs of layouts, the root's first.

        Layouts that are the same as the one before need no edge.
        """
        if len(set(ends)) == 1:
            return ()
        if len(ends) == 2:
            return ((ends[0], ends[1]),)
        known = [np.zeros(1)] * len(ends)
        fixed = Fan(self.scope, tuple(np.array([e]) for e in ends), self.routes, self.rate)
        passing = fixed.through(known)
        least = float(passing[self.routes.place[ends[0]]])
        slack = abs(least) * 1e-9
        via = self.routes.layouts[np.flatnonzero(passing <= least + slack)]
        return tuple(dict.fromkeys(_Tree(self, list(ends), via).edges()))


class _Parts:
    """The least parts of trees, by the sets of leaves that they serve; each is found once.

    What an end adds counts only in the parts that reach it.
    """

    def __init__(self, fan: Fan, known: Sequence[Floats]) -> None:
        self.fan, self.known = fan, known
        self._below: dict[int, Floats] = {}
        self._above: dict[int, Floats] = {}

    def below(self, chosen: int) -> Floats:
        """[layouts], the least tree from there to all leaves of a set that is not empty."""
        found = self._below.get(chosen)
        if found is None:
            halves = [self.below(s) + self.below(chosen ^ s) for s in _halves(chosen)]
            best = _minimum(halves) if halves else self._end(chosen.bit_length() - 1)
            found = self._below[chosen] = self.fan.routes.pulled(best, self.fan.rate)
        return found

    def above(self, chosen: int) -> Floats:
        """[layouts], the least way from the root that serves a set of leaves on the way."""
        found = self._above.get(chosen)
        if found is None:
            served = [self.above(chosen ^ s) + self.below(s) for s in _parts(chosen)]
            best = _minimum(served) if served else self._end(0)
            found = self._above[chosen] = self.fan.routes.pushed(best, self.fan.rate)
        return found

    def _end(self, at: int) -> Floats:
        return self.fan.routes.spread(self.fan.nodes[at], self.known[at])


class _Tree:
    """Finds the edges of a best tree whose branches are among few layouts."""

    def __init__(self, fan: Fan, ends: list[int], via: Ints) -> None:
        self.fan, self.ends = fan, ends
        self.via = np.unique(np.concatenate([via, np.array(ends)]))
        self.ways = fan._seconds(fan.routes.between(self.via, self.via))
        self.place = {int(n): i for i, n in enumerate(self.via)}
        self.best: dict[int, Costs] = {}
        self.split: dict[int, Ints] = {}
        self.next: dict[int, Ints] = {}
        leaves = list(fan.leaves)
        for leaf in leaves:
            self.best[1 << leaf] = tuple(w[:, self.place[ends[leaf]]] for w in self.ways)
        for chosen in _by_size(leaves):
            if chosen.bit_count() > 1:
                self._branch(chosen)
        self.full = _mask(leaves)

    def _branch(self, chosen: int) -> None:
        halves = list(_halves(chosen))
        stacked = [
            np.stack([self.best[s][k] + self.best[chosen ^ s][k] for s in halves], axis=-1)
            for k in range(len(self.ways))
        ]
        here, split = lexmin(tuple(stacked))
        sums = tuple(w + h[None, :] for w, h in zip(self.ways, here, strict=True))
        self.best[chosen], self.next[chosen] = lexmin(sums)
        self.split[chosen] = np.array(halves)[split]

    def edges(self) -> Iterator[Edge]:
        yield from self._from(self.place[self.ends[0]], self.full)

    def _from(self, place: int, chosen: int) -> Iterator[Edge]:
        if chosen not in self.split:
            end = self.ends[chosen.bit_length() - 1]
            if int(self.via[place]) != end:
                yield int(self.via[place]), end
            return
        branch = int(self.next[chosen][place])
        if branch != place:
            yield int(self.via[place]), int(self.via[branch])
        half = int(self.split[chosen][branch])
        yield from self._from(branch, half)
        yield from self._from(branch, chosen ^ half)


# Sets of leaves as bit masks over their places.


def _mask(leaves: Sequence[int]) -> int:
    return sum(1 << leaf for leaf in leaves)


def _by_size(leaves: Sequence[int]) -> list[int]:
    """Every set but the empty one, the smaller ones first."""
    return sorted(_parts(_mask(leaves)), key=lambda m: (m.bit_count(), m))


@cache
def _parts(mask: int) -> tuple[int, ...]:
    """Every part of a set but the empty one, the set itself first."""
    return tuple(part for part in range(mask, 0, -1) if part & mask == part)


@cache
def _halves(mask: int) -> tuple[int, ...]:
    """Each way of cutting a set in two, once: the half with its least member."""
    return tuple(part for part in _parts(mask)[1:] if part & mask & -mask)


def _minimum(options: Sequence[Floats]) -> Floats:
    """The least of several, place by place."""
    return reduce(np.minimum, options)


def _joined(one: Costs, of_one: int, other: Costs, of_other: int, leaves: Sequence[int]) -> Costs:
    """[via, leaves of both in order] of tables over the leaves of each."""
    order = [leaf for leaf in leaves if (of_one | of_other) >> leaf & 1]

    def aligned(cost: Floats, own: int) -> Floats:
        index = tuple(slice(None) if own >> leaf & 1 else None for leaf in order)
        return cost[(slice(None), *index)]

    return tuple(aligned(a, of_one) + aligned(b, of_other) for a, b in zip(one, other, strict=True))


def _least(options: Sequence[Costs]) -> Costs:
    if len(options) == 1:
        return options[0]
    stacked = tuple(np.stack(parts, axis=-1) for parts in zip(*options, strict=True))
    return lexmin(stacked)[0]
