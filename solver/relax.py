"""Lower bounds, fast: what a problem costs at the least if a variable takes a value.

The factors and variables of a problem form a graph. Where a factor would close a cycle it gets a
copy of the variable that need not agree with the original: what is left is a forest, on which
two passes of messages give the exact minimum for each value of each variable. Letting copies
disagree can only make things cheaper, so that these minima bound the problem from below, and
values that are above a known cost need not be looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from layoutc.solver.eliminate import (
    TOLERANCE,
    Costs,
    Factor,
    Infeasible,
    Rows,
    Table,
    minimise,
)
from layoutc.solver.routes import Routes
from layoutc.solver.space import Floats, Ints


@dataclass(frozen=True, slots=True)
class Ways:
    """The cost of moving a value from the layout of one variable to that of another.

    A table that is not written out: `nodes` are the two domains, `rate` is seconds an element.
    """

    scope: tuple[int, int]
    nodes: tuple[Ints, Ints]
    routes: Routes
    rate: float


Bounded = Factor | Ways


def bounds(domains: dict[int, int], factors: Sequence[Bounded]) -> dict[int, Floats]:
    """[values] for each variable, a lower bound of the first component of the cost."""
    forest = _Forest.of(domains, factors)
    beliefs, least = forest.beliefs(), 0.0
    parts = {}
    for root in forest.roots:
        parts[root] = float(beliefs[root].min())
        least += parts[root]
    found: dict[int, Floats] = {}
    for node, belief in beliefs.items():
        others = least - parts[forest.root_of[node]]
        bound = belief + (others if np.isfinite(others) else np.inf)
        original = forest.original[node]
        found[original] = np.maximum(found.get(original, -np.inf), bound)
    return found


def minimise_near(
    domains: dict[int, int], factors: Sequence[Bounded], ceiling: float = np.inf
) -> tuple[dict[int, int], Costs]:
    """What `minimise` finds, looking only at values whose bounds are near the least.

    What is left out costs more than the threshold: a minimum below it is the minimum of all.
    Raises `Infeasible`, also where nothing below `ceiling` is to be had.
    """
    bound = bounds(domains, factors)
    least = max(float(b.min()) for b in bound.values())
    if not np.isfinite(least) or least > ceiling:
        raise Infeasible
    for slack in WIDENING:
        threshold = least + abs(least) * slack
        try:
            values, costs = _within(threshold, bound, domains, factors)
        except Infeasible:
            continue
        found = float(costs[0])
        if found <= threshold:
            return values, costs
        return _within(found + abs(found) * TOLERANCE, bound, domains, factors)
    raise Infeasible


WIDENING = (1e-9, 0.02, 0.2, 2.0, np.inf)
"""How far above the bound to look, one after the other until there is anything."""


def _within(
    threshold: float,
    bound: dict[int, Floats],
    domains: dict[int, int],
    factors: Sequence[Bounded],
) -> tuple[dict[int, int], Costs]:
    """Minimises over the values whose bounds are within `threshold`."""
    kept = {v: np.flatnonzero(bound[v] <= threshold) for v in domains}
    if not all(len(k) for k in kept.values()):
        raise Infeasible
    narrow = [_confined(f, kept, domains) for f in factors]
    values, costs = minimise({v: len(k) for v, k in kept.items()}, narrow)
    return {v: int(kept[v][i]) for v, i in values.items()}, costs


def _confined(factor: Bounded, kept: dict[int, Ints], domains: dict[int, int]) -> Factor:
    """A factor over the kept values alone, ways written out as a table."""
    if isinstance(factor, Ways):
        starts, ends = (n[kept[v]] for n, v in zip(factor.nodes, factor.scope, strict=True))
        first, *rest = factor.routes.between(starts, ends)
        # Where nothing is counted for moving, what can't be reached stays out of reach.
        seconds = first * factor.rate if factor.rate else np.where(np.isfinite(first), 0.0, np.inf)
        return Table(factor.scope, (seconds, *rest))
    if isinstance(factor, Table):
        block = np.ix_(*(kept[v] for v in factor.scope))
        return Table(factor.scope, tuple(c[block] for c in factor.costs))
    columns, keep = [], np.ones(len(factor.columns[0]), dtype=bool)
    for variable, column in zip(factor.scope, factor.columns, strict=True):
        place = np.full(domains[variable], -1)
        place[kept[variable]] = np.arange(len(kept[variable]))
        columns.append(place[column])
        keep &= columns[-1] >= 0
    rows = tuple(c[keep] for c in columns)
    return Rows(factor.scope, rows, tuple(c[keep] for c in factor.costs))


@dataclass(slots=True)
class _Forest:
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

    @classmethod
    def of(cls, domains: dict[int, int], factors: Sequence[Bounded]) -> _Forest:
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

    def beliefs(self) -> dict[int, Floats]:
        """[values] for each node, the minimum over all that hangs together with it."""
        sent: dict[tuple[int, int], Floats] = {}
        sums = {node: np.zeros(size) for node, size in self.sizes.items()}
        for number, node in reversed(self.order):
            sent[number, node] = self._message(number, node, sums)
            sums[node] = sums[node] + sent[number, node]
        for number, node in self.order:
            # What the node knows from everyone but this factor goes on to the others.
            inward = {node: self._less(sums[node], sent[number, node])}
            known = {n: inward.get(n, sums[n]) for n in self.scopes[number]}
            arrived = {n: self._message(number, n, known)
                       for n in self.scopes[number] if n != node}  # fmt: skip
            for other, message in arrived.items():
                sums[other] = sums[other] + message
        return sums

    @staticmethod
    def _less(total: Floats, part: Floats) -> Floats:
        """`total` without `part`; what the part forbids stays forbidden, which is no matter."""
        return np.where(np.isfinite(part), total - np.where(np.isfinite(part), part, 0), np.inf)

    def _message(self, number: int, node: int, known: dict[int, Floats]) -> Floats:
        """The least cost of a factor and of what hangs from its other nodes."""
        factor, scope = self.factors[number], self.scopes[number]
        at = scope.index(node)
        if isinstance(factor, Ways):
            nodes, routes = factor.nodes, factor.routes
            if at == 1:
                return routes.forward(nodes[0], known[scope[0]], nodes[1], factor.rate)
            return routes.backward(nodes[1], known[scope[1]], nodes[0], factor.rate)
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
