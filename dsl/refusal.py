"""What the rules say no with: values that name the place by its role, not by its column.

The checker knows where things stand in the text and turns a `Refusal` into a diagnostic;
the solver only asks whether there was one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from layoutc.dsl.program import Dtype
from layoutc.dsl.shape import Shape

Place = Literal["statement", "annotation", "operand", "axes", "dims"]


@dataclass(frozen=True, slots=True)
class Held:
    """A named operand as a rule sees it: what is held under the name."""

    name: str
    shape: Shape
    dtype: Dtype


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why a statement does not hold.

    `at` is the part of the statement to underline; `origin`, where set, is the operand whose
    definition is the second place, and `note` what to say there; at "operand" it is that operand
    itself that is underlined. `hint` is the fix.
    """

    message: str
    hint: str = ""
    at: Place = "statement"
    origin: str = ""
    note: str = ""


def letters(axes: Iterable[str]) -> str:
    """Axes as the notation writes them: "yz"."""
    return "".join(axes)


def named(names: Iterable[str]) -> str:
    """Dims in a sentence: "dim E", "dims K, G and Q"."""
    *rest, last = names
    return f"dims {', '.join(rest)} and {last}" if rest else f"dim {last}"


def lacking(name: str, has: tuple[str, ...], wanted: tuple[str, ...]) -> Refusal | None:
    """The refusal of an operand that lacks dims of the brackets; None if it has them all."""
    strange = tuple(d for d in wanted if d not in has)
    if not strange:
        return None
    message = f"{name} has no {named(strange)}; its dims are {letters(has)}"
    return Refusal(message, at="dims", origin=name, note="defined here")


def scattered(operand: Held, axes: tuple[str, ...]) -> str:
    """The statement that makes a partial operand whole, cheapest form first."""
    shape, name = operand.shape, operand.name
    rest = tuple(a for a in shape.partial if a not in axes)
    if shape.reduction == "max":
        after = shape.with_partial(rest, "max")
        return f"{name}1 : {after} = all-reduce({letters(axes)}) {name}"
    last = shape.dims[-1]
    after = shape.with_partial(rest).with_split(last.name, last.axes + axes)
    return f"{name}1 : {after} = reduce-scatter({letters(axes)}) {name}"


def gathered(operand: Held, axes: tuple[str, ...]) -> str:
    """The statement that makes an operand whole over `axes`."""
    after = operand.shape.without(axes)
    return f"{operand.name}1 : {after} = all-gather({letters(axes)}) {operand.name}"


def unreduced(operand: Held, needs: str) -> Refusal:
    """The refusal of a partial operand by something that needs the reduced value."""
    partial = operand.shape.partial
    what = "sum" if operand.shape.reduction == "sum" else "maximum"
    return Refusal(
        f"{operand.name} is a partial {what} over {letters(partial)}; {needs} needs the {what} "
        "itself",
        f"add before it:  {scattered(operand, partial)}",
        origin=operand.name,
        note="made here",
    )
