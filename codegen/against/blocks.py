"""What each device holds of a value: the dims of a program followed through a compiled one.

A dim that is cut, merged with others and moved about is no more one dim of an array. It is held
as digits: an array's dim is a product of digits, the most significant first, each of which steps
through one dim of the program. Where a device's part of that dim begins is kept in a table with
an entry for each device, so that nothing is taken for granted about meshes and their axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeAlias

import numpy as np

from layoutc.codegen.against.digits import Digits, merged
from layoutc.dsl.shape import Reduction

STACK = "#"
"""The first dim of a stack, which has no letter in the notation."""


@dataclass(frozen=True, slots=True)
class Source:
    """What left terms of a sum: over these dims, at this instruction."""

    dims: tuple[str, ...]
    instruction: str


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Each device holds the term with the number `labels[device]` of a sum or a maximum."""

    labels: np.ndarray
    reduction: Reduction
    sources: tuple[Source, ...]

    @property
    def count(self) -> int:
        return int(self.labels.max()) + 1

    def same(self, other: Terms | None) -> bool:
        return (
            other is not None
            and self.reduction == other.reduction
            and bool(np.array_equal(self.labels, other.labels))
        )


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A value as the devices hold it.

    `dims` are the array's, each a row of digits; `starts[dim][device]` is where in a dim of the
    program a device's part begins (a dim without a table begins at 0). `numbers`, with devices as
    its first dim, are the values of what indexes others; where they are too many, devices with
    the same `mark` hold the same. `name` is the argument that this is.
    """

    dims: tuple[Digits, ...]
    starts: Mapping[str, np.ndarray] = field(default_factory=dict)
    terms: Terms | None = None
    numbers: np.ndarray | None = None
    mark: np.ndarray | None = None
    name: str = ""

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(prod(d.size for d in digits) for digits in self.dims)

    @property
    def letters(self) -> set[str]:
        return {d.dim for digits in self.dims for d in digits if d.dim}

    def varies(self, dim: str) -> bool:
        """True if not all devices' parts of `dim` begin at the same place."""
        table = self.starts.get(dim)
        return table is not None and bool(np.any(table != table[0]))

    @property
    def uniform(self) -> bool:
        """True if every device holds the same."""
        numbers = self.numbers
        return (
            self.terms is None
            and self.mark is None
            and not any(map(self.varies, self.letters))
            and (numbers is None or bool(np.all(numbers == numbers[:1])))
        )

    def equals(self, other: Block) -> bool:
        """True if nothing tells the two apart; equality of objects is identity."""
        return (
            self.dims == other.dims
            and all(same_start(self, other, dim) for dim in self.letters)
            and (self.terms.same(other.terms) if self.terms else other.terms is None)
            and _equal(self.numbers, other.numbers)
            and _equal(self.mark, other.mark)
        )


class Unknown:
    """A value that could not be followed."""

    __slots__ = ()


Held: TypeAlias = "Block | Unknown | tuple[Held, ...]"


def _equal(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(one, other))


def same_start(one: Block, other: Block, dim: str, as_dim: str = "") -> bool:
    """True if every device's part of a dim begins at the same place in both."""
    left, right = one.starts.get(dim), other.starts.get(as_dim or dim)
    return bool(np.all((0 if left is None else left) == (0 if right is None else right)))


def tidy(block: Block) -> Block:
    """The same with digits that continue each other as one, and no table that says nothing."""
    ones = _places(block.dims)
    dims = tuple(
        merged(d for d in ds if d.size > 1 or ones[d.dim] == i) for i, ds in enumerate(block.dims)
    )
    letters = {d.dim for digits in dims for d in digits}
    starts = {d: t for d, t in block.starts.items() if d in letters and np.any(t)}
    mark = block.mark
    if mark is not None and starts and _finer(canonical(list(starts.values())), mark):
        mark = None
    return replace(block, dims=dims, starts=starts, mark=mark)


def _places(dims: Sequence[Digits]) -> dict[str, int]:
    """Where a dim of one element stands: in an array's dim of its own if there is one.

    One of which there are more elements elsewhere stands nowhere: -1.
    """
    places: dict[str, int] = {}
    for i, digits in enumerate(dims):
        for digit in digits:
            if digit.size > 1:
                places[digit.dim] = -1
            elif len(digits) == 1 or digit.dim not in places:
                places[digit.dim] = -1 if places.get(digit.dim) == -1 else i
    return places


def _finer(one: np.ndarray, other: np.ndarray) -> bool:
    """True if devices with the same label in the one have the same in the other."""
    return int(canonical([one, other]).max()) == int(one.max())


def unnumbered(block: Block) -> Block:
    """The same without its numbers: what is left of them is which devices have the same."""
    if block.numbers is None:
        return block
    mark = canonical([block.numbers])
    return replace(block, numbers=None, mark=mark if mark.any() else None)


def canonical(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Labels from 0 for the devices: equal where all tables are equal."""
    labels: dict[tuple[bytes, ...], int] = {}
    rows = zip(*([row.tobytes() for row in table] for table in tables), strict=True)
    return np.array([labels.setdefault(row, len(labels)) for row in rows], np.int64)
