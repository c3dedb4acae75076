"""Int8 weights, which are pairs of whole numbers and scales; copied where there are some."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from layoutc.codegen.fixed.arguments import extents, uniform
from layoutc.codegen.fixed.filled import ARGUMENTS


def with_scales(argument: Callable[..., Any]) -> Callable[..., Any]:
    """The function that makes an argument, but of an int8 weight a pair: its numbers, its scales.

    The number times the scale is the weight: each index of the dims `scales` has one.
    """

    @functools.wraps(argument)
    def made(name: str, spec: Any, sizes: dict[str, int], seed: int, dtype: Any, place: Any) -> Any:
        tensor = ARGUMENTS[name]
        if tensor.scales is None:
            return argument(name, spec, sizes, seed, dtype, place)
        shapes = extents(tensor, sizes), extents(tensor._replace(dims=tensor.scales), sizes)
        makers = (
            functools.partial(quantized_part, name, sizes, seed, dtype),
            functools.partial(scale_part, name, sizes, seed, shapes[1]),
        )
        return tuple(map(place, spec, shapes, makers))

    return made


def quantized_part(
    name: str, sizes: dict[str, int], seed: int, dtype: Any, index: tuple[slice, ...]
) -> np.ndarray[Any, Any]:
    """The part `index` of an int8 weight's numbers, which are from -127 to 127."""
    unit = uniform(f"{seed} {name}", extents(ARGUMENTS[name], sizes), index)
    return np.asarray(np.floor(255 * unit - 127), np.int8)


def scale_part(
    name: str, sizes: dict[str, int], seed: int, shape: tuple[int, ...], index: tuple[slice, ...]
) -> np.ndarray[Any, Any]:
    """The part `index` of its scales: the weight has variance 1 over the fan-in, as others have."""
    unit = uniform(f"{seed} {name} scales", shape, index)
    fan_in = math.prod(sizes[d] for d in ARGUMENTS[name].fan_in)
    numbers, spread = (255**2 - 1) / 12, 13 / 12  # means of squares: of 1/2 + unit, the latter
    return np.asarray((0.5 + unit) / math.sqrt(fan_in * numbers * spread), np.float32)
