"""Why nothing fits in memory: by how much, which tensor is in the way, and what would do: more
chips, or a shorter context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from math import ceil, prod

from layoutc.dsl.layer import tokens_written
from layoutc.dsl.operation import Layer
from layoutc.dsl.program import DTYPES, Declare, Define, Program, Type
from layoutc.solver import capacity, context, lifetimes, units
from layoutc.solver.asked import Asked
from layoutc.solver.assignment import Weights
from layoutc.solver.eliminate import Infeasible
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.meshes import mesh_of, meshes, pinned
from layoutc.solver.objectives import alike
from layoutc.solver.price import Memory, held_in
from layoutc.solver.search import branches
from layoutc.solver.stored import stored
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
    phases = leanest(program, chips, machine)
    if not phases:
        return None
    lean = max(phases, key=_bytes)
    need, have = units.size(lean.memory.bytes), units.size(machine.memory_bytes)
    where = f" in {lean.program.phase.name}" if len(program.phases) > 1 else ""
    name, why = _in_the_way(lean, machine)
    message = (
        f"on {units.chips(chips)} nothing fits in memory: the leanest layout found{where} takes "
        f"{need} of each, and there are {have}; {why}"
    )
    shorter, enough = _shorter(phases, machine), _enough(program, chips, machine)
    hints = [f"{shorter} would fit"] * bool(shorter)
    hints += [f"{units.chips(enough)} would do"] * bool(enough)
    return Unsolvable(message, ", or ".join(hints), lean.values.get(name, name))


def leanest(program: Program, chips: int, machine: Machine) -> list[Lean]:
    """All phases on the mesh and in the layouts that take least, as far as found; none where no
    mesh satisfies the program."""
    return min(_candidates(program, chips, machine), key=_most, default=[])


def _bytes(lean: Lean) -> int:
    return lean.memory.bytes


def _most(phases: list[Lean]) -> int:
    return max(map(_bytes, phases))


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
                Lean(one, held_in(one, mesh, machine), {}) for one in pinned(program, mesh).passes
            ]
        except ValueError:
            continue


def _in_the_way(lean: Lean, machine: Machine) -> tuple[str, str]:
    """The tensor in the way, and what is said of it: the largest, of the caches where all else
    has room without them."""
    taken, types = _taken(lean), lean.program.types
    caches = [cache.name for cache, _ in context.caches(lean.program)]
    cached = sum(taken[name] for name in caches)
    to_blame = bool(caches) and lean.memory.bytes - cached <= machine.memory_bytes
    name = max(caches if to_blame else taken, key=taken.__getitem__)
    spelled = f"{name} : {types[name].shape}"
    if not to_blame:
        return name, f"the largest tensor in it is {spelled}, {units.size(taken[name])}"
    if len(caches) == 1:
        return name, f"{units.size(cached)} of that is the cache {spelled}"
    largest = f"the largest {spelled}, {units.size(taken[name])}"
    return name, f"{units.size(cached)} of that are caches, {largest}"


def _taken(lean: Lean) -> dict[str, int]:
    """What each tensor takes of a chip that is there when it holds most."""
    program, mesh = lean.program, mesh_of(lean.program)
    taken = stored(program, mesh)
    for name, held in program.types.items():
        if name in lean.memory.peak:
            taken[name] = held.shape.elements(program.sizes, mesh) * DTYPES[held.dtype]
    return taken


# A shorter context.


def _shorter(phases: list[Lean], machine: Machine) -> str:
    """The longest context with which all phases fit, as "M=1320"; "" if none does, or it has no
    room for the tokens of a pass. Of a padded dim, whose room can't be set, nothing is said."""
    first = phases[0].program
    dim = context.growing_dim(first)
    room = min(context.longest(p.program, mesh_of(p.program), machine) for p in phases)
    if dim is None or dim in first.useful or room < max(_new(lean.program) for lean in phases):
        return ""
    return f"{dim}={room}"


def _new(program: Program) -> int:
    """The most places that a write fills in a pass; at the least one is wanted."""
    names = {name: held.shape.names for name, held in program.types.items()}
    found = [1]
    for item, _ in program.walk():
        match item:
            case Define(operation=Layer("write") as write):
                found.append(program.sizes[tokens_written(write, names)])
            case _:
                pass
    return max(found)


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
        phases = leanest(program, count, machine)
        if phases and _most(phases) <= machine.memory_bytes:
            return count
    return 0


def _shared(program: Program, chips: int) -> bool:
    """Whether so many chips can each have another part of anything: else fewer do as well."""
    return all(prod(size or 1 for size in one.dims.values()) % chips == 0 for one in program.passes)


def _everything(program: Program) -> int:
    """What all chips together hold at the least, each element once."""

    def size(held: Type) -> int:
        return prod(program.dims[dim.name] or 1 for dim in held.shape) * DTYPES[held.dtype]

    kept = sum(
        size(item.type) * times
        for item, times in program.walk()
        if isinstance(item, Declare) and item.kind != "input"
    )
    return kept + lifetimes.peak(program, size).bytes
