"""What a chip computes: products, sums, functions and reductions as jnp spells them.

The same code serves the sharded function, where operands are blocks, and the reference, where
they are whole: a block's layout only shows where an operand's own part is used and where a
mean is taken over a dim that is split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import assert_never

from layoutc.codegen.layouts import AxisNames
from layoutc.codegen.moves import own_part
from layoutc.codegen.tree import Binary, Broadcast, Call, Expr, Literal, Method, Name, Tuple
from layoutc.dsl.operation import Apply, Arithmetic, Cast, Function, Number, Product, Reduce
from layoutc.dsl.program import Dtype, Type
from layoutc.dsl.shape import Shape

JAX_DTYPES: dict[Dtype, str] = {
    "f32": "jnp.float32",
    "bf16": "jnp.bfloat16",
    "f16": "jnp.float16",
    "int8": "jnp.int8",
    "int32": "jnp.int32",
    "f8e4m3": "jnp.float8_e4m3fn",
    "f8e5m2": "jnp.float8_e5m2",
}

FUNCTIONS: dict[Function, str] = {
    "relu": "jax.nn.relu",
    "gelu": "jax.nn.gelu",
    "gelu_erf": "jax.nn.gelu",
    "silu": "jax.nn.silu",
    "sigmoid": "jax.nn.sigmoid",
    "tanh": "jnp.tanh",
    "exp": "jnp.exp",
    "exp2": "jnp.exp2",
    "log": "jnp.log",
    "sqrt": "jnp.sqrt",
    "rsqrt": "lax.rsqrt",
    "square": "jnp.square",
    "neg": "jnp.negative",
    "abs": "jnp.abs",
}

COMPUTED = frozenset[Dtype]({"f32", "bf16", "f16"})
"""What machines compute in; the others are widened to f32 where a float is needed."""

Computation = Product | Arithmetic | Apply | Cast | Reduce


@dataclass(frozen=True, slots=True)
class Value:
    """An operand: how it is spelled, and its type."""

    expr: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Spelling:
    """How things are called, the mesh's axes and the default dtype; and which dims are padded."""

    axes: AxisNames
    default: Dtype
    padded: frozenset[str] = frozenset()

    def dtype(self, dtype: Dtype) -> Expr:
        """The default goes by a name, since --dtype may replace it."""
        return Name("dtype" if dtype == self.default else JAX_DTYPES[dtype])

    def is_f32(self, dtype: Dtype) -> bool:
        """Whether that is f32 whatever --dtype says."""
        return dtype == "f32" != self.default


def computed(
    operation: Computation, operands: Sequence[Value | Number], result: Type, how: Spelling
) -> Expr:
    """The right-hand side of a statement, of the dtype of `result`."""
    match operation:
        case Product():
            return _product(operands, result, how)
        case Arithmetic(sign):
            sides = own_parts(operands, how.axes)
            sides = sides if sign != "/" and _whole_numbers(operands) else _floats(sides)
            left, right = (aligned(s, result.shape.names) for s in sides)
            return _stored(Binary(sign, left, right), operands, result, how)
        case Apply(function):
            (value,) = _floats(operands)
            exact = (("approximate", Literal(False)),) if function == "gelu_erf" else ()
            call = Call(FUNCTIONS[function], (_spelled(value),), exact)
            return _stored(call, operands, result, how)
        case Cast():
            return Method(_spelled(operands[0]), "astype", (how.dtype(result.dtype),))
        case Reduce():
            return _stored(_reduced(operation, operands[0], how), operands, result, how)
        case _:
            assert_never(operation)


def _product(operands: Sequence[Value | Number], result: Type, how: Spelling) -> Expr:
    """A multiplication where nothing is summed and nothing transposed, else an einsum."""
    sides = _floats(own_parts(operands, how.axes))
    if all(_broadcasts(side, result.shape) for side in sides):
        left, right = (aligned(side, result.shape.names) for side in sides)
        return _stored(Binary("*", left, right), operands, result, how)
    return einsum(sides, result.shape, how.dtype(result.dtype))


def einsum(sides: Sequence[Value | Number], result: Shape, dtype: Expr) -> Expr:
    """The product of two blocks, both cut where either is."""
    terms = ["".join(s.type.shape.names) for s in sides if isinstance(s, Value)]
    spec = f"{','.join(terms)}->{''.join(result.names)}"
    return Call("product", (Literal(spec), *map(_spelled, sides), dtype))


def _broadcasts(side: Value | Number, result: Shape) -> bool:
    if isinstance(side, Number):
        return True
    names = side.type.shape.names
    return tuple(d for d in result.names if d in names) == names


