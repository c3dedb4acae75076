"""Where a value of a reading comes from and where it goes: each is an object of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from layoutc.codegen.against.application import Compiled
from layoutc.codegen.against.blocks import Held
from layoutc.codegen.against.reading import Reading, Step
from layoutc.codegen.compiled.collectives import KINDS
from layoutc.codegen.compiled.hlo import BYTES, Instruction, Module

SAME = frozenset({"convert", "copy", "bitcast", "reshape", "transpose"})
"""What leaves the values as they are."""
PASSED = SAME | {"broadcast", "slice", "dynamic-slice", "concatenate", "while", "conditional"}
"""What hands values on without computing with them; collectives do too."""


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Steps by the values that they take, and by those that they give."""

    users: dict[int, list[tuple[Step, Held]]]
    makers: dict[int, Step]
    results: frozenset[int]
    named: Mapping[str, Instruction]

    def uses(self, value: Held, through: frozenset[str] = PASSED) -> Iterator[Step]:
        """The steps that compute with a value, past those that only hand it on."""
        queue, met = [value], {id(value)}
        while queue:
            for step, result in self.users[id(queue.pop(0))]:
                if not passes(step, through):
                    yield step
                elif id(result) not in met:
                    met.add(id(result))
                    queue.append(result)

    def leaves(self, value: Held) -> int | None:
        """Which of the program's results a value becomes without being computed with."""
        queue, met = [value], {id(value)}
        while queue:
            here = queue.pop(0)
            if id(here) in self.results:
                return id(here)
            for step, result in self.users[id(here)]:
                if passes(step, PASSED) and id(result) not in met:
                    met.add(id(result))
                    queue.append(result)
        return None

    def back(self, value: Held) -> Iterator[Step]:
        """The steps that made a value, from the last, each by its first operand; each once."""
        step, met = self.makers.get(id(value)), set[int]()
        while step is not None and id(step) not in met:
            yield step
            met.add(id(step))
            first = next((v for operand in step.operands[:1] for v in flat(operand)), None)
            step = self.makers.get(id(first))

    def maker(self, value: Held, through: frozenset[str] = PASSED) -> Step | None:
        """The step that computed a value, past those that only handed it on."""
        return next((step for step in self.back(value) if not passes(step, through)), None)

    def narrowest(self, value: Held, dtype: str) -> str:
        """The narrowest dtype that a value went through on its way: it has no more digits."""
        for step in self.back(value):
            if step.instruction.opcode not in SAME:
                break
            taken = self.named[step.instruction.operands[0]]
            for held in (*step.instruction.types, *taken.types):
                dtype = held.dtype if BYTES.get(held.dtype, 8) < BYTES.get(dtype, 8) else dtype
        return dtype


def passes(step: Step, through: frozenset[str]) -> bool:
    opcode = step.instruction.opcode
    return opcode in through or (through is PASSED and opcode.removesuffix("-start") in KINDS)


def trace(reading: Reading, module: Module) -> Trace:
    users: defaultdict[int, list[tuple[Step, Held]]] = defaultdict(list)
    makers: dict[int, Step] = {}
    for step in reading.steps:
        for operand, result in _edges(step):
            if operand is not result:
                users[id(operand)].append((step, result))
                makers.setdefault(id(result), step)
    results = frozenset(map(id, flat(reading.result)))
    return Trace(users, makers, results, Compiled.of(module, 0).named)


def _edges(step: Step) -> Iterator[tuple[Held, Held]]:
    """What of a step's operands goes into what of its result."""
    if step.instruction.opcode in ("while", "conditional"):
        for operand in step.operands:
            pairs = zip(flat(operand), flat(step.result), strict=False)
            yield from pairs
        return
    results = list(flat(step.result))
    pairwise = len(results) == len(step.operands) > 1 and step.instruction.opcode != "all-to-all"
    for i, operand in enumerate(step.operands):
        for result in [results[i]] if pairwise else results:
            yield operand, result


def flat(value: Held) -> Iterator[Held]:
    """The values of a tuple, and of those in it."""
    if isinstance(value, tuple):
        for part in value:
            yield from flat(part)
    else:
        yield value
