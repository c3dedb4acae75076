"""The collectives of a function left to the partitioner, each in the notation and with its why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from layoutc.codegen.against import communication, rearrange
from layoutc.codegen.against.automatic import Automatic
from layoutc.codegen.against.blocks import Block, Held, Unknown
from layoutc.codegen.against.notation import Grid, preferred, shape, stacks
from layoutc.codegen.against.reading import Step
from layoutc.codegen.against.reasons import Reasons, cut_after
from layoutc.codegen.against.trace import flat, trace
from layoutc.codegen.body import returned
from layoutc.codegen.compiled import groups
from layoutc.codegen.compiled.collectives import Collective
from layoutc.codegen.compiled.hlo import BYTES
from layoutc.dsl.operation import MoveKind
from layoutc.dsl.program import Program
from layoutc.dsl.shape import Shape


@dataclass(frozen=True, slots=True)
class Moved:
    """One collective of XLA's.

    `before` and `after` are words: shapes, or extents of what the notation can't say; `shapes`
    has them where it can. `axes` is "" where the devices' groups are along no axes, and `among`
    says so. `dtype` is XLA's for the values, `compiled_dtype` for what carries them. `elements`
    count every repetition; `times` is None where XLA does not know it, and counts as 1.
    """

    kind: MoveKind
    axes: str
    among: str
    before: str
    after: str
    shapes: tuple[Shape | None, Shape | None]
    times: int | None
    elements: Fraction
    dtype: str
    compiled_dtype: str
    line: str
    why: str
    cut: bool
    """All that is kept of an all-reduce is each device's part."""

    @property
    def bytes(self) -> Fraction:
        return self.elements * BYTES.get(self.dtype, 4)


Axes = tuple[str, ...]


def moved(found: Automatic, program: Program) -> list[Moved]:
    """Every collective, in the order of execution."""
    return list(_Moves(found, program).all())


class _Moves:
    def __init__(self, found: Automatic, program: Program) -> None:
        self.found, self.grid = found, found.grid
        self.module = found.built.module
        self.steps = found.reading.collectives()
        types = program.types
        self.order = [t.shape.names for t in types.values()]
        names = returned(program)
        results = {
            id(held): f"{name} leaves as {types[name].shape}"
            for name, held in zip(names, flat(found.reading.result), strict=False)
        }
        self.trace = trace(found.reading, self.module)
        self.reasons = Reasons(
            self.module, self.trace, self.grid, found.function.file, results, self.order
        )

    def all(self) -> Iterator[Moved]:
        seen: Counter[str] = Counter()
        for collective in self.found.built.collectives:
            number = seen[collective.name]
            seen[collective.name] += 1
            yield self.one(collective, self.step(collective), number)

    def step(self, collective: Collective) -> Step:
        """How a collective was gone through; without any knowledge if it was not."""
        found = self.steps.get(collective.name)
        if found:
            return found
        instruction = self.trace.named[collective.name]
        unknown = tuple(Unknown() for _ in instruction.operands)
        return Step(instruction, unknown, unknown)

    def one(self, collective: Collective, step: Step, number: int) -> Moved:
        operand, result = self.sides(step, number)
        # The parts of an all-to-all were put together along a dim of no meaning.
        before = self.shape(operand, preferred(step.operands[number], self.order))
        after = self.shape(result, [before.names] if before else self.order)
        axes = self.axes(collective, before, after)
        times = 1 if collective.times is None else collective.times
        dtype = self.trace.narrowest(step.operands[number], collective.dtype)
        size = max(map(len, collective.groups))
        return Moved(
            kind=collective.kind,
            axes="".join(axes),
            among="" if axes or collective.kind == "permute" else f"groups of {size} devices",
            before=self.words(operand, before, step, collective.dtype),
            after=self.words(result, after, step, collective.dtype),
            shapes=(before, after),
            times=collective.times,
            elements=collective.elements * times,
            dtype=dtype,
            compiled_dtype=collective.dtype,
            line=self.line(step, operand),
            why=self.why(step, operand, result, axes),
            cut=collective.kind == "all-reduce" and cut_after(self.trace, result, size),
        )

    def sides(self, step: Step, number: int) -> tuple[Held, Held]:
        """What a collective takes and gives; an all-to-all's parts are put together."""
        instruction, devices = step.instruction, self.grid.devices
        results = list(flat(step.result))
        if instruction.opcode == "all-to-all" and len(step.operands) > 1:
            return self.whole(step.operands), self.whole(results)
        operand = step.operands[number]
        if isinstance(operand, Block):
            taken = communication.before(instruction, operand, self.module, devices)
            # One that stays as it was is kept as the object that it is: it has a past.
            operand = operand if taken.equals(operand) else taken
        return operand, results[number]

    def whole(self, parts: tuple[Held, ...] | list[Held]) -> Held:
        blocks = [p for p in parts if isinstance(p, Block)]
        joined = (
            rearrange.joined(blocks, 0, self.grid.devices) if len(blocks) == len(parts) else None
        )
        return joined or parts[0]

    def axes(self, collective: Collective, before: Shape | None, after: Shape | None) -> Axes:
        """The axes along which the groups run, in the mesh's order; of a permute, those moved."""
        if collective.kind == "permute":
            return _changed(before, after, self.grid) if before and after else ()
        found = groups.axes_of(groups_sorted(collective), self.grid.mesh)
        return tuple(a for a in self.grid.mesh if a in found) if found else ()

    def shape(self, held: Held, order: Sequence[Sequence[str]]) -> Shape | None:
        return shape(held, self.grid, order) if isinstance(held, Block) else None

    def words(self, held: Held, found: Shape | None, step: Step, dtype: str) -> str:
        if found is None or not isinstance(held, Block):
            extents = held.extents if isinstance(held, Block) else step.instruction.types[0].extents
            return f"{dtype}[{','.join(map(str, extents))}]"
        count = stacks(held)
        return f"{count} of {found}" if count > 1 else str(found)

    def line(self, step: Step, operand: Held) -> str:
        """The line that a collective belongs to: its own, or that of what needs it."""
        own = self.reasons.line(step.instruction)
        if own:
            return own
        users = list(self.trace.uses(next(flat(step.result))))
        made = self.trace.maker(operand)
        steps = [*users[:1], *([made] if made else [])]
        return next((line for s in steps if (line := self.reasons.line(s.instruction))), "")

    def why(self, step: Step, operand: Held, result: Held, axes: Axes) -> str:
        terms = operand.terms if isinstance(operand, Block) else None
        over = "".join(axes) or "devices"
        if terms and terms.sources:
            made = self.reasons.of_sum(terms.sources[-1], over)
            need = self.reasons.need(result)
            return f"{made}; {need}" if need else made
        return self.reasons.of_operand(step, axes)


def _changed(before: Shape, after: Shape, grid: Grid) -> Axes:
    moved = {a for d in before for a in d.axes if d.axes != after.split(d.name)}
    return tuple(a for a in grid.mesh if a in moved)


def groups_sorted(collective: Collective) -> groups.Groups:
    """The groups of a collective as those of axes in the mesh's order, whose order is no matter."""
    return frozenset(tuple(sorted(g)) for g in collective.groups)
