"""Caches handed over from one phase to another; copied where some are.

The emitted function is called `hand_over`: nothing here is.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding

from layoutc.codegen.fixed.arguments import extents, make_mesh
from layoutc.codegen.fixed.filled import (
    ARGUMENTS,
    DTYPE,
    HAND_OVERS,
    PHASES,
    HandOver,
)
from layoutc.codegen.fixed.running import FLOATS, asked, options, worst


def placed(
    cache: jax.Array, block: jax.Array, *along: tuple[int, str | tuple[str, ...], Any]
) -> jax.Array:
    """This chip's part of a cache with the block in it, as far as it lies there; nothing moves.

    `along` has of each dim that differs its number, the axes that split it in the cache, and the
    place of the whole cache where the block begins.
    """
    starts: list[Any] = [0] * cache.ndim
    within = jnp.bool_(True)
    for dim, axes, place in along:
        size, room = block.shape[dim], cache.shape[dim]
        width = min(size, room)  # what the chip may have to write of it
        begin = place - lax.axis_index(axes) * room  # of the block, in the chip's own places
        starts[dim] = jnp.clip(begin, 0, room - width)
        skipped = starts[dim] - begin  # of the block's places; beyond its ends is padding
        edges = [(width, width) if d == dim else (0, 0) for d in range(block.ndim)]
        first = jnp.clip(skipped + width, 0, size + width)
        block = lax.dynamic_slice_in_dim(jnp.pad(block, edges), first, width, dim)
        number = skipped + jnp.arange(width)
        inside = (number >= 0) & (number < size)
        within &= inside.reshape(-1, *[1] * (block.ndim - dim - 1))
    kept = lax.dynamic_slice(cache, starts, block.shape)
    return lax.dynamic_update_slice(cache, jnp.where(within, block, kept), starts)


def with_hand_overs(main: Callable[..., int]) -> Callable[..., int]:
    """The script goes on: each hand-over is run at small sizes and held against NumPy's."""

    @functools.wraps(main)
    def longer(argv: Sequence[str] | None = None) -> int:
        status = main(argv)
        if status > 1:
            return status
        flags, mesh = options(argv), make_mesh()
        dtype = FLOATS[flags.dtype] if flags.dtype else DTYPE
        for name, between in HAND_OVERS.items():
            phases = between.source, between.target
            sizes = [PHASES[phase].small | asked(flags, phase) for phase in phases]
            try:
                error = handed_over(between, mesh, dtype, *sizes)
            except ValueError as refusal:
                print(f"error: {name}: {refusal}", file=sys.stderr)
                return 2
            print(f"hand_over {name}: error {error:.2g} (max |a-b| / max |b|)")
            status |= error != 0  # nothing is computed, so nothing is rounded
        return status

    return longer


def handed_over(
    between: HandOver, mesh: Mesh, dtype: Any, source: dict[str, int], target: dict[str, int]
) -> float:
    """Caches of the sizes `source` put into some of `target`: max |a-b| / max |b|."""
    dims = dict.fromkeys(dim for name in between.caches for dim in ARGUMENTS[name].dims)
    for dim in dims:
        if source[dim] != target[dim] and dim not in between.placed + between.filled:
            raise ValueError(f"{dim} is one size in both, not {source[dim]} and {target[dim]}")
    # In the middle, so that there is something before and behind it.
    places = {dim: max(0, target[dim] - source[dim] + 1) // 2 for dim in between.placed}
    new = [numbered(name, source, dtype) for name in between.caches]
    old = [-numbered(name, target, dtype) for name in between.caches]
    arrays = [
        jax.make_array_from_callback(
            value.shape, NamedSharding(mesh, PHASES[phase].specs[name]), value.__getitem__
        )
        for phase, values in ((between.source, new), (between.target, old))
        for name, value in zip(between.caches, values, strict=True)
    ]
    for name, block, cache in zip(between.caches, new, old, strict=True):
        begins = [places.get(dim, 0) for dim in ARGUMENTS[name].dims]
        put(cache, block, [0] * (cache.ndim - len(begins)) + begins)
    return worst(between.run(*arrays, *map(np.int32, places.values())), old)


def numbered(name: str, sizes: dict[str, int], dtype: Any) -> np.ndarray[Any, Any]:
    """A cache of small whole numbers, which every dtype can tell from their neighbours."""
    tensor = ARGUMENTS[name]
    shape = extents(tensor, sizes)
    numbers = 1 + np.arange(math.prod(shape)) % 113
    return numbers.reshape(shape).astype(tensor.dtype or dtype)


def put(cache: np.ndarray[Any, Any], block: np.ndarray[Any, Any], begins: Sequence[int]) -> None:
    """Writes the block into the cache from the places `begins` on, as far as there is room."""
    where = tuple(slice(begin, begin + n) for begin, n in zip(begins, block.shape, strict=True))
    cache[where] = block[tuple(map(slice, cache[where].shape))]
