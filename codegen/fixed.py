"""The parts of an emitted module that are the same in each; emission copies their text.

A module of its own, with stand-ins for what is filled in (`MESH`, `PHASES` and the like), so that
it is linted and type-checked like the rest. Nothing imports it: `layoutc.codegen.emit` reads its
text and takes the definitions by name. The helpers above `make_mesh` are copied where used.
"""

from __future__ import annotations

import argparse
import functools
import math
import os
import statistics
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import mesh_utils, multihost_utils
from jax.extend.backend import clear_backends
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

# Stand-ins for what emission fills in.

MESH = {"x": 1}
DTYPE: Any = jnp.float32
NARROWEST: tuple[str, ...] = ()
USEFUL: dict[str, tuple[int, int]] = {}


class Tensor(NamedTuple):
    """An argument of the program."""

    dims: str
    dtype: Any = None  # None: DTYPE, or what --dtype says
    fan_in: str = ""  # the dims that its product sums; values are scaled by 1/sqrt of their sizes
    stack: int = 0  # as many stand in a stack, one for each repetition; 0: it is not a stack


ARGUMENTS = {"x": Tensor("B")}


class Phase(NamedTuple):
    """What the program is in one of its phases."""

    run: Callable[..., Any]
    dims: dict[str, int]
    parts: dict[str, int]
    small: dict[str, int]
    specs: dict[str, P]


def program(*arrays: jax.Array) -> Any:
    return arrays


PHASES = {"main": Phase(program, {"B": 1}, {"B": 1}, {"B": 1}, {"x": P("x")})}


def reference(*arrays: Any) -> Any:
    return arrays


# Copied where used.


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


