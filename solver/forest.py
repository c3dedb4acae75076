"""Lower bounds, fast: what a problem costs at the least if a variable takes a value.

The factors and variables of a problem form a graph. Where a factor would close a cycle it gets a
copy of the variable that need not agree with the original: what is left is a forest, on which
two passes of messages give the exact minimum for each value of each variable. Letting copies
disagree can only make things cheaper, so that these minima bound the problem from below.

Copies share the cost of their variable. What one pays more for a value than the others do is taken
off it and put on them: the sum stays the same, and the bound rises, to that of the linear
relaxation of the problem, which most often is the least cost itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from layoutc.solver.eliminate import Factor, Rows
from layoutc.solver.fan import Fan
from layoutc.solver.space import Floats

Bounded = Factor | Fan


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower bounds of the first component of the cost, by what is chosen.

    `values` has [values] for each variable; `through` has for the number of each fan of several
    leaves [layouts], what a solution costs at least whose tree passes through a layout. `least`
    bounds all.
    """

    values: dict[int, Floats]
    through: dict[int, Floats]
    least: float


STEP = 0.75
"""How much of their difference copies even out at once: more would overshoot where several do."""

ROUNDS = 200
"""How often copies are brought to agree at most."""

PATIENCE = 6
"""Rounds that may pass without a gain that is worth one."""

WORTH = 1e-5
"""The least gain of the bound, as a share of it, for which a round is worth its time."""


def raised(forest: Forest, ceiling: float = np.inf) -> Bounds:
    """The bounds when copies have been made to agree as far as that helps, or up to `ceiling`."""
    best, waited, mark = forest.passed(), 0, 0.0
    for _ in range(ROUNDS if forest.copies else 0):
        if not np.isfinite(best.least) or best.least > ceiling or waited > PATIENCE:
            break
        forest.agree()
        found = forest.passed()
        if found.least > best.least:
            best = found
        waited += 1
        if best.least > mark + WORTH * abs(mark):
            waited, mark = 0, best.least
    return forest.bounds(best)


def _less(total: Floats, part: Floats) -> Floats:
    """`total` without `part`; what the part forbids stays forbidden, which is no matter."""
    return np.where(np.isfinite(part), total - np.where(np.isfinite(part), part, 0), np.inf)


@dataclass(frozen=True, slots=True)
class _Passed:
    """What a pass of messages leaves: for each node the minima over all that hangs together with
    it, the messages of factors to nodes, and the sum of the least of each tree."""

    sums: dict[int, Floats]
    said: dict[tuple[int, int], Floats]
    least: float


