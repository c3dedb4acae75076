"""The layouts that a layer's operations tie: the result's to the leading operand's, and what the
others must have beside it. The rules are those of `layoutc.dsl.layer`, for all layouts at once."""

from __future__ import annotations

import numpy as np

from layoutc.dsl.layer import kept_whole
from layoutc.dsl.longhand import EXACT, STATISTICS
from layoutc.dsl.operation import Layer
from layoutc.dsl.program import DTYPES, Dtype
from layoutc.solver.problem import Statistic
from layoutc.solver.relations import Flags
from layoutc.solver.space import Ints, Space


def followers_fit(lead: Space, other: Space) -> tuple[Ints, Ints]:
    """The rows (lead, other) in which the other is whole, or split as the leading one is, so that
    each chip has at least the part that it takes."""
    begins = np.array(
        [[a[: len(b)] == b for b in other.sequences] for a in lead.sequences]
    )  # [lead's list, other's list]
    fits = np.broadcast_to(other.partial == 0, (len(lead), len(other))).copy()
    for i, dim in enumerate(other.dims):
        theirs = other.lists[:, i]
        if dim in lead.dims:
            mine = lead.lists[:, lead.dims.index(dim)]
        else:
            mine = np.zeros(len(lead), dtype=int)
        fits &= begins[mine[:, None], theirs[None, :]]
    rows, columns = np.nonzero(fits)
    return rows, columns


def whole_on(space: Space, operation: Layer) -> Flags:
    """[nodes], whether what has to lie on one chip does: what statistics are taken of need not,
    where there is something left to hold them for."""
    flags = np.ones(len(space), dtype=bool)
    if operation.kind in STATISTICS and len(space.dims) > 1:
        return flags
    for dim in kept_whole(operation):
        flags &= space.lists[:, space.dims.index(dim)] == 0
    return flags


def statistic(operation: Layer, dtype: Dtype) -> Statistic | None:
    """What an operation on a tensor of `dtype` reduces where its dim is split."""
    exact = DTYPES[EXACT]
    match operation.kind:
        case "softmax":
            return Statistic(operation.dims[0], DTYPES[dtype] + exact, 2)
        case "rmsnorm":
            return Statistic(operation.dims[0], exact, 1)
        case "layernorm":
            return Statistic(operation.dims[0], 2 * exact, 2)
        case _:
            return None


def renamed(source: Space, result: Space) -> Ints:
    """[source nodes], the same layouts of the tensor whose dim has another name."""
    return np.array([result.index[node] for node in source.nodes])
