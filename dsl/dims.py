"""Which dims an operation gives, by name: layouts play no part.

A program whose layouts are still holes is checked by this alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from layoutc.dsl.layer import layer_dims
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
from layoutc.dsl.refusal import Refusal, lacking, letters


def result_dims(
    operation: Operation,
    dims: Mapping[str, tuple[str, ...]],
    written: tuple[str, ...] | None,
) -> tuple[str, ...] | Refusal:
    """The dims of the result, in order, or why there is none.

    `dims` maps each operand to its dims, `written` is the annotation's, if there is one.
    """
    match operation:
        case Product(Number(), str(name)) | Product(str(name), Number()):
            return _same_dims(name, dims[name], written, f"{name} times a number")
        case Product(str(left), str(right)):
            return _product_dims(left, right, dims, written)
        case Arithmetic(_, Number(), str(name)) | Arithmetic(_, str(name), Number()):
            return _same_dims(name, dims[name], written, f"{name} with a number")
        case Arithmetic(sign, str(left), str(right)):
            return _broadcast_dims(f"{left} {sign} {right}", dims[left], dims[right], written)
        case Apply(function, name):
            return _same_dims(name, dims[name], written, f"{function}({name})")
        case Cast(name):
            return _same_dims(name, dims[name], written, f"cast({name})")
        case Hold(name):
            return _same_dims(name, dims[name], written, name)
        case Move(kind, axes, name):
            return _same_dims(name, dims[name], written, f"{kind}({letters(axes)}) {name}")
        case Reduce(kind, gone, name):
            return _reduced_dims(kind, gone, name, dims[name], written)
        case Layer():
            return layer_dims(operation, dims, written)
    raise AssertionError(operation)  # two numbers: the grammar's business


def _same_dims(
    name: str, dims: tuple[str, ...], written: tuple[str, ...] | None, what: str
) -> tuple[str, ...] | Refusal:
    if written is None or written == dims:
        return dims
    message = f"{what} has the dims {letters(dims)}, not {letters(written)}"
    return Refusal(message, at="annotation", origin=name, note="defined here")


def _product_dims(
    left: str, right: str, dims: Mapping[str, tuple[str, ...]], written: tuple[str, ...] | None
) -> tuple[str, ...] | Refusal:
    union = tuple(dict.fromkeys(dims[left] + dims[right]))
    if written is not None:
        strange = tuple(d for d in written if d not in union)
        if not strange:
            return written
        message = f"{letters(strange)} is a dim of neither {left} nor {right}"
        hint = f"{left} has {letters(dims[left])}, {right} has {letters(dims[right])}"
        return Refusal(message, hint, at="annotation")
    if set(union) in (set(dims[left]), set(dims[right])):
        return union
    message = (
        f"which dims {left} * {right} sums does not follow: {letters(dims[left])} and "
        f"{letters(dims[right])} each have a dim that the other lacks"
    )
    return Refusal(message, "write the result's shape after the name:  NAME : SHAPE = ...")


def _broadcast_dims(
    what: str, left: tuple[str, ...], right: tuple[str, ...], written: tuple[str, ...] | None
) -> tuple[str, ...] | Refusal:
    union = tuple(dict.fromkeys(left + right))
    if written is None:
        return union
    if set(written) == set(union):
        return written
    message = f"{what} has the dims {letters(union)}, not {letters(written)}"
    return Refusal(message, at="annotation")


def _reduced_dims(
    kind: str,
    gone: tuple[str, ...],
    name: str,
    dims: tuple[str, ...],
    written: tuple[str, ...] | None,
) -> tuple[str, ...] | Refusal:
    refused = lacking(name, dims, gone)
    if refused:
        return refused
    rest = tuple(d for d in dims if d not in gone)
    if not rest:
        message = f"{kind}[{', '.join(gone)}]({name}) leaves no dim; at least one remains"
        return Refusal(message, at="dims")
    return _same_dims(name, rest, written, f"{kind}[{', '.join(gone)}]({name})")
