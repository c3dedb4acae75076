"""A program with holes as a problem: variables that are layouts, and what ties them together.

Each phase of the program is a part of the problem, with values and operations of its own; parts
have the mesh in common, and the layouts in which weights are stored.

Every value of the program has a tree of layouts. Its root is the layout in which the value
comes to be, its leaves are the layouts in which it is used (and the one that its annotation
demands); the edges between them are statements that move it. An operation ties the leaves that
it reads to the root that it makes. What is shared on the way to two leaves is paid once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from layoutc.dsl.program import Dtype, Program
from layoutc.dsl.shape import Reduction
from layoutc.solver.relations import Flags
from layoutc.solver.space import Ints, Space


@dataclass(slots=True)
class Variable:
    """A layout to choose, among the `allowed` nodes of `space`.

    `spread` is the annotation's "!": every axis of more than one chip is used. `part` is the
    number of the phase whose sizes it has.
    """

    space: Space
    allowed: Flags
    part: int
    spread: bool = False


@dataclass(slots=True)
class Value:
    """A tensor of the program, however many names it has.

    `root` and `leaves` are variables. `times` is how often a move of it is paid.
    """

    name: str
    part: int
    root: int
    reduction: Reduction
    itemsize: int
    times: int
    leaves: list[int] = field(default_factory=list)
    stored: int = 0
    """How many copies are stored and read once a pass: of a weight or cache, else 0."""
    beside: int = 0
    """The bytes that are stored and read beside them in any layout: the scales of int8 weights."""
    in_place: bool = False
    """Whether it lies where another value lies: what was written to a cache is the cache."""
    free: bool = False
    """Whether every chip holds all of it, so that any layout is to be had for nothing."""

    @property
    def copies(self) -> int:
        """How many there are at once of its first layout."""
        return 0 if self.in_place else max(1, self.stored)


@dataclass(frozen=True, slots=True)
class Statistic:
    """What a norm or a softmax reduces on the way, of a tensor that may be split on `dim`: so many
    `bytes` for each element of what is left without that dim, in so many `moves`."""

    dim: str
    bytes: int
    moves: int


@dataclass(slots=True)
class Step:
    """An operation: rows of nodes of `scope`; `flops` for rows that share it with no chip, of
    operands of these `dtypes`.

    `used[i]` masks the axes that share row i's work, `edges[i]` is the move that it is, and
    `statistic` what is reduced of the first variable's tensor.
    """

    part: int
    scope: tuple[int, ...]
    columns: tuple[Ints, ...]
    used: Ints | None = None
    flops: int = 0
    dtypes: tuple[Dtype, ...] = ()
    edges: Ints | None = None
    statistic: Statistic | None = None
    itemsize: int = 0
    times: int = 1


@dataclass(slots=True)
class Part:
    """One phase: its program (of that phase alone), and what its names stand for."""

    program: Program
    uses: dict[tuple[str, int], int] = field(default_factory=dict)
    """The variable of each operand, by the name that its statement defines and its position."""
    held: dict[str, int] = field(default_factory=dict)
    """The variable of the layout that a name must have; names that may have any are absent."""
    of: dict[str, Value] = field(default_factory=dict)
    """Each name's value, as the statements that follow see it."""

    @property
    def sizes(self) -> dict[str, int]:
        """The dims that have a size."""
        return self.program.sizes

    @property
    def weight(self) -> float:
        """How often this phase runs."""
        return self.program.phase.weight


@dataclass(frozen=True, slots=True)
class Handed:
    """A cache of one part that is handed to the next: `value` starts as the one holds it, and its
    only leaf is as it can be placed in the other's."""

    name: str
    value: Value


@dataclass(slots=True)
class Problem:
    """What `build` makes of a program, with `axes` the mesh axes that may be used."""

    axes: tuple[str, ...]
    parts: tuple[Part, ...]
    variables: list[Variable] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    handed: list[Handed] = field(default_factory=list)
    merged: dict[int, int] = field(default_factory=dict)
    """For a variable that must equal another, that other: see `find`."""

    def find(self, variable: int) -> int:
        """The variable that stands for `variable` and all that it must equal."""
        while variable in self.merged:
            variable = self.merged[variable]
        return variable

    def space(self, variable: int) -> Space:
        """The space of a variable's layouts."""
        return self.variables[self.find(variable)].space

    def equate(self, one: int, other: int) -> None:
        """Makes two variables of the same dims the same."""
        one, other = self.find(one), self.find(other)
        if one != other:
            keep, gone = self.variables[one], self.variables[other]
            keep.allowed = keep.allowed & gone.allowed
            keep.spread = keep.spread or gone.spread
            self.merged[other] = one
