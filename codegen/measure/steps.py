"""One step of each kind, as a function of a chip's own array that gives an array of its shape.

So steps can follow one another in a program, each waiting for the one before. What moves is a
matrix that is split by its columns, as activations are whose hidden dim is split: to put its parts
together, row by row, is part of what it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from layoutc.codegen.measure.points import Point
from layoutc.dsl.program import Dtype
from layoutc.solver.hardware.samples import MoveTimed

Step = Callable[[Any], Any]

ROWS = 16
"""An all-to-all takes a matrix of so many rows for each chip."""

COLUMNS = 128
"""A chip's part has so many columns at most."""

TOKENS = 8
"""Weights are read in a product with a matrix of so many rows, as when few tokens are decoded."""


def move(kind: MoveTimed, axes: tuple[str, ...], chips: int) -> Step:
    """A move over the axes, in which `chips` take part; what is cut off or filled up is the smaller
    side of it."""
    from jax import lax

    def gathered(x: Any) -> Any:
        return lax.all_gather(x, axes, axis=1, tiled=True)[:, : x.shape[1]]

    def scattered(x: Any) -> Any:
        part = lax.psum_scatter(x, axes, scatter_dimension=1, tiled=True)
        return lax.dynamic_update_slice_in_dim(x, part, 0, 1)

    def summed(x: Any) -> Any:
        return lax.psum(x, axes)

    def exchanged(x: Any) -> Any:
        rows = ROWS * chips if x.size % (ROWS * chips**2) == 0 else chips
        there = lax.all_to_all(x.reshape(rows, -1), axes, 0, 1, tiled=True)
        return there.reshape(x.shape)

    def permuted(x: Any) -> Any:
        return lax.ppermute(x, axes, turned(chips))

    steps: dict[MoveTimed, Step] = {
        "all-gather": gathered,
        "reduce-scatter": scattered,
        "all-reduce": summed,
        "all-to-all": exchanged,
        "permute": permuted,
    }
    return steps[kind]


def turned(chips: int) -> list[tuple[int, int]]:
    """Who hands a block to whom where two axes change places; of a prime number of chips, that are
    half of them further."""
    rows = next((n for n in range(2, chips) if chips % n == 0), 1)
    if rows == 1:
        return [(chip, (chip + max(1, chips // 2)) % chips) for chip in range(chips)]
    columns = chips // rows
    return [(chip, chip % columns * rows + chip // columns) for chip in range(chips)]


def matmul(weight: Any, dtype: Dtype) -> Step:
    """A product with a square weight, summed as emitted programs do."""
    import jax.numpy as jnp

    def step(x: Any) -> Any:
        summed = jnp.int32 if dtype == "int8" else jnp.float32
        return jnp.matmul(x, weight, preferred_element_type=summed).astype(x.dtype)

    return step


def shape(point: Point, chips: int) -> tuple[int, ...]:
    """What a chip's own array is before and after a step."""
    match point.kind:
        case "matmul":
            return point.extent, point.extent
        case "memory":
            return TOKENS, point.extent
        case "all-gather":
            columns = gcd(point.extent // chips, COLUMNS)
            return point.extent // chips // columns, columns
        case _:
            columns = gcd(point.extent // chips, COLUMNS)
            return point.extent // chips // columns, chips * columns
