"""XLA's program for one device read as what all devices hold: an interpreter of blocks.

It goes through the instructions in the order of execution, into what they call, and around loops
until nothing changes any more. It knows what operations do to layouts, and nothing of values but
the numbers by which devices take their own parts. What it can't follow is `Unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from layoutc.codegen.against import operations
from layoutc.codegen.against.application import Compiled
from layoutc.codegen.against.blocks import Block, Held, Unknown
from layoutc.codegen.against.loops import agreed
from layoutc.codegen.compiled.collectives import KINDS
from layoutc.codegen.compiled.hlo import Instruction, Module

MOST_ROUNDS = 6
"""As often a loop is gone through before what still changes is given up."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One instruction as it was gone through: what it took and what it gave."""

    instruction: Instruction
    operands: tuple[Held, ...]
    result: Held


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """All that was gone through, in order, and what the program returns.

    A value is the same object where it is made and wherever it is used.
    """

    steps: tuple[Step, ...]
    result: Held

    def collectives(self) -> dict[str, Step]:
        """The step of each collective by the instruction's name; the last, where there are more."""
        return {
            step.instruction.name: step
            for step in self.steps
            if step.instruction.opcode.removesuffix("-start") in KINDS
        }


def read(module: Module, arguments: Sequence[Block], devices: int) -> Reading:
    """The program on blocks: `arguments` are those of the entry, in order."""
    reader = _Reader(Compiled.of(module, devices))
    result = reader.run(module.entry, arguments)
    return Reading(tuple(reader.steps), result)


@dataclass(slots=True, eq=False)
class _Reader:
    program: Compiled
    steps: list[Step] = field(default_factory=list)

    def run(self, name: str, arguments: Sequence[Held]) -> Held:
        """A computation on what it is given."""
        computation = self.program.module.computations[name]
        values: dict[str, Held] = {}
        for instruction in computation.instructions:
            if instruction.opcode == "parameter":
                number = int(instruction.text)
                values[instruction.name] = arguments[number]
                continue
            names = () if instruction.opcode == "constant" else instruction.operands
            operands = tuple(values[o] for o in names)
            values[instruction.name] = self.one(instruction, operands)
        return values[computation.result.name]

    def one(self, instruction: Instruction, operands: tuple[Held, ...]) -> Held:
        special = SPECIAL.get(instruction.opcode.removesuffix("-start"))
        if special:
            return special(self, instruction, operands)
        result = operations.apply(instruction, operands, self.program)
        self.steps.append(Step(instruction, operands, result))
        return result

    # What has no layout of its own.

    def several(self, instruction: Instruction, operands: tuple[Held, ...]) -> Held:
        return operands

    def element(self, instruction: Instruction, operands: tuple[Held, ...]) -> Held:
        (whole,) = operands
        return (
            whole[int(instruction.attributes["index"])] if isinstance(whole, tuple) else Unknown()
        )

    def same(self, instruction: Instruction, operands: tuple[Held, ...]) -> Held:
        return operands[0] if len(operands) == 1 else operands

    def call(self, instruction: Instruction, operands: tuple[Held, ...]) -> Held:
        names = instruction.called("calls", "to_apply", "called_computation")
        return self.run(names[0], operands)

    def conditional(self, instruction: Instruction, operands: tuple[Held, ...]) -> Held:
        names = instruction.called("true_computation", "false_computation")
        names = names or instruction.called("branch_computations")
        results = [self.run(n, [o]) for n, o in zip(names, operands[1:], strict=True)]
        outcome = results[0]
        for result in results[1:]:
            outcome = agreed(outcome, result)
        self.steps.append(Step(instruction, tuple(results), outcome))
        return outcome

    def loop(self, instruction: Instruction, operands: tuple[Held, ...]) -> Held:
        """The body again and again, until what it hands on is what it was given."""
        (body,), (condition,) = instruction.called("body"), instruction.called("condition")
        state, before = operands[0], len(self.steps)
        for _ in range(MOST_ROUNDS):
            del self.steps[before:]
            self.run(condition, [state])
            after = self.run(body, [state])
            joined = agreed(state, after)
            if joined is state:
                break
            state = joined
        else:
            state = Unknown()
        self.steps.append(Step(instruction, (operands[0], after), state))
        return state


Special = Callable[["_Reader", Instruction, tuple[Held, ...]], Held]

SPECIAL: Mapping[str, Special] = {
    "tuple": _Reader.several,
    "get-tuple-element": _Reader.element,
    "optimization-barrier": _Reader.same,
    "opt-barrier": _Reader.same,
    "fusion": _Reader.call,
    "call": _Reader.call,
    "async": _Reader.call,
    "conditional": _Reader.conditional,
    "while": _Reader.loop,
    **{f"{kind}-done": _Reader.same for kind in (*KINDS, "async", "copy")},
}
