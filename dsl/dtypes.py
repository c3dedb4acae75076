"""Which dtype a name has where none is written, and what may be written."""

from __future__ import annotations

from collections.abc import Mapping

from layoutc.dsl.operation import (
    Apply,
    Arithmetic,
    Cast,
    Hold,
    Move,
    Operation,
    Product,
    Reduce,
    operands,
)
from layoutc.dsl.program import Dtype
from layoutc.dsl.refusal import Refusal, letters


def derived_dtype(operation: Operation, dtypes: Mapping[str, Dtype], default: Dtype) -> Dtype:
    """The dtype of a result whose annotation names none.

    Operands that agree pass theirs on; where they don't, the file's default is meant.
    """
    found = {dtypes[name] for name in operands(operation)}
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


def _kept(what: str, name: str, dtype: Dtype, written: Dtype | None) -> Refusal | None:
    if written in {None, dtype}:
        return None
    message = f"{what} is {dtype}, as {name} is, not {written}"
    hint = f"a change of dtype is a statement of its own:  NAME : SHAPE {written} = cast({name})"
    return Refusal(message, hint, at="annotation", origin=name, note="defined here")
