"""A program with holes as a problem: variables that are layouts, and what ties them together.

Every value of the program has a tree of layouts. Its root is the layout in which the value
comes to be, its leaves are the layouts in which it is used (and the one that its annotation
demands); the edges between them are statements that move it. An operation ties the leaves that
it reads to the root that it makes. What is shared on the way to two leaves is paid once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from layoutc.dsl.program import (
    DTYPES,
    Apply,
    Arithmetic,
    Cast,
    Declare,
    Define,
    Hold,
    Move,
    Number,
    Operation,
    Product,
    Program,
    Reduce,
    Repeat,
    operands,
)
from layoutc.dsl.rules import LINEAR, WIDER
from layoutc.dsl.shape import Reduction, Shape
from layoutc.solver.meshes import named_axes
from layoutc.solver.relations import Flags, Kind, Relation, pairs, reduced
from layoutc.solver.space import KINDS, Ints, Space


@dataclass(slots=True)
class Variable:
    """A layout to choose, among the `allowed` nodes of `space`.

    `spread` is the annotation's "!": every axis of more than one chip is used.
    """

    space: Space
    allowed: Flags
    spread: bool = False


@dataclass(slots=True)
class Value:
    """A tensor of the program, however many names it has.

    `root` and `leaves` are variables. `times` is how often a move of it is paid; `reads` are the
    leaves of the operations that use it, `names` the leaf (or the root) held under each name.
    """

    name: str
    root: int
    reduction: Reduction
    itemsize: int
    times: int
    leaves: list[int] = field(default_factory=list)
    stored: int = 0
    """How many copies are stored and read once a pass: of a weight or cache, else 0."""


@dataclass(slots=True)
class Step:
    """An operation: rows of nodes of `scope`; `flops` for rows that share it with no chip.

    `used[i]` masks the axes that share row i's work, `edges[i]` is the move that it is.
    """

    scope: tuple[int, ...]
    columns: tuple[Ints, ...]
    used: Ints | None = None
    flops: int = 0
    edges: Ints | None = None
    itemsize: int = 0
    times: int = 1


@dataclass(slots=True)
class Problem:
    """What `build` makes of a program; `use[i, k]` below is operand k of statement i."""

    program: Program
    axes: tuple[str, ...]
    variables: list[Variable] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    uses: dict[tuple[str, int], int] = field(default_factory=dict)
    """The variable of each operand, by the name that its statement defines and its position."""
    held: dict[str, int] = field(default_factory=dict)
    """The variable of the layout that a name must have; names that may have any are absent."""
    of: dict[str, Value] = field(default_factory=dict)
    """Each name's value, as the statements that follow see it."""
    entered: dict[str, Value] = field(default_factory=dict)
    """The value of a carried name inside its block."""
    merged: dict[int, int] = field(default_factory=dict)

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


def build(program: Program, axes: tuple[str, ...]) -> Problem:
    """The problem of filling `program`, with `axes` the mesh axes that may be used.

    An axis that the program does not name is one of more than one chip.
    """
    builder = _Builder(Problem(program, axes))
    for item in program.items:
        builder.item(item)
    builder.outputs()
    return builder.problem


@cache
def space(dims: tuple[str, ...], axes: tuple[str, ...], never: frozenset[str]) -> Space:
    """Spaces are the same for all tensors of the same dims, so they are built once."""
    return Space(dims, axes, never)


def bare(shape: Shape) -> bool:
    """True of an annotation that demands nothing: a "?" alone."""
    return shape.hole == "?" and not shape.axes and not shape.partial


def matching(where: Space, shape: Shape, axes: tuple[str, ...]) -> Flags:
    """[nodes], whether a layout is one that the annotation allows."""
    flags = np.ones(len(where), dtype=bool)
    flags &= where.partial == where.mask(tuple(a for a in axes if a in shape.partial))
    for i, dim in enumerate(shape):
        fits = [_list_fits(s, dim.axes, dim.loose, bool(shape.hole)) for s in where.sequences]
        flags &= np.array(fits)[where.lists[:, i]]
    return flags


def _list_fits(found: tuple[str, ...], want: tuple[str, ...], loose: bool, more: bool) -> bool:
    head = found[: len(want)]
    if len(found) > len(want) and not more:
        return False
    return set(head) == set(want) if loose else head == want


