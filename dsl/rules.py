"""How layouts go through every operation: the type system of the notation.

`infer` says what an operation on explicit shapes gives, or every reason why it doesn't.
Sources: the paper's section 3.1 for the notation; the rules for partial sums follow from
what a partial sum is, a term of a sum that no chip has seen yet.
"""

from __future__ import annotations

from collections.abc import Mapping

from layoutc.dsl.dims import result_dims
from layoutc.dsl.layer import ids_refused, layer_layout, one_hot
from layoutc.dsl.moves import Verdict, move
from layoutc.dsl.operation import (
    Apply,
    Arithmetic,
    Cast,
    Hold,
    Layer,
    Move,
    Number,
    Operation,
    Product,
    Reduce,
)
from layoutc.dsl.program import Dtype
from layoutc.dsl.refusal import Held, Refusal, gathered, letters, scattered, unreduced
from layoutc.dsl.shape import Dim, Shape

__all__ = ["Held", "Refusal", "infer", "result_dims"]

LINEAR = frozenset({"neg"})
"""The functions that commute with a sum."""

WIDER: dict[Dtype, frozenset[Dtype]] = {
    "f8e4m3": frozenset({"bf16", "f16", "f32"}),
    "f8e5m2": frozenset({"bf16", "f16", "f32"}),
    "int8": frozenset({"bf16", "f16", "int32", "f32"}),
    "bf16": frozenset({"f32"}),
    "f16": frozenset({"f32"}),
    "int32": frozenset(),
    "f32": frozenset(),
}
"""The dtypes that hold every value of a dtype, so that a cast to them is linear."""


def infer(
    operation: Operation,
    operands: Mapping[str, Held],
    written: Shape | None,
    dtype: Dtype,
) -> Verdict:
    """The shape of the result of `operation` on operands whose shapes are explicit.

    `written` is the annotation, None where it is left out; `dtype` is the result's. Returns
    the shape, equal to `written` where there is one, or all the refusals.
    """
    dims = result_dims(
        operation,
        {name: operand.shape.names for name, operand in operands.items()},
        None if written is None else written.names,
    )
    if isinstance(dims, Refusal):
        return (dims,)
    verdict = _layout(operation, operands, dims, written, dtype)
    if isinstance(verdict, Shape) and written is not None and verdict != written:
        return (_differs(operation, operands, verdict, written),)
    return verdict


def _layout(
    operation: Operation,
    operands: Mapping[str, Held],
    dims: tuple[str, ...],
    written: Shape | None,
    dtype: Dtype,
) -> Verdict:
    match operation:
        case Product(Number(), right):
            return _scaled(operands[str(right)])
        case Product(left, Number()):
            return _scaled(operands[str(left)])
        case Product(left, right):
            return _product(operands[str(left)], operands[str(right)], dims)
        case Arithmetic():
            return _arithmetic(operation, operands, dims)
        case Apply(function, name):
            return _apply(function, operands[name])
        case Cast(name):
            return _cast(operands[name], dtype)
        case Reduce():
            return _reduce(operation, operands[operation.operand])
        case Hold(name):
            return written if written is not None else operands[name].shape
        case Move():
            return move(operation, operands[operation.operand], written)
        case Layer("embed", (row,), (table, ids)):
            one, other = operands[str(table)], operands[str(ids)]
            return ids_refused(one, other) or _product(one, one_hot(other, row), dims)
        case Layer():
            return layer_layout(operation, operands)


# Products.


def _scaled(operand: Held) -> Verdict:
    if operand.shape.reduction == "max":
        return (unreduced(operand, "a product"),)
    return operand.shape


def _product(left: Held, right: Held, dims: tuple[str, ...]) -> Verdict:
    refusals = _partial_clashes(left, right) + _split_clashes(left, right)
    if refusals:
        return refusals
    lists = _joined(left.shape, right.shape)
    summed = tuple(a for dim, axes in lists.items() if dim not in dims for a in axes)
    partial = {*left.shape.partial, *right.shape.partial, *summed}
    return Shape(tuple(Dim(d, lists[d]) for d in dims), tuple(partial))


def _joined(left: Shape, right: Shape) -> dict[str, tuple[str, ...]]:
    """Every dim's list of axes once both operands use their own parts: the longer list."""
    dims = dict.fromkeys(left.names + right.names)
    return {d: max(left.split(d), right.split(d), key=len) for d in dims}


def _partial_clashes(left: Held, right: Held) -> tuple[Refusal, ...]:
    """An operand that is partial over x meets nothing split over x or partial over x."""
    refusals = [unreduced(o, "a product") for o in (left, right) if o.shape.reduction == "max"]
    both = tuple(a for a in left.shape.partial if a in right.shape.partial)
    if both and not refusals:
        refusals.append(_two_partials(left, right, both))
    for one, other in ((left, right), (right, left)):
        met = tuple(a for a in one.shape.partial if other.shape.place(a))
        if met and not refusals:
            message = (
                f"{one.name} is a partial sum over {letters(met)} and {other.name} is split over "
                f"{letters(met)}: the product would miss the terms of the other chips"
            )
            hint = f"add before it:  {scattered(one, met)}"
            refusals.append(Refusal(message, hint, origin=one.name, note="partial sum made here"))
    return tuple(refusals)


def _two_partials(left: Held, right: Held, both: tuple[str, ...]) -> Refusal:
    over = letters(both)
    if left.name == right.name:
        message = f"{left.name} is a partial sum over {over}; its square needs the sum itself"
    else:
        message = (
            f"{left.name} and {right.name} are both partial sums over {over}: the product of two "
            "sums is not the sum of the products"
        )
    hint = f"add before it:  {scattered(left, both)}"
    return Refusal(message, hint, origin=left.name, note="partial sum made here")


