"""From a program to its problem: each statement adds the layouts that it demands.

The rules by which operations tie layouts are `layoutc.dsl.rules`; here they pick which layouts
may be had at all, and `layoutc.solver.relations` which go together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from layoutc.dsl.layer import LINEAR as LINEAR_LAYERS
from layoutc.dsl.operation import (
    Apply,
    Arithmetic,
    Cast,
    Hold,
    Layer,
    Move,
    Number,
    Operation,
    Product,
    Reduce,
    operands,
)
from layoutc.dsl.program import DTYPES, Declare, Define, Program, Repeat
from layoutc.dsl.rules import LINEAR, WIDER
from layoutc.dsl.shape import Reduction, Shape
from layoutc.solver.handing import hand_over
from layoutc.solver.layers import followers_fit, renamed, statistic, whole_on
from layoutc.solver.meshes import named_axes
from layoutc.solver.problem import Part, Problem, Step, Value, Variable
from layoutc.solver.relations import Flags, Kind, Relation, pairs, reduced
from layoutc.solver.simplify import Led, simplify
from layoutc.solver.space import KINDS, Ints, Space
from layoutc.solver.stored import scales


def build(program: Program, axes: tuple[str, ...]) -> Problem:
    """The problem of filling `program`, with `axes` the mesh axes that may be used.

    An axis that the program does not name is one of more than one chip.
    """
    problem = Problem(axes, tuple(map(Part, program.passes)))
    for number in range(len(problem.parts)):
        builder = _Builder(problem, number)
        for item in program.items:
            builder.item(item)
        builder.outputs()
        simplify(problem, builder.led, builder.inputs)
    _share(problem)
    hand_over(problem)
    return problem


def _share(problem: Problem) -> None:
    """Weights are stored alike in all phases."""
    first, *others = problem.parts
    for item, _ in first.program.walk():
        if isinstance(item, Declare) and item.kind == "weight":
            for part in others:
                problem.equate(first.of[item.name].root, part.of[item.name].root)


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
    """Walks the program of one part once, in order; each statement adds what it demands."""

    def __init__(self, problem: Problem, number: int) -> None:
        self.problem, self.number = problem, number
        self.part = problem.parts[number]
        self.sizes: Mapping[str, int] = self.part.sizes
        self.scales = scales(self.part.program)
        self.times = 1
        # A dim of size 1 can only be split over an axis of size 1, and only if one is named.
        named = named_axes(self.part.program) & set(problem.axes)
        self.led: list[Led] = []
        self.inputs: list[Value] = []
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
        self.problem.variables.append(Variable(where, flags, self.number))
        return len(self.problem.variables) - 1

    def declare(self, item: Declare) -> None:
        shape = item.type.shape
        root = self.variable(shape.names)
        self.hold(item.name, root, shape)
        value = self.value(item.name, root, "sum", item)
        value.beside = self.scales.get(item.name, 0)
        if item.kind == "input":
            self.inputs.append(value)
        else:
            value.stored = self.times
        self.whole(root)

    def value(self, name: str, root: int, reduction: Reduction, item: Declare | Define) -> Value:
        value = Value(name, self.number, root, reduction, DTYPES[item.type.dtype], self.times)
        self.problem.values.append(value)
        self.part.of[name] = value
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
        self.part.held[name] = variable

    def leaf(self, value: Value) -> int:
        """A new layout in which `value` is to be had."""
        root = self.problem.variables[self.problem.find(value.root)]
        flags = None if root.allowed[root.space.partial != 0].any() else root.space.partial == 0
        leaf = self.variable(root.space.dims, flags)
        value.leaves.append(leaf)
        return leaf

    def define(self, item: Define) -> None:
        if isinstance(item.operation, Hold):
            self.part.of[item.name] = self.part.of[item.operation.operand]
        else:
            self.operate(item, item.operation)
        if not bare(item.type.shape):
            self.hold(item.name, self.leaf(self.part.of[item.name]), item.type.shape)

    def operate(self, item: Define, operation: Operation) -> None:
        names = operands(operation)
        leaves = []
        for position, name in enumerate(names):
            leaf = self.leaf(self.part.of[name])
            self.part.uses[item.name, position] = leaf
            leaves.append(leaf)
        reductions = [self.part.of[name].reduction for name in names]
        reduction: Reduction = "sum"
        if isinstance(operation, Reduce):
            reduction = "max" if operation.kind == "max" else "sum"
        elif isinstance(operation, Move) or _renames(operation):
            reduction = reductions[0]
        if any(r != reduction for r in reductions):
            for leaf in leaves:
                self.whole(leaf)
        root = self.result(item, operation, leaves)
        values = [self.part.of[name] for name in names]
        value = self.value(item.name, root, reduction, item)
        if isinstance(operation, Layer):
            value.in_place = operation.kind == "write"
            lead, *others = zip(values, leaves, strict=True)
            self.led.append(Led(operation, lead, tuple(others), value))

    def result(self, item: Define, operation: Operation, leaves: list[int]) -> int:
        """The root of what an operation makes of its leaves."""
        dims = item.type.shape.names
        match operation:
            case Product(str(), str()):
                return self.pair("product", item, leaves, dims)
            case Arithmetic(sign, str(), str()):
                return self.pair("quotient" if sign == "/" else "sum", item, leaves, dims)
            case Reduce():
                return self.mapped(leaves[0], dims, reduced)
            case Move():
                return self.move(operation, leaves[0], item)
            case Layer("embed"):
                self.whole(leaves[1])
                return self.pair("product", item, leaves, dims, work=False)
            case Layer():
                return self.layer(operation, leaves, item)
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
                source = self.part.program.types[name].dtype
                return item.type.dtype in WIDER[source] | {source}
            case _:
                return False

    def layer(self, operation: Layer, leaves: list[int], item: Define) -> int:
        """What comes of a layer's operation is held like its leading operand."""
        lead, *others = leaves
        held = self.problem.variables[lead]
        held.allowed = held.allowed & whole_on(held.space, operation)
        if operation.kind not in LINEAR_LAYERS:
            self.whole(lead)
        for other in others:
            beside = self.problem.variables[other]
            columns = _followers(held.space, beside.space)
            self.problem.steps.append(Step(self.number, (lead, other), columns))
        if operation.kind == "rename":
            return self.mapped(lead, item.type.shape.names, renamed)
        if operation.kind == "write":
            self.problem.equate(self.part.of[operation.lead].root, lead)
        reduces = statistic(operation, self.part.program.types[operation.lead].dtype)
        if reduces is not None:
            nodes = np.flatnonzero(held.allowed)
            step = Step(self.number, (lead,), (nodes,), statistic=reduces, times=self.times)
            self.problem.steps.append(step)
        return lead

    def pair(
        self,
        kind: Kind,
        item: Define,
        leaves: list[int],
        dims: tuple[str, ...],
        work: bool = True,
    ) -> int:
        variables = [self.problem.variables[v] for v in leaves]
        one, other = (v.space for v in variables)
        relation = _pairs(kind, one, other, self.space(dims))
        keep = variables[0].allowed[relation.left] & variables[1].allowed[relation.right]
        columns = relation.left[keep], relation.right[keep], relation.result[keep]
        root = self.reached(dims, columns[-1])
        step = Step(self.number, (*leaves, root), columns, relation.used[keep])
        union = dict.fromkeys(one.dims + other.dims)
        if work and kind == "product" and len(union) > len(dims):
            step.flops = 2 * self.times
            types = self.part.program.types
            step.dtypes = tuple(types[name].dtype for name in operands(item.operation))
            for dim in union:
                step.flops *= self.sizes[dim]
        self.problem.steps.append(step)
        return root

    def reached(self, dims: tuple[str, ...], nodes: Ints) -> int:
        """A variable that can only be what some row makes."""
        flags = np.zeros(len(self.space(dims)), dtype=bool)
        flags[nodes] = True
        return self.variable(dims, flags)

    def mapped(self, leaf: int, dims: tuple[str, ...], way: Callable[[Space, Space], Ints]) -> int:
        """The root of what each layout of a leaf makes one layout of."""
        source = self.problem.variables[leaf]
        to = way(source.space, self.space(dims))
        nodes = np.flatnonzero(source.allowed)
        root = self.reached(dims, to[nodes])
        self.problem.steps.append(Step(self.number, (leaf, root), (nodes, to[nodes])))
        return root

    def move(self, operation: Move, leaf: int, item: Define) -> int:
        source = self.problem.variables[leaf]
        edges = source.space.edges("sum")
        wanted = (edges.kinds == KINDS.index(operation.kind)) & (
            edges.axes == source.space.mask(operation.axes)
        )
        if self.part.of[operation.operand].reduction == "max":
            wanted &= edges.kinds != KINDS.index("reduce-scatter")
        found = np.flatnonzero(wanted & source.allowed[edges.source])
        columns = edges.source[found], edges.target[found]
        root = self.reached(source.space.dims, columns[1])
        size = DTYPES[item.type.dtype]
        step = Step(
            self.number, (leaf, root), columns, edges=found, itemsize=size, times=self.times
        )
        self.problem.steps.append(step)
        return root

    def named(self, name: str) -> int:
        """The variable of the layout held under `name`; from here on there is one."""
        if name not in self.part.held:
            self.part.held[name] = self.leaf(self.part.of[name])
        return self.part.held[name]

    def repeat(self, block: Repeat) -> None:
        """A carried name is one value before, one inside and one after, all held alike."""
        held = {item.carried: self.named(item.carried) for item in block.nexts}
        for item in block.nexts:
            self.whole(held[item.carried])
        self.times = block.count
        for item in block.nexts:
            self.again(item.carried, held[item.carried])
        for inner in block.body:
            self.item(inner)
        for item in block.nexts:
            self.problem.equate(held[item.carried], self.named(item.value))
        self.times = 1
        for item in block.nexts:
            self.again(item.carried, held[item.carried])

    def again(self, name: str, root: int) -> None:
        """From here on `name` is another value, which comes to be as `root`."""
        before = self.part.of[name]
        value = Value(name, self.number, root, "sum", before.itemsize, self.times)
        self.problem.values.append(value)
        self.part.of[name] = value

    def outputs(self) -> None:
        for output in self.part.program.outputs:
            mine = self.named(output.name)
            self.whole(mine)
            if output.like is not None:
                self.problem.equate(self.named(output.like), mine)


def _renames(operation: Operation) -> bool:
    return isinstance(operation, Layer) and operation.kind == "rename"


@cache
def _followers(lead: Space, other: Space) -> tuple[Ints, Ints]:
    return followers_fit(lead, other)


@cache
def _pairs(kind: Kind, left: Space, right: Space, result: Space) -> Relation:
    return pairs(kind, left, right, result)
