"""Exact minimisation near lower bounds: values that are above a known cost are not looked at.

Bounds come from `layoutc.solver.forest`. What is left of the domains is small, and elimination
(`layoutc.solver.eliminate`) finds the least cost in it, which is the least of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from layoutc.solver.eliminate import Costs, Factor, Infeasible, Rows, Table, minimise
from layoutc.solver.fan import Fan
from layoutc.solver.forest import Bounded, Bounds, Forest, raised
from layoutc.solver.space import Ints


def bounds(domains: dict[int, int], factors: Sequence[Bounded], ceiling: float = np.inf) -> Bounds:
    """The bounds of a problem, as good as they come, or up to `ceiling`."""
    return raised(Forest.of(domains, factors), ceiling)


def minimise_near(
    domains: dict[int, int], factors: Sequence[Bounded], ceiling: float = np.inf
) -> tuple[dict[int, int], Costs]:
    """What `minimise` finds, looking only at values whose bounds are near the least.

    What is left out costs more than the threshold: a minimum below it is the minimum of all.
    Raises `Infeasible`, also where nothing below `ceiling` is to be had.
    """
    forest = Forest.of(domains, factors)
    bound = forest.bounds(forest.passed())
    if not np.isfinite(bound.least) or bound.least > ceiling:
        raise Infeasible
    if forest.copies:
        at_once = _easily(bound, domains, factors)
        if at_once is not None:
            return at_once
        bound = raised(forest, ceiling)
        if bound.least > ceiling:
            raise Infeasible
        guess = _guessed(forest, bound, domains, factors)
        if guess is not None:
            return guess
    return _near(bound, domains, factors)


EASY = 1e6
"""Where elimination has to look at so few numbers, it takes less time than better bounds."""


def _easily(
    bound: Bounds, domains: dict[int, int], factors: Sequence[Bounded]
) -> tuple[dict[int, int], Costs] | None:
    """A solution that the first bounds are good enough to find."""
    for slack in WIDENING[:2]:
        threshold = bound.least * (1 + slack)
        if _work(bound, threshold, factors) > EASY:
            return None
        try:
            values, costs = _within(threshold, bound, domains, factors)
        except Infeasible:
            continue
        if costs[0] <= threshold:
            return values, costs
    return None


ROUNDING = 1e-10
"""How far bounds may be off, as a share: they are sums of many numbers."""


def _near(
    bound: Bounds, domains: dict[int, int], factors: Sequence[Bounded]
) -> tuple[dict[int, int], Costs]:
    least = bound.least
    for slack in WIDENING:
        threshold = least + abs(least) * slack
        try:
            values, costs = _within(threshold, bound, domains, factors)
        except Infeasible:
            continue
        found = float(costs[0])
        if found <= threshold:
            return values, costs
        return _within(found + abs(found) * ROUNDING, bound, domains, factors)
    raise Infeasible


def _work(bound: Bounds, threshold: float, factors: Sequence[Bounded]) -> float:
    """How many numbers elimination looks at if values within `threshold` are left."""
    kept = {v: float((b <= threshold).sum()) for v, b in bound.values.items()}
    scopes = [frozenset(f.scope) for f in factors]
    work = 0.0
    while kept:
        unions = {v: frozenset().union(*(s for s in scopes if v in s)) | {v} for v in kept}
        sizes = {v: prod(kept.get(u, 1.0) for u in union) for v, union in unions.items()}
        least = min(sizes, key=sizes.__getitem__)
        work += sizes[least]
        scopes = [s for s in scopes if least not in s] + [unions[least] - {least}]
        del kept[least]
    return work


PROVEN = 1e-11
"""What meets its bound so closely, as a share of it, is the least."""

NUDGE = 1e-4
"""How much costs are changed, as a share, so that of equals one is the best."""


def _guessed(
    forest: Forest, bound: Bounds, domains: dict[int, int], factors: Sequence[Bounded]
) -> tuple[dict[int, int], Costs] | None:
    """A solution that meets its bound, found in a problem in which little is equal.

    Equal solutions, and there are as many as axes can be renamed, keep many values near the
    least. With every value's cost nudged by a little of its own, few are left. None where ties
    are to be settled, or where the bound is not met.
    """
    if any(len(f.costs) > 1 for f in factors if not isinstance(f, Fan)):
        return None
    nudges = np.random.default_rng(0)
    size = abs(bound.least) * NUDGE / len(domains)
    for variable, count in domains.items():
        owed = size * nudges.random(count)
        forest.offsets[variable] = forest.offsets.get(variable, 0) + owed
    nudged = raised(forest)
    for slack in (1e-8, 1e-6, NUDGE):
        try:
            values, costs = _within(nudged.least * (1 + slack), nudged, domains, factors)
        except Infeasible:
            continue
        return (values, costs) if costs[0] <= bound.least * (1 + PROVEN) else None
    return None


WIDENING = (1e-9, 1e-3, 0.02, 0.2, 2.0, np.inf)
"""How far above the bound to look, one after the other until there is anything."""


def _within(
    threshold: float, bound: Bounds, domains: dict[int, int], factors: Sequence[Bounded]
) -> tuple[dict[int, int], Costs]:
    """Minimises over the values whose bounds are within `threshold`."""
    kept = {v: np.flatnonzero(bound.values[v] <= threshold) for v in domains}
    if not all(len(k) for k in kept.values()):
        raise Infeasible
    narrow: list[Factor] = []
    for number, factor in enumerate(factors):
        if isinstance(factor, Fan):
            through = bound.through.get(number)
            via = () if through is None else factor.routes.layouts[through <= threshold]
            narrow.append(_written(factor, kept, np.array(via, dtype=np.int64)))
        else:
            narrow.append(_confined(factor, kept, domains))
    values, costs = minimise({v: len(k) for v, k in kept.items()}, narrow)
    return {v: int(kept[v][i]) for v, i in values.items()}, costs


def _written(fan: Fan, kept: dict[int, Ints], via: Ints) -> Table:
    ends = [n[kept[v]] for n, v in zip(fan.nodes, fan.scope, strict=True)]
    return Table(fan.scope, fan.table(ends, via))


def _confined(factor: Factor, kept: dict[int, Ints], domains: dict[int, int]) -> Factor:
    """A factor over the kept values alone."""
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
