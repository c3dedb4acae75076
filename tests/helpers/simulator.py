"""An explicit program run chip by chip, in NumPy: each chip has a block, as the notation says.

Nothing here knows how JAX's collectives work. A move is done by its definition: each chip looks
at what its group holds, places it by the layout before, and takes what the layout after says
is its own; what nobody in the group holds shows as NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from dense import block_of

from layoutc.dsl.operation import Move, Operation, Reduce
from layoutc.dsl.shape import Shape

Array = np.ndarray[Any, Any]
Chip = tuple[int, ...]
Blocks = dict[Chip, Array]


@dataclass(frozen=True)
class Simulator:
    """A machine of `dense.run` with a chip at each place of `mesh` (axis -> size)."""

    mesh: Mapping[str, int]
    sizes: Mapping[str, int]

    @property
    def chips(self) -> list[Chip]:
        return list(product(*map(range, self.mesh.values())))

    # The machine.

    def declare(self, array: Array, shape: Shape) -> Blocks:
        whole = array.astype(np.float64)
        return {chip: whole[self.place(shape, chip)] for chip in self.chips}

    def compute(
        self,
        operation: Operation,
        values: Mapping[str, Blocks],
        shapes: Mapping[str, Shape],
        to: Shape,
    ) -> Blocks:
        if isinstance(operation, Move):
            return self.move(operation, values[operation.operand], shapes[operation.operand], to)
        dims = {n: s.names for n, s in shapes.items()}
        blocks = {}
        for chip in self.chips:
            own = {n: self.own(values[n][chip], n, shapes, chip) for n in values}
            blocks[chip] = block_of(operation, own, dims, to.names) * self.share(operation, shapes)
            assert blocks[chip].shape == to.local(self.sizes, self.mesh)
        return blocks

    def result(self, value: Blocks, shape: Shape) -> Array:
        """The whole; chips that should hold the same must do so."""
        whole = np.full([self.sizes[d] for d in shape.names], np.nan)
        for chip, block in value.items():
            place = self.place(shape, chip)
            assert np.isnan(whole[place]).all() or np.allclose(whole[place], block, equal_nan=True)
            whole[place] = block
        return whole

    # The notation.

    def place(self, shape: Shape, chip: Chip) -> tuple[slice, ...]:
        """Where a chip's block lies in the whole: axes are digits, the first most significant."""
        at = dict(zip(self.mesh, chip, strict=True))
        slices = []
        for dim, size in zip(shape, shape.local(self.sizes, self.mesh), strict=True):
            number = 0
            for axis in dim.axes:
                number = number * self.mesh[axis] + at[axis]
            slices.append(slice(number * size, (number + 1) * size))
        return tuple(slices)

    def own(self, block: Array, name: str, shapes: Mapping[str, Shape], chip: Chip) -> Array:
        """The part of `block` that meets the other operands' blocks."""
        shape = finer = shapes[name]
        for dim in shape:
            longest = max((s.split(dim.name) for s in shapes.values()), key=len)
            finer = finer.with_partial(()).with_split(dim.name, longest)
        return self.cut({chip: block}, shape, finer, chip)

    def share(self, operation: Operation, shapes: Mapping[str, Shape]) -> float:
        """A chip's mean is one of as many terms of the whole mean as the dims have parts."""
        if not isinstance(operation, Reduce) or operation.kind != "mean":
            return 1.0
        shape = shapes[operation.operand]
        return 1 / prod(self.mesh[a] for d in operation.dims for a in shape.split(d))

    def move(self, move: Move, blocks: Blocks, before: Shape, to: Shape) -> Blocks:
        if move.kind in ("all-reduce", "reduce-scatter"):
            reduced = {c: self.reduced(blocks, before, move.axes, c) for c in self.chips}
            return {c: self.cut({c: reduced[c]}, before, to, c) for c in self.chips}
        axes = move.axes
        if move.kind == "permute":
            axes = next(d.axes for d in before if d.axes != to.split(d.name))
        if move.kind == "slice":
            axes = ()
        groups = {c: {g: blocks[g] for g in self.group(c, axes)} for c in self.chips}
        return {c: self.cut(groups[c], before, to, c) for c in self.chips}

    def reduced(self, blocks: Blocks, shape: Shape, axes: Sequence[str], chip: Chip) -> Array:
        terms = [blocks[g] for g in self.group(chip, axes)]
        return np.asarray(np.sum(terms, axis=0) if shape.reduction == "sum" else np.max(terms, 0))

    def group(self, chip: Chip, axes: Sequence[str]) -> list[Chip]:
        """The chips that differ from `chip` along `axes` only."""
        along = [
            range(n) if a in axes else (chip[i],) for i, (a, n) in enumerate(self.mesh.items())
        ]
        return list(product(*along))

    def cut(self, held: Blocks, before: Shape, to: Shape, chip: Chip) -> Array:
        """The chip's block of the layout `to`, out of blocks of the layout `before`."""
        whole = np.full([self.sizes[d] for d in before.names], np.nan)
        for other, block in held.items():
            whole[self.place(before, other)] = block
        return whole[self.place(to, chip)]