@dataclass
class Forest:
    """Variables (and copies) as nodes; each factor joins the nodes of its scope."""

    factors: Sequence[Bounded]
    sizes: dict[int, int]
    original: dict[int, int]
    scopes: list[tuple[int, ...]] = field(default_factory=list)
    touching: dict[int, list[int]] = field(default_factory=dict)
    roots: list[int] = field(default_factory=list)
    root_of: dict[int, int] = field(default_factory=dict)
    order: list[tuple[int, int]] = field(default_factory=list)
    """Factors with the node through which they hang from the root, from the root outwards."""
    offsets: dict[int, Floats] = field(default_factory=dict)
    """What copies of a variable owe each other: for each value they add up to nothing."""
    sums: dict[int, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, domains: dict[int, int], factors: Sequence[Bounded]) -> Forest:
        forest = cls(factors, dict(domains), {v: v for v in domains})
        forest._copy_where_cyclic()
        for number, scope in enumerate(forest.scopes):
            for node in scope:
                forest.touching.setdefault(node, []).append(number)
        forest._walk()
        return forest

    def _copy_where_cyclic(self) -> None:
        parent = {v: v for v in self.sizes}

        def find(node: int) -> int:
            while parent[node] != node:
                parent[node] = parent[parent[node]]
                node = parent[node]
            return node

        for factor in self.factors:
            scope: list[int] = []
            for variable in factor.scope:
                node = variable
                if scope and find(node) == find(scope[0]):
                    node = max(self.sizes) + 1
                    self.sizes[node] = self.sizes[variable]
                    self.original[node] = variable
                    parent[node] = node
                if scope:
                    parent[find(node)] = find(scope[0])
                scope.append(node)
            self.scopes.append(tuple(scope))

    def _walk(self) -> None:
        """The order in which messages go out from the roots."""
        seen: set[int] = set()
        for root in self.sizes:
            if root in self.root_of:
                continue
            self.roots.append(root)
            self.root_of[root] = root
            queue = [root]
            while queue:
                node = queue.pop()
                for number in self.touching.get(node, ()):
                    if number in seen:
                        continue
                    seen.add(number)
                    self.order.append((number, node))
                    for other in self.scopes[number]:
                        if other != node:
                            self.root_of[other] = root
                            queue.append(other)

    @cached_property
    def copies(self) -> dict[int, list[int]]:
        """The nodes of each variable that has several."""
        found: dict[int, list[int]] = {}
        for node, variable in self.original.items():
            found.setdefault(variable, []).append(node)
        return {v: nodes for v, nodes in found.items() if len(nodes) > 1}

    def agree(self) -> None:
        """Lets the copies of each variable pay alike for each value."""
        for nodes in self.copies.values():
            beliefs = [self.sums[n] for n in nodes]
            never = ~np.logical_and.reduce([np.isfinite(b) for b in beliefs])
            mean = sum(np.where(never, 0, b) for b in beliefs) / len(nodes)
            for node, belief in zip(nodes, beliefs, strict=True):
                owed = np.where(never, np.inf, STEP * (mean - np.where(never, 0, belief)))
                self.offsets[node] = self.offsets.get(node, 0) + owed

    def passed(self) -> _Passed:
        """Messages to the roots and back, with the offsets as they are."""
        said: dict[tuple[int, int], Floats] = {}
        sums = {node: np.zeros(size) for node, size in self.sizes.items()}
        for node, offset in self.offsets.items():
            sums[node] = sums[node] + offset
        for number, node in reversed(self.order):
            said[number, node] = self._message(number, node, sums)
            sums[node] = sums[node] + said[number, node]
        for number, node in self.order:
            # What the node knows from everyone but this factor goes on to the others.
            inward = {node: _less(sums[node], said[number, node])}
            known = {n: inward.get(n, sums[n]) for n in self.scopes[number]}
            for n in self.scopes[number]:
                if n != node:
                    said[number, n] = self._message(number, n, known)
            for n in self.scopes[number]:
                if n != node:
                    sums[n] = sums[n] + said[number, n]
        self.sums = sums
        return _Passed(sums, said, sum(float(sums[root].min()) for root in self.roots))

    def bounds(self, passed: _Passed) -> Bounds:
        """What a pass proves."""
        least, sums = passed.least, passed.sums
        others = {root: least - float(sums[root].min()) for root in self.roots}
        if not np.isfinite(least):
            others = dict.fromkeys(self.roots, np.inf)
        values: dict[int, Floats] = {}
        for node, belief in sums.items():
            original, rest = self.original[node], others[self.root_of[node]]
            values[original] = np.maximum(values.get(original, -np.inf), belief + rest)
        through = {}
        for number, factor in enumerate(self.factors):
            if isinstance(factor, Fan) and len(factor.scope) > 2 and np.isfinite(least):
                scope = self.scopes[number]
                known = [_less(sums[n], passed.said[number, n]) for n in scope]
                through[number] = factor.through(known) + others[self.root_of[scope[0]]]
        return Bounds(values, through, least)

    def _message(self, number: int, node: int, known: dict[int, Floats]) -> Floats:
        """The least cost of a factor and of what hangs from its other nodes."""
        factor, scope = self.factors[number], self.scopes[number]
        at = scope.index(node)
        if isinstance(factor, Fan):
            return factor.message(at, [known[n] for n in scope])
        if isinstance(factor, Rows):
            total = factor.costs[0]
            for other, column in zip(scope, factor.columns, strict=True):
                if other != node:
                    total = total + known[other][column]
            least = np.full(self.sizes[node], np.inf)
            np.minimum.at(least, factor.columns[at], total)
            return least
        total = factor.costs[0]
        for axis, other in enumerate(scope):
            if other != node:
                shape = [1] * len(scope)
                shape[axis] = -1
                total = total + known[other].reshape(shape)
        return np.asarray(total.min(axis=tuple(i for i in range(len(scope)) if i != at)))