def _reduced(operation: Reduce, operand: Value | Number, how: Spelling) -> Expr:
    assert isinstance(operand, Value)
    exact = operation.kind != "mean" and _whole_numbers((operand,))
    value = operand if exact else _widened(operand)
    shape = operand.type.shape
    places = tuple(Literal(shape.names.index(d)) for d in operation.dims)
    along = places[0] if len(places) == 1 else Tuple(places)
    padded = [d for d in operation.dims if d in how.padded]
    expr = value.expr
    if operation.kind == "max":
        for dim in padded:
            expr = masked(expr, shape, dim, how.axes, least=True)
    call: Expr = Call(f"jnp.{operation.kind}", (expr,), (("axis", along),))
    if operation.kind != "mean":
        return call
    over = tuple(a for d in operation.dims for a in shape.split(d))
    if over:
        # The mean of a chip's own part is one term of as many: their sum is the mean.
        call = Binary("/", call, Call("lax.axis_size", (how.axes.one_or_more(over),)))
    for dim in padded:
        call = Binary("/", call, Call("used_share", (expr, *_split(shape, dim, how.axes))))
    return call


def masked(
    expr: Expr, shape: Shape, dim: str, axes: AxisNames, stacked: bool = False, least: bool = False
) -> Expr:
    """A value of `shape`, or a stack of them, with zeros in the padding of a dim; or with the
    `least` that there is."""
    fill = (Call("float", (Literal("-inf"),)),) if least else ()
    return Call("masked", (expr, *_split(shape, dim, axes, stacked), *fill))


def _split(
    shape: Shape, dim: str, axes: AxisNames, stacked: bool = False
) -> tuple[Expr, Expr, Expr]:
    """Which dim of a value it is by number and by name, and what it is split over."""
    number = shape.names.index(dim) + stacked
    return Literal(number), Literal(dim), axes.one_or_more(shape.split(dim))


# Operands.


def own_parts(operands: Sequence[Value | Number], axes: AxisNames) -> list[Value | Number]:
    """Each operand cut to the longest list of axes that any has for its dims."""
    shapes = [o.type.shape for o in operands if isinstance(o, Value)]
    return [_own(o, shapes, axes) if isinstance(o, Value) else o for o in operands]


def _own(value: Value, shapes: Sequence[Shape], axes: AxisNames) -> Value:
    expr, shape = value.expr, value.type.shape
    for number, dim in enumerate(shape):
        longest = max((s.split(dim.name) for s in shapes), key=len)
        if longest != dim.axes:
            expr = own_part(expr, number, longest[len(dim.axes) :], axes)
    return Value(expr, value.type)


def _floats(operands: Sequence[Value | Number]) -> list[Value | Number]:
    """The operands, widened to f32 where they are of a dtype that nothing computes in."""
    return [_widened(o) if isinstance(o, Value) else o for o in operands]


def _whole_numbers(operands: Sequence[Value | Number]) -> bool:
    return all(o.type.dtype.startswith("int") for o in operands if isinstance(o, Value))


def _widened(value: Value) -> Value:
    if value.type.dtype in COMPUTED:
        return value
    return Value(Method(value.expr, "astype", (Name("jnp.float32"),)), value.type)


def aligned(side: Value | Number, result: Sequence[str]) -> Expr:
    """The operand with its dims in the result's order, and an axis of 1 for each it lacks."""
    if isinstance(side, Number):
        return number(side)
    names, expr = side.type.shape.names, side.expr
    ordered = [d for d in result if d in names]
    if tuple(ordered) != names:
        order = Tuple(tuple(Literal(names.index(d)) for d in ordered))
        expr = Call("jnp.transpose", (expr, order))
    tail = result[result.index(ordered[0]) :]  # NumPy adds leading axes by itself
    kept = tuple(d in names for d in tail)
    return expr if all(kept) else Broadcast(expr, kept)


def number(operand: Number) -> Expr:
    """A number as Python spells it: `007` and `1e999` are not left to Python's own rules."""
    value = operand.value
    if not isfinite(value):
        return Call("float", (Literal(str(value)),))
    whole = set(operand.text) <= set("-0123456789") and abs(value) < 2**31
    return Literal(int(value) if whole else value)


def _spelled(side: Value | Number) -> Expr:
    return number(side) if isinstance(side, Number) else side.expr


def _stored(expr: Expr, operands: Sequence[Value | Number], result: Type, how: Spelling) -> Expr:
    """`expr` in the dtype of the result: a cast, unless it has that dtype by itself."""
    dtypes = {o.type.dtype for o in operands if isinstance(o, Value)}
    if dtypes == {result.dtype} and result.dtype in COMPUTED:
        return expr
    return Method(expr, "astype", (how.dtype(result.dtype),))
