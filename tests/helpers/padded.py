"""Padded programs run with garbage in their padding, held against those without any padding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import dense
import emitted
import jax
import numpy as np

from layoutc.codegen.body import arguments, returned, stacks
from layoutc.dsl.program import Program

HEADS = """
dims   B=16  L=2  E=32  H=28 padded 32  D=4
mesh   x y z
dtype  f32
input  x  : BLE?
weight wq : EHD!
weight wo : HDE!
q : BLHD? = x * wq
a         = gelu(q)
y : BLE?  = a * wo
output y -> x
"""
"""28 heads for 8 chips."""

GARBAGE = (np.nan, np.inf, -np.inf, 1e30, -1e30, 7.0)


def padded_at_random(program: Program, seed: int) -> Program:
    """The program with padding in one or two of its dims; their sizes are now with the padding."""
    random = Random(f"padding {seed}")
    wide = [dim for dim, size in program.dims.items() if size and size > 1]
    dims = random.sample(wide, min(len(wide), random.choice((1, 1, 2))))
    useful = {dim: random.randint(1, (program.dims[dim] or 0) - 1) for dim in dims}
    return replace(program, useful=useful)


def errors(program: Program, mesh: Mapping[str, int], seed: int = 0) -> dict[str, float]:
    """max |a-b| / max |b| against NumPy without padding, of what was emitted and of its reference.

    Wherever an argument is padded there is garbage. A result whose padding is not all zeros is
    infinitely wrong.
    """
    module, function = emitted.module_of(program, mesh)
    made = module.make_inputs(module.make_mesh(jax.devices()))
    random = np.random.default_rng(seed)
    names = [d.name for d in arguments(program)]
    inputs = [_spoiled(a, n, program, random) for n, a in zip(names, made, strict=True)]
    used = {n: a[_used(n, a, program)] for n, a in zip(names, inputs, strict=True)}
    wanted = dense.run(program, used)
    whole = [jax.device_put(a, b.sharding) for a, b in zip(inputs, made, strict=True)]
    got = {"sharded": function(*whole), "reference": module.reference(*inputs)}
    return {who: _error(program, results, wanted) for who, results in got.items()}


def hold(program: Program, mesh: Mapping[str, int], seed: int = 0) -> None:
    """Values to 1e-5, or as near as the reference is, and no collectives beside the program's."""
    found = errors(program, mesh, seed)
    assert found["sharded"] < max(1e-5, 2 * found["reference"]), found
    assert found["reference"] < 1e-2, found
    assert emitted.collectives_in(program, mesh) == emitted.collectives_of(program)


def _used(name: str, array: Any, program: Program) -> tuple[slice, ...]:
    """Where in a whole array the part is that is used."""
    dims = program.types[name].shape.names
    stack = (slice(None),) * (name in stacks(program))
    return (*stack, *(slice(program.useful.get(d)) for d in dims))


def _spoiled(array: Any, name: str, program: Program, random: np.random.Generator) -> Any:
    """The argument with something else than zeros in its padding, which was zeros; a cache keeps
    them."""
    values = np.array(array)
    if name in program.written:
        return values
    place = np.ones(values.shape, bool)
    place[_used(name, values, program)] = False
    assert not values[place].any()
    garbage = random.choice(GARBAGE, int(place.sum()))
    if values.dtype.kind == "i":
        garbage = np.nan_to_num(garbage, nan=5, posinf=100, neginf=-100).clip(-100, 100)
    with np.errstate(over="ignore"):
        values[place] = garbage.astype(values.dtype)
    return values


def _error(program: Program, results: Any, wanted: list[Any]) -> float:
    found = 0.0
    triples = zip(returned(program), jax.tree.leaves(results), wanted, strict=True)
    for name, result, want in triples:
        values = np.array(result, np.float64)
        used = _used(name, values, program)
        gap = np.max(np.abs(values[used] - want)) / (np.max(np.abs(want)) or 1.0)
        values[used] = 0
        found = max(found, float("inf") if np.isnan(gap) or values.any() else float(gap))
    return found
