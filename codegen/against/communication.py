"""XLA's collectives applied to blocks: their attributes read, their operands one by one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from layoutc.codegen.against import exchange
from layoutc.codegen.against.blocks import Block, Held, Unknown
from layoutc.codegen.against.summing import reducible
from layoutc.codegen.compiled import groups
from layoutc.codegen.compiled.groups import Groups
from layoutc.codegen.compiled.hlo import Instruction, Module
from layoutc.dsl.shape import Reduction


def apply(instruction: Instruction, operands: Sequence[Held], module: Module, devices: int) -> Held:
    """What the devices hold afterwards: a tuple for several operands."""
    if instruction.opcode == "all-to-all" and len(operands) > 1:
        return _dealt(instruction, operands, devices)
    results = tuple(_one(instruction, o, module, devices) for o in operands)
    return results[0] if len(results) == 1 else results


def _one(instruction: Instruction, operand: Held, module: Module, devices: int) -> Held:
    if not isinstance(operand, Block):
        return Unknown()
    kind = instruction.opcode.removesuffix("-start")
    text = instruction.attributes.get("dimensions", "") + "{0}"
    dim = int(re.findall(r"\d+", text)[0])
    match kind:
        case "collective-permute":
            named = instruction.attributes["source_target_pairs"]
            pairs = [(int(s), int(t)) for s, t in re.findall(r"\{(\d+),\s*(\d+)\}", named)]
            found = exchange.permuted(operand, pairs, devices)
        case "all-gather":
            found = exchange.gathered(operand, _members(instruction, devices), dim)
        case "all-to-all":
            found = exchange.exchanged(operand, _members(instruction, devices), dim)
        case "all-reduce":
            how = reduction(instruction, module)
            found = how and exchange.reduced(operand, _members(instruction, devices), how)
        case "reduce-scatter":
            how = reduction(instruction, module)
            members = _members(instruction, devices)
            found = how and exchange.scattered(operand, members, how, dim)
        case _:
            found = None
    return found or Unknown()


def _dealt(instruction: Instruction, operands: Sequence[Held], devices: int) -> Held:
    blocks = [o for o in operands if isinstance(o, Block)]
    members = _members(instruction, devices)
    found = exchange.dealt(blocks, members) if len(blocks) == len(operands) else None
    return tuple(found) if found else tuple(Unknown() for _ in operands)


def _members(instruction: Instruction, devices: int) -> Groups:
    return groups.read(instruction.attributes.get("replica_groups", "{}"), devices)


REDUCTIONS: Mapping[str, Reduction] = {"add": "sum", "maximum": "max"}


def reduction(instruction: Instruction, module: Module) -> Reduction | None:
    """By what an instruction reduces; None for what the notation does not know."""
    (called,) = instruction.called("to_apply")
    return REDUCTIONS.get(module.computations[called].result.opcode)


def before(instruction: Instruction, operand: Block, module: Module, devices: int) -> Block:
    """An operand as the collective takes it: dims of one element that it sums are terms."""
    if instruction.opcode.removesuffix("-start") not in ("all-reduce", "reduce-scatter"):
        return operand
    how = reduction(instruction, module)
    rows = exchange.members(_members(instruction, devices))
    return reducible(operand, rows, how) if how else operand
