"""What a layer's operations ask beside layouts: the order in which a cache is read and written,
and sizes that go together."""

from __future__ import annotations

from collections.abc import Iterator

from layoutc.dsl import syntax
from layoutc.dsl.errors import Span
from layoutc.dsl.header import Header
from layoutc.dsl.layer import tokens_written
from layoutc.dsl.operation import Layer, Operation
from layoutc.dsl.scope import Definition, Scope


def check_layer(operation: Operation, line: syntax.DefineLine, scope: Scope) -> None:
    """Refuses what a layer's operation may not do here, its operands being known and right."""
    if not isinstance(operation, Layer):
        return
    match operation.kind:
        case "write":
            _check_write(operation, line, scope)
        case "rename":
            _check_rename(operation, line, scope.header)
        case "rope":
            _check_pairs(operation, line, scope.header)
        case _:
            pass


def written_cache(operation: Operation, scope: Scope) -> str:
    """The cache that a definition is from here on; "" if it is none."""
    if not isinstance(operation, Layer) or operation.kind != "write":
        return ""
    return scope.names[operation.lead].cache


def spend(definition: Definition, operation: Operation, scope: Scope) -> None:
    """After a write the cache goes by the name of what was written."""
    if definition.cache and isinstance(operation, Layer):
        scope.spent.setdefault(operation.lead, definition)


def _check_write(operation: Layer, line: syntax.DefineLine, scope: Scope) -> None:
    known = scope.names[operation.lead]
    span, note = _operand(line, 0), (known.span, "defined here")
    if not known.cache:
        message = f"{known.name} is no cache; what is written to is declared as one"
        hint = f"cache {known.name} : SHAPE"
        scope.header.refuse(message, span, hint, note)
    elif known.block != scope.block:
        message = f"{known.name} is written in a repeat and stands outside of it"
        hint = "a cache that stands in the block is a stack: one for each repetition"
        scope.header.refuse(message, span, hint, note)
    dims = {n: scope.names[n].type for n in (operation.lead, operation.followers[0])}
    names = {n: held.shape.names for n, held in dims.items() if held}
    if len(names) == 2:
        _check_room(tokens_written(operation, names), operation.dims[0], line, scope.header)


def _check_room(tokens: str, place: str, line: syntax.DefineLine, header: Header) -> None:
    for where, new, places in _in_phases(header, tokens, place):
        if new > places:
            message = f"{tokens}={new} tokens do not go to {place}={places} places{where}"
            header.refuse(message, line.operation.span, f"{place} is at least {tokens}")


def _check_rename(operation: Layer, line: syntax.DefineLine, header: Header) -> None:
    """The same tensor: its size does not change with its name, nor does its padding."""
    old, new = operation.dims
    span = _brackets(line)
    for where, one, other in _in_phases(header, old, new):
        if one != other:
            message = f"{old}={one} is not renamed to {new}={other}{where}: the size stays the same"
            header.refuse(message, span)
            return
    useful = {dim: header.dims[dim].useful for dim in operation.dims if dim in header.dims}
    if len(set(useful.values())) > 1:
        header.refuse(f"{old} and {new} are not padded alike", span, "pad both, or neither")


def _check_pairs(operation: Layer, line: syntax.DefineLine, header: Header) -> None:
    (dim,) = operation.dims
    for where, size, _ in _in_phases(header, dim, dim):
        if size % 2:
            message = f"rope turns pairs of {dim}, and {dim}={size}{where} is odd"
            header.refuse(message, _brackets(line))
            return
    if dim in header.dims and header.dims[dim].useful is not None:
        message = f"rope turns pairs that lie half of {dim} apart, so {dim} can't be padded"
        header.refuse(message, _brackets(line))


def _in_phases(header: Header, one: str, other: str) -> Iterator[tuple[str, int, int]]:
    """The sizes of two dims wherever both have one, with " in decode", or "" without phases."""
    if one not in header.dims or other not in header.dims:
        return
    for phase, own in header.own.items() or [("", {})]:
        sizes = [own.get(dim, header.dims[dim]).size for dim in (one, other)]
        if sizes[0] is not None and sizes[1] is not None:
            yield f" in {phase}" if phase else "", sizes[0], sizes[1]


def _operand(line: syntax.DefineLine, number: int) -> Span:
    assert isinstance(line.operation, syntax.Call)
    return line.operation.operands[number].span


def _brackets(line: syntax.DefineLine) -> Span:
    assert isinstance(line.operation, syntax.Call)
    arguments = line.operation.arguments
    return arguments[0].span.to(arguments[-1].span)
