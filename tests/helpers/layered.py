"""Programs of a Transformer layer's operations, run on simulated devices and held against NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dense
import emitted
import jax
import numpy as np
from texts import read

from layoutc.dsl.program import Program


def errors(
    program: Program, mesh: Mapping[str, int], given: Mapping[str, Any] | None = None
) -> dict[str, float]:
    """max |a-b| / max |b| against the dense evaluation, the worst of all results, of what was
    emitted and of its reference; arguments are random but for the `given` ones."""
    module, function = emitted.module_of(program, mesh)
    made = module.make_inputs(module.make_mesh(jax.devices()))
    arrays = {name: np.array(a) for name, a in zip(module.ARGUMENTS, made, strict=True)}
    for name, values in (given or {}).items():
        arrays[name] = np.broadcast_to(np.asarray(values, arrays[name].dtype), arrays[name].shape)
    placed = [jax.device_put(a, m.sharding) for a, m in zip(arrays.values(), made, strict=True)]
    wanted = dense.run(program, arrays)
    got = {"reference": module.reference(*arrays.values()), "sharded": function(*placed)}
    return {who: max(map(error, jax.tree.leaves(r), wanted)) for who, r in got.items()}


def error(got: Any, wanted: Any) -> float:
    """max |a-b| / max |b|; least numbers count as such, whatever else there is."""
    got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    least = wanted < -1e30
    if (least != (got < -1e30)).any():
        return float("inf")
    gap = np.abs(np.where(least, 0, got - wanted))
    return float(np.max(gap) / (np.max(np.abs(np.where(least, 0, wanted))) or 1.0))


def hold(
    text: str, mesh: Mapping[str, int], given: Mapping[str, Any] | None = None, within: float = 1e-5
) -> None:
    """Values are right, and the emitted function has the program's collectives and no more."""
    program = read(text)
    found = errors(program, mesh, given)
    assert max(found.values()) <= within, found
    assert emitted.collectives_in(program, mesh) == emitted.collectives_of(program)
