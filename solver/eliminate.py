"""Exact minimisation of a sum of tables by eliminating one variable after another.

Costs are tuples compared lexicographically (what is minimised, then what settles ties), kept as
one array for each component. Floats count as equal within `TOLERANCE`, since equal sums added
up in different orders differ in their last bits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from math import prod

import numpy as np

from layoutc.solver.space import Floats, Ints

TOLERANCE = 1e-12
CHUNK = 1 << 21
"""The most entries of a joint table that are held at once."""

Costs = tuple[Floats, ...]


class Infeasible(Exception):
    """No assignment has a finite cost."""


@dataclass(frozen=True, slots=True)
class Table:
    """A dense cost: axis i of each array runs over the domain of `scope[i]`."""

    scope: tuple[int, ...]
    costs: Costs


@dataclass(frozen=True, slots=True)
class Rows:
    """A sparse cost: row i says that variable `scope[j]` is at `columns[j][i]`, for `costs[i]`.

    What no row says is forbidden.
    """

    scope: tuple[int, ...]
    columns: tuple[Ints, ...]
    costs: Costs


Factor = Table | Rows


@dataclass(frozen=True, slots=True)
class _Step:
    """How to find an eliminated variable again, once those of `scope` are known."""

    variable: int
    scope: tuple[int, ...]
    best: Ints


def minimise(domains: dict[int, int], factors: Iterable[Factor]) -> tuple[dict[int, int], Costs]:
    """The assignment with the least sum of `factors`, and that sum.

    `domains` gives each variable's number of values. Raises `Infeasible`.
    """
    pool, steps = _Pool(domains), []
    for factor in factors:
        pool.add(_freed(factor, domains))
    while pool.work:
        variable = min(pool.work, key=pool.work.__getitem__)
        table, best = _eliminate(variable, pool.without(variable), domains)
        steps.append(_Step(variable, table.scope, best))
        pool.add(table)
        for touched in table.scope:
            pool.weigh(touched)
    total = tuple(sum(parts, np.zeros(())) for parts in zip(*pool.constant, strict=True))
    if not np.isfinite(total[0]):
        raise Infeasible
    values = {v: 0 for v, count in domains.items() if count == 1}
    for step in reversed(steps):
        values[step.variable] = int(step.best[tuple(values[v] for v in step.scope)])
    return values, total


def _freed(factor: Factor, domains: dict[int, int]) -> Factor:
    """A factor over the variables that have a choice."""
    free = [i for i, v in enumerate(factor.scope) if domains[v] > 1]
    if len(free) == len(factor.scope):
        return factor
    scope = tuple(factor.scope[i] for i in free)
    if isinstance(factor, Rows) and len(free) > 1:
        return Rows(scope, tuple(factor.columns[i] for i in free), factor.costs)
    table = spread(factor, domains) if isinstance(factor, Rows) else factor
    shape = tuple(domains[v] for v in scope)
    return Table(scope, tuple(c.reshape(shape) for c in table.costs))


class _Pool:
    """The factors that are left, by their variables, and the `work` of eliminating each."""

    def __init__(self, domains: dict[int, int]) -> None:
        self.domains, self.tickets = domains, count()
        self.constant: list[Costs] = []
        self.touching: dict[int, dict[int, Factor]] = {
            v: {} for v, number in domains.items() if number > 1
        }

    @cached_property
    def work(self) -> dict[int, float]:
        """Entries to look at if a variable went next, once all factors are there."""
        return {v: _work(v, self.touching[v].values(), self.domains) for v in self.touching}

    def add(self, factor: Factor) -> None:
        ticket = next(self.tickets)
        for variable in factor.scope:
            self.touching[variable][ticket] = factor
        if not factor.scope:
            self.constant.append(factor.costs)

    def without(self, variable: int) -> list[Factor]:
        """Takes a variable out, and the factors that touch it, which are returned."""
        del self.work[variable]
        mine = self.touching.pop(variable)
        for ticket, factor in mine.items():
            for other in factor.scope:
                if other != variable:
                    del self.touching[other][ticket]
        return list(mine.values())

    def weigh(self, variable: int) -> None:
        """Work anew, after what touches a variable has changed."""
        self.work[variable] = _work(variable, self.touching[variable].values(), self.domains)


def _work(variable: int, mine: Collection[Factor], domains: dict[int, int]) -> float:
    """Entries to look at if `variable` went next; rows that need not be spread out count once."""
    if _stays_sparse(variable, mine):
        return sum(len(f.columns[0]) for f in mine if isinstance(f, Rows))
    scope = {v for f in mine for v in f.scope}
    return prod(float(domains[v]) for v in scope)


def _stays_sparse(variable: int, mine: Iterable[Factor]) -> bool:
    rows = [f for f in mine if isinstance(f, Rows)]
    return len(rows) == 1 and all(f.scope == (variable,) for f in mine if isinstance(f, Table))


def _eliminate(variable: int, mine: list[Factor], domains: dict[int, int]) -> tuple[Table, Ints]:
    if _stays_sparse(variable, mine):
        rows = next(f for f in mine if isinstance(f, Rows))
        return _from_rows(variable, rows, [f for f in mine if isinstance(f, Table)], domains)
    tables = [spread(f, domains) if isinstance(f, Rows) else f for f in mine]
    return _from_tables(variable, tables, domains)


def _from_rows(
    variable: int, rows: Rows, unary: list[Table], domains: dict[int, int]
) -> tuple[Table, Ints]:
    """The best row for each value of the other variables."""
    where = rows.scope.index(variable)
    own = rows.columns[where]
    costs = list(rows.costs)
    for table in unary:
        costs = [c + extra[own] for c, extra in zip(costs, table.costs, strict=True)]
    scope = tuple(v for v in rows.scope if v != variable)
    shape = tuple(domains[v] for v in scope)
    others = tuple(c for i, c in enumerate(rows.columns) if i != where)
    keys = np.ravel_multi_index(others, shape) if scope else np.zeros(len(own), dtype=np.int64)
    reduced, picked = lexmin_by_key(tuple(costs), keys, prod(shape))
    best = np.where(picked >= 0, own[picked] if len(own) else 0, 0)
    return Table(scope, tuple(c.reshape(shape) for c in reduced)), best.reshape(shape)


def _from_tables(variable: int, tables: list[Table], domains: dict[int, int]) -> tuple[Table, Ints]:
    """The best value for each assignment of the other variables, a slab at a time."""
    scope = tuple(sorted({v for t in tables for v in t.scope} - {variable}))
    shape = tuple(domains[v] for v in scope)
    if not scope:
        costs, best = _slab(variable, tables, scope, None)
        return Table((), costs), best
    step = max(1, CHUNK // max(1, prod(shape[1:]) * domains[variable]))
    slabs = [_slab(variable, tables, scope, slice(i, i + step)) for i in range(0, shape[0], step)]
    arity = len(slabs[0][0])
    costs = tuple(np.concatenate([s[0][k] for s in slabs]) for k in range(arity))
    return Table(scope, costs), np.concatenate([s[1] for s in slabs])


def _slab(
    variable: int, tables: list[Table], scope: tuple[int, ...], part: slice | None
) -> tuple[Costs, Ints]:
    """Minimises over `variable` where the first variable of `scope` is within `part`."""
    order = (*scope, variable)
    joint: list[Floats] = []
    for k in range(len(tables[0].costs)):
        terms = [_aligned(t, k, order, part) for t in tables]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        joint.append(total)
    return lexmin(tuple(joint))


def _aligned(table: Table, k: int, order: tuple[int, ...], part: slice | None) -> Floats:
    """Component k with its axes where `order` has them, 1 long where it has none."""
    array = table.costs[k]
    present = [v for v in order if v in table.scope]
    array = array.transpose([table.scope.index(v) for v in present])
    array = array[tuple(slice(None) if v in table.scope else None for v in order)]
    if part is not None and order[0] in table.scope:
        array = array[part]
    return array


def spread(rows: Rows, domains: dict[int, int]) -> Table:
    """Rows as a dense table, what they don't say at infinity; of equal rows the best."""
    shape = tuple(domains[v] for v in rows.scope)
    keys = np.ravel_multi_index(rows.columns, shape)
    reduced, _ = lexmin_by_key(rows.costs, keys, prod(shape))
    return Table(rows.scope, tuple(c.reshape(shape) for c in reduced))


