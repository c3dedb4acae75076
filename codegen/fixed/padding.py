"""Padding: where it lies, and how it is kept away from the values; copied where used."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from layoutc.codegen.fixed.filled import ARGUMENTS, USEFUL, Tensor
from layoutc.codegen.fixed.layers import places


def useful(dim: str, size: int) -> int:
    """How many places of a dim that has `size` are used, and no padding."""
    used, places = USEFUL.get(dim, (1, 1))
    return -(-size * used // places)


def masked(
    block: jax.Array, number: int, dim: str, axes: str | tuple[str, ...], fill: float = 0
) -> jax.Array:
    """The block with `fill` in the padding of dim `number`: that is `dim`, split over `axes`."""
    place = places(block, number, axes)
    if jnp.issubdtype(block.dtype, jnp.integer):
        fill = max(fill, np.iinfo(block.dtype).min)  # whole numbers have no infinity
    size = block.shape[number] * lax.axis_size(axes)
    return jnp.where(place < useful(dim, size), block, fill)


def used_share(block: jax.Array, number: int, dim: str, axes: str | tuple[str, ...]) -> float:
    """How much of the dim `number`, which is `dim` split over `axes`, is no padding: 1 is all."""
    size = block.shape[number] * lax.axis_size(axes)
    return useful(dim, size) / size


def trimmed(block: jax.Array, number: int, dim: str) -> jax.Array:
    """The block without the padding of dim `number`: that is `dim`, all of it on the chip."""
    return lax.slice_in_dim(block, 0, useful(dim, block.shape[number]), axis=number)


def refilled(block: jax.Array, number: int, size: int) -> jax.Array:
    """The block with zeros at the end of dim `number`, so that its size is `size` again."""
    fill = [(0, size - block.shape[d] if d == number else 0) for d in range(block.ndim)]
    return jnp.pad(block, fill)


def unpadded(*returned: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Keeps padding away from a function of the arguments, whole, that returns such `returned`.

    It is called with the useful parts alone; what it returns is padded with zeros.
    """

    def around(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wide(*arrays: Any) -> Any:
            sizes: dict[str, int] = {}
            parts = []
            both = (dims for tensor in ARGUMENTS.values() for dims in (tensor.dims, tensor.scales))
            leaves, tree = jax.tree.flatten(arrays)
            for dims, array in zip((d for d in both if d is not None), leaves, strict=True):
                sizes |= zip(dims, array.shape[array.ndim - len(dims) :], strict=True)
                parts.append(array[(..., *(slice(useful(d, sizes[d])) for d in dims))])
            results = function(*jax.tree.unflatten(tree, parts))
            several = results if isinstance(results, tuple) else (results,)
            filled = []
            for result, dims in zip(several, returned, strict=True):
                lacks = [sizes[d] - useful(d, sizes[d]) for d in dims]
                stack = [(0, 0)] * (result.ndim - len(dims))
                filled.append(jnp.pad(result, [*stack, *((0, n) for n in lacks)]))
            return tuple(filled) if isinstance(results, tuple) else filled[0]

        return wide

    return around


def zeros_in_padding(part: Callable[..., Any]) -> Callable[..., Any]:
    """The function that makes a part of an argument, but with zeros in its padding."""

    @functools.wraps(part)
    def made(name: str, sizes: dict[str, int], seed: int, dtype: Any, index: Any) -> Any:
        values = part(name, sizes, seed, dtype, index)
        dims = ARGUMENTS[name].dims
        for number, dim in enumerate(dims, values.ndim - len(dims)):
            padding = np.arange(sizes[dim])[index[number]] >= useful(dim, sizes[dim])
            values[(..., padding, *(slice(None),) * (values.ndim - number - 1))] = 0
        return values

    return made


def among_useful(choices: Callable[..., int]) -> Callable[..., int]:
    """The function that counts the whole numbers of an argument, but by useful sizes."""

    @functools.wraps(choices)
    def counted(tensor: Tensor, sizes: dict[str, int]) -> int:
        return choices(tensor, {dim: useful(dim, size) for dim, size in sizes.items()})

    return counted
