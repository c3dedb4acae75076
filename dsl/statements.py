"""Declarations and definitions: what each name holds, or every reason why it does not."""

from __future__ import annotations

from layoutc.dsl import syntax
from layoutc.dsl.caches import check_layer, spend, written_cache
from layoutc.dsl.dtypes import derived_dtype, dtype_refusal
from layoutc.dsl.errors import Span
from layoutc.dsl.filling import hopeless, no_sum
from layoutc.dsl.header import read_dtype
from layoutc.dsl.layouts import read_shape
from layoutc.dsl.operation import Layer, Operation, Product, operands
from layoutc.dsl.program import Declare, Define, Dtype, Type
from layoutc.dsl.reading import operand_words, read_operation
from layoutc.dsl.refusal import Held, Refusal
from layoutc.dsl.rules import infer
from layoutc.dsl.rules import result_dims as dims_of
from layoutc.dsl.scales import check_scales, moved_weight
from layoutc.dsl.scope import Definition, Scope
from layoutc.dsl.shape import Shape, whole
from layoutc.dsl.words import DECLARATIONS


def check_declare(line: syntax.DeclareLine, scope: Scope) -> Declare | None:
    """An input, weight or cache; None where it was refused, though its name is known then."""
    header, text = scope.header, line.annotation
    before = len(header.errors)
    kind = next(kind for kind in DECLARATIONS if kind == line.kind.text)
    shape = read_shape(text.shape, header)
    if text.shape.partial:
        article = "an" if kind == "input" else "a"
        message = f"{article} {kind} is never partial: {line.name.text} comes whole"
        header.refuse(message, text.shape.partial.span)
    if kind == "input" and scope.block:
        header.refuse("an input stands outside of a repeat", line.span)
    dtype = read_dtype(text.dtype, header) if text.dtype else header.dtype
    known = shape is not None and not shape.partial and dtype is not None
    held = Type(shape, dtype) if known and shape and dtype else None
    scope.add(_definition(line, scope, held))
    refused = held is None or len(header.errors) > before
    return None if refused or held is None else Declare(kind, line.name.text, held)


def check_define(line: syntax.DefineLine, scope: Scope, explicit: bool) -> Define | None:
    """A definition; None where it was refused, though its name is known then."""
    before = len(scope.header.errors)
    written, dtype = _annotation(line.annotation, scope)
    operation = read_operation(line.operation, scope)
    held = _operands(operation, scope)
    result = None
    if operation and held is not None and len(scope.header.errors) == before:
        result = _result(line, scope, operation, held, written, dtype, explicit)
    elif written and dtype:
        result = Type(written, dtype)
    because = _because(operation, held, result) if operation and held and result else ""
    cache = written_cache(operation, scope) if operation else ""
    weight = moved_weight(operation, scope) if operation else ""
    definition = _definition(line, scope, result, because, cache, weight)
    scope.add(definition)
    if operation and result and held is not None and len(scope.header.errors) == before:
        check_layer(operation, line, scope)
        check_scales(operation, result, line, scope)
    if operation:
        spend(definition, operation, scope)
    refused = operation is None or result is None or len(scope.header.errors) > before
    return (
        None
        if refused or not operation or not result
        else Define(line.name.text, result, operation)
    )


def _definition(
    line: syntax.DeclareLine | syntax.DefineLine,
    scope: Scope,
    held: Type | None,
    because: str = "",
    cache: str = "",
    weight: str = "",
) -> Definition:
    text = line.annotation.shape if line.annotation else None
    kind = None
    if isinstance(line, syntax.DeclareLine):
        kind = next(kind for kind in DECLARATIONS if kind == line.kind.text)
    name, span = line.name.text, line.name.span
    cache = name if kind == "cache" else cache
    weight = name if kind == "weight" and held and held.dtype == "int8" else weight
    return Definition(name, kind, held, span, text, scope.block, because, cache, weight)


def _annotation(text: syntax.Annotation | None, scope: Scope) -> tuple[Shape | None, Dtype | None]:
    if text is None:
        return None, None
    shape = read_shape(text.shape, scope.header)
    dtype = read_dtype(text.dtype, scope.header) if text.dtype else None
    return shape, dtype


