"""Shapes as JAX writes them: axis names, partition specs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from layoutc.codegen.tree import Call, Expr, Literal, Tuple
from layoutc.dsl.program import Axis
from layoutc.dsl.shape import Shape


@dataclass(frozen=True, slots=True)
class AxisNames:
    """The letters of the notation as the names of the emitted mesh's axes."""

    labels: dict[str, str]

    @classmethod
    def of(cls, axes: Iterable[Axis]) -> AxisNames:
        return cls({axis.name: axis.label or axis.name for axis in axes})

    def names(self, axes: Sequence[str]) -> tuple[str, ...]:
        return tuple(self.labels[a] for a in axes)

    def one_or_more(self, axes: Sequence[str]) -> Expr:
        """`"x"` for one axis, `("y", "z")` for more: JAX takes both, in this order."""
        literals = tuple(Literal(name) for name in self.names(axes))
        return literals[0] if len(literals) == 1 else Tuple(literals)

    def all(self, axes: Sequence[str]) -> Expr:
        """`("x",)` for one axis too, where only a tuple will do."""
        return Tuple(tuple(Literal(name) for name in self.names(axes)))

    def spec(self, shape: Shape, stacked: bool = False) -> Expr:
        """The PartitionSpec; a stack has a first axis that is split over nothing."""
        parts = [self.one_or_more(d.axes) if d.axes else Literal(None) for d in shape]
        return Call("P", tuple([Literal(None)] * stacked + parts))
