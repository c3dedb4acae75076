"""What a Transformer layer has beside einsums, as a chip computes it.

As in `layoutc.codegen.operations` the same code serves a chip and the reference. A chip has part of
the tokens and of a cache's places: what counts them is told over which axes they are split.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from layoutc.codegen.layouts import AxisNames
from layoutc.codegen.operations import Spelling, Value, aligned, number, own_parts
from layoutc.codegen.tree import Binary, Call, Expr, Extent, Literal, Method, Name, Tuple
from layoutc.dsl.layer import TOKENS, tokens_written
from layoutc.dsl.operation import Layer, Number
from layoutc.dsl.program import Type

Operands = Sequence[Value | Number]


def layered(operation: Layer, operands: Operands, result: Type, how: Spelling) -> Expr:
    """The right-hand side of a statement, of the dtype of `result`."""
    match operation.kind:
        case "embed":
            return _embed(operation, operands, result, how)
        case "rmsnorm" | "layernorm" | "softmax":
            return _statistic(operation, own_parts(operands, how.axes), result, how)
        case "rope":
            return _rope(operation, own_parts(operands, how.axes), how)
        case "causal" | "valid":
            return _masked(operation, own_parts(operands, how.axes), how)
        case "write":
            return write(operation, operands, how)
        case "scale":
            return _scale(operation, operands, how)
        case "rename":
            return _lead(operands).expr
        case _:
            assert_never(operation.kind)


def _lead(operands: Operands) -> Value:
    assert isinstance(operands[0], Value)
    return operands[0]


def _axes(value: Value, dim: str, axes: AxisNames) -> tuple[Expr, ...]:
    """What the dim of a value is split over, as a last argument: none where it is whole."""
    split = value.type.shape.split(dim)
    return (axes.one_or_more(split),) if split else ()


def _place(value: Value, dim: str) -> int:
    return value.type.shape.names.index(dim)


# Lookups and statistics.


def _embed(operation: Layer, operands: Operands, result: Type, how: Spelling) -> Expr:
    """Rows of the table: where ids have their dims, the dim of the rows was."""
    table, ids = operands
    assert isinstance(table, Value)
    assert isinstance(ids, Value)
    (row,) = operation.dims
    before, at = table.type.shape.names, _place(table, row)
    args = (table.expr, ids.expr, Literal(at), *_axes(table, row, how.axes))
    expr: Expr = Call("embed", args)
    dims = (*before[:at], *ids.type.shape.names, *before[at + 1 :])
    if dims != result.shape.names:
        order = tuple(Literal(dims.index(d)) for d in result.shape.names)
        expr = Call("jnp.transpose", (expr, Tuple(order)))
    if table.type.dtype == result.dtype:
        return expr
    return Method(expr, "astype", (how.dtype(result.dtype),))


def _statistic(operation: Layer, operands: Operands, result: Type, how: Spelling) -> Expr:
    """A norm or softmax over a dim that the chip has whole, in f32; padding has no part in it."""
    (dim,) = operation.dims
    lead = _lead(operands)
    place = _place(lead, dim)
    along = Literal(place)
    padded = dim in how.padded
    parts = [_trimmed(o, dim) if padded and isinstance(o, Value) else o for o in operands]
    sides = tuple(aligned(part, lead.type.shape.names) for part in parts)
    if operation.kind == "softmax":
        exact = Method(sides[0], "astype", (Name("jnp.float32"),))
        side = sides[0] if how.is_f32(lead.type.dtype) else exact
        expr: Expr = Call("jax.nn.softmax", (side,), (("axis", along),))
    else:
        expr = Call(operation.kind, (sides[0], along, *sides[1:]), _constant("eps", operation))
    if padded:
        expr = Call("refilled", (expr, along, Extent(lead.expr, place)))
    if how.is_f32(result.dtype):
        return expr
    return Method(expr, "astype", (how.dtype(result.dtype),))


def _trimmed(value: Value, dim: str) -> Value:
    """A value without the padding of a dim that the chip has whole."""
    if dim not in value.type.shape:
        return value
    args = (value.expr, Literal(_place(value, dim)), Literal(dim))
    return Value(Call("trimmed", args), value.type)


def _constant(key: str, operation: Layer) -> tuple[tuple[str, Expr], ...]:
    return ((key, number(operation.constant)),) if operation.constant else ()


# Positions.


def _rope(operation: Layer, operands: Operands, how: Spelling) -> Expr:
    lead, pos = _lead(operands), operands[1]
    (dim,) = operation.dims
    args = (lead.expr, Literal(_place(lead, dim)), _positions(lead, pos, TOKENS, how))
    return Call("rope", args, _constant("theta", operation))


def _positions(lead: Value, pos: Value | Number, tokens: str, how: Spelling) -> Expr:
    """The place of each token of `lead`: `pos` is the first one's, unless it counts them itself."""
    first = aligned(pos, lead.type.shape.names)
    if tokens not in lead.type.shape or (isinstance(pos, Value) and tokens in pos.type.shape):
        return first
    counted = _places(lead, tokens, how)
    return counted if first == Literal(0) else Binary("+", first, counted)


def _places(value: Value, dim: str, how: Spelling) -> Expr:
    return Call("places", (value.expr, Literal(_place(value, dim)), *_axes(value, dim, how.axes)))


def _masked(operation: Layer, operands: Operands, how: Spelling) -> Expr:
    lead, last = _lead(operands), operands[1]
    places = _places(lead, operation.dims[-1], how)
    if operation.kind == "causal":
        seen = Binary("<=", places, _positions(lead, last, operation.dims[0], how))
    else:
        seen = Binary("<", places, aligned(last, lead.type.shape.names))
    return Call("seen", (lead.expr, seen))


def _scale(operation: Layer, operands: Operands, how: Spelling) -> Expr:
    """By the size of the dim that the last operand has, or by the number that it is."""
    (dim,), sized = operation.dims, operands[-1]
    if isinstance(sized, Number):
        return Call("scaled", (_lead(operands).expr, number(sized)))
    size: Expr = Extent(sized.expr, _place(sized, dim))
    for split in _axes(sized, dim, how.axes):
        size = Binary("*", size, Call("lax.axis_size", (split,)))
    if dim in how.padded:
        size = Call("useful", (Literal(dim), size))
    return Call("scaled", (_lead(operands).expr, size))


# Caches.


def write(operation: Layer, operands: Operands, how: Spelling, layer: Name | None = None) -> Expr:
    """New tokens at their places of a cache; of a stack of caches, in one `layer`."""
    cache, new, pos = own_parts(operands, how.axes)
    assert isinstance(cache, Value)
    assert isinstance(new, Value)
    (dim,) = operation.dims
    dims = cache.type.shape.names
    lead, follower = operation.lead, operation.followers[0]
    tokens = tokens_written(operation, {lead: dims, follower: new.type.shape.names})
    if tokens in how.padded:
        new = _trimmed(new, tokens)
    counted = tuple(tokens if d == dim else d for d in dims)
    args = (cache.expr, aligned(new, counted), Literal(dims.index(dim)), aligned(pos, dims))
    keywords = () if layer is None else (("layer", layer),)
    return Call("write", (*args, *_axes(cache, dim, how.axes)), keywords)
