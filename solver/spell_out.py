"""Norms and softmaxes over a dim that is split, spelled out: the statements that they take.

What is reduced over the dim is partial on a chip, and all-reduced by a statement of its own, so
that it is seen and priced like all that moves. It is computed in f32, like the norm itself.
"""

from __future__ import annotations

from collections.abc import Callable

from layoutc.dsl.layer import STATISTICS
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
)
from layoutc.dsl.program import Define, Dtype, Type
from layoutc.dsl.shape import Reduction, Shape
from layoutc.solver.layers import STATISTICS_DTYPE

EPSILON = {"rmsnorm": Number("1e-06"), "layernorm": Number("1e-05")}
"""What is added to a mean of squares where the program does not say."""


def must_be_spelled_out(operation: Operation, lead: Shape) -> bool:
    """Whether an operation reduces a dim that its operand, held as `lead`, has split."""
    return (
        isinstance(operation, Layer)
        and operation.kind in STATISTICS
        and any(lead.split(dim) for dim in operation.dims)
    )


def spelled_out(
    define: Define, operation: Layer, lead: Type, fresh: Callable[[], str], order: tuple[str, ...]
) -> list[Define]:
    """The statements that make `define`, the last under its name. `order` has the mesh's axes."""
    speller = _Speller(define, operation, lead, fresh, order)
    match operation.kind:
        case "softmax":
            speller.softmax()
        case "rmsnorm":
            speller.rmsnorm(operation.lead, operation.followers)
        case "layernorm":
            speller.layernorm()
        case _:
            raise AssertionError(operation)
    return speller.out


class _Speller:
    """Writes one statement after another; the last of them takes the name that was defined."""

    def __init__(
        self,
        define: Define,
        operation: Layer,
        lead: Type,
        fresh: Callable[[], str],
        order: tuple[str, ...],
    ) -> None:
        self.define, self.operation, self.lead, self.fresh = define, operation, lead, fresh
        self.dim = operation.dims[0]
        split = lead.shape.split(self.dim)
        self.axes = tuple(a for a in order if a in split)
        self.left = Shape(tuple(d for d in lead.shape if d.name != self.dim))
        self.out: list[Define] = []

    def write(self, shape: Shape, dtype: Dtype, operation: Operation, last: bool = False) -> str:
        name = self.define.name if last else self.fresh()
        held = self.define.type if last else Type(shape, dtype)
        self.out.append(Define(name, held, operation))
        return name

    def full(
        self, operation: Operation, dtype: Dtype = STATISTICS_DTYPE, last: bool = False
    ) -> str:
        """A statement whose result is held like the leading operand."""
        return self.write(self.lead.shape, dtype, operation, last)

    def whole(self, kind: ReduceKind, name: str, dtype: Dtype = STATISTICS_DTYPE) -> str:
        """What is left of a tensor when the dim is reduced, on every chip that needs it."""
        reduction: Reduction = "max" if kind == "max" else "sum"
        partial = self.left.with_partial(self.axes, reduction)
        part = self.write(partial, dtype, Reduce(kind, (self.dim,), name))
        return self.write(self.left, dtype, Move("all-reduce", self.axes, part))

    def softmax(self) -> None:
        scores = self.operation.lead
        most = self.whole("max", scores, self.lead.dtype)
        below = self.full(Arithmetic("-", scores, most))
        terms = self.full(Apply("exp", below))
        total = self.whole("sum", terms)
        self.full(Arithmetic("/", terms, total), last=True)

    def layernorm(self) -> None:
        mean = self.whole("mean", self.operation.lead)
        centred = self.full(Arithmetic("-", self.operation.lead, mean))
        self.rmsnorm(centred, self.operation.followers)

    def rmsnorm(self, name: str, followers: tuple[str, ...]) -> None:
        """The norm of a tensor, then the scale and the bias where there are such."""
        squares = self.full(Product(name, name))
        mean = self.whole("mean", squares)
        constant = self.operation.constant or EPSILON[self.operation.kind]
        raised = self.write(self.left, STATISTICS_DTYPE, Arithmetic("+", mean, constant))
        root = self.write(self.left, STATISTICS_DTYPE, Apply("rsqrt", raised))
        found = self.full(Product(name, root), last=not followers)
        for number, other in enumerate(followers):
            last = number == len(followers) - 1
            scaled = Product(found, other) if number == 0 else Arithmetic("+", found, other)
            found = self.full(scaled, last=last)
