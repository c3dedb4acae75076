"""A program without blocks as the steps that an enumeration takes, and what each may do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product

from layouts import Layouts

from layoutc.dsl.operation import (
    Apply,
    Arithmetic,
    Cast,
    Hold,
    Move,
    Number,
    Operation,
    Product,
    Reduce,
    operands,
)
from layoutc.dsl.program import Declare, Define, Dtype, Program, Type
from layoutc.dsl.refusal import Held
from layoutc.dsl.rules import infer
from layoutc.dsl.shape import Dim, Shape

Rows = dict[tuple[int, ...], list[tuple[int, int, int]]]
"""By the operands' layouts: the result's layouts, each with flops and elements (as in Layouts)."""


@dataclass(frozen=True, slots=True)
class Begin:
    """A declaration takes a layout; `liked`: an output is to equal it. `later` steps need it."""

    value: int
    written: Shape
    stored: bool
    liked: bool
    later: int = 0


@dataclass(frozen=True, slots=True)
class Read:
    """The statement that defines `reader` takes its next operand."""

    value: int
    reader: str
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


def plan_of(program: Program) -> Plan:
    """The steps of `program`; a declaration stands just before it is first needed."""
    planner = _Planner(program)
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
    def __init__(self, program: Program) -> None:
        self.plan = Plan()
        self.outputs = {output.name: output for output in program.outputs}
        self.likes = {output.like for output in program.outputs}
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
            self.plan.of[item.name] = self.new(item.type)
            self.plan.steps.append(Operate(item, numbers, self.plan.of[item.name]))
        self.demand(item)

    def demand(self, item: Define) -> None:
        output = self.outputs.get(item.name)
        if output is None and bare(item.type.shape):
            return
        like = output.like if output else None
        if like is not None:
            self.value(like)
        number = self.plan.of[item.name]
        self.plan.steps.append(Demand(number, item.type.shape, output is not None, like))


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


# Operations.


def takes_a_maximum(define: Define) -> bool:
    """Whether a statement is what alone may leave a partial maximum."""
    return isinstance(define.operation, Reduce) and define.operation.kind == "max"


def rows_of(
    define: Define, given: Sequence[Layouts], dtypes: Sequence[Dtype], result: Layouts
) -> Rows:
    """Everything that a statement can do, by the layouts of its operands."""
    rows: Rows = defaultdict(list)
    if isinstance(define.operation, Move):
        for number, moves in enumerate(given[0].moves):
            for move, after, cost in moves:
                if (move.kind, move.axes) == (define.operation.kind, define.operation.axes):
                    rows[(number,)].append((after, 0, cost))
        return rows
    operation = _anonymous(define.operation)
    dims, dtype = define.type.shape.names, define.type.dtype
    for numbers in product(*(range(len(layouts.shapes)) for layouts in given)):
        shapes = tuple(g.shapes[n] for g, n in zip(given, numbers, strict=True))
        shape = gives(operation, shapes, tuple(dtypes), dims, dtype)
        if shape in result.number:
            flops = _flops(shapes, dims, result) if isinstance(operation, Product) else 0
            rows[numbers].append((result.number[shape], flops, 0))
    return rows


def _anonymous(operation: Operation) -> Operation:
    """With its operands called a and b, so that a value that stands twice may have two layouts."""
    names = iter("ab")
    match operation:
        case Product(left, right) | Arithmetic(_, left, right):
            one = left if isinstance(left, Number) else next(names)
            other = right if isinstance(right, Number) else next(names)
            return replace(operation, left=one, right=other)
        case Apply() | Cast() | Reduce() | Hold() | Move():
            return replace(operation, operand="a")


@cache
def gives(
    operation: Operation,
    shapes: tuple[Shape, ...],
    dtypes: tuple[Dtype, ...],
    dims: tuple[str, ...],
    dtype: Dtype,
) -> Shape | None:
    """What `operation` gives on operands a and b of these shapes; None if it is refused."""
    held = {n: Held(n, s, d) for n, s, d in zip("ab", shapes, dtypes, strict=False)}
    for written in _conceivable(operation, shapes, dims):
        verdict = infer(operation, held, written, dtype)
        if isinstance(verdict, Shape):
            return verdict
    return None


def _conceivable(
    operation: Operation, shapes: tuple[Shape, ...], dims: tuple[str, ...]
) -> Iterator[Shape | None]:
    """What the rules are asked about: a product's dims are its annotation's, so it needs one.

    Its layout is guessed (the longer list of each dim, the rest partial); a test asks about all.
    """
    if not isinstance(operation, Product | Arithmetic) or len(shapes) < 2:
        yield None
        return
    one, other = shapes
    lists = {d: max(one.split(d), other.split(d), key=len) for d in one.names + other.names}
    summed = tuple(a for d, axes in lists.items() if d not in dims for a in axes)
    partial = {*one.partial, *other.partial, *summed}
    kept = [a for d in dims for a in lists[d]]
    if len({*kept, *partial}) == len(kept) + len(partial):
        yield Shape(tuple(Dim(d, lists[d]) for d in dims), tuple(partial))


def _flops(shapes: tuple[Shape, ...], dims: tuple[str, ...], result: Layouts) -> int:
    """Twice the multiplications of one chip; none where no dim is summed."""
    if len(shapes) < 2 or {*shapes[0].names, *shapes[1].names} <= set(dims):
        return 0
    one, other = shapes
    work = 2
    for dim in dict.fromkeys(one.names + other.names):
        split = max(one.split(dim), other.split(dim), key=len)
        work *= result.values[dim]
        for axis in split:
            work //= result.mesh[axis]
    return work
