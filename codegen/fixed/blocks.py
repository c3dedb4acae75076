"""What a chip does with its blocks beside arithmetic and collectives; copied where used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from layoutc.codegen.fixed.filled import MESH


def product(spec: str, left: jax.Array, right: jax.Array, dtype: Any) -> jax.Array:
    """The einsum of two blocks: accumulated in f32, stored in `dtype`."""
    exact = jnp.einsum(spec, left, right, preferred_element_type=jnp.float32)
    return exact.astype(dtype)


def own_part(block: jax.Array, dim: int, axes: str | tuple[str, ...]) -> jax.Array:
    """This chip's part of what all chips along `axes` hold whole; nothing moves."""
    size = block.shape[dim] // lax.axis_size(axes)
    return lax.dynamic_slice_in_dim(block, lax.axis_index(axes) * size, size, dim)


def reorder(block: jax.Array, dim: int, held: Sequence[str], sent: Sequence[str]) -> jax.Array:
    """The chunks of `dim`, which lie in the order of the axes `held`, in that of `sent`.

    A tiled all-to-all deals chunks out in the order of the axes it is given; nothing moves here.
    """
    shape = block.shape
    chunks = block.reshape(*shape[:dim], *(MESH[a] for a in held), -1, *shape[dim + 1 :])
    order = [held.index(a) for a in sent]
    return jnp.moveaxis(chunks, [dim + i for i in order], range(dim, dim + len(order))).reshape(
        shape
    )


def permute(block: jax.Array, held: tuple[str, ...], wanted: tuple[str, ...]) -> jax.Array:
    """Hand each block to the chip that wants it: a dim split over `held` is split over `wanted`."""
    axes = tuple(a for a in MESH if a in held)  # JAX wants the mesh's order
    pairs = zip(_chips(held, axes), _chips(wanted, axes), strict=True)
    moved: jax.Array = lax.ppermute(block, axes, list(pairs))
    return moved


def _chips(order: tuple[str, ...], axes: tuple[str, ...]) -> list[int]:
    """The number among the chips along `axes` of the one that holds each block of `order`."""
    sizes = [MESH[a] for a in order]
    place = dict(zip(order, np.unravel_index(np.arange(math.prod(sizes)), sizes), strict=True))
    numbers = np.ravel_multi_index([place[a] for a in axes], [MESH[a] for a in axes])
    return [int(number) for number in numbers]
