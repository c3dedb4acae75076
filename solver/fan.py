"""The layouts of one value: from the one in which it comes to be to all in which it is used.

What moves a value is a tree of statements: its root is the layout that an operation makes, its
leaves are the layouts that operations read, and what is shared on the way to two leaves is paid
once. Which tree is best is a Steiner problem on the graph of layouts, and has few leaves: it is
solved by the recursion of Dreyfus and Wagner over sets of leaves, on all layouts at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from layoutc.solver.eliminate import Costs, lexmin
from layoutc.solver.routes import Routes
from layoutc.solver.space import Floats, Ints

Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Fan:
    """The cost of the best tree, for each layout of the root and of each leaf.

    A table that is not written out. `scope` is the root and the leaves; `nodes` are their domains
    as layouts, `rate` is seconds an element.
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

    def message(self, at: int, known: Sequence[Floats]) -> Floats:
        """[nodes of the end `at`], the least of a tree and of what the other ends add to it."""
        if len(self.scope) == 2:
            end = self.routes.spread(self.nodes[1 - at], known[1 - at])
            step = self.routes.pushed if at else self.routes.pulled
            return step(end, self.rate)[self.routes.place[self.nodes[at]]]
        others = [i for i in self.leaves if i != at]
        below = self._below(known, others)
        if at == 0:
            found = below[_mask(others)]
        else:
            found = self._above(known, below, others)[_mask(others)]
        return found[self.routes.place[self.nodes[at]]]

    def through(self, known: Sequence[Floats]) -> Floats:
        """[layouts of the routes], the least of a tree that passes through each."""
        leaves = list(self.leaves)
        below = self._below(known, leaves)
        above = self._above(known, below, leaves)
        full = _mask(leaves)
        ways = [above[s] + below[full ^ s] for s in above if full ^ s]
        return np.asarray(np.minimum.reduce(ways))

    def _below(self, known: Sequence[Floats], leaves: Sequence[int]) -> dict[int, Floats]:
        """For each set of leaves, [layouts]: the least tree from there to all of them."""
        found: dict[int, Floats] = {0: np.zeros(len(self.routes.starts))}
        for leaf in leaves:
            ends = self.routes.spread(self.nodes[leaf], known[leaf])
            found[1 << leaf] = self.routes.pulled(ends, self.rate)
        for chosen in _by_size(leaves):
            halves = [found[s] + found[chosen ^ s] for s in _halves(chosen)]
            if halves:
                found[chosen] = self.routes.pulled(np.minimum.reduce(halves), self.rate)
        return found

    def _above(
        self, known: Sequence[Floats], below: dict[int, Floats], leaves: Sequence[int]
    ) -> dict[int, Floats]:
        """For each set of leaves, [layouts]: the least way from the root that serves them on
        the way."""
        start = self.routes.spread(self.nodes[0], known[0])
        found = {0: self.routes.pushed(start, self.rate)}
        for chosen in _by_size(leaves):
            served = [found[chosen ^ s] + below[s] for s in _parts(chosen)]
            found[chosen] = self.routes.pushed(np.minimum.reduce(served), self.rate)
        return found

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
        flat = [b.reshape(shape[1], -1) for b in below]
        columns = flat[0].shape[1]
        found = [np.empty((shape[0], columns)) for _ in ways]
        for row in range(shape[0]):
            sums = tuple((w[row][:, None] + f).T for w, f in zip(ways, flat, strict=True))
            costs, _ = lexmin(sums)
            for into, cost in zip(found, costs, strict=True):
                into[row] = cost
        return tuple(f.reshape(shape[0], *rest) for f in found)

    # One tree.

    def tree(self, ends: Sequence[int]) -> tuple[Edge, ...]:
        """The best tree between given layouts: its edges as pairs of layouts, the root's first.

        Layouts that are the same as the one before need no edge.
        """
        if len(ends) == 1:
            return ()
        known = [np.zeros(1)] * len(ends)
        fixed = Fan(self.scope, tuple(np.array([e]) for e in ends), self.routes, self.rate)
        passing = fixed.through(known)
        least = float(passing[self.routes.place[ends[0]]])
        slack = abs(least) * 1e-9
        via = self.routes.layouts[np.flatnonzero(passing <= least + slack)]
        return tuple(dict.fromkeys(_Tree(self, list(ends), via).edges()))


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


def _parts(mask: int) -> Iterator[int]:
    """Every part of a set but the empty one."""
    part = mask
    while part:
        yield part
        part = (part - 1) & mask


def _halves(mask: int) -> Iterator[int]:
    """Each way of cutting a set in two, once: the half with its least member."""
    least = mask & -mask
    yield from (p for p in _parts(mask) if p & least and p != mask)


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
