"""A plan's layouts as Flax's rules: each dim's letter, and the mesh axes that split it."""

from __future__ import annotations

from collections.abc import Sequence

from layoutc.codegen.layouts import AxisNames
from layoutc.dsl.program import Declare, Program
from layoutc.dsl.shape import Dim, Shape
from layoutc.pipeline import WrongCall

Rule = tuple[str, str | tuple[str, ...] | None]
"""A dim's letter, and the mesh axis that splits it, or several, or none."""


def rules(program: Program, names: Sequence[str] = ()) -> tuple[Rule, ...]:
    """One rule for each dim of the tensors called `names`, or of the weights.

    Raises:
        WrongCall: two of them hold a dim in two ways, or there is no such tensor, or it is a
            partial sum.
    """
    labels = AxisNames.of(program.axes)
    found: dict[str, tuple[Dim, str]] = {}
    for name in names or weights(program):
        for dim in _shape(program, name):
            first, before = found.setdefault(dim.name, (dim, name))
            if first.axes != dim.axes:
                raise WrongCall(_clash(program, dim.name, before, name))
    return tuple((letter, _over(labels.names(d.axes))) for letter, (d, _) in found.items())


def weights(program: Program) -> tuple[str, ...]:
    """The names of the weights, in the file's order."""
    declared = (item for item, _ in program.walk() if isinstance(item, Declare))
    return tuple(item.name for item in declared if item.kind == "weight")


def _shape(program: Program, name: str) -> Shape:
    held = program.types.get(name)
    if held is None:
        raise WrongCall(f"{program.name} has no {name}; it has {', '.join(program.types)}")
    if held.shape.partial:
        raise WrongCall(f"{name} : {held.shape} is a partial sum, which no rule can say")
    return held.shape


def _over(axes: tuple[str, ...]) -> str | tuple[str, ...] | None:
    return axes if len(axes) > 1 else axes[0] if axes else None


def _clash(program: Program, dim: str, one: str, other: str) -> str:
    shapes = [f"{name} : {program.types[name].shape}" for name in (one, other)]
    return (
        f"{dim} is held in two ways, in {' and in '.join(shapes)}, and one rule can't say both; "
        f"ask for the rules of each apart: logical_axis_rules({one!r})"
    )
