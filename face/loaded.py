"""A plan on the devices that JAX has: its callables, its shardings, its arguments' shapes.

The emitted module does the work, and its own imports are used: nothing here imports JAX, so that
its classes have no names here, and stand as `Any` in signatures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from types import ModuleType
from typing import Any

from layoutc.codegen.compiled import build
from layoutc.codegen.names import identifier
from layoutc.codegen.run import load
from layoutc.pipeline import WrongCall
from layoutc.solver import units

Mesh = Any
"""A `jax.sharding.Mesh`."""
Shardings = dict[str, Any]
"""A `jax.sharding.NamedSharding` by the name of a tensor; of an int8 weight a pair of them, for its
numbers and for its scales. So it is with the others."""
Structs = dict[str, Any]
"""A `jax.ShapeDtypeStruct`, with its sharding, by the name of a tensor."""
Array = Any
"""A `jax.Array`."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Loaded:
    """The program over a mesh of devices; calling it runs it.

    >>> import layoutc
    >>> program = layoutc.compile("examples/ffn.layout", chips=8, B=16, E=64, F=256).load()
    >>> program
    <ffn on 8 cpu devices, mesh x=2 y=2 z=2: ffn(x, w_in, w_out)>
    >>> x, w_in, w_out = program.make_inputs()
    >>> x.shape, w_in.addressable_shards[0].data.shape
    ((16, 1, 64), (64, 32))
    >>> program(x, w_in, w_out).sharding.is_equivalent_to(program.out_shardings["y"], 3)
    True
    """

    name: str
    """The program's."""
    phase: str
    """The phase that this is."""
    module: ModuleType
    """The emitted module."""
    mesh: Mesh
    """The `jax.sharding.Mesh`; its axes have the file's labels where it gives some."""
    returned: tuple[str, ...]
    """The names of what the program returns: its outputs, then its caches."""

    def __repr__(self) -> str:
        devices = self.mesh.devices
        mesh = units.mesh(self.mesh.shape)
        return (
            f"<{self.name} on {devices.size} {devices.flat[0].platform} devices, mesh {mesh}: "
            f"{self.name}({', '.join(self.names)})>"
        )

    def __call__(self, /, *arrays: Array, **named: Array) -> Any:
        """Runs it. Takes the arguments in order, by name, or both; one output is an array,
        several are a tuple, the outputs first, then the caches. The caches that it takes are used
        up: they are written over, and the next call takes the returned ones.

        Raises:
            TypeError: an argument is missing, or one too many.
        """
        given = dict(zip(self.names, arrays, strict=False)) | named
        if len(arrays) + len(named) != len(self.names) or given.keys() != set(self.names):
            raise TypeError(f"{self.name} takes {', '.join(self.names)}, each once")
        return self.function(*(given[name] for name in self.names))

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments' names: the inputs, then the weights, then the caches."""
        return tuple(self.module.ARGUMENTS)

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The jitted function of each phase; a program without phases has one, "main"."""
        return {name: phase.run for name, phase in self.module.PHASES.items()}

    @property
    def function(self) -> Callable[..., Any]:
        """The phase's jitted function itself, which takes the arguments in order."""
        return self.functions[self.phase]

    @property
    def hand_over(self) -> Callable[..., Any]:
        """The jitted function that puts this phase's caches into those of the next.

        It takes them, then the next phase's, whose memory it writes over, then, where the next
        phase has more places of another dim than the context, the first that is filled; it
        returns the next phase's caches.

        Raises:
            WrongCall: no caches go on from this phase.
        """
        between = vars(self.module).get("HAND_OVERS", {}).values()
        found = next((one.run for one in between if one.source == self.phase), None)
        if found is None:
            raise WrongCall(f"no caches are handed over from {self.phase} to another phase")
        function: Callable[..., Any] = found
        return function

    @property
    def reference(self) -> Callable[..., Any]:
        """The same on whole arrays."""
        found: Callable[..., Any] = self.module.reference
        return found

    @property
    def in_shardings(self) -> Shardings:
        """How each argument is held, in the order of `names`."""
        return self._shardings(self.names)

    @property
    def out_shardings(self) -> Shardings:
        """How what is returned is held, in its order."""
        return self._shardings(self.returned)

    @property
    def arguments(self) -> Structs:
        """Each argument's shape, dtype and sharding, without its values, in the order of `names`.

        A weight or cache inside a `repeat` has the stack as its first dim, which nothing splits.
        """
        arguments = build.arguments(self.module, self.mesh, self.phase)
        return dict(zip(self.names, arguments, strict=True))

    def make_inputs(self, seed: int = 0, dtype: Any = None, **sizes: int) -> tuple[Array, ...]:
        """Random arguments in their layouts, of which each host makes only its own shards.

        Args:
            seed: values depend on it alone, not on the mesh.
            dtype: of what the file gave no dtype, as JAX names it (`jnp.float32`).
            sizes: by dim (`B=8`), and `repeat` for stacks; else they are the plan's.

        Raises:
            ValueError: there is no such dim, or its parts would not be whole.
        """
        module = self.module
        kind = module.DTYPE if dtype is None else dtype
        made: tuple[Array, ...] = module.make_inputs(
            self.mesh, seed, self.phase, dtype=kind, **sizes
        )
        return made

    def _shardings(self, names: Iterable[str]) -> Shardings:
        module, specs = self.module, self.module.called(self.phase).specs

        def sharding(spec: Any) -> Any:
            return module.NamedSharding(self.mesh, spec)

        return {name: module.jax.tree.map(sharding, specs[name]) for name in names}


def loaded(
    source: str, name: str, phase: str, returned: tuple[str, ...], devices: Sequence[Any] | None
) -> Loaded:
    """A phase of the emitted text on `devices`, JAX's own if None.

    Raises `WrongCall` if they are too few, or do not lie as the mesh was planned to.
    """
    module = _module(source, identifier(name))
    present = module.jax.devices() if devices is None else devices
    need = prod(module.MESH.values())
    if len(present) < need:
        raise WrongCall(_too_few(name, need, present))
    try:
        mesh = module.make_mesh(devices)
    except ValueError as refusal:
        raise WrongCall(f"{name}: {refusal}") from None
    return Loaded(name, phase, module, mesh, returned)


@lru_cache(maxsize=64)
def _module(source: str, name: str) -> ModuleType:
    """One module for one text, so that what was jitted stays so."""
    return load(source, name)


def _too_few(name: str, need: int, present: Sequence[Any]) -> str:
    kind = f"{present[0].platform} " if len(present) else ""
    devices = f"{len(present)} {kind}device{'s' * (len(present) != 1)}"
    return (
        f"{name} is for {need} chips and JAX has {devices}; to simulate {need} on the CPU, start "
        f"Python with JAX_PLATFORMS=cpu XLA_FLAGS=--xla_force_host_platform_device_count={need}, "
        "or, before JAX is first used, call jax.config.update('jax_platforms', 'cpu') and "
        f"jax.config.update('jax_num_cpu_devices', {need})"
    )
