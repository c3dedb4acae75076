"""Blocks in the notation: a shape for what devices hold, a block for what a shape declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from layoutc.codegen.against.blocks import STACK, Block, Held, Terms, canonical, tidy
from layoutc.codegen.against.digits import Digit, Digits, merged
from layoutc.dsl.shape import Dim, Shape


@dataclass(frozen=True, slots=True)
class Grid:
    """The sizes of a program's dims and of its mesh, whose last axis counts devices fastest."""

    sizes: Mapping[str, int]
    mesh: Mapping[str, int]

    @property
    def devices(self) -> int:
        return prod(self.mesh.values())

    def coordinate(self, axis: str) -> np.ndarray:
        """Where each device stands along an axis."""
        names = list(self.mesh)
        place = np.unravel_index(np.arange(self.devices), tuple(self.mesh.values()))
        found: np.ndarray = place[names.index(axis)].astype(np.int64)
        return found

    def number(self, axes: Sequence[str]) -> np.ndarray:
        """For each device, its number along several axes, the first the most significant."""
        count = np.zeros(self.devices, np.int64)
        for axis in axes:
            count = count * self.mesh[axis] + self.coordinate(axis)
        return count


def block(shape: Shape, grid: Grid, name: str = "", stack: int = 0) -> Block:
    """What the devices hold of a tensor with this shape; `stack` of them where it is not 0."""
    dims = _stack(stack)
    starts = {}
    for dim in shape:
        size = grid.sizes[dim.name] // prod(grid.mesh[a] for a in dim.axes)
        dims.append((Digit(dim.name, 1, size),))
        starts[dim.name] = grid.number(dim.axes) * size
    terms = None
    if shape.partial:
        terms = Terms(canonical([grid.number(shape.partial)]), shape.reduction, ())
    return tidy(Block(tuple(dims), starts, terms, name=name))


def copies(dims: Sequence[str], grid: Grid, name: str = "", stack: int = 0) -> Block:
    """The same where every device holds all, of a tensor that may have no dim."""
    digits = [*_stack(stack), *((Digit(d, 1, grid.sizes[d]),) for d in dims)]
    return tidy(Block(tuple(digits), name=name))


def _stack(stack: int) -> list[Digits]:
    return [(Digit(STACK, 1, stack),)] if stack else []


def shape(held: Block, grid: Grid, order: Sequence[Sequence[str]] = ()) -> Shape | None:
    """The shape of what devices hold; None where the notation has none.

    Dims stand as in the first of `order` that has the same, or else as in the array.
    A stack's own dim is passed over, and so are axes of size 1, which can't be seen.
    """
    rows: dict[str, list[Digit]] = {}
    for digit in (d for digits in held.dims for d in digits):
        rows.setdefault(digit.dim, []).append(digit)
    rows.pop(STACK, None)
    if not rows or held.mark is not None or any(d not in grid.sizes for d in rows):
        return None
    partial = _partial(held.terms, grid)
    axes = {d: _axes(d, digits, held, grid) for d, digits in rows.items()}
    if partial is None or any(a is None for a in axes.values()):
        return None
    names = next((tuple(n) for n in order if set(n) == set(rows)), tuple(rows))
    reduction = held.terms.reduction if held.terms else "sum"
    used = [a for found in axes.values() for a in found or ()]
    if set(used) & set(partial) or len(set(used)) < len(used):
        return None
    return Shape(tuple(Dim(n, axes[n] or ()) for n in names), partial, reduction)


def preferred(held: Held, known: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Orders of dims for `shape`: the array's own if it is known, else the known ones before it."""
    rows = held.dims if isinstance(held, Block) else ()
    own = tuple(dict.fromkeys(d.dim for digits in rows for d in digits if d.dim != STACK))
    return [own, *known] if own in known else [*known, own]


def stacks(held: Block) -> int:
    """How many of a stack's tensors this is, 1 where it is no stack."""
    return prod(d.size for digits in held.dims for d in digits if d.dim == STACK)


def _axes(dim: str, digits: list[Digit], held: Block, grid: Grid) -> tuple[str, ...] | None:
    """The axes that split a dim of which each device holds one run of elements."""
    (run, *others) = merged(sorted(digits, key=lambda d: (-d.stride, -d.size)))
    start = held.starts.get(dim, np.zeros(grid.devices, np.int64))
    if others or (run.stride != 1 and run.size > 1) or np.any(start % run.size):
        return None
    index = start // run.size
    steps = {a: int(index[_neighbour(a, grid)] - index[0]) for a, n in grid.mesh.items() if n > 1}
    axes = tuple(sorted((a for a, s in steps.items() if s), key=lambda a: -steps[a]))
    count = prod(grid.mesh[a] for a in axes)
    whole = count * run.size == grid.sizes[dim]
    return axes if whole and np.array_equal(grid.number(axes), index) else None


def _neighbour(axis: str, grid: Grid) -> int:
    """The device that is one from the first along an axis."""
    names = list(grid.mesh)
    return prod(grid.mesh[a] for a in names[names.index(axis) + 1 :])


def _partial(terms: Terms | None, grid: Grid) -> tuple[str, ...] | None:
    """The axes along which devices hold the terms of a sum."""
    if terms is None:
        return ()
    labels = terms.labels
    axes = tuple(
        a for a, n in grid.mesh.items() if n > 1 and labels[_neighbour(a, grid)] != labels[0]
    )
    same = np.array_equal(canonical([grid.number(axes)]), canonical([labels]))
    return axes if same else None
