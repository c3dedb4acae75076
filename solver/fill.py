"""An assignment spelled out: the program with holes becomes an explicit program.

Each value's tree turns into statements, made just before they are first needed and named after
the value: x1, x2, ... A name whose annotation demands a layout is given to the version in that
layout; otherwise it goes to the value as its operation makes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from layoutc.dsl.longhand import longhand, needs_longhand
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
from layoutc.dsl.program import Declare, Define, Item, Program, Repeat, Type
from layoutc.dsl.shape import Shape
from layoutc.solver.assignment import Found
from layoutc.solver.fan import Edge
from layoutc.solver.instance import Instance
from layoutc.solver.problem import Value


@dataclass(frozen=True, slots=True)
class Filled:
    """A part's program with every hole filled; `of` has the value of each name, and its node."""

    program: Program
    of: Mapping[str, tuple[Value, int]]


def fill(instance: Instance, part: int, found: Found) -> Filled:
    """The program of a part with every hole filled as `found` says.

    Axes that play no part on the instance's mesh are of one chip.
    """
    program = instance.problem.parts[part].program
    filler = _Filler(instance, part, found)
    items = filler.items()
    axes = tuple(replace(axis, size=instance.mesh.get(axis.name, 1)) for axis in program.axes)
    of = {
        name: (versions.value, node)
        for versions in filler.versions.values()
        for node, name in versions.names.items()
    }
    return Filled(replace(program, axes=axes, items=items), of)


@dataclass(slots=True)
class _Versions:
    """The layouts in which a value is at hand, by node, each with its name."""

    value: Value
    tree: tuple[Edge, ...]
    dtype: Type
    names: dict[int, str]


class _Filler:
    def __init__(self, instance: Instance, part: int, found: Found) -> None:
        self.instance, self.nodes, self.problem = instance, found.nodes, instance.problem
        self.part = self.problem.parts[part]
        self.program = self.part.program
        self.trees = {id(v): t for v, t in zip(self.problem.values, found.trees, strict=True)}
        self.used = set(self.program.types)
        self.given: set[str] = set()
        self.versions: dict[str, _Versions] = {}
        self.by_value = iter([v for v in self.problem.values if v.part == part])
        self.out: list[Declare | Define] = []

    def items(self) -> tuple[Item, ...]:
        filled: list[Item] = []
        for item in self.program.items:
            if isinstance(item, Repeat):
                block = self.repeat(item)
                filled.extend(self.taken())
                filled.append(block)
            else:
                self.item(item)
                filled.extend(self.taken())
        return (*filled, *self.taken())

    def taken(self) -> list[Declare | Define]:
        """What has been written since this was last asked."""
        taken, self.out = self.out, []
        return taken

    def item(self, item: Declare | Define) -> None:
        match item:
            case Declare():
                node = self.at(self.begin(item).root)
                self.versions[item.name].names[node] = item.name
                self.given.add(item.name)
                self.out.append(replace(item, type=self.typed(item.name, node)))
            case Define(operation=Hold(source)):
                self.alias(item, source)
            case Define():
                self.define(item)

    # Values and their versions.

    def begin(self, item: Declare | Define) -> Value:
        """The next value, in the order in which the problem was built."""
        value = next(self.by_value)
        assert value.name == item.name
        self.versions[item.name] = _Versions(value, self.trees[id(value)], item.type, {})
        return value

    def again(self, name: str) -> None:
        """A carried name stands for another value from here on, held as before."""
        value = next(self.by_value)
        assert value.name == name
        before = self.versions[name]
        names = {self.at(value.root): name}
        self.versions[name] = _Versions(value, self.trees[id(value)], before.dtype, names)

    def at(self, variable: int) -> int:
        """The node of a variable."""
        return self.nodes[self.problem.find(variable)]

    def typed(self, name: str, node: int) -> Type:
        versions = self.versions[name]
        return Type(self.shape(versions, node), versions.dtype.dtype)

    def shape(self, versions: _Versions, node: int) -> Shape:
        return self.problem.space(versions.value.root).shape(node, versions.value.reduction)

    def fresh(self, base: str) -> str:
        """A name nobody has: the base and the first free number."""
        number = 1
        while f"{base}{number}" in self.used:
            number += 1
        self.used.add(f"{base}{number}")
        return f"{base}{number}"

    def free(self, name: str) -> str:
        """This name if nobody has it, else it and a number."""
        if name in self.used:
            return self.fresh(name)
        self.used.add(name)
        return name

    # Statements.

    def define(self, item: Define) -> None:
        operation = self.reading(item)
        value = self.begin(item)
        node = self.at(value.root)
        held = self.part.held.get(item.name)
        final = held is None or self.at(held) == node
        name = item.name if final else self.fresh(item.name)
        self.versions[item.name].names[node] = name
        self.given.add(name)
        self.out += self.spelled(item, Define(name, self.typed(item.name, node), operation))
        if held is not None and not final:
            self.reach(item.name, held, item.name)

    def spelled(self, item: Define, define: Define) -> list[Define]:
        """A definition, or the statements that it takes where what it reduces is split."""
        if not isinstance(item.operation, Layer):
            return [define]
        lead = self.typed(item.operation.lead, self.at(self.part.uses[item.name, 0]))
        if not needs_longhand(define.operation, lead.shape):
            return [define]
        axes = (axis.name for axis in self.program.axes)
        return longhand(define, lead, lambda role: self.free(f"{item.name}_{role}"), axes)

    def alias(self, item: Define, source: str) -> None:
        """`y : SHAPE = a`: a version of a under another name."""
        versions = self.versions[item.name] = self.versions[source]
        held = self.part.held.get(item.name)
        node = self.at(versions.value.root if held is None else held)
        if node not in versions.names and held is not None:
            self.reach(source, held, item.name)
            return
        self.given.add(item.name)
        self.out.append(Define(item.name, self.typed(source, node), Hold(versions.names[node])))

    def reading(self, item: Define) -> Operation:
        """The operation on the versions of its operands that it uses, made if need be."""
        names = []
        for position, name in enumerate(operands(item.operation)):
            names.append(self.reach(name, self.part.uses[item.name, position]))
        return _renamed(item.operation, names)

    def reach(self, name: str, variable: int, final: str = "") -> str:
        """The name of the version of `name` that `variable` is, with the moves that make it."""
        versions = self.versions[name]
        target = self.at(variable)
        for start, end in _path(versions.tree, self.at(versions.value.root), target):
            self.walk(versions, start, end, final if end == target else "")
        return versions.names[target]

    def walk(self, versions: _Versions, start: int, end: int, final: str) -> None:
        """The statements from one layout to another, those that exist already left out."""
        if end in versions.names:
            return
        value = versions.value
        space = self.problem.space(value.root)
        ways = self.instance.routes(value, True)
        for edge in ways.way(start, end):
            source, target = int(ways.edges.source[edge]), int(ways.edges.target[edge])
            if target in versions.names:
                continue
            named = final if final and target == end else self.fresh(value.name)
            self.given.add(named)
            move = space.move(ways.edges, edge, versions.names[source])
            dtype = versions.dtype.dtype
            self.out.append(Define(named, Type(self.shape(versions, target), dtype), move))
            versions.names[target] = named

    # Blocks.

    def repeat(self, block: Repeat) -> Repeat:
        before = self.hoisted(block)
        for item in block.nexts:
            self.again(item.carried)
        for inner in block.body:
            self.item(inner)
        body = tuple(self.taken())
        for item in block.nexts:
            self.again(item.carried)
        self.out.extend(before)
        return replace(block, body=body)

    def hoisted(self, block: Repeat) -> list[Declare | Define]:
        """What the block needs of values from outside is made before it, once."""
        inside = {item.name for item in block.body} | {item.carried for item in block.nexts}
        for item in block.body:
            if isinstance(item, Define):
                for position, name in enumerate(operands(item.operation)):
                    if name not in inside and (item.name, position) in self.part.uses:
                        self.reach(name, self.part.uses[item.name, position])
        return self.taken()


