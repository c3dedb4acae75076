"""The values of an emitted program, held against its reference at small sizes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from layoutc.codegen.compiled import build
from layoutc.codegen.emit import emit
from layoutc.codegen.names import identifier
from layoutc.codegen.padding import padded
from layoutc.codegen.run import load
from layoutc.codegen.verify.lines import function
from layoutc.dsl.program import Define, Output, Program

SHOWN = 77
"""What stands in the padding of whole numbers, none of which is as large."""


@dataclass(frozen=True, slots=True)
class Values:
    """`error` is max |a-b| / max |b| against the reference, at `sizes`; `first` is the name of
    the first value that is beyond the tolerance, "" where none is or it can't be said."""

    error: float
    tolerance: float
    sizes: Mapping[str, int]
    first: str = ""

    @property
    def equal(self) -> bool:
        return self.error <= self.tolerance


def compare(source: str, module: ModuleType, program: Program, mesh: Mapping[str, int]) -> Values:
    """Runs the emitted `module`, whose text is `source`: in f32 unless the file says otherwise."""
    phase = module.called(program.phase.name)
    dtype, arrays = _arrays(module, program)
    with _exactly():
        wanted = module.reference(*module.whole(phase, 0, dtype, phase.small))
        error = float(module.worst(phase.run(*arrays), wanted))
    found = Values(error, module.tolerance(dtype), phase.small)
    return found if found.equal else replace(found, first=_first(source, program, mesh))


def _arrays(module: ModuleType, program: Program) -> tuple[Any, tuple[Any, ...]]:
    dtype, phase = build.exact_dtype(module), program.phase.name
    sizes = module.called(phase).small
    made = module.make_inputs(module.make_mesh(), 0, phase, dtype=dtype, **sizes)
    return dtype, _spoiled(module, made) if padded(program) else made


def _spoiled(module: ModuleType, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with something in their padding that shows wherever it gets; in that of
    caches, which hold what the program wrote, are zeros."""

    def one(tensor: Any, made: Any) -> Any:
        if tensor.cache:
            return made
        if tensor.scales is None:
            return _spoilt(module, tensor.dims, made)
        pairs = zip((tensor.dims, tensor.scales), made, strict=True)
        return tuple(_spoilt(module, dims, array) for dims, array in pairs)

    return tuple(map(one, module.ARGUMENTS.values(), arrays))


def _spoilt(module: ModuleType, dims: str, made: Any) -> Any:
    import jax

    array, stack = made, made.ndim - len(dims)
    show = float("nan") if jax.numpy.issubdtype(made.dtype, jax.numpy.floating) else SHOWN
    for number, dim in enumerate(dims, stack):
        padding = slice(module.useful(dim, made.shape[number]), None)
        array = array.at[(*[slice(None)] * number, padding)].set(show)
    return jax.device_put(array, made.sharding)


def _exactly() -> Any:
    """f32 is f32: not the faster passes that some machines make of it."""
    import jax

    return jax.default_matmul_precision("highest")


def _first(source: str, program: Program, mesh: Mapping[str, int]) -> str:
    """The first value that is wrong, all that are whole or split being looked at."""
    import jax

    seen = [
        item.name
        for item in program.items
        if isinstance(item, Define) and not item.type.shape.partial
    ]
    if not seen:
        return ""
    module = load(_returning(seen, source, program, mesh), identifier(program.name))
    dtype, arrays = _arrays(module, program)
    phase = module.called(program.phase.name)
    with _exactly():
        outputs = phase.run(*arrays)
        wanted = module.reference(*module.whole(phase, 0, dtype, phase.small))
    pairs = zip(seen, jax.tree.leaves(outputs), jax.tree.leaves(wanted), strict=False)
    allowed = module.tolerance(dtype)
    return next((name for name, a, b in pairs if not module.worst(a, b) <= allowed), "")


def _returning(names: list[str], source: str, program: Program, mesh: Mapping[str, int]) -> str:
    """The text of a module that does what `source` does and returns all of `names`."""
    wider = replace(program, outputs=tuple(Output(name) for name in names))
    tree = ast.parse(emit(wider, mesh))
    theirs = function(ast.parse(source), program)
    ours = function(tree, wider)
    ours.body = [*theirs.body[:-1], ours.body[-1]]
    return ast.unparse(ast.fix_missing_locations(tree))