def _split_clashes(left: Held, right: Held) -> tuple[Refusal, ...]:
    refusals = []
    for axis in left.shape.axes:
        here, there = left.shape.place(axis), right.shape.place(axis)
        if there is not None and there != here:
            message = (
                f"{left.name} is split over {axis} on {here} and {right.name} on {there}: no chip "
                f"holds {here} and {there} of the same place"
            )
            end = right.shape.split(there)
            hint = f"add before it:  {gathered(right, end[end.index(axis) :])}"
            refusals.append(
                Refusal(message, hint, origin=right.name, note=f"{there} is split over {axis} here")
            )
    for dim in left.shape:
        mine, theirs = dim.axes, right.shape.split(dim.name)
        short = min(len(mine), len(theirs))
        if mine[:short] != theirs[:short] and not refusals:
            message = (
                f"{dim.name} is split over {letters(mine)} in {left.name} and over "
                f"{letters(theirs)} in {right.name}: one order has to begin the other"
            )
            hint = "order the axes of one of them like the other's, or permute it"
            refusals.append(
                Refusal(message, hint, origin=right.name, note=f"over {letters(theirs)} here")
            )
    return tuple(refusals)


# Sums, differences, quotients.


def _arithmetic(
    operation: Arithmetic, operands: Mapping[str, Held], dims: tuple[str, ...]
) -> Verdict:
    left, right = operation.left, operation.right
    if isinstance(left, Number):
        return _number_first(operation, operands[str(right)])
    if isinstance(right, Number):
        return _number_last(operation, operands[left])
    one, other = operands[left], operands[right]
    if operation.sign == "/":
        refusals = _quotient_partials(one, other)
    else:
        refusals = _sum_partials(operation, one, other)
    refusals = refusals or _split_clashes(one, other)
    if refusals:
        return refusals
    lists = _joined(one.shape, other.shape)
    return Shape(tuple(Dim(d, lists[d]) for d in dims), one.shape.partial)


def _number_first(operation: Arithmetic, operand: Held) -> Verdict:
    if not operand.shape.partial:
        return operand.shape
    what = "dividing by it" if operation.sign == "/" else "a number beside it"
    return (unreduced(operand, what),)


def _number_last(operation: Arithmetic, operand: Held) -> Verdict:
    if not operand.shape.partial:
        return operand.shape
    if operation.sign == "/" and operand.shape.reduction == "sum":
        return operand.shape
    return (unreduced(operand, "a number beside it"),)


def _sum_partials(operation: Arithmetic, one: Held, other: Held) -> tuple[Refusal, ...]:
    """Both partial over the same axes, or neither."""
    for operand in (one, other):
        if operand.shape.reduction == "max":
            return (unreduced(operand, "a sum"),)
    if one.shape.partial == other.shape.partial:
        return ()
    gone = set(one.shape.partial) ^ set(other.shape.partial)
    axis = min(gone)
    has, lacks = (one, other) if axis in one.shape.partial else (other, one)
    over = letters(sorted(gone & set(has.shape.partial)))
    verb = "added" if operation.sign == "+" else "subtracted"
    message = (
        f"{has.name} is a partial sum over {over} and {lacks.name} is not: {lacks.name} would be "
        f"{verb} once on each chip along {over}"
    )
    hint = f"add before it:  {scattered(has, tuple(over))}"
    return (Refusal(message, hint, origin=has.name, note="partial sum made here"),)


def _quotient_partials(one: Held, other: Held) -> tuple[Refusal, ...]:
    if other.shape.partial:
        return (unreduced(other, "dividing by it"),)
    if one.shape.reduction == "max":
        return (unreduced(one, "a quotient"),)
    return _partial_clashes(one, other)


# One operand.


def _apply(function: str, operand: Held) -> Verdict:
    linear = function in LINEAR and operand.shape.reduction == "sum"
    if operand.shape.partial and not linear:
        return (unreduced(operand, function),)
    return operand.shape


def _cast(operand: Held, dtype: Dtype) -> Verdict:
    if not operand.shape.partial:
        return operand.shape
    if operand.shape.reduction == "max" or dtype not in WIDER[operand.dtype] | {operand.dtype}:
        return (unreduced(operand, f"a cast from {operand.dtype} to {dtype}"),)
    return operand.shape


def _reduce(operation: Reduce, operand: Held) -> Verdict:
    shape = operand.shape
    if shape.partial and (operation.kind == "max") != (shape.reduction == "max"):
        return (unreduced(operand, operation.kind),)
    axes = tuple(a for d in operation.dims for a in shape.split(d))
    rest = tuple(d for d in shape if d.name not in operation.dims)
    return Shape(rest, shape.partial + axes, "max" if operation.kind == "max" else "sum")


# What is said when the annotation is another layout.


def _differs(
    operation: Operation, operands: Mapping[str, Held], got: Shape, written: Shape
) -> Refusal:
    match operation:
        case Move(kind, axes, name):
            message = (
                f"{kind}({letters(axes)}) of {operands[name].shape} gives {got}, not {written}"
            )
            return Refusal(message, f"write {got}", at="annotation")
        case _:
            what = " and ".join(f"{n} : {o.shape}" for n, o in operands.items())
            message = f"this gives {got}, not {written}: it follows from {what}"
            return Refusal(message, _reconcile(got, written), at="annotation")


def _reconcile(got: Shape, written: Shape) -> str:
    missing = tuple(a for a in got.partial if a not in written.partial)
    if missing:
        return (
            f"write {got} and reduce it in a statement of its own: reduce-scatter("
            f"{letters(missing)}) or all-reduce({letters(missing)})"
        )
    return f"write {got}; a change of layout is a statement of its own"
