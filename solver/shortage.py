"""Why nothing fits in memory: by how much, which tensor is in the way, how many chips would do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from math import ceil, prod

from layoutc.dsl.program import DTYPES, Declare, Program, Type
from layoutc.solver import capacity, lifetimes, units
from layoutc.solver.asked import Asked
from layoutc.solver.assignment import Weights
from layoutc.solver.eliminate import Infeasible
from layoutc.solver.machine import Machine
from layoutc.solver.meshes import mesh_of, meshes, pinned
from layoutc.solver.objectives import alike
from layoutc.solver.price import Memory, price
from layoutc.solver.search import branches
from layoutc.solver.unsolvable import Unsolvable, divides

LEAN = Weights(0.0, 0.0, 1.0, held=1.0)
"""The fewest bytes; a second weighs next to nothing beside them, but keeps ways straight."""

REACH = 10_000
"""How far beyond the number of chips an enough is looked for."""

TRIES = 24
"""So many numbers of chips are tried before it is left open how many would do."""


@dataclass(frozen=True, slots=True)
class Lean:
    """An explicit program that takes little memory, and what it takes of a chip.

    `values` has the name in the file of what goes by another name here."""

    program: Program
    memory: Memory
    values: Mapping[str, str]


def shortage(program: Program, chips: int, machine: Machine) -> Unsolvable | None:
    """The reason why nothing fits on so many chips; None where there is nothing even so."""
    lean = leanest(program, chips, machine)
    if lean is None:
        return None
    name, bytes_ = _largest(lean)
    need, have = units.size(lean.memory.bytes), units.size(machine.memory_bytes)
    where = f" in {lean.program.phase.name}" if len(program.phases) > 1 else ""
    most = f"{name} : {lean.program.types[name].shape}, {units.size(bytes_)}"
    message = (
        f"on {units.chips(chips)} nothing fits in memory: the leanest layout found{where} takes "
        f"{need} of each, and there are {have}; the largest tensor in it is {most}"
    )
    enough = _enough(program, chips, machine)
    hint = f"{units.chips(enough)} would do" if enough else ""
    return Unsolvable(message, hint, lean.values.get(name, name))


def leanest(program: Program, chips: int, machine: Machine) -> Lean | None:
    """The phase that takes most on the mesh and in the layouts that take least, as far as found."""
    found = [max(each, key=_bytes) for each in _candidates(program, chips, machine)]
    return min(found, key=_bytes, default=None)


def _bytes(lean: Lean) -> int:
    return lean.memory.bytes


def _candidates(program: Program, chips: int, machine: Machine) -> Iterator[list[Lean]]:
    """For each mesh all phases in lean layouts, or as they stand."""
    if not program.explicit:
        for node in branches(program, chips, machine, Asked(fit=False)):
            instance = node.instance
            try:
                found = instance.solve(alike(instance, LEAN))
            except Infeasible:
                continue
            yield [
                Lean(
                    filled.program,
                    capacity.memory(filled.program, instance),
                    {name: value.name for name, (value, _) in filled.of.items()},
                )
                for filled in capacity.filled(instance, found)
            ]
        return
    for mesh in meshes(program.axes, chips):
        try:
            yield [
                Lean(one, price(one, mesh, machine).memory, {})
                for one in pinned(program, mesh).passes
            ]
        except ValueError:
            continue


def _largest(lean: Lean) -> tuple[str, int]:
    """The tensor that takes most of a chip when it holds most, and what it takes."""
    program = lean.program
    sizes = {dim: size or 0 for dim, size in program.dims.items()}
    mesh = mesh_of(program)
    taken = {}
    for item, times in program.walk():
        stored = isinstance(item, Declare) and item.kind != "input"
        if stored or item.name in lean.memory.peak:
            count = item.type.shape.elements(sizes, mesh) * (times if stored else 1)
            taken[item.name] = count * DTYPES[item.type.dtype]
    name = max(taken, key=taken.__getitem__)
    return name, taken[name]


# More chips.


def _enough(program: Program, chips: int, machine: Machine) -> int:
    """The fewest chips, more than `chips`, on which a layout fits; 0 where none was found."""
    if all(axis.size is not None for axis in program.axes):
        return 0
    least = max(ceil(one / machine.memory_bytes) for one in map(_everything, program.passes))
    first = max(chips + 1, least)
    fitting = (
        n for n in range(first, first + REACH) if _shared(program, n) and divides(program, n)
    )
    for count in islice(fitting, TRIES):
        lean = leanest(program, count, machine)
        if lean is not None and lean.memory.bytes <= machine.memory_bytes:
            return count
    return 0


def _shared(program: Program, chips: int) -> bool:
    """Whether so many chips can each have another part of anything: else fewer do as well."""
    return all(prod(size or 1 for size in one.dims.values()) % chips == 0 for one in program.passes)


def _everything(program: Program) -> int:
    """What all chips together hold at the least, each element once."""

    def size(held: Type) -> int:
        return prod(program.dims[dim.name] or 1 for dim in held.shape) * DTYPES[held.dtype]

    stored = sum(
        size(item.type) * times
        for item, times in program.walk()
        if isinstance(item, Declare) and item.kind != "input"
    )
    return stored + lifetimes.peak(program, size).bytes
