"""What the caches of a pass take, and how long a context they have room for.

A cache grows with its context: with the places of the dim that is written, M of `write[M]`. Each
place is a token of every sequence, and B counts those. All of it follows from the layout: what is
split takes its part of a chip, what is replicated is paid by each (the paper's section 3.3).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm, prod

from layoutc.dsl.operation import Layer
from layoutc.dsl.program import DTYPES, Declare, Define, Program
from layoutc.dsl.words import LARGEST
from layoutc.solver.collectives import held
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.meshes import Mesh
from layoutc.solver.plan import Pass
from layoutc.solver.price import held_in

PLACES = "M"
"""The dim that counts the places of a cache which is only read, by the language's convention."""

SEQUENCES = "B"
"""The dim that counts sequences, likewise."""

Stack = tuple[Declare, int]
"""A cache, and how many there are of it."""


@dataclass(frozen=True, slots=True)
class Growth:
    """What a context of `size` places of `dim` costs, all caches together.

    `bytes_per_place` is what one more place takes of a chip, for all sequences; `bytes_per_token`
    the same for one sequence, and `total_bytes_per_token` over all chips, each element once.
    `longest` is the largest `dim` that there is room for, a multiple of the parts into which it
    is cut; 0 if there is none.
    """

    dim: str
    size: int
    bytes_per_place: Fraction
    bytes_per_token: Fraction
    total_bytes_per_token: Fraction
    longest: int


@dataclass(frozen=True, slots=True)
class Context:
    """The caches of a pass: `bytes` on one chip, `total_bytes` over all, each element once.

    `growth` is None where no cache has a dim that counts places. `share` is the part of a chip's
    memory that was asked about, None for what the rest of the pass leaves.
    """

    bytes: int
    total_bytes: int
    growth: Growth | None
    share: Fraction | None


def context(part: Pass, share: Fraction | None = None) -> Context | None:
    """What the caches of a pass take, and the longest context that fits in a `share` of a chip's
    memory, or beside weights and activations. None of a program without caches."""
    program = part.program
    if not caches(program):
        return None
    dim, whole = growing_dim(program), dict.fromkeys(part.mesh, 1)
    growth = None if dim is None else _growth(part, dim, share)
    return Context(stored(program, part.mesh), stored(program, whole), growth, share)


def _growth(part: Pass, dim: str, share: Fraction | None) -> Growth:
    program, mesh, machine = part.program, part.mesh, part.machine
    growing, whole = _growing(program, dim), dict.fromkeys(mesh, 1)
    place = {**program.sizes, dim: 1}
    token = {**place, SEQUENCES: 1}
    return Growth(
        dim,
        program.sizes[dim],
        _bytes(growing, place, mesh),
        _bytes(growing, token, mesh),
        _bytes(growing, token, whole),
        longest(program, mesh, machine) if share is None else _within(part, dim, share),
    )


def caches(program: Program) -> list[Stack]:
    """The caches, in the file's order."""
    return [
        (item, times)
        for item, times in program.walk()
        if isinstance(item, Declare) and item.kind == "cache"
    ]


def stored(program: Program, mesh: Mesh) -> int:
    """The bytes that all caches take of a chip."""
    return int(_bytes(caches(program), program.sizes, mesh))


def longest(program: Program, mesh: Mesh, machine: Machine) -> int:
    """The largest context with which an explicit program fits in memory; 0 if it never does.

    Activations that have the dim grow with it, and all else stays as it is.
    """
    dim = growing_dim(program)
    if dim is None:
        return 0
    parts = _parts(program, mesh, dim)

    def taken(multiple: int) -> int:
        longer = replace(program, dims={**program.dims, dim: multiple * parts})
        return held_in(longer, mesh, machine).bytes

    most = _room(program, mesh, dim, Fraction(machine.memory_bytes)) // parts
    return parts * max(0, bisect_right(range(most + 1), machine.memory_bytes, key=taken) - 1)


def growing_dim(program: Program) -> str | None:
    """The dim that counts the places of a context: that of the first write, or M by convention;
    None where no cache has one."""
    for item, _ in program.walk():
        match item:
            case Define(operation=Layer("write", (dim,))):
                return dim
            case _:
                pass
    return PLACES if any(PLACES in cache.type.shape for cache, _ in caches(program)) else None


def _growing(program: Program, dim: str) -> list[Stack]:
    return [stack for stack in caches(program) if dim in stack[0].type.shape]


def _within(part: Pass, dim: str, share: Fraction) -> int:
    """The largest context whose caches fit in a share of a chip's memory."""
    budget = share * part.machine.memory_bytes
    fixed = [s for s in caches(part.program) if dim not in s[0].type.shape]
    left = budget - _bytes(fixed, part.program.sizes, part.mesh)
    parts = _parts(part.program, part.mesh, dim)
    return max(0, _room(part.program, part.mesh, dim, left) // parts * parts)


def _room(program: Program, mesh: Mesh, dim: str, budget: Fraction) -> int:
    """How many places take so many bytes of a chip."""
    place = _bytes(_growing(program, dim), {**program.sizes, dim: 1}, mesh)
    return min(LARGEST, budget // place)


def _parts(program: Program, mesh: Mesh, dim: str) -> int:
    """What the size of a dim has to be a multiple of."""
    shapes = (held_as.shape for held_as in program.types.values())
    return lcm(*(prod(mesh[axis] for axis in shape.split(dim)) for shape in shapes))


def _bytes(stacks: Iterable[Stack], sizes: Mapping[str, int], mesh: Mesh) -> Fraction:
    """What a chip holds of caches; a part of a byte where a single place or token is cut."""
    values = {**sizes, **mesh}
    return sum(
        (
            held(cache.type.shape).exact(values) * DTYPES[cache.type.dtype] * times
            for cache, times in stacks
        ),
        Fraction(0),
    )
