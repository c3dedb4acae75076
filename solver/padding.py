"""Dims that a number of chips does not divide, and the sizes to which they could be padded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from layoutc.dsl.program import Program
from layoutc.solver.meshes import divisors

MOST = 2
"""A dim is not padded to more than so many times its size."""


@dataclass(frozen=True, slots=True)
class Padded:
    """A program in which one dim is padded: from `size` to `to`."""

    dim: str
    size: int
    to: int
    program: Program

    def __str__(self) -> str:
        return f"dims {self.dim}={self.size} padded {self.to}"


def paddings(program: Program, chips: int) -> list[Padded]:
    """Each way to have a dim divided that some of the chips do not divide, the least added first.

    Of a dim that is padded already, or has a size of its own in some phase, nothing is said.
    """
    found = [padded for dim in _open(program) for padded in _of(program, dim, chips)]
    return sorted(found, key=lambda padded: padded.to / padded.size)


def _open(program: Program) -> Iterator[str]:
    """The dims that could be padded and are used at all."""
    sized = {dim for phase in program.phases for dim in phase.sizes}
    used = {dim for item, _ in program.walk() for dim in item.type.shape.names}
    for dim, size in program.dims.items():
        known = dim in program.useful or dim in sized
        if size is not None and size > 1 and dim in used and not known:
            yield dim


def _of(program: Program, dim: str, chips: int) -> Iterator[Padded]:
    size = program.dims[dim] or 1
    sizes = {-(-size // parts) * parts for parts in divisors(chips) if size % parts}
    for to in sizes:
        if to <= MOST * size:
            dims, useful = {**program.dims, dim: to}, {**program.useful, dim: size}
            yield Padded(dim, size, to, replace(program, dims=dims, useful=useful))
