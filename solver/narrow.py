"""What bounds leave of a problem: its values up to a threshold, and the least cost among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from layoutc.solver.eliminate import Costs, Factor, Infeasible, Rows, Table, minimise
from layoutc.solver.fan import Fan
from layoutc.solver.forest import Bounds, Forest
from layoutc.solver.messages import Bounded
from layoutc.solver.space import Ints

Solution = tuple[dict[int, int], Costs]


def work(bound: Bounds, threshold: float, factors: Sequence[Bounded], enough: float) -> float:
    """How many numbers elimination looks at if values up to the threshold are left.

    Counting stops when it is more than `enough`.
    """
    kept = {v: float(np.count_nonzero(b <= threshold)) for v, b in bound.values.items()}
    near: dict[int, set[int]] = {v: {v} for v, count in kept.items() if count > 1}
    for factor in factors:
        scope = {v for v in factor.scope if v in near}
        for variable in scope:
            near[variable] |= scope
    sizes = {v: prod(kept[u] for u in around) for v, around in near.items()}
    total = 0.0
    while sizes and total <= enough:
        least = min(sizes, key=sizes.__getitem__)
        total += sizes.pop(least)
        around = near.pop(least) - {least}
        for variable in around:
            near[variable] |= around
            near[variable].discard(least)
            sizes[variable] = prod(kept[u] for u in near[variable])
    return total


def within(threshold: float, bound: Bounds, forest: Forest) -> Solution:
    """The least cost among the values whose bounds are up to the threshold.

    `forest` is as its last bounds left it. Raises `Infeasible`.
    """
    kept = {v: np.flatnonzero(b <= threshold) for v, b in bound.values.items()}
    if not all(len(k) for k in kept.values()):
        raise Infeasible
    through, narrow = forest.through(), list[Factor]()
    for number, factor in enumerate(forest.factors):
        if isinstance(factor, Fan):
            via = factor.routes.layouts[through[number] <= threshold] if number in through else ()
            narrow.append(_written(factor, kept, np.array(via, dtype=np.int64)))
        else:
            narrow.append(_confined(factor, kept, bound))
    values, costs = minimise({v: len(k) for v, k in kept.items()}, narrow)
    return {v: int(kept[v][i]) for v, i in values.items()}, costs


def _written(fan: Fan, kept: Mapping[int, Ints], via: Ints) -> Table:
    ends = [n[kept[v]] for n, v in zip(fan.nodes, fan.scope, strict=True)]
    return Table(fan.scope, fan.table(ends, via))


def _confined(factor: Factor, kept: Mapping[int, Ints], bound: Bounds) -> Factor:
    """A factor over the kept values alone."""
    if isinstance(factor, Table):
        block = np.ix_(*(kept[v] for v in factor.scope))
        return Table(factor.scope, tuple(c[block] for c in factor.costs))
    columns, keep = [], np.ones(len(factor.columns[0]), dtype=bool)
    for variable, column in zip(factor.scope, factor.columns, strict=True):
        place = np.full(len(bound.values[variable]), -1)
        place[kept[variable]] = np.arange(len(kept[variable]))
        columns.append(place[column])
        keep &= columns[-1] >= 0
    rows = tuple(c[keep] for c in columns)
    return Rows(factor.scope, rows, tuple(c[keep] for c in factor.costs))
