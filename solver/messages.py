"""What a factor tells its variables: the least that it and the others add to each value.

A forest passes the same messages many times over, so that each factor is first brought into the
shape in which they are read off fastest: a table, rows sorted by what is asked for, or a tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from layoutc.solver.eliminate import Factor, Rows, Table
from layoutc.solver.fan import Fan
from layoutc.solver.space import Floats, Ints

Bounded = Factor | Fan


class Teller(Protocol):
    """A factor as a source of messages."""

    def tell(self, to: Sequence[int], known: Sequence[Floats]) -> list[Floats]:
        """For each place of `to` in the scope, [values], the least of the factor and of what is
        `known` of the other places; of the place itself only the number of values matters."""


def teller(factor: Bounded) -> Teller:
    """A factor as a source of messages."""
    if isinstance(factor, Rows):
        return _Sparse(factor)
    if isinstance(factor, Table):
        return _Dense(factor.costs[0])
    direct = factor.direct()
    return factor if direct is None else _Dense(direct)


@dataclass(frozen=True, slots=True)
class _Dense:
    """A table, an axis for each place."""

    table: Floats

    def tell(self, to: Sequence[int], known: Sequence[Floats]) -> list[Floats]:
        return [self._told(at, known) for at in to]

    def _told(self, at: int, known: Sequence[Floats]) -> Floats:
        axes, total = range(self.table.ndim), self.table
        others = tuple(axis for axis in axes if axis != at)
        for axis in others:
            total = total + known[axis].reshape((-1,) + (1,) * (len(axes) - 1 - axis))
        return np.asarray(np.minimum.reduce(total, axis=others))


@dataclass(frozen=True, slots=True)
class _Sparse:
    """Rows, sorted by the values of a place when that place is first told."""

    rows: Rows
    sorted: dict[int, _Sorted] = field(default_factory=dict)

    def tell(self, to: Sequence[int], known: Sequence[Floats]) -> list[Floats]:
        return [self._told(at, known) for at in to]

    def _told(self, at: int, known: Sequence[Floats]) -> Floats:
        if at not in self.sorted:
            self.sorted[at] = _Sorted.by(at, self.rows)
        mine = self.sorted[at]
        total = mine.costs
        for column, cost in zip(mine.columns, known, strict=True):
            if column is not None:
                total = total + cost[column]
        if len(mine.values) == len(known[at]):
            return np.asarray(np.minimum.reduceat(total, mine.starts))
        found = np.full(len(known[at]), np.inf)
        if len(total):
            found[mine.values] = np.minimum.reduceat(total, mine.starts)
        return found


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Rows sorted by one place, whose own column is None: it has `values`, ascending, and the
    rows of each begin at `starts`."""

    costs: Floats
    columns: tuple[Ints | None, ...]
    values: Ints
    starts: Ints

    @classmethod
    def by(cls, at: int, rows: Rows) -> _Sorted:
        order = np.argsort(rows.columns[at], kind="stable")
        columns = tuple(None if i == at else c[order] for i, c in enumerate(rows.columns))
        values, starts = np.unique(rows.columns[at][order], return_index=True)
        return cls(rows.costs[0][order], columns, values, starts)
