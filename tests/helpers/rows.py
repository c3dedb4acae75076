"""Everything that a statement can do, asked of the rules one layout after another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product

from layouts import Layouts

from layoutc.dsl.operation import (
    Apply,
    Arithmetic,
    Cast,
    Hold,
    Layer,
    Move,
    Number,
    Operation,
    Product,
    Reduce,
)
from layoutc.dsl.program import DTYPES, Define, Dtype
from layoutc.dsl.refusal import Held
from layoutc.dsl.rules import infer
from layoutc.dsl.shape import Dim, Shape

Rows = dict[tuple[int, ...], list[tuple[int, int, int]]]
"""By the operands' layouts: the result's layouts, each with flops, and what moving costs."""
REDUCED: dict[str, tuple[int, ...]] = {"softmax": (0, 4), "rmsnorm": (4,), "layernorm": (4, 4)}
"""The sizes of what is all-reduced where the dim is split; 0 for the operand's: its maximum."""


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
        moved = 0
        if isinstance(operation, Layer) and _shared(operation, shapes[0]):
            shape = shapes[0] if _spelled_out(operation, shapes) else None
            moved = _reduced(operation, shapes[0], dtypes[0], result)
        else:
            shape = gives(operation, shapes, tuple(dtypes), dims, dtype)
        if shape in result.number:
            flops = _flops(shapes, dims, result) if isinstance(operation, Product) else 0
            rows[numbers].append((result.number[shape], flops, moved))
    return rows


# Norms and softmaxes of a dim that is split, in place of which statements stand.


def _shared(operation: Layer, lead: Shape) -> bool:
    """Whether chips share what is reduced, and something is left to hold it for."""
    (dim, *_) = operation.dims
    return operation.kind in REDUCED and bool(lead.split(dim)) and len(lead.dims) > 1


def _spelled_out(operation: Layer, shapes: tuple[Shape, ...]) -> bool:
    """Whether there are such statements: a scale and a shift come to what is held like the lead."""
    lead, *others = shapes
    steps: tuple[Operation, ...] = (Product("a", "b"), Arithmetic("+", "a", "b"))
    results = [
        gives(step, (lead, other), ("f32", "f32"), lead.names, "f32")
        for step, other in zip(steps, others, strict=False)
    ]
    return not lead.partial and all(r == lead for r in results)


def _reduced(operation: Layer, lead: Shape, dtype: Dtype, layouts: Layouts) -> int:
    """What the all-reduces cost."""
    axes = lead.split(operation.dims[0])
    if all(layouts.mesh[a] == 1 for a in axes):
        return 0
    left = Shape(tuple(d for d in lead if d.name != operation.dims[0]))
    held = left.elements(layouts.values, layouts.mesh)
    sizes = [size or DTYPES[dtype] for size in REDUCED[operation.kind]]
    return sum(layouts.network.cost("all-reduce", axes, held * size) for size in sizes)


# What the rules say.


def _anonymous(operation: Operation) -> Operation:
    """With its operands called a, b, c, so that a value that stands twice may have two layouts."""
    names = iter("abc")
    match operation:
        case Product(left, right) | Arithmetic(_, left, right):
            one = left if isinstance(left, Number) else next(names)
            other = right if isinstance(right, Number) else next(names)
            return replace(operation, left=one, right=other)
        case Apply() | Cast() | Reduce() | Hold() | Move():
            return replace(operation, operand="a")
        case Layer(operands=several):
            new = tuple(o if isinstance(o, Number) else next(names) for o in several)
            return replace(operation, operands=new)


@cache
def gives(
    operation: Operation,
    shapes: tuple[Shape, ...],
    dtypes: tuple[Dtype, ...],
    dims: tuple[str, ...],
    dtype: Dtype,
) -> Shape | None:
    """What `operation` gives on operands a, b, c of these shapes; None if it is refused."""
    held = {n: Held(n, s, d) for n, s, d in zip("abc", shapes, dtypes, strict=False)}
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
