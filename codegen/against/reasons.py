"""Why a collective is there, in the notation's words: which operation needs it, and for what."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutc.codegen.against.application import integers
from layoutc.codegen.against.blocks import Block, Held, Source
from layoutc.codegen.against.notation import Grid, preferred, shape
from layoutc.codegen.against.reading import Step
from layoutc.codegen.against.trace import SAME, Trace, flat
from layoutc.codegen.compiled.hlo import Instruction, Module

REARRANGING = {
    "broadcast_in_dim", "concatenate", "dynamic_slice", "dynamic_update_slice", "gather", "pad",
    "reshape", "rev", "scatter", "slice", "sort", "split", "squeeze", "transpose",
}  # fmt: skip
"""JAX's primitives that lay out anew: where one of them needs a collective, it is the reason."""


SUMS = {"reduce_sum": "the sum", "reduce_max": "the maximum", "reduce_window_sum": "the sum"}


@dataclass(frozen=True, slots=True)
class Reasons:
    """What it takes to say why: the program, the way of its values, the user's file, the names of
    the results by value."""

    module: Module
    trace: Trace
    grid: Grid
    file: str
    results: Mapping[int, str]
    order: Sequence[tuple[str, ...]]

    # Lines.

    def line(self, instruction: Instruction) -> str:
        """The user's line that an instruction comes from, as "mlp.py:9"; "" if it is not known."""
        places = self.module.places(instruction)
        folder = os.path.dirname(self.file)
        own = [p for p in places if p.file == self.file]
        own = own or [p for p in places if folder and p.file.startswith(folder + os.sep)]
        return f"{Path(own[0].file).name}:{own[0].line}" if own else ""

    def at(self, step: Step) -> str:
        """An operation with its line: "the product at mlp.py:9"."""
        kind = step.instruction.opcode
        what = "the product" if kind == "dot" else SUMS.get(step.instruction.primitive)
        line = self.line(step.instruction)
        if what:
            return f"{what} at {line}" if line else what
        return line or f"an operation ({kind})"

    # Sums.

    def of_sum(self, source: Source, axes: str) -> str:
        """Where the terms of a sum were made."""
        dims = " and ".join(source.dims)
        made = self._made(source.instruction)
        verb = "is" if len(source.dims) == 1 else "are"
        if made is None:
            return f"{dims} {verb} split over {axes}"
        where = self.at(made)
        if made.instruction.opcode == "dot":
            return f"{dims} {verb} split over {axes} in both operands of {where}"
        return f"{dims} {verb} split over {axes} in {where}"

    def _made(self, name: str) -> Step | None:
        return next((s for s in self.trace.makers.values() if s.instruction.name == name), None)

    def need(self, value: Held) -> str:
        """For what a sum is wanted."""
        users = list(self.trace.uses(value))
        leaves = self.trace.leaves(value)
        if users:
            who = self.at(users[0])
            return f"{who} needs {'it whole' if who.startswith('the sum') else 'the sum itself'}"
        return self.results.get(leaves or 0, "")

    # Operands.

    def subject(self, value: Held) -> str:
        """What is moved: an argument's name, or the line that makes it."""
        if isinstance(value, Block) and value.name:
            return value.name
        step = self.trace.maker(value)
        line = self.line(step.instruction) if step else ""
        return f"the value of {line}" if line else "a value"

    def of_operand(self, step: Step, axes: Sequence[str]) -> str:
        """For what an operand is gathered, dealt out anew or permuted."""
        subject, result = self.subject(step.operands[0]), next(flat(step.result))
        primitive = step.instruction.primitive
        if primitive in REARRANGING:
            line = self.line(step.instruction)
            what = primitive.replace("_", " ")
            return f"{subject}, for the {what}" + (f" at {line}" if line else "")
        users = list(self.trace.uses(result))
        leaves = self.trace.leaves(result)
        if not users:
            return "; ".join(filter(None, (subject, self.results.get(leaves or 0, ""))))
        clash = self.clash(users[0], result, axes)
        return f"{subject}, for {self.at(users[0])}" + (f": {clash}" if clash else "")

    def clash(self, product: Step, value: Held, axes: Sequence[str]) -> str:
        """Why a product can't take an operand that is split over `axes`: the other operand."""
        if product.instruction.opcode != "dot":
            return ""
        other = self._other(product, value)
        held = shape(other, self.grid, preferred(other, self.order)) if other else None
        if other is None or held is None:
            return ""
        name = other.name or self.subject(other)
        summed = self._summed(product)
        for dim in held:
            shared = "".join(a for a in dim.axes if a in axes)
            if shared and dim.name not in summed:
                return f"{shared} {'split' if len(shared) > 1 else 'splits'} {dim.name} of {name}"
        if not set(axes) & set(held.axes):
            return f"{name} is held as {held}, whole over {''.join(axes)}"
        return ""

    def _other(self, product: Step, value: Held) -> Block | None:
        """The operand of a product that `value` does not lead to."""
        if len(product.operands) != 2:
            return None
        ours = [o is value or self._leads(value, o) for o in product.operands]
        if ours[0] == ours[1]:
            return None
        other = product.operands[1 if ours[0] else 0]
        return other if isinstance(other, Block) else None

    def _leads(self, value: Held, to: Held) -> bool:
        return any(
            o is value
            for step in self.trace.back(to)
            for operand in step.operands
            for o in flat(operand)
        )

    def _summed(self, product: Step) -> set[str]:
        """The dims that a product sums."""
        left = product.operands[0]
        assert isinstance(left, Block)
        places = integers(product.instruction.attributes.get("lhs_contracting_dims", ""))
        return {d.dim for i in places for d in left.dims[i]}


def cut_after(trace: Trace, value: Held, members: int) -> bool:
    """True if every device keeps only its part of a result: one in `members` of its elements."""
    users = list(trace.uses(value, SAME))
    return bool(users) and all(_cuts(step, members) for step in users)


def _cuts(step: Step, members: int) -> bool:
    taken, kept = step.operands[0], step.result
    if step.instruction.opcode != "dynamic-slice":
        return False
    if not isinstance(taken, Block) or not isinstance(kept, Block):
        return False
    return elements(taken) == members * elements(kept)


def elements(block: Block) -> int:
    count = 1
    for extent in block.extents:
        count *= extent
    return count
