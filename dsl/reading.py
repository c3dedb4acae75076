"""From an operation's text to the operation: which there are, what each takes, whose names."""

from __future__ import annotations

from layoutc.dsl import syntax
from layoutc.dsl.header import Header
from layoutc.dsl.layouts import known_axis, known_dim
from layoutc.dsl.operation import (
    Apply,
    Arithmetic,
    ArithmeticSign,
    Cast,
    Hold,
    Move,
    MoveKind,
    Number,
    Operand,
    Operation,
    Product,
    Reduce,
    ReduceKind,
)
from layoutc.dsl.scope import Scope
from layoutc.dsl.signatures import layer_kind, read_layer
from layoutc.dsl.words import (
    FUNCTIONS,
    MOVES,
    OPERATIONS,
    REDUCTIONS,
    number,
)

SIGNS: dict[str, ArithmeticSign] = {"+": "+", "-": "-", "/": "/"}


def read_operation(text: syntax.OperationText, scope: Scope) -> Operation | None:
    """The operation, or None where it or an operand was refused."""
    before = len(scope.header.errors)
    operation = _read(text, scope)
    return operation if len(scope.header.errors) == before else None


def operand_words(text: syntax.OperationText) -> tuple[syntax.Operand, ...]:
    """The operands as they stand, left to right."""
    match text:
        case syntax.Alias(operand) | syntax.Moving(operand=operand):
            return (operand,)
        case syntax.Binary(_, left, right):
            return left, right
        case syntax.Call(operands=operands):
            return operands


def _read(text: syntax.OperationText, scope: Scope) -> Operation | None:
    if isinstance(text, syntax.Call) and not _callable(text, scope.header):
        return None
    operands = [_operand(word, scope) for word in operand_words(text)]
    if all(isinstance(operand, Number) for operand in operands):
        message = "at least one operand of an operation is a name"
        scope.header.refuse(message, text.span)
        return None
    match text:
        case syntax.Alias():
            return Hold(str(operands[0]))
        case syntax.Binary(sign):
            left, right = operands
            if sign.text == "*":
                return Product(left, right)
            return Arithmetic(SIGNS[sign.text], left, right)
        case syntax.Moving():
            return _move(text, scope.header)
        case syntax.Call():
            return _call(text, operands, scope.header)


def _operand(word: syntax.Operand, scope: Scope) -> Operand:
    if isinstance(word, syntax.Word):
        scope.find(word)
        return word.text
    spelled = number(word.text)
    if spelled is None:
        scope.header.refuse("this number is larger than any float", word.span)
    return Number(spelled or "0")


# Collectives.


def _move(text: syntax.Moving, header: Header) -> Move:
    for place, axis in enumerate(text.axes):
        known_axis(axis, header)
        if axis.text in [other.text for other in text.axes[:place]]:
            header.refuse(f"axis {axis.text} stands twice in {text.kind.text}", axis.span)
    axes = header.sorted_axes(tuple(axis.text for axis in text.axes))
    return Move(_kind(text.kind.text), axes, text.operand.text)


def _kind(text: str) -> MoveKind:
    return next(kind for kind in MOVES if kind == text)


# Calls.


def _callable(text: syntax.Call, header: Header) -> bool:
    """Whether there is such an operation and it takes that many operands."""
    name = text.function.text
    if layer_kind(name):
        return True
    if name not in {*FUNCTIONS, *REDUCTIONS, "cast"}:
        hint = header.guess(name, OPERATIONS)
        header.refuse(f"there is no operation {name}", text.function.span, hint)
    elif len(text.operands) > 1:
        message = f"{name} takes one operand, not {len(text.operands)}"
        header.refuse(message, text.span)
    elif name in REDUCTIONS:
        return _brackets_hold_dims(text, header)
    elif text.arguments:
        header.refuse(f"{name} takes nothing in brackets", text.arguments[0].span)
    else:
        return True
    return False


def _brackets_hold_dims(text: syntax.Call, header: Header) -> bool:
    name, before = text.function.text, len(header.errors)
    if not text.arguments:
        hint = f"write {name}[DIMS]({text.operands[0].text})"
        header.refuse(f"{name} says over which dims, in brackets", text.function.span, hint)
    seen: set[str] = set()
    for argument in text.arguments:
        if argument.value or not argument.key.text.isupper():
            header.refuse(f"what {name} takes in brackets are dims", argument.span)
        elif argument.key.text in seen:
            header.refuse(f"dim {argument.key.text} stands twice in {name}", argument.span)
        else:
            known_dim(argument.key, header)
        seen.add(argument.key.text)
    return len(header.errors) == before


def _call(text: syntax.Call, operands: list[Operand], header: Header) -> Operation | None:
    name, operand = text.function.text, text.operands[0].text
    layer = layer_kind(name)
    if layer:
        return read_layer(text, layer, operands, header)
    for kind in REDUCTIONS:
        if kind == name:
            return _reduce(kind, text, operand)
    for function in FUNCTIONS:
        if function == name:
            return Apply(function, operand)
    return Cast(operand)


def _reduce(kind: ReduceKind, text: syntax.Call, operand: str) -> Reduce:
    return Reduce(kind, tuple(argument.key.text for argument in text.arguments), operand)
