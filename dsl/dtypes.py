"""Which dtype a name has where none is written, and what may be written."""

from __future__ import annotations

from collections.abc import Mapping

from layoutc.dsl.longhand import STATISTICS
from layoutc.dsl.notation import print_operation
from layoutc.dsl.operation import (
    Apply,
    Arithmetic,
    Cast,
    Hold,
    Layer,
    LayerKind,
    Move,
    Operation,
    Product,
    Reduce,
    operands,
)
from layoutc.dsl.program import Dtype
from layoutc.dsl.refusal import Refusal, letters

WHOLE_NUMBERS: dict[LayerKind, str] = {
    "embed": "the numbers of rows",
    "rope": "positions",
    "write": "positions",
    "causal": "positions",
    "valid": "lengths",
}
"""What the last operand is of the operations that count."""


def derived_dtype(operation: Operation, dtypes: Mapping[str, Dtype], default: Dtype) -> Dtype:
    """The dtype of a result whose annotation names none.

    Operands that agree pass theirs on; where they don't, the file's default is meant. So it is
    with products of int8, which no int8 has room for.
    """
    if isinstance(operation, Layer):
        lead = dtypes[operation.lead]
        return default if operation.kind == "embed" and lead == "int8" else lead
    found = {dtypes[name] for name in operands(operation)}
    if found == {"int8"} and isinstance(operation, Product) and len(operands(operation)) == 2:
        return default
    return found.pop() if len(found) == 1 else default


def dtype_refusal(
    operation: Operation, dtypes: Mapping[str, Dtype], written: Dtype | None
) -> Refusal | None:
    """Why an operation does not give the dtype that is written for it."""
    match operation:
        case Cast(name) if written is None:
            hint = f"write it after the shape:  NAME : SHAPE f32 = cast({name})"
            return Refusal("what a cast is to is not said", hint)
        case Product() | Arithmetic() | Reduce() | Cast():
            return None
        case Apply(function, name):
            return _kept(f"{function}({name})", name, dtypes[name], written)
        case Move(kind, axes, name):
            return _kept(f"{kind}({letters(axes)}) {name}", name, dtypes[name], written)
        case Hold(name):
            return _kept(name, name, dtypes[name], written)
        case Layer():
            return _whole_numbers(operation, dtypes) or _layer(operation, dtypes, written)


def _layer(operation: Layer, dtypes: Mapping[str, Dtype], written: Dtype | None) -> Refusal | None:
    """Statistics are computed in f32 and stored as one says; all else leaves the dtype alone."""
    lead = operation.lead
    if operation.kind == "write":
        new = operation.followers[0]
        if dtypes[new] != dtypes[lead]:
            message = f"{new} is {dtypes[new]}, and {lead}, to which it is written, {dtypes[lead]}"
            hint = f"cast it:  NAME : SHAPE {dtypes[lead]} = cast({new})"
            return Refusal(message, hint, at="operand", origin=new, note="defined here")
    if operation.kind in STATISTICS or operation.kind == "embed":
        return None
    return _kept(print_operation(operation), lead, dtypes[lead], written)


def _whole_numbers(operation: Layer, dtypes: Mapping[str, Dtype]) -> Refusal | None:
    """Ids, positions and lengths are int32."""
    if operation.kind not in WHOLE_NUMBERS:
        return None
    last = operation.operands[-1]
    if not isinstance(last, str) or dtypes[last] == "int32":
        return None
    what = WHOLE_NUMBERS[operation.kind]
    message = f"{last} is {dtypes[last]}; {operation.kind} takes {what}, which are int32"
    hint = f"declare it so, or cast it:  NAME : SHAPE int32 = cast({last})"
    return Refusal(message, hint, at="operand", origin=last, note="defined here")


def _kept(what: str, name: str, dtype: Dtype, written: Dtype | None) -> Refusal | None:
    if written in {None, dtype}:
        return None
    message = f"{what} is {dtype}, as {name} is, not {written}"
    hint = f"a change of dtype is a statement of its own:  NAME : SHAPE {written} = cast({name})"
    return Refusal(message, hint, at="annotation", origin=name, note="defined here")
