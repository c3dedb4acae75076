"""Times steps: several in one jitted program on all devices at once, less what a call alone takes.

So a step is charged what it takes inside of a program, where the next one waits for it, and other
groups of chips do the same at the same time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import prod
from statistics import median
from typing import Any

from layoutc.codegen.measure import steps
from layoutc.codegen.measure.groups import Grid, grid
from layoutc.codegen.measure.points import Point
from layoutc.codegen.measure.present import in_order
from layoutc.dsl.program import Dtype
from layoutc.solver.hardware.samples import MOVES, Sample, Setting

WARM = 2
"""Calls before the clock runs, the first of which compiles."""

LONGEST = 2.0
"""Seconds of a step that nobody waits for."""

FEWEST, MOST = 2, 16
"""So many steps a program has."""

PROGRAM = 0.1
"""Seconds of a program that are enough to time it."""

WEIGHTS = 4
"""So many weights take turns, that none is found in a cache."""

EMPTY = 20
"""So often the empty program is called."""

NUMBERS = 2**20
"""So many are drawn, and repeated in larger arrays."""

JAX = {"f32": "float32", "bf16": "bfloat16", "int8": "int8"}


class Refused(Exception):
    """A point that can't be timed here; the message says why."""


class Bench:
    """Times points on all of JAX's devices, each `repeats` times: the median counts."""

    def __init__(self, setting: Setting, repeats: int) -> None:
        import jax

        self.setting, self.repeats = setting, repeats
        self.devices = in_order(jax.devices())
        self._call: float | None = None
        self._last: dict[object, Sample] = {}

    def time(self, point: Point) -> Sample:
        """The point's sample. Raises `Refused` where it would take too long, or can't be run."""
        from jax.errors import JaxRuntimeError

        expected = self._expected(point)
        if expected > LONGEST:
            raise Refused("it would take too long")
        count = max(FEWEST, min(MOST, int(PROGRAM / expected))) if expected else MOST
        try:
            took = median(self._program(point, count, self.repeats))
        except (JaxRuntimeError, NotImplementedError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise Refused(reason or type(error).__name__) from error
        sample = point.taking(max(took - self.call, took / 2) / count)
        self.known(sample)
        return sample

    def known(self, sample: Sample) -> None:
        """A sample that was taken before; larger ones of its series are judged by it."""
        self._last[sample.series] = sample

    def _expected(self, point: Point) -> float:
        """Seconds of a step, from a smaller one; 0 where there was none."""
        last = self._last.get(point.taking(1.0).series)
        return last.seconds * point.work / last.work if last else 0.0

    @property
    def call(self) -> float:
        """What a call takes in which next to nothing is done, in seconds: the least, since whatever
        else the machine was at is none of it."""
        if self._call is None:
            nothing = Point("matmul", (), "f32", 8)
            self._call = min(self._program(nothing, 0, EMPTY))
        return self._call

    def _program(self, point: Point, count: int, repeats: int) -> list[float]:
        """What each call of a program of so many steps takes."""
        import jax
        from jax.sharding import AxisType, Mesh

        at = grid(point.group, self.setting.seen) if point.group else _row(len(self.devices))
        devices = _array(self.devices, at.shape)
        mesh = Mesh(devices, at.names, axis_types=(AxisType.Auto,) * len(at.names))
        program, arrays = built(point, at, mesh, count)
        return _times(lambda: jax.block_until_ready(program(*arrays)), repeats)


def _row(count: int) -> Grid:
    return Grid((count,), ("a0",), ())


def _array(devices: list[Any], shape: tuple[int, ...]) -> Any:
    import numpy as np

    return np.array(devices).reshape(shape)


def _times(call: Callable[[], object], repeats: int) -> list[float]:
    for _ in range(WARM):
        call()
    found = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return found


def built(point: Point, at: Grid, mesh: Any, count: int) -> tuple[Callable[..., Any], list[Any]]:
    """The program, and its arguments: each chip has parts of its own."""
    import jax
    from jax.sharding import PartitionSpec as P

    chips = prod(size for name, size in zip(at.names, at.shape, strict=True) if name in at.along)
    spec, total = P(at.names), prod(at.shape)
    shapes = [steps.shape(point, chips)]
    if point.kind not in MOVES:
        shapes += [(point.extent, point.extent)] * (max(1, min(count, WEIGHTS)))

    def body(x: Any, *weights: Any) -> Any:
        x = x[0]
        for number in range(count):
            x = jax.lax.optimization_barrier(_step(point, at, chips, weights, number)(x))
        return x[None]

    specs = (spec,) * len(shapes)
    mapped = jax.shard_map(body, mesh=mesh, in_specs=specs, out_specs=spec)
    arrays = [_random(point.dtype, (total, *shape), mesh, spec) for shape in shapes]
    return jax.jit(mapped), arrays


def _step(point: Point, at: Grid, chips: int, weights: tuple[Any, ...], number: int) -> steps.Step:
    kind = point.kind
    if kind == "matmul" or kind == "memory":
        return steps.matmul(weights[number % len(weights)][0], point.dtype)
    return steps.move(kind, at.along, chips)


def _random(dtype: Dtype, shape: tuple[int, ...], mesh: Any, spec: Any) -> Any:
    """An array of which each chip has the same numbers. Products of them stay small: nothing
    overflows, and no unit gets by with multiplying zeros."""
    import jax
    import numpy as np
    from jax.sharding import NamedSharding

    unit = np.random.default_rng(0).uniform(-0.5, 0.5, min(NUMBERS, prod(shape[1:])))
    scale = 8.0 if dtype == "int8" else 3.0 / shape[-1] ** 0.5
    block = np.resize((scale * unit).astype(jax.numpy.dtype(JAX[dtype])), (1, *shape[1:]))
    sharding = NamedSharding(mesh, spec)
    return jax.make_array_from_callback(shape, sharding, lambda index: block)
