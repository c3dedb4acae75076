"""The sharded shape: the paper's notation as a value.

`BLE_yz(partialsum-x)` is a `Shape`; every layout in a program is one. Shapes are built from
parts that the grammar has already recognised, or by code; either way the constructor holds
them to the invariants below, and `layoutc.dsl.parse.parse_shape(str(s)) == s`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

Hole = Literal["", "?", "!"]
Reduction = Literal["sum", "max"]


@dataclass(frozen=True, slots=True)
class Dim:
    """One dim of a shape and the mesh axes that split it, most significant first.

    `loose` is the notation's braces: the axes are known, their order is the solver's to pick.
    """

    name: str
    axes: tuple[str, ...] = ()
    loose: bool = False

    def __str__(self) -> str:
        axes = "".join(self.axes)
        if not axes:
            return self.name
        return f"{self.name}_{{{axes}}}" if self.loose else f"{self.name}_{axes}"


@dataclass(frozen=True, slots=True)
class Shape:
    """A tensor's dims, how they are split, and what is still to be reduced.

    Invariants:
      * at least one dim; a dim stands once;
      * an axis stands once, over all dims and the partial axes together;
      * `partial` is sorted: a partial sum over x and y has no order;
      * without partial axes `reduction` is "sum", so that equal shapes compare equal;
      * a dim is `loose` only where there are two axes or more to order;
      * `hole` is "?" (the rest is the solver's), "!" (so is it, and every axis is used) or "".

    Raises:
        ValueError: if an invariant does not hold. The checker reports these with places
            before it builds a shape; code that meets one has a bug.
    """

    dims: tuple[Dim, ...]
    partial: tuple[str, ...] = ()
    reduction: Reduction = "sum"
    hole: Hole = ""

    def __post_init__(self) -> None:
        names = [d.name for d in self.dims]
        axes = [a for d in self.dims for a in d.axes] + list(self.partial)
        if not names:
            raise ValueError("a shape has at least one dim")
        if len(set(names)) < len(names) or len(set(axes)) < len(axes):
            raise ValueError(f"a dim or an axis stands twice in {''.join(map(str, self.dims))}")
        object.__setattr__(self, "partial", tuple(sorted(self.partial)))
        if not self.partial:
            object.__setattr__(self, "reduction", "sum")
        if any(d.loose and len(d.axes) < 2 for d in self.dims):
            tight = tuple(replace(d, loose=d.loose and len(d.axes) > 1) for d in self.dims)
            object.__setattr__(self, "dims", tight)

    def __str__(self) -> str:
        partial = f"(partial{self.reduction}-{''.join(self.partial)})" if self.partial else ""
        return "".join(map(str, self.dims)) + partial + self.hole

    # What a shape is asked most often.

    @property
    def names(self) -> tuple[str, ...]:
        """The dims' names, in order: ("B", "L", "E")."""
        return tuple(d.name for d in self.dims)

    @property
    def axes(self) -> tuple[str, ...]:
        """Every axis that splits a dim, in reading order; partial axes are not among them."""
        return tuple(a for d in self.dims for a in d.axes)

    @property
    def explicit(self) -> bool:
        """True if nothing is left for the solver: no hole, no braces."""
        return not self.hole and not any(d.loose for d in self.dims)

    def __iter__(self) -> Iterator[Dim]:
        return iter(self.dims)

    def __contains__(self, dim: str) -> bool:
        return dim in self.names

    def split(self, dim: str) -> tuple[str, ...]:
        """The axes that split `dim`; () if it is whole, or not a dim of this shape."""
        return next((d.axes for d in self.dims if d.name == dim), ())

    def place(self, axis: str) -> str | None:
        """The dim that `axis` splits, or None."""
        return next((d.name for d in self.dims if axis in d.axes), None)

    def whole_over(self, axis: str) -> bool:
        """True if every chip along `axis` holds the same: neither split nor partial over it."""
        return axis not in self.partial and self.place(axis) is None

    # New shapes from old ones.

    def with_split(self, dim: str, axes: Sequence[str]) -> Shape:
        """The same with `dim` split over `axes`, most significant first."""
        dims = (replace(d, axes=tuple(axes), loose=False) if d.name == dim else d for d in self)
        return replace(self, dims=tuple(dims))

    def with_partial(self, axes: Iterable[str], reduction: Reduction = "sum") -> Shape:
        """The same, still to be reduced over `axes` (and over nothing else)."""
        return replace(self, partial=tuple(axes), reduction=reduction)

    def without(self, axes: Iterable[str]) -> Shape:
        """The same with `axes` taken off its dims, wherever they stand."""
        gone = set(axes)
        dims = (replace(d, axes=tuple(a for a in d.axes if a not in gone)) for d in self)
        return replace(self, dims=tuple(dims))

    # Sizes.

    def local(self, sizes: Mapping[str, int], mesh: Mapping[str, int]) -> tuple[int, ...]:
        """The extents on one chip, `sizes` by dim and `mesh` by axis.

        Exact where the axes divide the dims, which the checker sees to.
        """
        return tuple(sizes[d.name] // prod(mesh[a] for a in d.axes) for d in self)

    def elements(self, sizes: Mapping[str, int], mesh: Mapping[str, int]) -> int:
        """How many elements one chip holds."""
        return prod(self.local(sizes, mesh))


def whole(dims: Iterable[str], hole: Hole = "") -> Shape:
    """The shape of `dims` with nothing split: `whole("BLE")` is BLE on every chip."""
    return Shape(tuple(Dim(d) for d in dims), hole=hole)
