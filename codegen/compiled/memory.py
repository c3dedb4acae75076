"""The memory of a compiled program: what of XLA's account is not values that are alive.

XLA on simulated devices copies a value before and after many collectives, into another order in
memory or into another dtype. No chip that a program is written for has to, so that such copies are
counted apart, and so are the gaps between buffers. Both are found by following the buffers of the
program in the order in which it is scheduled, with the copies and as if each were its operand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from layoutc.codegen.compiled.hlo import BYTES, Array, Computation, Instruction, Module
from layoutc.solver.lifetimes import Buffer, alive

NO_BUFFER = {"parameter", "constant", "iota", "partition-id", "replica-id", "after-all"}
ANOTHER_NAME = {
    "bitcast", "get-tuple-element", "tuple", "while", "conditional", "optimization-barrier",
    "all-gather-done", "all-reduce-done", "collective-permute-done", "async-done", "copy-done",
}  # fmt: skip
LAID_OUT = {"parameter", "copy", "transpose", "bitcast", "reshape", "convert", "constant"}


class Aside(NamedTuple):
    """What XLA's account has beside values that are alive: `copies` that only lay values out anew,
    and `gaps` that its packing of buffers leaves between them. In bytes."""

    copies: int
    gaps: int


def aside(module: Module, account: int) -> Aside:
    """`account` are XLA's bytes for outputs and temporaries together."""
    most = peak(module)
    return Aside(max(0, most - peak(module, with_copies=False)), max(0, account - most))


def peak(module: Module, with_copies: bool = True) -> int:
    """The bytes alive at once beside the arguments, the outputs among them."""
    return _peak(module, module.computations[module.entry], with_copies)


@dataclass(slots=True)
class _Walk:
    """A computation's buffers by the names that hold them, and what its calls take inside."""

    buffers: list[Buffer] = field(default_factory=list)
    held: dict[str, tuple[Buffer, ...]] = field(default_factory=dict)
    inside: dict[int, int] = field(default_factory=dict)


def _peak(module: Module, computation: Computation, with_copies: bool) -> int:
    walk = _Walk()
    for now, instruction in enumerate(computation.instructions):
        held = [b for o in instruction.operands for b in walk.held.get(o, ())]
        for buffer in held:
            buffer.last = now
        walk.inside[now] = _inside(module, instruction, with_copies)
        if instruction.opcode in NO_BUFFER:
            continue
        if instruction.opcode in ANOTHER_NAME or (
            not with_copies and _lays_out(module, instruction)
        ):
            walk.held[instruction.name] = tuple(held)
            continue
        made = Buffer(sum(map(_bytes, instruction.types)), now, now)
        walk.buffers.append(made)
        walk.held[instruction.name] = (made,)
    length = len(computation.instructions)
    for buffer in walk.held.get(computation.result.name, ()):
        buffer.last = length - 1
    lives = alive(walk.buffers, length)
    return max((own + walk.inside[now] for now, own in enumerate(lives)), default=0)


def _inside(module: Module, instruction: Instruction, with_copies: bool) -> int:
    """What a loop's body or a call takes for itself while it runs."""
    if instruction.opcode not in ("while", "call", "conditional"):
        return 0
    called = instruction.called("body", "to_apply", "calls", "branch_computations")
    return max(
        (_peak(module, module.computations[name], with_copies) for name in called), default=0
    )


def _lays_out(module: Module, instruction: Instruction) -> bool:
    """True for what gives its operand's values, only elsewhere or in another dtype."""
    if instruction.opcode in ("copy", "transpose", "convert"):
        return True
    if instruction.opcode != "fusion":
        return False
    body = module.computations[instruction.called("calls")[0]]
    opcodes = {i.opcode for i in body.instructions}
    # A repetition's part of a stack, widened as it is read, is no value that the program has.
    return opcodes - {"dynamic-slice"} <= LAID_OUT and (
        "convert" in opcodes or "dynamic-slice" not in opcodes
    )


def _bytes(array: Array) -> int:
    """Of a dtype that emitted programs have; another, such as a token, counts nothing."""
    return array.elements * BYTES.get(array.dtype, 0)