def _operands(operation: Operation | None, scope: Scope) -> dict[str, Held] | None:
    """The operands by name; None where one of them was refused before."""
    if operation is None:
        return None
    held = {}
    for name in operands(operation):
        definition = scope.names.get(name)
        operand = definition.held if definition else None
        if operand is None:
            return None
        held[name] = operand
    return held


def _result(
    line: syntax.DefineLine,
    scope: Scope,
    operation: Operation,
    held: dict[str, Held],
    written: Shape | None,
    written_dtype: Dtype | None,
    explicit: bool,
) -> Type | None:
    """What the operation gives; after a refusal, what was written, so that uses can be checked."""
    dtypes = {name: operand.dtype for name, operand in held.items()}
    dtype = written_dtype or derived_dtype(operation, dtypes, scope.header.dtype)
    wrong = dtype_refusal(operation, dtypes, written_dtype)
    if wrong:
        _say(wrong, line, scope, _dtype_span(line, wrong))
    verdict = (
        infer(operation, held, written, dtype)
        if explicit
        else _with_holes(operation, held, written, scope)
    )
    if isinstance(verdict, Shape):
        return Type(verdict, dtype)
    for refusal in verdict:
        # An operand of another dtype is another than was meant: its dims are no second mistake.
        if wrong is None or (refusal.at, refusal.origin) != ("operand", wrong.origin):
            _say(refusal, line, scope)
    return Type(written, dtype) if written else None


def _with_holes(
    operation: Operation, held: dict[str, Held], written: Shape | None, scope: Scope
) -> Shape | tuple[Refusal, ...]:
    """Where layouts are to be solved: the dims, and what no layout could make right."""
    names = {name: operand.shape.names for name, operand in held.items()}
    dims = dims_of(operation, names, written.names if written else None)
    if isinstance(dims, Refusal):
        return (dims,)
    refusals = no_sum(operation, scope.names[operands(operation)[0]].kind)
    if written:
        return refusals or hopeless(operation, written) or written
    return refusals or whole(dims, "?")


def _because(operation: Operation, held: dict[str, Held], result: Type) -> str:
    """Why a product is partial: "E is split over x in both operands"."""
    lookup = isinstance(operation, Layer) and operation.kind == "embed"
    if not isinstance(operation, Product) and not lookup:
        return ""
    said = []
    for axis in result.shape.partial:
        split = {name: operand.shape.place(axis) for name, operand in held.items()}
        names = [name for name, dim in split.items() if dim]
        if names:
            where = names[0] if len(names) < 2 else "both operands"
            said.append(f"{split[names[0]]} is split over {axis} in {where}")
    return ", ".join(said)


# Refusals in the text.


def _say(refusal: Refusal, line: syntax.DefineLine, scope: Scope, at: Span | None = None) -> None:
    notes = []
    if refusal.origin and refusal.origin in scope.names:
        origin = scope.names[refusal.origin]
        made = origin.because if refusal.note.endswith("made here") else ""
        notes.append((origin.place, f"{refusal.note}: {made}" if made else refusal.note))
    span = at or _place(refusal, line)
    scope.header.refuse(refusal.message, span, refusal.hint, *notes)


def _place(refusal: Refusal, line: syntax.DefineLine) -> Span:
    text = line.operation
    match refusal.at:
        case "annotation" if line.annotation:
            return line.annotation.shape.span
        case "axes" if isinstance(text, syntax.Moving):
            return text.axes_span
        case "dims" if isinstance(text, syntax.Call) and text.arguments:
            return text.brackets
        case "operand":
            words = operand_words(text)
            return next(word.span for word in words if word.text == refusal.origin)
        case _:
            return text.span


def _dtype_span(line: syntax.DefineLine, refusal: Refusal) -> Span | None:
    """A dtype is underlined itself, not the shape that it stands after."""
    if refusal.at == "annotation" and line.annotation and line.annotation.dtype:
        return line.annotation.dtype.span
    return None
