"""What a program's statements should become in XLA: one call or several for each move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from layoutc.codegen.compiled import groups
from layoutc.codegen.compiled.collectives import ordered
from layoutc.codegen.compiled.groups import Groups
from layoutc.codegen.moves import changed_order
from layoutc.dsl.operation import Move, MoveKind
from layoutc.dsl.program import Define, Program
from layoutc.dsl.shape import Shape
from layoutc.solver.collectives import moves_nothing, received


@dataclass(frozen=True, slots=True)
class Call:
    """One collective that a statement asks for; the fields are those of a compiled one."""

    kind: MoveKind
    groups: Groups
    elements: Fraction
    reduction: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """A move that has to move something: its calls, each made `times` times."""

    define: Define
    before: Shape
    calls: tuple[Call, ...]
    times: int

    @property
    def move(self) -> Move:
        assert isinstance(self.define.operation, Move)
        return self.define.operation

    @property
    def elements(self) -> Fraction:
        """What a chip receives, all repetitions together."""
        return self.times * sum((c.elements for c in self.calls), Fraction(0))


def expected(program: Program, mesh: Mapping[str, int]) -> list[Expected]:
    """The moves of an explicit program that bring a chip anything on this mesh, in order."""
    types, sizes = program.types, program.sizes
    found = []
    for item, times in program.walk():
        if not isinstance(item, Define) or not isinstance(item.operation, Move):
            continue
        before, move = types[item.operation.operand].shape, item.operation
        if moves_nothing(move, before, item.type.shape, mesh):
            continue
        calls = tuple(_calls(move, before, item.type.shape, sizes, mesh))
        found.append(Expected(item, before, calls, times))
    return found


def _calls(
    move: Move, before: Shape, after: Shape, sizes: Mapping[str, int], mesh: Mapping[str, int]
) -> Iterator[Call]:
    values = {**sizes, **mesh}
    if move.kind == "all-gather":
        yield from _gathers(move, before, values, mesh)
        return
    elements = received(move, before, after).exact(values)
    match move.kind:
        case "permute":
            held, wanted = changed_order(before, after)
            yield Call("permute", _pairs(held, wanted, mesh), elements)
        case "all-reduce":
            members = ordered("all-reduce", groups.along(mesh, move.axes))
            yield Call("all-reduce", members, elements, before.reduction)
        case "reduce-scatter":
            members = groups.along(mesh, _order(move, after))
            yield Call("reduce-scatter", members, elements, before.reduction)
        case _:
            yield Call(move.kind, groups.along(mesh, _order(move, before)), elements)


def _gathers(
    move: Move, before: Shape, values: Mapping[str, int], mesh: Mapping[str, int]
) -> Iterator[Call]:
    """One for each dim, from the last to the first: each works on what the one before gave."""
    shape = before
    for dim in reversed(before.dims):
        axes = tuple(a for a in dim.axes if a in move.axes)
        gathered = shape.without(axes)
        if any(mesh[a] > 1 for a in axes):
            part = Move("all-gather", axes, move.operand)
            elements = received(part, shape, gathered).exact(values)
            yield Call("all-gather", groups.along(mesh, axes), elements)
        shape = gathered


def _order(move: Move, shape: Shape) -> tuple[str, ...]:
    """The moved axes in the order in which they stand in the dim that has them."""
    return tuple(a for a in shape.axes if a in move.axes)


def _pairs(held: Sequence[str], wanted: Sequence[str], mesh: Mapping[str, int]) -> Groups:
    """Who sends to whom when a dim split over `held` becomes split over `wanted`."""
    sources = _blocks(held, mesh)
    targets = _blocks(wanted, mesh)
    flat = zip(sources.ravel().tolist(), targets.ravel().tolist(), strict=True)
    return frozenset((s, t) for s, t in flat if s != t)


def _blocks(order: Sequence[str], mesh: Mapping[str, int]) -> np.ndarray:
    """The device that holds each block of a dim split over `order`, for each of the others."""
    names = list(mesh)
    outside = [i for i, a in enumerate(names) if a not in order]
    inside = [names.index(a) for a in order]
    table = np.arange(np.prod(list(mesh.values()))).reshape(tuple(mesh.values()))
    return table.transpose(outside + inside).reshape(-1, int(np.prod([mesh[a] for a in order])))
