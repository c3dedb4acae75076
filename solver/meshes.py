"""The meshes that a number of chips can form, and which of their axes are interchangeable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product
from math import prod

from layoutc.dsl.operation import Move
from layoutc.dsl.program import Axis, Define, Program

Mesh = dict[str, int]


def meshes(axes: tuple[Axis, ...], chips: int) -> Iterator[Mesh]:
    """Every way to write `chips` as a product over `axes`, pinned sizes kept."""
    pinned = prod(a.size for a in axes if a.size is not None)
    free = [a.name for a in axes if a.size is None]
    if chips % pinned:
        return
    for sizes in factorisations(chips // pinned, len(free)):
        chosen = dict(zip(free, sizes, strict=True))
        yield {a.name: a.size if a.size is not None else chosen[a.name] for a in axes}


def pinned(program: Program, mesh: Mesh) -> Program:
    """The program on that mesh and no other."""
    axes = tuple(replace(axis, size=mesh[axis.name]) for axis in program.axes)
    return replace(program, axes=axes)


def mesh_of(program: Program) -> Mesh:
    """The mesh of a program whose sizes are all pinned."""
    return {axis.name: axis.size or 1 for axis in program.axes}


def factorisations(number: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Every ordered product of `parts` whole numbers that is `number`."""
    if parts == 0:
        if number == 1:
            yield ()
        return
    if parts == 1:
        yield (number,)
        return
    for first in divisors(number):
        for rest in factorisations(number // first, parts - 1):
            yield (first, *rest)


def divisors(number: int) -> list[int]:
    """The divisors of `number`, descending."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)}, reverse=True)


def interchangeable(program: Program) -> tuple[str, ...]:
    """The axes that the program treats alike: their sizes free, and named by no statement."""
    named = named_axes(program)
    return tuple(a.name for a in program.axes if a.size is None and a.name not in named)


def named_axes(program: Program) -> frozenset[str]:
    """The axes that an annotation or a move names."""
    named: set[str] = set()
    for item, _ in program.walk():
        shape = item.type.shape
        named.update(shape.axes, shape.partial)
        if isinstance(item, Define) and isinstance(item.operation, Move):
            named.update(item.operation.axes)
    return frozenset(named)


def renamings(program: Program) -> Iterator[dict[str, str]]:
    """Every renaming of axes that the program treats alike, and gives the same size if any."""
    named = named_axes(program)
    groups: dict[int | None, list[str]] = {}
    for axis in program.axes:
        if axis.name not in named:
            groups.setdefault(axis.size, []).append(axis.name)
    fixed = {a.name: a.name for a in program.axes}
    for orders in product(*(permutations(group) for group in groups.values())):
        renamed = (
            zip(group, order, strict=True)
            for group, order in zip(groups.values(), orders, strict=True)
        )
        yield fixed | {old: new for pairs in renamed for old, new in pairs}


def uneven(mesh: Mesh) -> tuple[int, ...]:
    """Smaller for the more even of two meshes of as many chips."""
    return tuple(sorted(mesh.values(), reverse=True))
