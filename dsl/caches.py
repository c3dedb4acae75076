"""What a layer's operations ask beside layouts: the order in which a cache is read and written,
and sizes that go together."""

from __future__ import annotations

from collections.abc import Iterator

from layoutc.dsl import syntax
from layoutc.dsl.errors import Span
from layoutc.dsl.header import Declared, Header
from layoutc.dsl.layer import tokens_written
from layoutc.dsl.operation import Layer, Operation
from layoutc.dsl.printer import print_dim
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
    known = scope.names.get(operation.lead)
    return known.cache if known else ""


def spend(definition: Definition, operation: Operation, scope: Scope) -> None:
    """After a write the cache goes by the name of what was written."""
    if definition.cache and isinstance(operation, Layer) and definition.name != operation.lead:
        scope.spent.setdefault(operation.lead, definition)


def _check_write(operation: Layer, line: syntax.DefineLine, scope: Scope) -> None:
    known, new = (scope.names[name] for name in (operation.lead, operation.followers[0]))
    span, note = _operand(line, 0), (known.span, "defined here")
    if not known.cache:
        scope.header.refuse(f"{known.name} is no cache", span, _declared(known), note)
    elif known.block != scope.block:
        message = f"{known.name} is written in a repeat and stands outside of it"
        hint = "declare it inside, where a cache is a stack: one for each repetition"
        scope.header.refuse(message, span, hint, note)
    if known.type and new.type:
        dims = {d.name: d.type.shape.names for d in (known, new) if d.type}
        _check_room(tokens_written(operation, dims), operation.dims[0], line, scope.header)
        _check_alike(known, line, scope)


def _declared(known: Definition) -> str:
    """What to write for something to be a cache."""
    if known.kind and known.type:
        return f"declare it as one:  cache {known.name} : {known.type.shape}"
    return "only what is declared as one is written to:  cache NAME : SHAPE"


def _check_alike(known: Definition, line: syntax.DefineLine, scope: Scope) -> None:
    """In a program with holes: both may be said, the layout before and that after."""
    new = scope.names[line.name.text].type
    if line.annotation is None or new is None or known.type is None:
        return
    before, after = known.type.shape, new.shape
    if before.explicit and after.explicit and before != after:
        message = f"a cache is held alike before and after: {known.name} as {before}, not {after}"
        note = (known.place, "held so here")
        scope.header.refuse(message, line.annotation.shape.span, f"write {before}", note)


# Sizes.


def _check_room(tokens: str, place: str, line: syntax.DefineLine, header: Header) -> None:
    for where, new, places in _in_phases(header, tokens, place):
        if _size(new) > _size(places):
            message = f"{tokens}={new.size} tokens do not fit in {place}={places.size} places"
            note = (places.span, f"{place} is sized here")
            hint = f"{place}={new.size} would do"
            header.refuse(message + where, line.operation.span, hint, note)


def _check_rename(operation: Layer, line: syntax.DefineLine, header: Header) -> None:
    """The same tensor: its size does not change with its name, nor does its padding."""
    old, new = operation.dims
    for where, one, other in _in_phases(header, old, new):
        if (one.size, one.useful) != (other.size, other.useful):
            said = [print_dim(d, s.size, s.useful) for d, s in ((old, one), (new, other))]
            message = f"{said[0]} is not renamed to {said[1]}{where}: a tensor keeps its size"
            hint = f"{print_dim(new, one.size, one.useful)} would do"
            note = (other.span, f"{new} is sized here")
            header.refuse(message, _brackets(line), hint, note)


def _check_pairs(operation: Layer, line: syntax.DefineLine, header: Header) -> None:
    (dim,) = operation.dims
    for where, sized, _ in _in_phases(header, dim, dim):
        if sized.useful is not None:
            message = f"rope turns pairs that lie half of {dim} apart, so {dim} can't be padded"
            header.refuse(message, _brackets(line), "", (sized.span, "padded here"))
        elif _size(sized) % 2:
            message = f"rope turns pairs of {dim}, and {dim}={sized.size}{where} is odd"
            hint = f"{dim}={_size(sized) + 1} would do"
            header.refuse(message, _brackets(line), hint, (sized.span, f"{dim} is sized here"))


def _in_phases(header: Header, one: str, other: str) -> Iterator[tuple[str, Declared, Declared]]:
    """Two dims wherever both have a size, each pair of sizes once: with " in decode", or with ""
    where no phase has a say in it."""
    if one not in header.dims or other not in header.dims:
        return
    seen = set()
    everywhere = [header.dims[dim] for dim in (one, other)]
    for phase, own in header.own.items() or [("", {})]:
        first, second = sized = [
            own.get(dim, known) if known.useful is None else known
            for dim, known in zip((one, other), everywhere, strict=True)
        ]
        pair = first.size, second.size
        if None not in pair and pair not in seen:
            seen.add(pair)
            yield "" if sized == everywhere else f" in {phase}", first, second


def _size(declared: Declared) -> int:
    assert declared.size is not None
    return declared.size


# Places.


def _operand(line: syntax.DefineLine, number: int) -> Span:
    assert isinstance(line.operation, syntax.Call)
    return line.operation.operands[number].span


def _brackets(line: syntax.DefineLine) -> Span:
    assert isinstance(line.operation, syntax.Call)
    return line.operation.brackets
