"""What emission fills in, as stand-ins, and the types of its tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

MESH = {"x": 1}


class Run(NamedTuple):
    """Chips in a row along a physical axis of the machine."""

    links: str
    axis: int
    chips: int
    apart: int = 1  # how far along the axis it is from one to the next


SLICE: dict[str, tuple[int, ...]] = {"links": (1,)}


PLACES: dict[str, tuple[Run, ...]] = {"x": ()}


DTYPE: Any = jnp.float32


NARROWEST: tuple[str, ...] = ()


USEFUL: dict[str, tuple[int, int]] = {}


class Tensor(NamedTuple):
    """An argument of the program."""

    dims: str
    dtype: Any = None  # None: DTYPE, or what --dtype says
    fan_in: str = ""  # the dims that its product sums; values are scaled by 1/sqrt of their sizes
    stack: int = 0  # as many stand in a stack, one for each repetition; 0: it is not a stack
    scales: str | None = None  # an int8 weight's: it is a pair of whole numbers and such scales
    cache: bool = False  # it is used up, and returned for the next call
    least: int = -4  # whole numbers are from this one on,
    span: str = ""  # as many as this dim has places (8 if there is none),
    room: str = ""  # less those from where on the tokens of this dim have no room


ARGUMENTS = {"x": Tensor("B")}


class Phase(NamedTuple):
    """What the program is in one of its phases."""

    run: Callable[..., Any]
    dims: dict[str, int]
    parts: dict[str, int]
    small: dict[str, int]
    specs: dict[str, Any]


def program(*arrays: jax.Array) -> Any:
    return arrays


PHASES = {"main": Phase(program, {"B": 1}, {"B": 1}, {"B": 1}, {"x": P("x")})}


class HandOver(NamedTuple):
    """What brings the caches of one phase to where another has its own."""

    run: Callable[..., Any]
    source: str
    target: str
    caches: tuple[str, ...]
    placed: str  # the dims that are filled from a place on that is given
    filled: str  # those that are filled from the start


HAND_OVERS: dict[str, HandOver] = {}


def reference(*arrays: Any) -> Any:
    return arrays


ABSTRACT_MESH = AbstractMesh(
    tuple(MESH.values()), tuple(MESH), axis_types=(AxisType.Auto,) * len(MESH)
)