def _path(tree: tuple[Edge, ...], root: int, target: int) -> list[Edge]:
    """The edges of a tree from its root to `target`."""
    paths: dict[int, list[Edge]] = {root: []}
    queue = [root]
    for node in queue:
        for start, end in tree:
            if start == node and end not in paths:
                paths[end] = [*paths[node], (start, end)]
                queue.append(end)
    return paths[target]


def _renamed(operation: Operation, names: list[str]) -> Operation:
    """The same operation on other names, one for each that it reads."""
    left = iter(names)
    match operation:
        case Product(one, other):
            return Product(_next(one, left), _next(other, left))
        case Arithmetic(sign, one, other):
            return Arithmetic(sign, _next(one, left), _next(other, left))
        case Apply(function, _):
            return Apply(function, next(left))
        case Cast():
            return Cast(next(left))
        case Reduce(kind, dims, _):
            return Reduce(kind, dims, next(left))
        case Hold():
            return Hold(next(left))
        case Move(kind, axes, _):
            return Move(kind, axes, next(left))
        case Layer(operands=several):
            return replace(operation, operands=tuple(_next(o, left) for o in several))


def _next(operand: str | Number, names: Iterator[str]) -> str | Number:
    return operand if isinstance(operand, Number) else next(names)


def renamed_axes(program: Program, names: Mapping[str, str]) -> Program:
    """The same program with its axes renamed, sizes and statements alike."""
    sizes = {names[a.name]: a.size for a in program.axes}
    order = [a.name for a in program.axes]

    def one(item: Declare | Define) -> Declare | Define:
        shape = item.type.shape
        dims = tuple(replace(d, axes=tuple(names[a] for a in d.axes)) for d in shape)
        partial = tuple(names[a] for a in shape.partial)
        new = replace(
            item, type=replace(item.type, shape=replace(shape, dims=dims, partial=partial))
        )
        if isinstance(new, Define) and isinstance(new.operation, Move):
            axes = sorted((names[a] for a in new.operation.axes), key=order.index)
            return replace(new, operation=replace(new.operation, axes=tuple(axes)))
        return new

    items = tuple(
        replace(i, body=tuple(map(one, i.body))) if isinstance(i, Repeat) else one(i)
        for i in program.items
    )
    axes = tuple(replace(a, size=sizes[a.name]) for a in program.axes)
    return replace(program, axes=axes, items=items)
