"""What a norm or a softmax stands for: the statements to write where its dim is split.

Whatever moves in an explicit program is a statement of its own, so the reductions of a dim that
chips share are spelled out: each is partial on a chip, and all-reduced. As in the operations
themselves, they are computed in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from layoutc.dsl.columns import Row, align
from layoutc.dsl.notation import print_operation
from layoutc.dsl.operation import (
    Apply,
    Arithmetic,
    Layer,
    Move,
    Number,
    Operation,
    Product,
    Reduce,
    ReduceKind,
    operands,
)
from layoutc.dsl.program import Define, Dtype, Type
from layoutc.dsl.refusal import Held
from layoutc.dsl.shape import Reduction, Shape

STATISTICS = frozenset({"rmsnorm", "layernorm", "softmax"})
"""What reduces a dim on the way: where that is split, statements of their own do it."""

EXACT: Dtype = "f32"
"""What means, and sums of exponentials, are computed and reduced in."""

EPS = {"rmsnorm": Number("1e-6"), "layernorm": Number("1e-5")}
"""What is added to the mean of the squares where the program does not say."""


def needs_longhand(operation: Operation, lead: Shape) -> bool:
    """Whether an operation reduces a dim that its operand, held as `lead`, has split."""
    return (
        isinstance(operation, Layer)
        and operation.kind in STATISTICS
        and any(lead.split(dim) for dim in operation.dims)
    )


def longhand(
    define: Define, lead: Type, named: Callable[[str], str], order: Iterable[str]
) -> list[Define]:
    """The statements that make `define`, a norm or a softmax; the last has its name.

    `named` makes names of what they are the names of, as "sum" and "exp"; `order` has the mesh's
    axes.
    """
    operation = define.operation
    assert isinstance(operation, Layer)
    split = lead.shape.split(operation.dims[0])
    writer = _Writer(define, operation, lead, named, tuple(a for a in order if a in split))
    match operation.kind:
        case "softmax":
            writer.softmax()
        case "rmsnorm":
            writer.norm(operation.lead)
        case "layernorm":
            writer.layernorm()
        case _:
            raise AssertionError(operation)
    return writer.out


def in_place_of(operation: Layer, lead: Held) -> str:
    """The statements, a line each; the last is of NAME, which is what the operation gives.

    "" where the operation is none of these, or where a reduction would leave no dim.
    """
    if operation.kind not in STATISTICS or len(lead.shape.dims) < 2:
        return ""
    held = Type(lead.shape, lead.dtype)
    axes = lead.shape.split(operation.dims[0])
    define = Define("NAME", held, operation)
    steps = longhand(define, held, lambda role: f"{lead.name}_{role}", axes)
    dtypes = {lead.name: lead.dtype, **{step.name: step.type.dtype for step in steps}}
    rows = []
    for step in steps:
        read = {dtypes.get(name) for name in operands(step.operation)}
        follows = read == {step.type.dtype} and step is not steps[-1]
        held_as = "" if follows else f"{step.type.shape} {step.type.dtype}"
        rows.append(Row("define", (step.name, held_as, print_operation(step.operation)), depth=1))
    return align(rows).rstrip("\n")


@dataclass(slots=True)
class _Writer:
    """Writes one statement after another; `axes` are those over which the dim is split."""

    define: Define
    operation: Layer
    lead: Type
    named: Callable[[str], str]
    axes: tuple[str, ...]
    out: list[Define] = field(default_factory=list)

    def softmax(self) -> None:
        scores = self.operation.lead
        most = self.whole("max", "max", scores, self.lead.dtype)
        below = self.full("less", Arithmetic("-", scores, most))
        terms = self.full("exp", Apply("exp", below))
        total = self.whole("sum", "sum", terms)
        self.last(Arithmetic("/", terms, total))

    def layernorm(self) -> None:
        middle = self.whole("mean", "mid", self.operation.lead)
        self.norm(self.full("less", Arithmetic("-", self.operation.lead, middle)))

    def norm(self, value: str) -> None:
        """`value` over the root of its mean square, scaled and shifted where that is asked for."""
        mean = self.whole("mean", "mean", self.full("square", Product(value, value)))
        eps = self.operation.constant or EPS[self.operation.kind]
        raised = self.write("eps", self.left, EXACT, Arithmetic("+", mean, eps))
        root = self.write("root", self.left, EXACT, Apply("rsqrt", raised))
        step: Operation = Product(value, root)
        role = "norm"
        for sign, other in zip("*+", self.operation.followers, strict=False):
            found = self.full(role, step)
            step = Product(found, other) if sign == "*" else Arithmetic("+", found, other)
            role = "scaled"
        self.last(step)

    @property
    def left(self) -> Shape:
        """How what is left is held when the dim is reduced."""
        return Shape(tuple(d for d in self.lead.shape if d.name not in self.operation.dims))

    def write(self, role: str, shape: Shape, dtype: Dtype, operation: Operation) -> str:
        name = self.named(role)
        self.out.append(Define(name, Type(shape, dtype), operation))
        return name

    def full(self, role: str, operation: Operation) -> str:
        """A statement whose result is held like the leading operand."""
        return self.write(role, self.lead.shape, EXACT, operation)

    def whole(self, kind: ReduceKind, role: str, name: str, dtype: Dtype = EXACT) -> str:
        """What is left of a tensor when the dim is reduced, on every chip that needs it."""
        reduction: Reduction = "max" if kind == "max" else "sum"
        partial = self.left.with_partial(self.axes, reduction)
        part = self.write(role, partial, dtype, Reduce(kind, self.operation.dims, name))
        return self.write(f"{role}1", self.left, dtype, Move("all-reduce", self.axes, part))

    def last(self, operation: Operation) -> None:
        self.out.append(Define(self.define.name, self.define.type, operation))
