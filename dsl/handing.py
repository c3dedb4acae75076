"""From one phase to the next: caches that the two hold otherwise, or in other sizes.

A prefill of one request fills one place of decode's batch. Between the two stands a program of
its own, that of the moves which bring the first phase's caches to where they can be put.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from layoutc.dsl.operation import Layer
from layoutc.dsl.program import Declare, Define, Program
from layoutc.dsl.shape import Shape

CONTEXT = "M"
"""The dim that counts the places of a cache, by the language's convention."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """What brings the caches of the phase `source` to where the phase `target` has its own.

    `program` is explicit, in the source's sizes. It declares each cache as the source holds it,
    in the order of the program's caches, those of a `repeat` in one of as many repetitions; moves
    of them follow. Its outputs are what each cache has become, in the same order, names inside of
    a block included. That is held as the target holds the cache along every dim of one size in
    both phases, and is whole along the others.
    """

    source: str
    target: str
    program: Program

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"

    def caches(self) -> Iterator[tuple[str, str]]:
        """The name of each cache, and of what it has become."""
        declared = (i.name for i, _ in self.program.walk() if isinstance(i, Declare))
        yield from zip(declared, (o.name for o in self.program.outputs), strict=True)

    def resized(self, target: Program) -> tuple[str, ...]:
        """The dims of caches that have another size in the target, in the program's order."""
        dims = {d for cache, _ in self.caches() for d in self.program.types[cache].shape.names}
        own = self.program.dims
        return tuple(d for d in own if d in dims and own[d] != target.dims[d])

    def misplaced(self, target: Program) -> tuple[str, ...]:
        """Why what the caches have become can't be put into the target's: a sentence for each."""
        resized, types = self.resized(target), self.program.types
        found = []
        for cache, last in self.caches():
            wanted = placeable(target.types[cache].shape, resized)
            if types[last].shape != wanted:
                found.append(f"{cache} is handed over as {types[last].shape}, not as {wanted}")
        return tuple(found)


def placeable(shape: Shape, resized: tuple[str, ...]) -> Shape:
    """How a cache of the layout `shape` is held before it is put there: whole along `resized`."""
    return shape.without(a for d in resized for a in shape.split(d))


def context(program: Program) -> frozenset[str]:
    """The dims along which caches are filled from the start: those that `write` names.

    Where nothing is written it is M, by the language's convention.
    """
    operations = (item.operation for item, _ in program.walk() if isinstance(item, Define))
    writes = (o for o in operations if isinstance(o, Layer) and o.kind == "write")
    return frozenset(write.dims[0] for write in writes) or frozenset({CONTEXT})
