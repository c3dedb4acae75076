"""Programs given to XLA at their full sizes without being run: arguments are shapes alone.

The devices are those that JAX has, or simulated ones where they are too few.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import prod
from types import ModuleType
from typing import Any

from layoutc.codegen.compiled import hlo
from layoutc.codegen.compiled.collectives import Collective, collectives


@dataclass(frozen=True, slots=True)
class Usage:
    """XLA's own account of memory, in bytes on one device."""

    arguments: int
    outputs: int
    temporary: int
    shared: int
    """Counted twice: outputs that lie where arguments lay."""

    @property
    def peak(self) -> int:
        return self.arguments + self.outputs + self.temporary - self.shared


@dataclass(frozen=True, slots=True)
class Built:
    """What XLA made: its program, its collectives, and its account of memory.

    `stated` are the collectives that it was given: what the function itself says."""

    module: hlo.Module
    collectives: tuple[Collective, ...]
    stated: tuple[Collective, ...]
    usage: Usage
    platform: str


UNRUN: dict[str, str | bool] = {
    "xla_backend_optimization_level": "0",
    "xla_llvm_disable_expensive_passes": True,
}
"""On the CPU: machine code that is not run need not be good. XLA's own passes are as ever."""


def simulate(count: int) -> bool:
    """Sees to `count` devices, simulated on the CPU if JAX has fewer: True if they are.

    Arrays that this process holds on devices are lost if it comes to that.
    """
    import jax
    from jax.extend.backend import clear_backends

    if jax.device_count() >= count:
        return False
    clear_backends()
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", count)
    return True


def arguments(module: ModuleType, mesh: Any, phase: str | None = None) -> tuple[Any, ...]:
    """The arguments of an emitted module's function at full size, as shapes with shardings.

    They are those of `phase`, or of the first. An int8 weight is a pair."""
    import jax
    from jax.sharding import NamedSharding

    chosen = module.called(phase)

    def struct(tensor: Any, spec: Any) -> Any:
        shape, dtype = module.extents(tensor, chosen.dims), tensor.dtype or module.DTYPE
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))

    def argument(tensor: Any, spec: Any) -> Any:
        if tensor.scales is None:
            return struct(tensor, spec)
        scales = tensor._replace(dims=tensor.scales, dtype=module.jnp.float32)
        return tuple(map(struct, (tensor, scales), spec))

    return tuple(argument(t, chosen.specs[n]) for n, t in module.ARGUMENTS.items())


def exact_dtype(module: ModuleType) -> Any:
    """In what an emitted module's values are compared: f32, unless they are whole numbers."""
    jnp = module.jnp
    return jnp.float32 if jnp.issubdtype(module.DTYPE, jnp.floating) else module.DTYPE


def build(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    donated: Sequence[int] = (),
    results: Any = None,
) -> Built:
    """`function` compiled for `arguments`, arrays or shapes with shardings, or pairs of them.

    `function` may be jitted already. The arguments with the numbers `donated` may be written
    over. `results` are shardings of what it returns, XLA's to choose where there are none. On
    simulated devices XLA orders its work for the least memory, as it does elsewhere.
    """
    import jax

    sharding = jax.tree.leaves(arguments)[0].sharding
    platform = sharding.mesh.devices.flat[0].platform
    options = UNRUN | {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"}
    held = {} if results is None else {"out_shardings": results}
    jitted = jax.jit(function, donate_argnums=tuple(donated), keep_unused=True, **held)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Some donated buffers were not usable")
        lowered = jitted.lower(*arguments)
    compiled = lowered.compile(compiler_options=options if platform == "cpu" else None)
    module = hlo.parse(_text(compiled))
    count = sharding.num_devices
    given = hlo.parse(lowered.as_text("hlo", debug_info=True))
    return Built(
        module,
        tuple(collectives(module, count)),
        tuple(collectives(given, count)),
        _usage(compiled),
        platform,
    )


LONGEST = 1 << 16
"""The longest constant that is worth its place in a text: a table for as many devices."""


def _text(compiled: Any) -> str:
    """The optimised program, tables of numbers by device included unless it has larger ones."""
    text: str = compiled.as_text()
    omitted = re.findall(r" = \w+\[([\d,]+)\]\S* constant\(\{\.\.\.\}\)", text)
    if not omitted or max(prod(map(int, e.split(","))) for e in omitted) > LONGEST:
        return text
    module = compiled.runtime_executable().hlo_modules()[0]
    options = import_module(type(module).__module__).HloPrintOptions()
    options.print_large_constants = True
    full: str = module.to_string(options)
    return full


def _usage(compiled: Any) -> Usage:
    stats = compiled.memory_analysis()
    return Usage(
        stats.argument_size_in_bytes,
        stats.output_size_in_bytes,
        stats.temp_size_in_bytes,
        stats.alias_size_in_bytes,
    )
