"""The collectives of an optimised program: what moves, among whom, how often.

XLA may join several into one operation with several operands, start one here and finish it
there, or put it into a computation that another calls; each operand counts as a collective of
its own, once for each time that it runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from layoutc.codegen.compiled import groups
from layoutc.codegen.compiled.groups import Groups
from layoutc.codegen.compiled.hlo import Array, Computation, Instruction, Module, Place
from layoutc.dsl.operation import MoveKind

KINDS: dict[str, MoveKind] = {
    "all-gather": "all-gather",
    "reduce-scatter": "reduce-scatter",
    "all-reduce": "all-reduce",
    "all-to-all": "all-to-all",
    "ragged-all-to-all": "all-to-all",
    "collective-permute": "permute",
    "collective-broadcast": "permute",
}
"""XLA's operations, and what the notation calls them; "-start" may follow."""


@dataclass(frozen=True, slots=True)
class Collective:
    """One operand of one collective operation.

    `elements` are what a chip receives from others, each time; of a permute, the busiest chip.
    `groups` are its devices in the order of their parts; of a permute, (source, target) pairs.
    `times` is None where it stands in a loop whose count XLA does not know. `reduction` is what
    it reduces by, "" where it does not. `joined` is how many operands the operation has.
    """

    kind: MoveKind
    groups: Groups
    elements: Fraction
    dtype: str
    times: int | None
    name: str
    primitive: str
    places: tuple[Place, ...]
    reduction: str = ""
    joined: int = 1

    def elements_as(self, kind: MoveKind) -> Fraction:
        """What a chip would receive by the half of an all-reduce that a reduce-scatter is."""
        halved = self.kind == "all-reduce" and kind == "reduce-scatter"
        return self.elements / 2 if halved else self.elements


def collectives(module: Module, devices: int) -> list[Collective]:
    """Every collective of the program, in the order of execution as far as there is one.

    Those among single devices, which move nothing, are left out.
    """
    found: list[Collective] = []
    for computation, times in _reached(module, module.entry, 1):
        for instruction in computation.instructions:
            kind = KINDS.get(instruction.opcode.removesuffix("-start"))
            if kind:
                found += _of(module, computation, instruction, kind, times, devices)
    return [c for c in found if c.elements]


def _reached(
    module: Module, name: str, times: int | None
) -> Iterator[tuple[Computation, int | None]]:
    """The computations that a run passes through, with how often."""
    computation = module.computations[name]
    yield computation, times
    for instruction in computation.instructions:
        inner = instruction.called("calls", "to_apply", "called_computations")
        inner += instruction.called("true_computation", "false_computation", "branch_computations")
        if instruction.opcode in ("reduce", "reduce-window", "scatter", "sort", "map"):
            continue
        if instruction.opcode.removesuffix("-start") in KINDS:
            continue
        for called in inner:
            yield from _reached(module, called, times)
        if instruction.opcode == "while":
            count = trips(module, instruction)
            often = None if count is None or times is None else count * times
            for called in instruction.called("body", "condition"):
                yield from _reached(module, called, often)


def trips(module: Module, loop: Instruction) -> int | None:
    """How often a `while` runs its body, as XLA found out or as its condition says."""
    known = re.search(
        r'"known_trip_count":\{"n":"(\d+)"\}', loop.attributes.get("backend_config", "")
    )
    if known:
        return int(known[1])
    return None if module.scheduled else _below(module, loop)


def _below(module: Module, loop: Instruction) -> int | None:
    """The count of a loop that counts from 0 by 1 while it is below a constant: JAX's scans."""
    condition = module.computations[loop.called("condition")[0]]
    while condition.result.opcode == "call":
        condition = module.computations[condition.result.called("to_apply")[0]]
    test = condition.result
    if test.opcode != "compare" or test.attributes.get("direction") != "LT":
        return None
    bound = condition.named[test.operands[1]]
    return int(bound.text) if bound.opcode == "constant" and bound.text.isdigit() else None


def _of(
    module: Module,
    computation: Computation,
    instruction: Instruction,
    kind: MoveKind,
    times: int | None,
    devices: int,
) -> Iterator[Collective]:
    operands = [computation.named[o].types[0] for o in instruction.operands]
    if instruction.opcode.startswith("all-to-all") and len(operands) > 1:
        # One operand for each device of the group: together they are what a chip holds.
        operands = [Array(operands[0].dtype, (sum(o.elements for o in operands),))]
    members = _members(instruction, kind, devices)
    for operand in operands:
        yield Collective(
            kind=kind,
            groups=members,
            elements=_elements(kind, operand.elements, members),
            dtype=operand.dtype,
            times=times,
            name=instruction.name,
            primitive=instruction.primitive,
            places=module.places(instruction),
            reduction=_reduction(module, instruction),
            joined=len(operands),
        )


def _members(instruction: Instruction, kind: MoveKind, devices: int) -> Groups:
    if kind == "permute":
        return frozenset(groups.pairs(instruction.attributes.get("source_target_pairs", "")))
    found = groups.read(instruction.attributes.get("replica_groups", "{}"), devices)
    return ordered(kind, found)


def ordered(kind: MoveKind, found: Groups) -> Groups:
    """The groups as they are compared: the order in them is of no matter to an all-reduce."""
    return frozenset(tuple(sorted(g)) for g in found) if kind == "all-reduce" else found


def _elements(kind: MoveKind, operand: int, members: Groups) -> Fraction:
    """What one chip receives, `operand` being what it gives."""
    if not members:
        return Fraction(0)
    size = max(map(len, members))
    match kind:
        case "permute":
            return Fraction(operand)
        case "all-gather":
            return Fraction(operand * (size - 1))
        case "all-reduce":
            return Fraction(2 * operand * (size - 1), size)
        case _:
            return Fraction(operand * (size - 1), size)


def _reduction(module: Module, instruction: Instruction) -> str:
    """ "sum" or "max" for XLA's add or maximum; its own word for another."""
    called = instruction.called("to_apply")
    if not called:
        return ""
    opcode = module.computations[called[0]].result.opcode
    return {"add": "sum", "maximum": "max"}.get(opcode, opcode)
