"""The target: the little of Python that an emitted function needs, as values.

Emission builds these; `layoutc.codegen.spell` writes them down. Whatever a user typed enters
as a `Name` that `layoutc.codegen.names` has respelled, or as a `Literal` that is escaped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, or a dotted path to a function: `x`, `lax.psum`."""

    text: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a string or None, spelled as Python spells it."""

    value: int | float | str | bool | None


@dataclass(frozen=True, slots=True)
class Tuple:
    """`(a, b)`; of one item `(a,)`, of none `()`."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """`function(*args, **keywords)`."""

    function: str
    args: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...] = ()


@dataclass(frozen=True, slots=True)
class Method:
    """`value.name(*args)`."""

    value: Expr
    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Binary:
    """`left sign right`."""

    sign: OneOf["+", "-", "*", "/", "<", "<="]
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Broadcast:
    """`value[:, None, :]`: the kept axes are True, the new ones False."""

    value: Expr
    kept: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Extent:
    """`value.shape[dim]`."""

    value: Expr
    dim: int


Expr = Name | Literal | Tuple | Call | Method | Binary | Broadcast | Extent


@dataclass(frozen=True, slots=True)
class Assign:
    """`target = value  # comment`."""

    target: Expr
    value: Expr
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Return:
    """`return value`."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Function:
    """`def name(parameters):` with its decorators, a docstring of one line, and a body."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Statement, ...]
    doc: str = ""
    decorators: tuple[Expr, ...] = ()


Statement = Assign | Return | Function
