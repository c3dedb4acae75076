"""Which numbers of chips can be had of a tier, and in which shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from math import prod

Shape = tuple[int, ...]
"""The number of chips along each physical axis."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """The shapes that exist: those that are `listed`, and every one whose sizes are multiples of
    `multiple` (0: none beside the listed), at most `chips` in all (0: no end), no more along each
    axis than `longest` says (a size for each axis, which may be taken in any order; empty: no end).

    Sizes stand in ascending order: a shape that is turned is the same machine. `source` is where
    all that is from.
    """

    axes: int = 1
    listed: tuple[Shape, ...] = ()
    multiple: int = 1
    chips: int = 0
    longest: Shape = ()
    source: str = field(default="", compare=False)

    def of(self, chips: int) -> tuple[Shape, ...]:
        """The shapes of so many chips, the most even first."""
        return _of(self, chips)

    @property
    def most(self) -> int:
        """The most chips there are of it; 0 where there is no end."""
        return _most(self)

    @property
    def whole(self) -> tuple[Shape, ...]:
        """The shapes in which all is taken, as an inner tier is where an outer one is used."""
        return self.of(self.most) if self.most else ()

    def has(self, shape: Shape) -> bool:
        """Whether a shape exists, its sizes in ascending order."""
        if shape in self.listed:
            return True
        if not self.multiple or any(size % self.multiple for size in shape):
            return False
        longest = sorted(self.longest) or shape
        short = all(a <= b for a, b in zip(shape, longest, strict=True))
        return short and (not self.chips or prod(shape) <= self.chips)


@cache
def _most(shapes: Shapes) -> int:
    listed, multiple = max(map(prod, shapes.listed), default=0), shapes.multiple
    if not multiple:
        return listed
    longest = prod(size // multiple * multiple for size in shapes.longest)
    ends = [n for n in (shapes.chips, longest if shapes.longest else 0) if n]
    if not ends:
        return listed if shapes.longest else 0
    step = multiple**shapes.axes
    return next((n for n in range(min(ends) // step * step, listed, -step) if shapes.of(n)), listed)


@cache
def _of(shapes: Shapes, chips: int) -> tuple[Shape, ...]:
    found = [s for s in _ascending(chips, shapes.axes, 1) if shapes.has(s)]
    return tuple(sorted(found, key=lambda s: tuple(reversed(s))))


def _ascending(number: int, parts: int, least: int) -> Iterator[Shape]:
    """Every way to write a number as a product of so many, none less than the one before."""
    if parts == 1:
        if number >= least:
            yield (number,)
        return
    size = least
    while size**parts <= number:
        if number % size == 0:
            for rest in _ascending(number // size, parts - 1, size):
                yield (size, *rest)
        size += 1
