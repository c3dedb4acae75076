"""Int8 weights: each is a pair of whole numbers and scales, which are applied after the product.

A function takes the pair apart where it begins, a block where a repetition begins. From there on
the weight's name stands for the whole numbers, which are all that moves; every chip has all
scales, and takes its own part of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from layoutc.codegen.layouts import AxisNames
from layoutc.codegen.names import beside
from layoutc.codegen.operations import (
    COMPUTED,
    Spelling,
    Value,
    aligned,
    einsum,
    own_parts,
)
from layoutc.codegen.tree import Binary, Expr, Method, Name
from layoutc.dsl.operation import Number
from layoutc.dsl.program import Program, Type
from layoutc.dsl.scales import holders, scaled
from layoutc.dsl.shape import Shape, whole


def said(dims: Iterable[str]) -> str:
    """Scales as a comment has them: "scales F"."""
    letters = "".join(dims)
    return f"scales {letters}" if letters else "one scale"


@dataclass(frozen=True, slots=True)
class Scales:
    """Of a program: `weights` has the int8 weight that a name holds, `dims` those of a weight's
    scales, `spelled` what these are called."""

    weights: Mapping[str, str] = field(default_factory=dict)
    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    spelled: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program, spelled: Mapping[str, str]) -> Scales:
        """`spelled` is what the program's own names are called."""
        dims = scaled(program)
        return cls(holders(program), dims, beside(spelled, dims, "scales"))

    def factors(self, names: Iterable[str], result: Shape, axes: AxisNames) -> list[Expr]:
        """What a result is multiplied with, for each int8 weight among an operation's operands."""
        weights = (self.weights[name] for name in names if name in self.weights)
        return [self._factor(weight, result, axes) for weight in weights]

    def _factor(self, weight: str, result: Shape, axes: AxisNames) -> Expr:
        name, dims = Name(self.spelled[weight]), self.dims[weight]
        if not dims:
            return name
        part = _cut(Value(name, Type(whole(dims), "f32")), result, axes)
        return aligned(part, result.names)


def _cut(value: Value, like: Shape, axes: AxisNames) -> Value | Number:
    """The chip's own part of a value, where `like` is split."""
    first, _ = own_parts([value, Value(value.expr, Type(like, "f32"))], axes)
    return first


def exact(operands: Sequence[Value | Number], result: Shape, how: Spelling) -> Expr:
    """The product of whole numbers and what they are multiplied with, in f32."""
    return einsum(_as_floats(own_parts(operands, how.axes), how), result, Name("jnp.float32"))


def applied(target: Name, factors: Sequence[Expr], result: Type, how: Spelling) -> Expr:
    """What was computed of whole numbers, called `target`, with its scales."""
    value: Expr = target
    for factor in factors:
        value = Binary("*", value, factor)
    return Method(value, "astype", (how.dtype(result.dtype),))


def _as_floats(operands: Sequence[Value | Number], how: Spelling) -> list[Value | Number]:
    """Whole numbers in the dtype of what they are multiplied with: each holds all of int8."""
    values = [o for o in operands if isinstance(o, Value)]
    dtype = next((v.type.dtype for v in values if v.type.dtype in COMPUTED), None)
    to = how.dtype(dtype) if dtype else Name("jnp.float32")
    return [
        v if v.type.dtype in COMPUTED else Value(Method(v.expr, "astype", (to,)), v.type)
        for v in values
    ]
