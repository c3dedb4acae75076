"""What hands caches over, spelled out: for each pair of phases a program of its own.

It declares each cache as the first phase holds it, and moves it to where it can be placed in the
second's (`layoutc.solver.handing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, pairwise

from layoutc.dsl.handing import HandOver, placeable
from layoutc.dsl.operation import Move
from layoutc.dsl.program import Declare, Define, Item, Output, Program, Repeat
from layoutc.dsl.shape import Shape
from layoutc.solver.assignment import Found
from layoutc.solver.instance import Instance
from layoutc.solver.problem import Problem

Way = Callable[[Declare], tuple[Shape, list[tuple[Move, Shape]]]]
"""How a cache is held, and the moves from there, each with the layout that it leads to."""


def handed(instance: Instance, found: Found) -> tuple[HandOver, ...]:
    """What an assignment takes to hand caches over, for each pair of phases that need it."""
    problem = instance.problem
    made = [
        _written(source.program, target.program, _routed(instance, found, number))
        for number, (source, target) in enumerate(pairwise(problem.parts))
        if _has_place(problem, number)
    ]
    return tuple(one for one in made if one is not None)


def stood(passes: Sequence[Program]) -> tuple[HandOver, ...]:
    """The same where layouts stand. They are alike in all phases, so that only what is split along
    a dim of another size is gathered."""
    made = [
        _written(source, target, _gathered(source, target))
        for source, target in pairwise(passes)
        if all(source.sizes[d] <= target.sizes[d] for d in _dims(source))
    ]
    return tuple(one for one in made if one is not None)


# Ways.


def _has_place(problem: Problem, number: int) -> bool:
    return any(each.value.part == number for each in problem.handed)


def _routed(instance: Instance, found: Found, number: int) -> Way:
    """The ways that an assignment takes for the caches of a part."""
    problem = instance.problem
    trees = {id(v): t for v, t in zip(problem.values, found.trees, strict=True)}
    values = {each.name: each.value for each in problem.handed if each.value.part == number}
    axes = instance.problem.parts[number].program.axes
    order = tuple(axis.name for axis in axes)

    def way(item: Declare) -> tuple[Shape, list[tuple[Move, Shape]]]:
        value = values[item.name]
        space, routes = problem.space(value.root), instance.routes(value, True)
        moves = []
        for edge in (e for start, end in trees[id(value)] for e in routes.way(start, end)):
            move = space.move(routes.edges, edge, item.name)
            ordered = tuple(sorted(move.axes, key=order.index))
            shape = space.shape(int(routes.edges.target[edge]))
            moves.append((replace(move, axes=ordered), shape))
        return space.shape(found.nodes[problem.find(value.root)]), moves

    return way


def _gathered(source: Program, target: Program) -> Way:
    resized = tuple(d for d in _dims(source) if source.sizes[d] != target.sizes[d])
    order = [axis.name for axis in source.axes]

    def way(item: Declare) -> tuple[Shape, list[tuple[Move, Shape]]]:
        shape = item.type.shape
        axes = tuple(sorted((a for d in resized for a in shape.split(d)), key=order.index))
        move = Move("all-gather", axes, item.name)
        return shape, [(move, placeable(shape, resized))] if axes else []

    return way


def _dims(program: Program) -> tuple[str, ...]:
    """The dims of the caches."""
    items = (item for item, _ in program.walk())
    caches = (i for i in items if isinstance(i, Declare) and i.kind == "cache")
    return tuple(dict.fromkeys(d for cache in caches for d in cache.type.shape.names))


# Programs.


def _written(source: Program, target: Program, way: Way) -> HandOver | None:
    """None where the caches are as the next phase holds them."""
    writer = _Writer(way, set(source.types))
    items = tuple(made for item in source.items for made in writer.item(item))
    moves = replace(source, items=items, outputs=tuple(writer.outputs))
    made = HandOver(source.phase.name, target.phase.name, moves)
    moved = any(isinstance(item, Define) for item, _ in moves.walk())
    return made if moved or made.resized(target) else None


@dataclass(slots=True)
class _Writer:
    way: Way
    used: set[str]
    outputs: list[Output] = field(default_factory=list)

    def item(self, item: Item) -> Iterator[Item]:
        match item:
            case Declare("cache"):
                yield from self.cache(item)
            case Repeat(count, items):
                caches = (i for i in items if isinstance(i, Declare) and i.kind == "cache")
                body = tuple(made for cache in caches for made in self.cache(cache))
                if body:
                    yield Repeat(count, body)
            case _:
                pass

    def cache(self, item: Declare) -> Iterator[Declare | Define]:
        shape, moves = self.way(item)
        yield replace(item, type=replace(item.type, shape=shape))
        name = item.name
        for move, after in moves:
            move, name = replace(move, operand=name), self.fresh(item.name)
            yield Define(name, replace(item.type, shape=after), move)
        self.outputs.append(Output(name))

    def fresh(self, base: str) -> str:
        name = next(f"{base}{n}" for n in count(1) if f"{base}{n}" not in self.used)
        self.used.add(name)
        return name
