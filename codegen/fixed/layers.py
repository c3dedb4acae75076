"""What a chip does with its blocks in a Transformer layer; copied where used."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def places(block: jax.Array, dim: int, axes: str | tuple[str, ...] = ()) -> jax.Array:
    """The numbers of a block's places along `dim`, in the whole that is split over `axes`."""
    size = block.shape[dim]
    shape = [size if d == dim else 1 for d in range(block.ndim)]
    return lax.axis_index(axes) * size + lax.broadcasted_iota(jnp.int32, shape, dim)


def embed(
    table: jax.Array, ids: jax.Array, dim: int, axes: str | tuple[str, ...] = ()
) -> jax.Array:
    """The rows `ids` along `dim` of a table split over `axes`; zeros for what other chips have."""
    size = table.shape[dim]
    row = ids - lax.axis_index(axes) * size
    row = jnp.where(row < 0, size, row)  # else it would count from the end
    rows: jax.Array = jnp.take(table, row, axis=dim, mode="fill", fill_value=0)
    return rows


def rmsnorm(x: jax.Array, dim: int, scale: jax.Array | float = 1, eps: float = 1e-6) -> jax.Array:
    """x over the root of its mean square along `dim`, times `scale`; in f32."""
    x = x.astype(jnp.float32)
    root = jnp.sqrt(jnp.mean(x * x, dim, keepdims=True) + eps)
    return x / root * scale


def layernorm(
    x: jax.Array,
    dim: int,
    scale: jax.Array | float = 1,
    bias: jax.Array | float = 0,
    eps: float = 1e-5,
) -> jax.Array:
    """x with mean 0 and variance 1 along `dim`, times `scale`, and `bias` added; in f32."""
    x = x.astype(jnp.float32)
    x -= jnp.mean(x, dim, keepdims=True)
    root = jnp.sqrt(jnp.mean(x * x, dim, keepdims=True) + eps)
    return x / root * scale + bias


def rope(x: jax.Array, dim: int, place: jax.Array | int, theta: float = 10000.0) -> jax.Array:
    """Pairs half of `dim` apart, each turned by its place times its frequency; in f32."""
    one, other = jnp.split(x.astype(jnp.float32), 2, dim)
    half = one.shape[dim]
    turns = np.float32(theta ** (-np.arange(half) / half))
    angle = place * turns.reshape([half if d == dim else 1 for d in range(x.ndim)])
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    turned = [one * cos - other * sin, other * cos + one * sin]
    return jnp.concatenate(turned, dim).astype(x.dtype)


def scaled(scores: jax.Array, size: int) -> jax.Array:
    """The scores over the root of `size`; in f32."""
    return (scores.astype(jnp.float32) / math.sqrt(size)).astype(scores.dtype)


def seen(scores: jax.Array, where: jax.Array) -> jax.Array:
    """The scores where they are seen, elsewhere the least number that there is.

    Not minus infinity: softmax of a row in which nothing is seen is no NaN.
    """
    limits = jnp.finfo if jnp.issubdtype(scores.dtype, jnp.floating) else jnp.iinfo
    return jnp.where(where, scores, limits(scores.dtype).min)


def write(
    cache: jax.Array,
    new: jax.Array,
    dim: int,
    pos: jax.Array | int,
    axes: str | tuple[str, ...] = (),
    layer: jax.Array | None = None,
) -> jax.Array:
    """The cache, split over `axes` along `dim`, with `new` from the places `pos` on, in place.

    What goes to places of other chips, or to none, is dropped. Of a stack it is written in `layer`.
    """
    size = cache.shape[dim - new.ndim]
    place = pos + places(new, dim) - lax.axis_index(axes) * size
    place = jnp.where(place < 0, size, place)  # else it would count from the end
    last = max(d for d in range(new.ndim) if d == dim or place.shape[d] > 1)
    index = [place if d == dim else places(new, d) for d in range(last + 1)]
    index = [number.reshape(number.shape[: last + 1]) for number in index]
    stack = () if layer is None else (layer,)
    return cache.at[(*stack, *index)].set(new, mode="drop")
