"""A user's function left to XLA's partitioner, with the layouts that a program declares.

The arguments and the results are held as the program has it, the mesh is its mesh, and every
collective in between is XLA's own idea. No data is made but to compare values at small sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from layoutc.codegen import body
from layoutc.codegen.against import function, notation, reading
from layoutc.codegen.against.function import Function, WrongFunction
from layoutc.codegen.against.notation import Grid
from layoutc.codegen.against.reading import Reading
from layoutc.codegen.compiled import build
from layoutc.codegen.compiled.build import Built
from layoutc.codegen.emit import emit
from layoutc.codegen.names import identifier
from layoutc.codegen.run import load
from layoutc.dsl.program import Program
from layoutc.dsl.scales import scaled


@dataclass(frozen=True, slots=True)
class Automatic:
    """What became of a function: compiled, and read in the notation's terms.

    `error` is its greatest difference from the program's reference, max |a-b| / max |b|, at small
    sizes in f32; None where it could not be run there, and `refusal` says why.
    """

    function: Function
    built: Built
    reading: Reading
    grid: Grid
    error: float | None
    tolerance: float
    refusal: str = ""

    @property
    def same(self) -> bool:
        """True unless it was seen to compute something else."""
        return self.error is None or self.error <= self.tolerance


def automatic(program: Program, mesh: Mapping[str, int], called: str, folder: Path) -> Automatic:
    """`called` is "module:function"; `program` is explicit and all its dims have sizes.

    Simulates devices that are missing.

    Raises:
        WrongFunction: there is no such function, or it does not take what the program takes or
            give what it gives.
    """
    grid = Grid({d: size or 0 for d, size in program.dims.items()}, dict(mesh))
    build.simulate(grid.devices)
    found = function.found(called, folder)
    function.accepts(found, program)
    module = load(emit(program, mesh), identifier(program.name))
    held = module.make_mesh()
    arguments = build.arguments(module, held)
    flat = _flat(found)
    # The mesh is there for a function that says by itself how something is held.
    with module.jax.set_mesh(held):
        _checked(found, flat, program, module, arguments)
        with _blamed(found):
            built = build.build(flat, arguments, results=_results(module, program, held))
        error, refusal = _error(flat, module)
    read = reading.read(built.module, _blocks(program, grid), grid.devices)
    tolerance = module.tolerance(build.exact_dtype(module))
    return Automatic(found, built, read, grid, error, tolerance, refusal)


def _flat(found: Function) -> Callable[..., tuple[Any, ...]]:
    """The function with its results in a row, whatever holds them."""
    import jax

    def flat(*arrays: Any) -> tuple[Any, ...]:
        return tuple(jax.tree.leaves(found.call(*arrays)))

    flat.__name__ = found.name.rpartition(".")[2]
    return flat


def _checked(
    found: Function,
    flat: Callable[..., tuple[Any, ...]],
    program: Program,
    module: ModuleType,
    arguments: tuple[Any, ...],
) -> None:
    import jax

    plain = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), arguments)
    with _blamed(found):
        got = jax.eval_shape(flat, *plain)
    wanted = jax.tree.leaves(jax.eval_shape(module.reference, *plain))
    function.gives(found, program, got, wanted)


class _blamed:
    """What a user's function raises while JAX traces it leaves as `WrongFunction`."""

    def __init__(self, found: Function) -> None:
        self.found = found

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, WrongFunction):
            said = function.said(error, self.found.file)
            raise WrongFunction(f"{self.found.called} can't be traced: {said}") from None


def _results(module: ModuleType, program: Program, held: Any) -> tuple[Any, ...]:
    specs = module.called(program.phase.name).specs
    return tuple(module.NamedSharding(held, specs[name]) for name in body.returned(program))


def _blocks(program: Program, grid: Grid) -> list[Any]:
    """What the devices hold of the arguments: of an int8 weight its numbers, then its scales."""
    stacks, scales, blocks = body.stacks(program), scaled(program), []
    for declare in body.arguments(program):
        name, count = declare.name, stacks.get(declare.name, 0)
        blocks.append(notation.block(declare.type.shape, grid, name, count))
        if name in scales:
            blocks.append(notation.copies(scales[name], grid, f"{name}'s scales", count))
    return blocks


# Values.


def _error(flat: Callable[..., tuple[Any, ...]], module: ModuleType) -> tuple[float | None, str]:
    """How far the function is from the reference, both on one device."""
    import jax

    phase, dtype = module.called(None), build.exact_dtype(module)
    arrays = jax.tree.map(jax.numpy.asarray, module.whole(phase, 0, dtype, phase.small))
    with jax.default_matmul_precision("highest"):
        wanted = jax.tree.leaves(module.reference(*arrays))
        try:
            got = jax.jit(flat)(*arrays)
        except Exception as error:
            return None, function.said(error)
    if [g.shape for g in got] != [w.shape for w in wanted]:
        return None, "it gives other shapes there"
    return float(module.worst(got, wanted)), ""
