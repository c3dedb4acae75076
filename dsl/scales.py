"""The scales of int8 weights: which dims they have, and what may be done with such a weight.

It is stored as whole numbers, with one f32 scale for each index of the dims that are not summed;
the scale is applied after the product. Which dims those are follows from the use, and all uses
of a weight keep the same ones. What moves a weight moves the whole numbers alone: every chip
holds all scales.
"""

from __future__ import annotations

from layoutc.dsl import syntax
from layoutc.dsl.errors import Span
from layoutc.dsl.operation import Hold, Layer, Move, Operation, Product, operands
from layoutc.dsl.program import Declare, Define, Program, Type
from layoutc.dsl.reading import operand_words
from layoutc.dsl.scope import Definition, Scope, Use
from layoutc.dsl.shape import Shape

# Of a checked program.


def holders(program: Program) -> dict[str, str]:
    """The names that hold an int8 weight, as it is declared or moved, and which one each holds."""
    found: dict[str, str] = {}
    for item, _ in program.walk():
        match item:
            case Declare("weight", name, Type(dtype="int8")):
                found[name] = name
            case Define(name, _, Move(operand=held) | Hold(held)) if held in found:
                found[name] = found[held]
            case _:
                pass
    return found


def scaled(program: Program) -> dict[str, tuple[str, ...]]:
    """The int8 weights, and the dims of each one's scales; () is one scale for all of it."""
    weights, types = holders(program), program.types
    found = {name: tuple[str, ...]() for name, weight in weights.items() if name == weight}
    for item, _ in program.walk():
        if isinstance(item, Define) and _scales(item.operation):
            for name in operands(item.operation):
                if name in weights:
                    found[weights[name]] = kept(types[name].shape, item.type.shape)
    return found


def kept(weight: Shape, result: Shape) -> tuple[str, ...]:
    """The dims of a weight that are not summed, in its order."""
    return tuple(d for d in weight.names if d in result)


def _scales(operation: Operation) -> bool:
    """Whether what comes of an operation can be scaled, its operand being whole numbers."""
    match operation:
        case Product(str(), str()) | Layer("embed"):
            return True
        case _:
            return False


# In the checker.


def moved_weight(operation: Operation, scope: Scope) -> str:
    """The int8 weight that a definition holds; "" if it holds none."""
    match operation:
        case Move(operand=held) | Hold(held):
            known = scope.names.get(held)
            return known.weight if known else ""
        case _:
            return ""


def check_scales(operation: Operation, result: Type, line: syntax.DefineLine, scope: Scope) -> None:
    """Refuses an int8 weight where it can't be scaled, or would be scaled in another way than
    before."""
    if isinstance(operation, Move | Hold):
        return
    for word in operand_words(line.operation):
        known = scope.names.get(word.text)
        if not known or not known.weight or not known.type:
            continue
        if not _scales(operation):
            why = "only a product of two tensors, or embed, applies its scales"
            refuse_bare(known, word.span, why, scope)
            continue
        use = Use(kept(known.type.shape, result.shape), word.span)
        first = scope.scaled.setdefault(known.weight, use)
        if first.dims != use.dims:
            message = (
                f"{known.weight} keeps {_said(use)} here and {_said(first)} there: an int8 weight "
                "has one set of scales"
            )
            hint = f"declare two weights, or {_wider(known.weight, scope)}"
            scope.header.refuse(message, word.span, hint, (first.span, f"{_said(first)} is kept"))


def refuse_bare(known: Definition, span: Span, why: str, scope: Scope) -> None:
    """Refuses an int8 weight where its numbers would go without their scales."""
    weight = scope.names[known.weight]
    what = "is an int8 weight" if known is weight else f"holds the int8 weight {weight.name}"
    hint = _wider(weight.name, scope)
    note = (weight.span, "declared here")
    scope.header.refuse(f"{known.name} {what}: {why}", span, hint, note)


def _wider(weight: str, scope: Scope) -> str:
    held = scope.names[weight].type
    assert held is not None
    return f"hold it in bf16:  weight {weight} : {held.shape} bf16"


def _said(use: Use) -> str:
    return "".join(use.dims) or "no dim"