class _Builder:
    """Walks a program once, in order, and lets each statement add what it demands."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.sizes: Mapping[str, int] = {
            d: size for d, size in problem.program.dims.items() if size is not None
        }
        self.times = 1
        # A dim of size 1 can only be split over an axis of size 1, and only if one is named.
        named = named_axes(problem.program) & set(problem.axes)
        self.never = frozenset(d for d, s in self.sizes.items() if s == 1 and not named)

    def space(self, dims: tuple[str, ...]) -> Space:
        return space(dims, self.problem.axes, self.never & set(dims))

    def item(self, item: Declare | Define | Repeat) -> None:
        match item:
            case Declare():
                self.declare(item)
            case Define():
                self.define(item)
            case Repeat():
                self.repeat(item)

    def variable(self, dims: tuple[str, ...], allowed: Flags | None = None) -> int:
        where = self.space(dims)
        flags = np.ones(len(where), dtype=bool) if allowed is None else allowed
        self.problem.variables.append(Variable(where, flags))
        return len(self.problem.variables) - 1

    def declare(self, item: Declare) -> None:
        shape = item.type.shape
        root = self.variable(shape.names)
        self.hold(item.name, root, shape)
        value = self.value(item.name, root, "sum", item)
        value.stored = 0 if item.kind == "input" else self.times
        self.whole(root)

    def value(self, name: str, root: int, reduction: Reduction, item: Declare | Define) -> Value:
        value = Value(name, root, reduction, DTYPES[item.type.dtype], self.times)
        self.problem.values.append(value)
        self.problem.of[name] = value
        return value

    def whole(self, variable: int) -> None:
        """Nothing is left to reduce."""
        found = self.problem.variables[self.problem.find(variable)]
        found.allowed = found.allowed & (found.space.partial == 0)

    def hold(self, name: str, variable: int, shape: Shape) -> None:
        """`variable` is the layout held under `name`, as its annotation demands."""
        found = self.problem.variables[variable]
        if not bare(shape):
            found.allowed = found.allowed & matching(found.space, shape, self.problem.axes)
        found.spread = found.spread or shape.hole == "!"
        self.problem.held[name] = variable

    def leaf(self, value: Value) -> int:
        """A new layout in which `value` is to be had."""
        root = self.problem.variables[self.problem.find(value.root)]
        flags = None if root.allowed[root.space.partial != 0].any() else root.space.partial == 0
        leaf = self.variable(root.space.dims, flags)
        value.leaves.append(leaf)
        return leaf

    def define(self, item: Define) -> None:
        if isinstance(item.operation, Hold):
            self.problem.of[item.name] = self.problem.of[item.operation.operand]
        else:
            self.operate(item, item.operation)
        if not bare(item.type.shape):
            self.hold(item.name, self.leaf(self.problem.of[item.name]), item.type.shape)

    def operate(self, item: Define, operation: Operation) -> None:
        names = operands(operation)
        leaves = []
        for position, name in enumerate(names):
            leaf = self.leaf(self.problem.of[name])
            self.problem.uses[item.name, position] = leaf
            leaves.append(leaf)
        reductions = [self.problem.of[name].reduction for name in names]
        reduction: Reduction = "sum"
        if isinstance(operation, Reduce):
            reduction = "max" if operation.kind == "max" else "sum"
        elif isinstance(operation, Move):
            reduction = reductions[0]
        if any(r != reduction for r in reductions):
            for leaf in leaves:
                self.whole(leaf)
        root = self.result(item, operation, leaves)
        self.value(item.name, root, reduction, item)

    def result(self, item: Define, operation: Operation, leaves: list[int]) -> int:
        """The root of what an operation makes of its leaves."""
        dims = item.type.shape.names
        match operation:
            case Product(str(), str()):
                return self.pair("product", item, leaves, dims)
            case Arithmetic(sign, str(), str()):
                return self.pair("quotient" if sign == "/" else "sum", item, leaves, dims)
            case Reduce():
                return self.reduce(leaves[0], dims)
            case Move():
                return self.move(operation, leaves[0], item)
            case _:
                if not self.linear(item, operation):
                    self.whole(leaves[0])
                return leaves[0]

    def linear(self, item: Define, operation: Operation) -> bool:
        """Whether an operation on one tensor lets a partial sum through."""
        match operation:
            case Product():
                return True
            case Arithmetic(sign, _, right):
                return sign == "/" and isinstance(right, Number)
            case Apply(function, _):
                return function in LINEAR
            case Cast(name):
                source = self.problem.program.types[name].dtype
                return item.type.dtype in WIDER[source] | {source}
            case _:
                return False

    def pair(self, kind: Kind, item: Define, leaves: list[int], dims: tuple[str, ...]) -> int:
        variables = [self.problem.variables[v] for v in leaves]
        one, other = (v.space for v in variables)
        relation = _pairs(kind, one, other, self.space(dims))
        keep = variables[0].allowed[relation.left] & variables[1].allowed[relation.right]
        columns = relation.left[keep], relation.right[keep], relation.result[keep]
        root = self.reached(dims, columns[-1])
        step = Step((*leaves, root), columns, relation.used[keep])
        union = dict.fromkeys(one.dims + other.dims)
        if kind == "product" and len(union) > len(dims):
            step.flops = 2 * self.times
            for dim in union:
                step.flops *= self.sizes[dim]
        self.problem.steps.append(step)
        return root

    def reached(self, dims: tuple[str, ...], nodes: Ints) -> int:
        """A variable that can only be what some row makes."""
        flags = np.zeros(len(self.space(dims)), dtype=bool)
        flags[nodes] = True
        return self.variable(dims, flags)

    def reduce(self, leaf: int, dims: tuple[str, ...]) -> int:
        source = self.problem.variables[leaf]
        to = reduced(source.space, self.space(dims))
        nodes = np.flatnonzero(source.allowed)
        root = self.reached(dims, to[nodes])
        self.problem.steps.append(Step((leaf, root), (nodes, to[nodes])))
        return root

    def move(self, operation: Move, leaf: int, item: Define) -> int:
        source = self.problem.variables[leaf]
        edges = source.space.edges("sum")
        wanted = (edges.kinds == KINDS.index(operation.kind)) & (
            edges.axes == source.space.mask(operation.axes)
        )
        if self.problem.of[operation.operand].reduction == "max":
            wanted &= edges.kinds != KINDS.index("reduce-scatter")
        found = np.flatnonzero(wanted & source.allowed[edges.source])
        columns = edges.source[found], edges.target[found]
        root = self.reached(source.space.dims, columns[1])
        size = DTYPES[item.type.dtype]
        step = Step((leaf, root), columns, edges=found, itemsize=size, times=self.times)
        self.problem.steps.append(step)
        return root

    def named(self, name: str) -> int:
        """The variable of the layout held under `name`; from here on there is one."""
        if name not in self.problem.held:
            self.problem.held[name] = self.leaf(self.problem.of[name])
        return self.problem.held[name]

    def repeat(self, block: Repeat) -> None:
        """A carried name is one value before, one inside and one after, all held alike."""
        held = {item.carried: self.named(item.carried) for item in block.nexts}
        for item in block.nexts:
            self.whole(held[item.carried])
        self.times = block.count
        for item in block.nexts:
            self.problem.entered[item.carried] = self.again(item.carried, held[item.carried])
        for inner in block.body:
            self.item(inner)
        for item in block.nexts:
            self.problem.equate(held[item.carried], self.named(item.value))
        self.times = 1
        for item in block.nexts:
            self.again(item.carried, held[item.carried])

    def again(self, name: str, root: int) -> Value:
        before = self.problem.of[name]
        value = Value(name, root, "sum", before.itemsize, self.times)
        self.problem.values.append(value)
        self.problem.of[name] = value
        return value

    def outputs(self) -> None:
        for output in self.problem.program.outputs:
            mine = self.named(output.name)
            self.whole(mine)
            if output.like is not None:
                self.problem.equate(self.named(output.like), mine)


@cache
def _pairs(kind: Kind, left: Space, right: Space, result: Space) -> Relation:
    return pairs(kind, left, right, result)


def trees(root: int, leaves: list[int]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Every way in which a value's moves can branch: edges (from, to), new points negative.

    Leaves that equal the root need no edge. With k leaves there are (2k-3)!! binary trees, and
    where two branching points are the same layout they are any tree.
    """
    distinct = [v for v in dict.fromkeys(leaves) if v != root]
    fresh = iter(range(-1, -2 * len(leaves) - 2, -1))
    points = [next(fresh) for _ in range(max(0, len(distinct) - 1))]
    yield from _grow(root, distinct, points)


def _grow(root: int, leaves: list[int], points: list[int]) -> Iterator[tuple[tuple[int, int], ...]]:
    if not leaves:
        yield ()
        return
    if len(leaves) == 1:
        yield ((root, leaves[0]),)
        return
    for smaller in _grow(root, leaves[:-1], points[:-1]):
        for i, (start, end) in enumerate(smaller):
            point = points[-1]
            split = ((start, point), (point, end), (point, leaves[-1]))
            yield smaller[:i] + split + smaller[i + 1 :]
