"""An operation as it is written: what stands on the right side of a definition."""

from __future__ import annotations

from layoutc.dsl.operation import (
    Apply,
    Arithmetic,
    Cast,
    Hold,
    Layer,
    Move,
    Number,
    Operand,
    Operation,
    Product,
    Reduce,
)
from layoutc.dsl.words import CONSTANTS


def print_operation(operation: Operation) -> str:
    """The right side of a definition: "all-gather(yz) x"."""
    match operation:
        case Product(left, right):
            return f"{_operand(left)} * {_operand(right)}"
        case Arithmetic(sign, left, right):
            return f"{_operand(left)} {sign} {_operand(right)}"
        case Apply(function, operand):
            return f"{function}({operand})"
        case Cast(operand):
            return f"cast({operand})"
        case Reduce(kind, dims, operand):
            return f"{kind}[{', '.join(dims)}]({operand})"
        case Hold(operand):
            return operand
        case Move(kind, axes, operand):
            return f"{kind}({''.join(axes)}) {operand}"
        case Layer():
            return _layer(operation)


def _layer(operation: Layer) -> str:
    """ "softmax[M](s)"."""
    arrow = " -> " if operation.kind == "rename" else ", "
    inside = arrow.join(operation.dims)
    if operation.constant is not None:
        inside += f", {CONSTANTS[operation.kind]}={operation.constant.text}"
    return f"{operation.kind}[{inside}]({', '.join(map(_operand, operation.operands))})"


def _operand(operand: Operand) -> str:
    return operand.text if isinstance(operand, Number) else operand
