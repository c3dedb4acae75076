"""Emitted programs held against NumPy, on the simulated devices of this process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import dense
import jax
import numpy as np
from simulator import Simulator

from layoutc.codegen.body import arguments
from layoutc.codegen.emit import emit
from layoutc.codegen.moves import changed_order
from layoutc.codegen.names import identifier
from layoutc.codegen.run import load
from layoutc.dsl.operation import Move
from layoutc.dsl.program import Define, Program

PRIMITIVES = {
    "all_gather_invariant": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "psum": "all-reduce",
    "psum_invariant": "all-reduce",
    "pmax": "all-reduce",
    "all_to_all": "all-to-all",
    "ppermute": "permute",
}
"""JAX's primitives for what moves data between chips, and what the notation calls them."""

Kinds = Counter[tuple[str, tuple[str, ...]]]


def module_of(program: Program, mesh: Mapping[str, int]) -> tuple[ModuleType, Any]:
    """The emitted module, and its function."""
    module = load(emit(program, mesh), "emitted")
    return module, getattr(module, identifier(program.name))


def errors(program: Program, mesh: Mapping[str, int]) -> dict[str, float]:
    """max |a-b| / max |b| against the dense evaluation, of what was emitted, its reference and
    the simulator."""
    module, function = module_of(program, mesh)
    devices = jax.devices()
    inputs = module.make_inputs(module.make_mesh(devices))
    arrays = {d.name: np.asarray(a) for d, a in zip(arguments(program), inputs, strict=True)}
    wanted = dense.run(program, arrays)
    sizes = {d: s for d, s in program.dims.items() if s is not None}
    got = {
        "sharded": jax.tree.leaves(function(*inputs)),
        "reference": jax.tree.leaves(module.reference(*arrays.values())),
        "simulator": dense.run(program, arrays, Simulator(mesh, sizes)),
    }
    return {
        who: max(_error(a, b) for a, b in zip(results, wanted, strict=True))
        for who, results in got.items()
    }


def _error(got: Any, wanted: Any) -> float:
    gap = np.max(np.abs(np.asarray(got, np.float64) - wanted))
    return float(gap / (np.max(np.abs(wanted)) or 1.0))


def collectives_of(program: Program) -> Kinds:
    """What the program says moves: a statement for each dim that an all-gather is over."""
    labels = {a.name: a.label or a.name for a in program.axes}
    kinds: Kinds = Counter()
    types = program.types
    for item, _ in program.walk():
        if not isinstance(item, Define) or not isinstance(item.operation, Move):
            continue
        move, before = item.operation, types[item.operation.operand].shape
        groups = [move.axes]
        if move.kind == "slice":
            continue
        if move.kind == "all-gather":
            groups = [tuple(a for a in d.axes if a in move.axes) for d in before]
        if move.kind == "permute":
            groups = [changed_order(before, item.type.shape)[0]]
        for group in filter(None, groups):
            kinds[move.kind, tuple(sorted(labels[a] for a in group))] += 1
    return kinds


def collectives_in(program: Program, mesh: Mapping[str, int]) -> Kinds:
    """What the emitted function's jaxpr has, each once, scans' bodies included."""
    module, function = module_of(program, mesh)
    inputs = module.make_inputs(module.make_mesh())
    kinds: Kinds = Counter()
    for equation in equations(jax.make_jaxpr(function)(*inputs).jaxpr):
        kind = PRIMITIVES.get(equation.primitive.name)
        if kind:
            over = equation.params.get("axes", equation.params.get("axis_name"))
            over = over if isinstance(over, tuple) else (over,)
            kinds[kind, tuple(sorted(over))] += 1
    return kinds


def equations(jaxpr: Any) -> Iterator[Any]:
    """Every equation of a jaxpr and of those inside."""
    for equation in jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from equations(inner)