# Lexicographic minima.


def lexmin(costs: Costs) -> tuple[Costs, Ints]:
    """The least tuple along the last axis, and where it stands (the first of equals)."""
    first = costs[0]
    if len(costs) == 1:
        return (first.min(axis=-1),), first.argmin(axis=-1)
    tied = first <= _slack(first.min(axis=-1, keepdims=True))
    for cost in costs[1:]:
        masked = np.where(tied, cost, np.inf)
        tied &= masked <= _slack(masked.min(axis=-1, keepdims=True))
    best = tied.argmax(axis=-1)
    found = tuple(
        np.take_along_axis(np.broadcast_to(c, first.shape), best[..., None], -1)[..., 0]
        for c in costs
    )
    return found, best


def lexmin_by_key(costs: Costs, keys: Ints, count: int) -> tuple[Costs, Ints]:
    """For each key below `count`, the least tuple among its rows, and the row's number.

    A key without rows has infinite costs and row -1.
    """
    alive = np.isfinite(costs[0])
    for cost in costs:
        least = np.full(count, np.inf)
        np.minimum.at(least, keys[alive], cost[alive])
        alive = alive & (cost <= _slack(least[keys]))
    rows = np.full(count, -1, dtype=np.int64)
    survivors = np.flatnonzero(alive)[::-1]
    rows[keys[survivors]] = survivors
    found = tuple(np.where(rows >= 0, c[rows] if len(c) else np.inf, np.inf) for c in costs)
    return found, rows


def _slack(least: Floats) -> Floats:
    return np.asarray(least + np.abs(np.where(np.isfinite(least), least, 0)) * TOLERANCE)
