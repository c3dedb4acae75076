"""Which layouts of the operands give which layout of the result, for all layouts at once.

The same rules as `layoutc.dsl.rules`, over the arrays of a `Space`; a test holds every entry
against `infer`. A relation is a list of rows (left, right, result), numbers of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from layoutc.solver.space import Ints, Space

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows of node numbers; `used` is the bit mask of the axes that share the work of a row."""

    left: Ints
    right: Ints
    result: Ints
    used: Ints


Kind = Literal["product", "sum", "quotient"]


def pairs(kind: Kind, left: Space, right: Space, result: Space) -> Relation:
    """The relation of an operation on two tensors, every layout of each considered.

    A product's dims that `result` lacks are summed: their axes become partial.
    """
    fits = _axes_fit(kind, left, right) & _orders_fit(left, right)
    rows, columns = np.nonzero(fits)
    joined = _joined(left, right, rows, columns)
    masks = np.array([left.mask(s) for s in left.sequences])
    summed = [joined[d] for d in joined if d not in result.dims]
    partial = left.partial[rows] | right.partial[columns]
    for lists in summed:
        partial = partial | masks[lists]
    used = np.zeros_like(rows)
    for lists in joined.values():
        used = used | masks[lists]
    code = _encode(result, [joined[d] for d in result.dims], partial)
    codes = _encode(result, list(result.lists.T), result.partial)
    order = np.argsort(codes)
    return Relation(rows, columns, order[np.searchsorted(codes[order], code)], used)


def _axes_fit(kind: Kind, left: Space, right: Space) -> Flags:
    """[left, right], the rule for each axis: whole on one side, or the same dim on both.

    A sum also takes two partial sums, over the same axes; a quotient divides by none.
    """
    fits = np.ones((len(left), len(right)), dtype=bool)
    here = np.arange(len(left.dims))
    there = np.array([left.dims.index(d) if d in left.dims else 100 + i
                      for i, d in enumerate(right.dims)])  # fmt: skip
    for axis in range(len(left.axes)):
        mine = _named(left.place[:, axis], here)[:, None]
        theirs = _named(right.place[:, axis], there)[None, :]
        same = (mine == theirs) & ((mine >= 0) | (kind == "sum"))
        fits &= (mine == Space.WHOLE) | (theirs == Space.WHOLE) | same
    if kind == "sum":
        fits &= left.partial[:, None] == right.partial[None, :]
    if kind == "quotient":
        fits &= (right.partial == 0)[None, :]
    return fits


def _named(place: Ints, dims: Ints) -> Ints:
    """Places with the dim's number in a numbering that both operands share."""
    return np.where(place >= 0, dims[np.maximum(place, 0)], place)


def _orders_fit(left: Space, right: Space) -> Flags:
    """[left, right], on each common dim one list of axes begins the other."""
    begins = np.array([[a[: len(b)] == b or b[: len(a)] == a for b in left.sequences]
                       for a in left.sequences])  # fmt: skip
    fits = np.ones((len(left), len(right)), dtype=bool)
    for i, dim in enumerate(left.dims):
        if dim in right.dims:
            other = right.lists[:, right.dims.index(dim)]
            fits &= begins[left.lists[:, i][:, None], other[None, :]]
    return fits


def _joined(left: Space, right: Space, rows: Ints, columns: Ints) -> dict[str, Ints]:
    """For each dim of either, the number of the longer list, row by row."""
    length = np.array([len(s) for s in left.sequences])
    joined = {d: left.lists[rows, i] for i, d in enumerate(left.dims)}
    for i, dim in enumerate(right.dims):
        theirs = right.lists[columns, i]
        mine = joined.get(dim, np.zeros_like(theirs))
        joined[dim] = np.where(length[mine] >= length[theirs], mine, theirs)
    return joined


def _encode(space: Space, lists: list[Ints], partial: Ints) -> Ints:
    """One whole number for each layout."""
    code = partial
    for numbers in lists:
        code = code * len(space.sequences) + numbers
    return np.asarray(code)


def reduced(source: Space, result: Space) -> Ints:
    """[source nodes], the node of a sum or maximum over the dims that `result` lacks."""
    masks = np.array([source.mask(s) for s in source.sequences])
    partial = source.partial
    for i, dim in enumerate(source.dims):
        if dim not in result.dims:
            partial = partial | masks[source.lists[:, i]]
    kept = [source.lists[:, source.dims.index(d)] for d in result.dims]
    codes = _encode(result, list(result.lists.T), result.partial)
    order = np.argsort(codes)
    return np.asarray(order[np.searchsorted(codes[order], _encode(source, kept, partial))])