def useful(dim: str, size: int) -> int:
    """How many places of a dim that has `size` are used, and no padding."""
    used, places = USEFUL.get(dim, (1, 1))
    return -(-size * used // places)


def masked(
    block: jax.Array, number: int, dim: str, axes: str | tuple[str, ...], fill: float = 0
) -> jax.Array:
    """The block with `fill` in the padding of dim `number`: that is `dim`, split over `axes`."""
    size = block.shape[number]
    place = lax.axis_index(axes) * size + lax.broadcasted_iota(jnp.int32, block.shape, number)
    if jnp.issubdtype(block.dtype, jnp.integer):
        fill = max(fill, np.iinfo(block.dtype).min)  # whole numbers have no infinity
    return jnp.where(place < useful(dim, size * lax.axis_size(axes)), block, fill)


def used_share(block: jax.Array, number: int, dim: str, axes: str | tuple[str, ...]) -> float:
    """How much of the dim `number`, which is `dim` split over `axes`, is no padding: 1 is all."""
    size = block.shape[number] * lax.axis_size(axes)
    return useful(dim, size) / size


def unpadded(*returned: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Keeps padding away from a function of the arguments, whole, that returns such `returned`.

    It is called with the useful parts alone; what it returns is padded with zeros.
    """

    def around(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wide(*arrays: Any) -> Any:
            sizes: dict[str, int] = {}
            parts = []
            for tensor, array in zip(ARGUMENTS.values(), arrays, strict=True):
                sizes |= zip(tensor.dims, array.shape[-len(tensor.dims) :], strict=True)
                parts.append(array[(..., *(slice(useful(d, sizes[d])) for d in tensor.dims))])
            results = function(*parts)
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


# Copied always.


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
) -> tuple[jax.Array, ...]:
    """The program's arguments as global arrays, of which each host makes only its own shards.

    They are those of `phase`, or of the first. `sizes` are by dim (`B=8`), and `repeat` for the
    stacks; what is left out is as in DIMS. Values depend on `seed` alone, not on the mesh, and
    weights are the same in all phases.
    """
    chosen = called(phase)
    sizes = checked_sizes(chosen, sizes)
    arrays = []
    for name, tensor in ARGUMENTS.items():
        make = once(functools.partial(part, name, sizes, seed, dtype))
        sharding = NamedSharding(mesh, chosen.specs[name])
        arrays.append(jax.make_array_from_callback(extents(tensor, sizes), sharding, make))
    return tuple(arrays)


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


def part(
    name: str, sizes: dict[str, int], seed: int, dtype: Any, index: tuple[slice, ...]
) -> np.ndarray[Any, Any]:
    """The part `index` of an argument: each value is a hash of its place in the whole.

    Uniform with variance 1 over the fan-in, so that activations keep their size.
    """
    tensor = ARGUMENTS[name]
    key = np.uint64(zlib.crc32(f"{seed} {name}".encode()) << 31)
    place = np.zeros((), np.uint64)
    for size, piece in zip(extents(tensor, sizes), index, strict=True):
        place = place[..., None] * np.uint64(size) + np.arange(size, dtype=np.uint64)[piece]
    bits = (place + key) * np.uint64(0x9E3779B97F4A7C15)  # from here on the finalizer of splitmix64
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    unit = (bits ^ (bits >> np.uint64(31))).astype(np.float64) / 2.0**64
    held = np.dtype(tensor.dtype or dtype)
    if held.kind == "i":
        return np.floor(8 * unit - 4).astype(held)
    fan_in = math.prod(sizes[d] for d in tensor.fan_in)
    return ((2 * unit - 1) * math.sqrt(3 / fan_in)).astype(held)


def main(argv: Sequence[str] | None = None) -> int:
    """Run every phase, hold it against `reference`, time it; 1 if any differs, else 0."""
    flags = options(argv)
    mesh = make_mesh()
    dtype = FLOATS[flags.dtype] if flags.dtype else DTYPE
    differs = 0
    for name, phase in PHASES.items():
        said = f"{name}: " if len(PHASES) > 1 else ""
        sizes = {dim: size for where, dim, size in sorted(flags.set) if where in ("", name)}
        if mesh.devices.flat[0].platform == "cpu":
            sizes = shrunk(phase, sizes, said)
        try:
            arrays = make_inputs(mesh, flags.seed, name, dtype=dtype, **sizes)
        except ValueError as refusal:
            print(f"error: {said}{refusal}", file=sys.stderr)
            return 2
        # f32 is f32: not the faster passes that some machines make of it.
        with jax.default_matmul_precision("highest"):
            error = compared(phase, arrays, flags.seed, dtype, sizes)
            median = median_ms(phase, arrays)
        print(f"{said}error {error:.2g} (max |a-b| / max |b|), median {median:.3f} ms")
        differs |= not error <= tolerance(dtype)
    return int(differs)


def compared(
    phase: Phase, arrays: Sequence[jax.Array], seed: int, dtype: Any, sizes: dict[str, int]
) -> float:
    """The program on `arrays` against the reference on the same, whole: max |a-b| / max |b|."""
    return worst(phase.run(*arrays), reference(*whole(phase, seed, dtype, sizes)))


def whole(phase: Phase, seed: int, dtype: Any, sizes: dict[str, int]) -> list[np.ndarray[Any, Any]]:
    """The arguments that make_inputs gives, each in one piece."""
    sizes = phase.dims | sizes
    return [
        part(name, sizes, seed, dtype, (slice(None),) * len(extents(tensor, sizes)))
        for name, tensor in ARGUMENTS.items()
    ]


def tolerance(dtype: Any) -> float:
    """What rounding may make of the program's values, DTYPE being `dtype`."""
    return max(TOLERANCE[name] for name in (jnp.dtype(dtype).name, *NARROWEST))


FLOATS: dict[str, Any] = {"f32": jnp.float32, "bf16": jnp.bfloat16, "f16": jnp.float16}
TOLERANCE = {
    "float32": 1e-5, "int32": 1e-5, "float16": 3e-3, "bfloat16": 2e-2,
    "int8": 0.25, "float8_e4m3fn": 0.25, "float8_e5m2": 0.5,
}  # fmt: skip


def options(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""

    def size(text: str) -> tuple[str, str, int]:
        name, _, value = text.partition("=")
        phase, _, dim = name.rpartition(".")
        if phase and phase not in PHASES:
            raise ValueError
        return phase, dim, int(value)

    parser = argparse.ArgumentParser(description="Run this program against its reference.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", type=size, action="append", default=[], metavar="B=8")
    parser.add_argument("--dtype", choices=FLOATS, help="for what the file gave no dtype")
    known = "a TPU slice, Slurm, Open MPI, Kubernetes"
    parser.add_argument("--distributed", action="store_true", help=f"meet the other hosts: {known}")
    return parser.parse_args(argv)


def shrunk(phase: Phase, sizes: dict[str, int], said: str) -> dict[str, int]:
    """Sizes for simulated devices: small, but for the ones that were asked for."""
    small = {dim: size for dim, size in phase.small.items() if dim not in sizes}
    if any(size != phase.dims.get(dim) for dim, size in small.items()):
        listed = " ".join(f"{dim}={size}" for dim, size in small.items())
        print(f"{said}simulated devices, so small sizes: {listed} (--set takes others)")
    return small | sizes


def worst(outputs: Any, expected: Any) -> float:
    """max |a-b| / max |b|, the worst of all outputs, over the shards of all hosts."""
    error = 0.0
    pairs = zip(jax.tree.leaves(outputs), jax.tree.leaves(expected), strict=True)
    for output, wanted in pairs:
        want = np.asarray(wanted, np.float64)
        scale = np.max(np.abs(want)) or 1.0
        for shard in output.addressable_shards:
            gap = np.abs(np.asarray(shard.data, np.float64) - want[shard.index])
            error = float(np.maximum(error, np.max(gap) / scale))  # np.maximum keeps a NaN
    if jax.process_count() > 1:
        error = float(np.max(multihost_utils.process_allgather(np.float32(error))))
    return error


def median_ms(phase: Phase, arrays: Sequence[jax.Array], runs: int = 10) -> float:
    """The median time of a call, in ms; the first, which compiles, was made before."""
    seconds = []
    for _ in range(runs):
        begin = time.perf_counter()
        jax.block_until_ready(phase.run(*arrays))
        seconds.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(seconds)


def start() -> None:
    """Before anything runs: meet the other hosts, or simulate the devices that are missing."""
    # Not unasked: JAX also finds a cluster in an interactive Slurm session, and would wait there
    # for processes that nobody started.
    if options(None).distributed or "JAX_COORDINATOR_ADDRESS" in os.environ:
        meet()
    have, need = jax.device_count(), math.prod(MESH.values())
    if jax.process_count() > 1:
        try:
            make_mesh()
        except ValueError as refusal:
            refuse(refusal)
        if jax.process_index() > 0:
            sys.stdout = None  # all have the same to say: one prints it
    elif have < need:
        few = f"{have} device{'s' * (have > 1)}"
        print(f"MESH has {need} chips and JAX has {few}: simulating {need} on the CPU")
        clear_backends()
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", need)


def meet() -> None:
    """Join the processes on all hosts to one."""
    address = os.environ.get("JAX_COORDINATOR_ADDRESS", "")
    if address and not address.rpartition(":")[2].isdigit():
        refuse(f"JAX_COORDINATOR_ADDRESS is {address}, without the port, as in {address}:8476")
    # What is not said here, JAX finds out from the cluster it runs on.
    count, this = os.environ.get("JAX_NUM_PROCESSES"), os.environ.get("JAX_PROCESS_ID")
    try:
        jax.distributed.initialize(
            num_processes=int(count) if count else None,
            process_id=int(this) if this else None,
            shutdown_timeout_seconds=30,  # after which a process that failed ends the others
        )
    except ValueError as refusal:
        refuse(f"the other hosts can't be met: {refusal}")


def refuse(reason: object) -> NoReturn:
    print(f"error: {reason}", file=sys.stderr)
    sys.exit(2)


ABSTRACT_MESH = AbstractMesh(
    tuple(MESH.values()), tuple(MESH), axis_types=(AxisType.Auto,) * len(MESH)
)
