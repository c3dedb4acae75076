"""What a statement may do: the operations of the language, as values.

An operation names its operands; what they are held as, and what comes of it, its program says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Function = Literal[
    "relu", "gelu", "gelu_erf", "silu", "sigmoid", "tanh", "exp", "exp2",
    "log", "sqrt", "rsqrt", "square", "neg", "abs",
]  # fmt: skip
MoveKind = Literal["all-gather", "reduce-scatter", "all-reduce", "all-to-all", "slice", "permute"]
ReduceKind = Literal["sum", "mean", "max"]
ArithmeticSign = Literal["+", "-", "/"]
LayerKind = Literal[
    "embed", "rmsnorm", "layernorm", "rope", "write",
    "scale", "causal", "valid", "softmax", "rename",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Number:
    """A scalar operand. `text` is how it is spelled in the canonical form."""

    text: str

    @property
    def value(self) -> float:
        return float(self.text)


Operand = str | Number
"""What an operation takes: a name, or a number."""


@dataclass(frozen=True, slots=True)
class Product:
    """`left * right`: einsum by dim names; dims that the result lacks are summed."""

    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left + right`, `left - right`, `left / right`, by dim name, missing dims broadcast."""

    sign: ArithmeticSign
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Apply:
    """`function(operand)`, elementwise."""

    function: Function
    operand: str


@dataclass(frozen=True, slots=True)
class Cast:
    """`cast(operand)`: to the dtype of the result."""

    operand: str


@dataclass(frozen=True, slots=True)
class Reduce:
    """`sum[F](operand)`, `mean[..]`, `max[..]` over the named dims."""

    kind: ReduceKind
    dims: tuple[str, ...]
    operand: str


@dataclass(frozen=True, slots=True)
class Hold:
    """`y : SHAPE = a`: the same value, held as the result's shape."""

    operand: str


@dataclass(frozen=True, slots=True)
class Move:
    """One of the six statements that change a layout. `axes` is a set, in the mesh's order."""

    kind: MoveKind
    axes: tuple[str, ...]
    operand: str


@dataclass(frozen=True, slots=True)
class Layer:
    """`kind[dims, key=constant](operands)`: what a Transformer layer has beside einsums.

    The first operand leads: the result is held like it, and the others give the part of theirs
    that it takes. Only of `embed` that is not so. `constant` is None where the default is meant;
    `rename[L -> M]` has the dims L and M.
    """

    kind: LayerKind
    dims: tuple[str, ...]
    operands: tuple[Operand, ...]
    constant: Number | None = None

    @property
    def lead(self) -> str:
        """The operand that the result is held like."""
        return str(self.operands[0])

    @property
    def followers(self) -> tuple[str, ...]:
        """The other operands that are names."""
        return tuple(o for o in self.operands[1:] if isinstance(o, str))


Operation = Product | Arithmetic | Apply | Cast | Reduce | Hold | Move | Layer


def operands(operation: Operation) -> tuple[str, ...]:
    """The names that an operation reads, left to right (one that stands twice comes twice)."""
    match operation:
        case Product(left, right) | Arithmetic(_, left, right):
            return tuple(o for o in (left, right) if isinstance(o, str))
        case Apply(_, operand) | Cast(operand) | Hold(operand) | Move(_, _, operand):
            return (operand,)
        case Reduce(_, _, operand):
            return (operand,)
        case Layer(operands=several):
            return tuple(o for o in several if isinstance(o, str))
