"""What a Transformer layer has beside einsums, in NumPy, place by place where that is plainest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from layoutc.dsl.operation import Layer, Number

Array = np.ndarray[Any, Any]


def layer(
    operation: Layer,
    values: Mapping[str, Array],
    dims: Mapping[str, Sequence[str]],
    to: Sequence[str],
    sizes: Mapping[str, int],
) -> Array:
    """The result, with the dims `to`, of operands with the dims `dims`."""
    lead = values[operation.lead]
    names = tuple(dims[operation.lead])

    def beside(number: int) -> Array:
        """Operand `number` with the dims of the first one, 1 where it has none."""
        operand = operation.operands[number]
        if isinstance(operand, Number):
            return np.float64(operand.value) * np.ones((1,) * len(names))
        held = dims[operand]
        array = np.transpose(values[operand], [held.index(d) for d in names if d in held])
        return np.expand_dims(array, tuple(i for i, d in enumerate(names) if d not in held))

    def has(number: int, dim: str) -> bool:
        operand = operation.operands[number]
        return isinstance(operand, str) and dim in dims[operand]

    def numbers(dim: str) -> Array:
        shape = [lead.shape[i] if d == dim else 1 for i, d in enumerate(names)]
        return np.arange(lead.shape[names.index(dim)]).reshape(shape)

    constant = operation.constant.value if operation.constant else None
    along = names.index(operation.dims[0]) if operation.dims[0] in names else -1
    match operation.kind:
        case "embed":
            return embed(operation, values, dims, to)
        case "rmsnorm":
            mean = np.mean(lead**2, axis=along, keepdims=True)
            normed = lead / np.sqrt(mean + (constant or 1e-6))
            return normed * beside(1) if len(operation.operands) > 1 else normed
        case "layernorm":
            centred = lead - np.mean(lead, axis=along, keepdims=True)
            variance = np.mean(centred**2, axis=along, keepdims=True)
            normed = centred / np.sqrt(variance + (constant or 1e-5))
            scale = beside(1) if len(operation.operands) > 1 else 1
            return normed * scale + (beside(2) if len(operation.operands) > 2 else 0)
        case "rope":
            place = beside(1) + (numbers("L") if "L" in names and not has(1, "L") else 0)
            return rope(lead, along, np.broadcast_to(place, lead.shape), constant or 1e4)
        case "write":
            return write(operation, values, dims)
        case "scale":
            return lead / math.sqrt(sizes[operation.dims[0]])
        case "causal":
            tokens, places = operation.dims
            last = beside(1) + (0 if has(1, tokens) else numbers(tokens))
            return np.where(numbers(places) > last, LEAST, lead)
        case "valid":
            return np.where(numbers(operation.dims[0]) < beside(1), lead, LEAST)
        case "softmax":
            powers = np.exp(lead - np.max(lead, axis=along, keepdims=True))
            return powers / np.sum(powers, axis=along, keepdims=True)
        case "rename":
            return lead


LEAST = float(np.finfo(np.float32).min)


def rope(x: Array, dim: int, place: Array, theta: float) -> Array:
    """As complex numbers: each pair is one, and is turned."""
    x, place = np.moveaxis(x, dim, -1), np.moveaxis(place, dim, -1)
    half = x.shape[-1] // 2
    angle = place[..., :1] / theta ** (np.arange(half) / half)
    turned = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angle)
    return np.moveaxis(np.concatenate([turned.real, turned.imag], -1), -1, dim)


def embed(
    operation: Layer,
    values: Mapping[str, Array],
    dims: Mapping[str, Sequence[str]],
    to: Sequence[str],
) -> Array:
    """A product with rows that have a one at the id."""
    table, ids = map(str, operation.operands)
    (row,) = operation.dims
    size = values[table].shape[dims[table].index(row)]
    one_hot = values[ids][..., None] == np.arange(size)
    spec = f"{''.join(dims[table])},{''.join(dims[ids])}{row}->{''.join(to)}"
    return np.einsum(spec, values[table], one_hot.astype(np.float64))


def write(
    operation: Layer, values: Mapping[str, Array], dims: Mapping[str, Sequence[str]]
) -> Array:
    """Element by element."""
    lead, new = operation.lead, operation.followers[0]
    pos = operation.operands[2]
    cache, held = values[lead].copy(), dims[new]
    (place,) = operation.dims
    (tokens,) = (d for d in held if d not in dims[lead])
    for index in np.ndindex(values[new].shape):
        at = dict(zip(held, index, strict=True))
        first = (
            pos.value if isinstance(pos, Number) else values[pos][tuple(at[d] for d in dims[pos])]
        )
        at[place] = int(first) + at[tokens]
        if 0 <= at[place] < cache.shape[dims[lead].index(place)]:
            cache[tuple(at[d] for d in dims[lead])] = values[new][index]
    return cache
