"""The script: every phase run, held against the reference, timed; copied always."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils

from layoutc.codegen.fixed.arguments import make_inputs, make_mesh, whole
from layoutc.codegen.fixed.filled import ARGUMENTS, DTYPE, NARROWEST, PHASES, Phase, reference


def main(argv: Sequence[str] | None = None) -> int:
    """Run every phase, hold it against `reference`, time it; 1 if any differs, else 0."""
    flags = options(argv)
    mesh = make_mesh()
    dtype = FLOATS[flags.dtype] if flags.dtype else DTYPE
    differs = 0
    for name, phase in PHASES.items():
        said = f"{name}: " if len(PHASES) > 1 else ""
        sizes = asked(flags, name)
        if mesh.devices.flat[0].platform == "cpu":
            sizes = shrunk(phase, sizes, said)
        try:
            arrays = make_inputs(mesh, flags.seed, name, dtype=dtype, **sizes)
        except ValueError as refusal:
            print(f"error: {said}{refusal}", file=sys.stderr)
            return 2
        # f32 is f32: not the faster passes that some machines make of it.
        with jax.default_matmul_precision("highest"):
            returned = phase.run(*arrays)
            error = worst(returned, reference(*whole(phase, flags.seed, dtype, sizes)))
            median = median_ms(phase, handed_on(arrays, returned))
        print(f"{said}error {error:.2g} (max |a-b| / max |b|), median {median:.3f} ms")
        differs |= not error <= tolerance(dtype)
    return int(differs)


def handed_on(arrays: Sequence[Any], returned: Any) -> tuple[Any, ...]:
    """What the next call takes after one that took `arrays`: it used up its caches, the last of
    the arguments, and `returned` them last."""
    caches = sum(tensor.cache for tensor in ARGUMENTS.values())
    several = returned if isinstance(returned, tuple) else (returned,)
    return (*arrays[: len(arrays) - caches], *several[len(several) - caches :])


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


def asked(flags: argparse.Namespace, phase: str) -> dict[str, int]:
    """The sizes that --set gives a phase; what it says of one phase wins."""
    return {dim: size for where, dim, size in sorted(flags.set) if where in ("", phase)}


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
        returned = jax.block_until_ready(phase.run(*arrays))
        seconds.append(time.perf_counter() - begin)
        arrays = handed_on(arrays, returned)
    return 1e3 * statistics.median(seconds)
