"""What a layer's operations ask of sizes that go together, and of the whole numbers they take."""

from __future__ import annotations

from collections.abc import Iterator

from layoutc.dsl.layer import tokens_written
from layoutc.dsl.operation import Cast, Hold, Layer, Move
from layoutc.dsl.program import Declare, Define, Program

Fields = dict[str, int | str]


def _layers(program: Program) -> Iterator[Layer]:
    for item, _ in program.walk():
        match item:
            case Define(operation=Layer() as operation):
                yield operation
            case _:
                pass


# Sizes.


def pairs(program: Program) -> set[str]:
    """The dims of which rope takes the halves."""
    return {o.dims[0] for o in _layers(program) if o.kind == "rope"}


def renamed(program: Program) -> list[frozenset[str]]:
    """The dims that are one under several names."""
    groups: list[frozenset[str]] = []
    for operation in _layers(program):
        if operation.kind == "rename":
            met = [names for names in groups if names.intersection(operation.dims)]
            one = frozenset(operation.dims).union(*met)
            groups = [names for names in groups if names not in met] + [one]
    return groups


def as_large(dim: str, program: Program) -> frozenset[str]:
    """The dims that have the size of `dim`, itself among them."""
    return next((names for names in renamed(program) if dim in names), frozenset({dim}))


def rooms(program: Program) -> set[tuple[str, str]]:
    """The dims of tokens, each with that of the places that it has room in."""
    found = {room for o in _layers(program) if (room := _room(o, program))}
    return {(tokens, places) for tokens, places in found if tokens not in as_large(places, program)}


def _room(operation: Layer, program: Program) -> tuple[str, str] | None:
    match operation:
        case Layer("write", (places,), (str(cache), str(new), _)):
            types = program.types
            dims = {name: types[name].shape.names for name in (cache, new)}
            return tokens_written(operation, dims), places
        case Layer("causal", (tokens, places)):
            return tokens, places
        case _:
            return None


# Whole numbers.


def counts(program: Program) -> dict[str, Fields]:
    """What the whole numbers of an argument may be, by their use, as fields of its `Tensor`."""
    arguments = _arguments(program)
    found: dict[str, Fields] = {}
    # What rope turns by has no end of its own, so that any other use comes first.
    for operation in sorted(_layers(program), key=lambda o: o.kind == "rope"):
        last = operation.operands[-1]
        name = arguments.get(last, "") if isinstance(last, str) else ""
        fields = _fields(operation, program)
        if name and fields:
            found.setdefault(name, fields)
    return found


def _arguments(program: Program) -> dict[str, str]:
    """The argument that each name is, held otherwise."""
    found: dict[str, str] = {}
    for item, _ in program.walk():
        match item:
            case Declare():
                found[item.name] = item.name
            case Define(operation=Move(_, _, name) | Hold(name) | Cast(name)) if name in found:
                found[item.name] = found[name]
            case Define(operation=Layer("rename", _, (str(name),))) if name in found:
                found[item.name] = found[name]
            case _:
                pass
    return found


def _fields(operation: Layer, program: Program) -> Fields:
    room = _room(operation, program)
    if room:
        tokens, places = room
        return {"least": 0, "span": places, "room": tokens}
    match operation.kind:
        case "embed":
            return {"least": 0, "span": operation.dims[0]}
        case "valid":
            return {"least": 1, "span": operation.dims[0]}
        case "rope":
            return {"least": 0}
        case _:
            return {}
