"""The mesh, and the arguments that a program is run on; copied always."""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.experimental import mesh_utils
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from layoutc.codegen.fixed.filled import ARGUMENTS, DTYPE, MESH, PHASES, Phase, Tensor


def make_mesh(devices: Sequence[Any] | None = None) -> Mesh:
    """MESH over `devices`: by default over JAX's, over all hosts, each of which has a part."""
    processes = jax.process_count() if devices is None else 1
    devices = list(jax.devices() if devices is None else devices)
    need = math.prod(MESH.values())
    who = "there are" if processes == 1 else f"{processes} processes together have"
    said = f"MESH has {need} chips and {who} {len(devices)} devices"
    if len(devices) < need:
        raise ValueError(said)
    # Unlike jax.make_mesh, this takes every mesh: an axis of a TPU's torus may be split, and the
    # hosts may be linked by a network alone.
    grid = mesh_utils.create_device_mesh(
        tuple(MESH.values()), devices[:need], allow_split_physical_axes=True
    )
    if len({device.process_index for device in grid.flat}) < processes:
        raise ValueError(f"{said}; start fewer, so that each has a part")
    return Mesh(grid, tuple(MESH), axis_types=(AxisType.Auto,) * len(MESH))


def make_inputs(
    mesh: Mesh, seed: int = 0, phase: str | None = None, dtype: Any = DTYPE, **sizes: int
) -> tuple[Any, ...]:
    """The program's arguments as global arrays, of which each host makes only its own shards.

    They are those of `phase`, or of the first. `sizes` are by dim (`B=8`), and `repeat` for the
    stacks; what is left out is as in DIMS. Values depend on `seed` alone, not on the mesh, and
    weights are the same in all phases.
    """
    chosen = called(phase)
    sizes = checked_sizes(chosen, sizes)

    def place(spec: P, shape: tuple[int, ...], make: Callable[[Any], Any]) -> jax.Array:
        return jax.make_array_from_callback(shape, NamedSharding(mesh, spec), once(make))

    return tuple(argument(n, chosen.specs[n], sizes, seed, dtype, place) for n in ARGUMENTS)


def called(phase: str | None) -> Phase:
    """The phase of that name; None is the first."""
    if phase is None:
        return next(iter(PHASES.values()))
    if phase not in PHASES:
        raise ValueError(f"there is no phase {phase}, only {', '.join(PHASES)}")
    return PHASES[phase]


def once(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`make` of an index, but a shard that several chips of a host hold is made once."""
    made: dict[str, Any] = {}

    def kept(index: Any) -> Any:
        if str(index) not in made:
            made[str(index)] = make(index)
        return made[str(index)]

    return kept


def checked_sizes(phase: Phase, sizes: dict[str, int]) -> dict[str, int]:
    """All dims' sizes in a phase: its own, but for the given ones."""
    for dim, size in sizes.items():
        if dim not in phase.dims and dim != "repeat":
            raise ValueError(f"{dim} is not one of {', '.join(phase.dims)}, repeat")
        if size < 1 or size % phase.parts.get(dim, 1):
            raise ValueError(f"{dim}={size} is not a multiple of {phase.parts.get(dim, 1)}")
    return phase.dims | sizes


def extents(tensor: Tensor, sizes: dict[str, int]) -> tuple[int, ...]:
    """The shape of the whole tensor."""
    stack = (sizes.get("repeat", tensor.stack),) if tensor.stack else ()
    return (*stack, *(sizes[d] for d in tensor.dims))


def argument(
    name: str, spec: Any, sizes: dict[str, int], seed: int, dtype: Any, place: Callable[..., Any]
) -> Any:
    """What `place` makes of an argument's layout, its shape, and what gives each part of it."""
    make = functools.partial(part, name, sizes, seed, dtype)
    return place(spec, extents(ARGUMENTS[name], sizes), make)


def part(
    name: str, sizes: dict[str, int], seed: int, dtype: Any, index: tuple[slice, ...]
) -> np.ndarray[Any, Any]:
    """The part `index` of an argument: uniform with variance 1 over the fan-in, so that
    activations keep their size."""
    tensor = ARGUMENTS[name]
    unit = uniform(f"{seed} {name}", extents(tensor, sizes), index)
    held = np.dtype(tensor.dtype or dtype)
    if held.kind == "i":
        return np.asarray(tensor.least + np.floor(unit * choices(tensor, sizes)), held)
    fan_in = math.prod(sizes[d] for d in tensor.fan_in)
    return ((2 * unit - 1) * math.sqrt(3 / fan_in)).astype(held)


def uniform(
    seed: str, shape: tuple[int, ...], index: tuple[slice, ...]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The part `index` of numbers from 0 to 1: each is a hash of its place in the whole."""
    key = np.uint64(zlib.crc32(seed.encode()) << 31)
    place = np.zeros(1, np.uint64)
    for size, piece in zip(shape, index, strict=True):
        place = place[..., None] * np.uint64(size) + np.arange(size, dtype=np.uint64)[piece]
    bits = (place + key) * np.uint64(0x9E3779B97F4A7C15)  # from here on the finalizer of splitmix64
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    unit = (bits ^ (bits >> np.uint64(31))).astype(np.float64) / 2.0**64
    return unit.reshape(unit.shape[1:])


def choices(tensor: Tensor, sizes: dict[str, int]) -> int:
    """How many whole numbers an argument may hold, from its least on."""
    if not tensor.span:
        return 8
    taken = sizes[tensor.room] - 1 if tensor.room else 0
    return max(sizes[tensor.span] - taken, 1)


def whole(phase: Phase, seed: int, dtype: Any, sizes: dict[str, int]) -> list[Any]:
    """The arguments that make_inputs gives, each in one piece."""
    sizes = phase.dims | sizes

    def place(spec: P, shape: tuple[int, ...], make: Callable[[Any], Any]) -> Any:
        return make((slice(None),) * len(shape))

    return [argument(n, phase.specs[n], sizes, seed, dtype, place) for n in ARGUMENTS]
