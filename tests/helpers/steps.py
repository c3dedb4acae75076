"""A program without blocks as the steps that an enumeration takes, and what each may do."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from layoutc.dsl.operation import (
    Hold,
    Layer,
    Move,
    operands,
)
from layoutc.dsl.program import Declare, Define, Program, Type
from layoutc.dsl.shape import Dim, Shape


@dataclass(frozen=True, slots=True)
class Begin:
    """A declaration takes a layout; `liked`: others are to equal it. `later` steps need it."""

    value: int
    written: Shape
    stored: bool
    liked: bool
    later: int = 0


@dataclass(frozen=True, slots=True)
class Read:
    """The statement that defines `reader` takes its next operand, if need be as it is in `like`."""

    value: int
    reader: str
    like: str | None = None
    later: int = 0


@dataclass(frozen=True, slots=True)
class Operate:
    """The operands are there: the statement gives its result."""

    define: Define
    operands: tuple[int, ...]
    result: int
    later: int = 0


@dataclass(frozen=True, slots=True)
class Demand:
    """A name must be held as `written`, `whole` if it is an output, and like `like`."""

    value: int
    written: Shape
    whole: bool
    like: str | None
    later: int = 0


Step = Begin | Read | Operate | Demand


@dataclass(slots=True)
class Plan:
    """The steps of a program, its values' types, each name's value, the names others are like."""

    steps: list[Step] = field(default_factory=list)
    values: list[Type] = field(default_factory=list)
    of: dict[str, int] = field(default_factory=dict)
    liked: list[str] = field(default_factory=list)

    def later(self, value: int, start: int) -> int:
        """How many steps from `start` on need versions of `value`."""
        needs = (s for s in self.steps[start:] if isinstance(s, Read | Demand))
        return sum(step.value == value for step in needs)


def plan_of(program: Program, kept: Collection[str] = ()) -> Plan:
    """The steps of `program`; a declaration stands just before it is first needed.

    The layouts of those to be `kept` are told apart to the end, as if others had to be like them.
    """
    planner = _Planner(program, kept)
    for item in program.items:
        if isinstance(item, Declare):
            planner.waiting[item.name] = item
        elif isinstance(item, Define):
            planner.define(item)
        else:
            raise ValueError("blocks are not enumerated")
    for name in list(planner.waiting):
        planner.value(name)
    plan = planner.plan
    plan.steps = [
        replace(s, later=plan.later(s.result if isinstance(s, Operate) else s.value, i + 1))
        for i, s in enumerate(plan.steps)
    ]
    return plan


class _Planner:
    def __init__(self, program: Program, kept: Collection[str]) -> None:
        self.plan = Plan()
        self.outputs = {output.name: output for output in program.outputs}
        caches = {n for n, d in declared(program).items() if d.kind == "cache"}
        self.likes = {output.like for output in program.outputs} | caches | set(kept)
        self.cache = {name: name for name in caches}
        self.waiting: dict[str, Declare] = {}

    def value(self, name: str) -> int:
        """The number of a name's value; a declaration begins here if it hasn't."""
        if name in self.waiting:
            item = self.waiting.pop(name)
            self.plan.of[name] = self.new(item.type)
            liked, stored = name in self.likes, item.kind != "input"
            self.plan.steps.append(Begin(self.plan.of[name], item.type.shape, stored, liked))
            self.plan.liked += [name] if liked else []
        return self.plan.of[name]

    def new(self, held_as: Type) -> int:
        self.plan.values.append(held_as)
        return len(self.plan.values) - 1

    def define(self, item: Define) -> None:
        numbers = tuple(self.value(name) for name in operands(item.operation))
        if isinstance(item.operation, Hold):
            self.plan.of[item.name] = numbers[0]
        else:
            self.plan.steps += [Read(number, item.name) for number in numbers]
            self.in_place(item, len(numbers))
            self.plan.of[item.name] = self.new(item.type)
            self.plan.steps.append(Operate(item, numbers, self.plan.of[item.name]))
        self.demand(item)

    def in_place(self, item: Define, count: int) -> None:
        """A cache is written as it is held, and is what was written from there on."""
        if isinstance(item.operation, Layer) and item.operation.kind == "write":
            cache = self.cache[item.name] = self.cache[item.operation.lead]
            first = self.plan.steps[-count]
            assert isinstance(first, Read)
            self.plan.steps[-count] = replace(first, like=cache)

    def demand(self, item: Define) -> None:
        output = self.outputs.get(item.name)
        if output is None and bare(item.type.shape):
            return
        like = output.like if output else None
        if like is not None:
            self.value(like)
        number = self.plan.of[item.name]
        self.plan.steps.append(Demand(number, item.type.shape, output is not None, like))


def declared(program: Program) -> dict[str, Declare]:
    """What is declared, by name."""
    return {item.name: item for item, _ in program.walk() if isinstance(item, Declare)}


# Annotations.


def named_axes(program: Program) -> set[str]:
    """The axes that an annotation or a move names."""
    shapes = [item.type.shape for item, _ in program.walk()]
    moves = [item.operation for item, _ in program.walk() if isinstance(item, Define)]
    named = {a for shape in shapes for a in (*shape.axes, *shape.partial)}
    return named | {a for move in moves if isinstance(move, Move) for a in move.axes}


def bare(written: Shape) -> bool:
    """True of an annotation that demands nothing: "?" alone."""
    return written.hole == "?" and not written.axes and not written.partial


def matches(shape: Shape, written: Shape, mesh: Mapping[str, int]) -> bool:
    """Whether a declaration, or a name, that is annotated `written` may be held as `shape`.

    A name with a bare "?" may be anything; that a declaration is never partial is seen to here.
    """
    if shape.partial != written.partial or shape.reduction != written.reduction:
        return bare(written) and not shape.partial
    if written.hole == "!" and any(mesh[a] > 1 and a not in shape.axes for a in mesh):
        return False
    return all(
        _list_matches(have.axes, want, bool(written.hole))
        for have, want in zip(shape, written, strict=True)
    )


def _list_matches(have: tuple[str, ...], want: Dim, more: bool) -> bool:
    count = len(want.axes)
    if len(have) > count and not more:
        return False
    if want.loose:
        return sorted(have[:count]) == sorted(want.axes)
    return have[:count] == want.axes
