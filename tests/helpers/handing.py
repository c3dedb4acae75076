"""Phases whose caches differ, and what hands them over, as if they had been solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import jax
import numpy as np
from checking import right

from layoutc.codegen.emit import emit
from layoutc.codegen.run import load
from layoutc.dsl.handing import HandOver
from layoutc.dsl.program import Output, Program

ENDS = "input one : L\n{}output one\n"


@dataclass(frozen=True)
class Case:
    """Caches of two phases by their statements. A line that is indented stands in a `repeat 3`."""

    mesh: Mapping[str, int]
    source: str
    target: str
    moves: str
    last: str
    given: str = "B=1 M=6"
    there: str = "B=8 M=6"
    places: tuple[int, ...] = (0, 5)

    @property
    def passes(self) -> tuple[Program, Program]:
        return (
            phase("prefill", self.given, self.mesh, self.source),
            phase("decode", self.there, self.mesh, self.target),
        )

    @property
    def hand_over(self) -> HandOver:
        text = "".join(f"{line}\n" for line in self.moves.splitlines())
        program = phase("prefill", self.given, self.mesh, text)
        return handing("prefill", "decode", program, self.last)

    @property
    def text(self) -> str:
        return emit(self.passes, self.mesh, [self.hand_over])

    def module(self) -> ModuleType:
        return load(self.text, "handed")


def phase(name: str, sizes: str, mesh: Mapping[str, int], statements: str) -> Program:
    """One phase: what stands indented is in a block. An input goes straight through."""
    lines = statements.splitlines()
    inside = [line for line in lines if line.startswith(" ")]
    outside = [line for line in lines if not line.startswith(" ")]
    block = ["repeat 3 {", *inside, "}"] if inside else []
    axes = " ".join(f"{axis}={size}" for axis, size in mesh.items())
    head = f"dims B L=2 M K=12 Q=4\nmesh {axes}\ndtype f32\nphase {name} : {sizes}\n"
    body = "".join(f"{line}\n" for line in [*outside, *block])
    (program,) = right(head + ENDS.format(body)).passes
    return program


def handing(source: str, target: str, program: Program, last: str) -> HandOver:
    """A hand-over by a program of a phase, of which the caches and their moves are taken."""
    outputs = tuple(map(Output, last.split()))
    return HandOver(source, target, replace(program, items=program.items[1:], outputs=outputs))


def caches(module: ModuleType, phase: str, seed: int) -> list[np.ndarray[Any, Any]]:
    """Random caches of a phase, whole."""
    generator = np.random.default_rng(seed)
    tensors = [module.ARGUMENTS[name] for name in module.ARGUMENTS if name != "one"]
    shapes = [module.extents(tensor, module.DIMS[phase]) for tensor in tensors]
    return [
        generator.integers(-100, 100, shape).astype(tensor.dtype or module.DTYPE)
        for tensor, shape in zip(tensors, shapes, strict=True)
    ]


def on_chips(module: ModuleType, phase: str, arrays: Sequence[Any]) -> list[jax.Array]:
    """The caches of a phase as it holds them."""
    mesh, specs = module.make_mesh(), module.SPECS[phase]
    names = [name for name in module.ARGUMENTS if name != "one"]
    return [
        jax.device_put(array, jax.sharding.NamedSharding(mesh, specs[name]))
        for name, array in zip(names, arrays, strict=True)
    ]


def filled(
    new: np.ndarray[Any, Any], old: np.ndarray[Any, Any], place: int, batch: int
) -> np.ndarray[Any, Any]:
    """`old` with `new` in it, element by element: dim number `batch` begins at `place`."""
    wanted = old.copy()
    for where in np.ndindex(new.shape):
        there = (*where[:batch], where[batch] + place, *where[batch + 1 :])
        if all(0 <= i < n for i, n in zip(there, old.shape, strict=True)):
            wanted[there] = new[where]
    return wanted
