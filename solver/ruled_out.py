"""Why there is no plan of a class of layouts, as facts; sentences are made of them elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd

from layoutc.dsl.program import Item, Program, Repeat
from layoutc.dsl.shape import Dim, Shape
from layoutc.solver.build import bare
from layoutc.solver.contenders import Race
from layoutc.solver.describe import named
from layoutc.solver.eliminate import Infeasible
from layoutc.solver.instance import Instance
from layoutc.solver.kinds import Kind, axes_of, choices, flags, uses
from layoutc.solver.meshes import meshes
from layoutc.solver.plan import Plan


@dataclass(frozen=True, slots=True)
class TooFewAxes:
    """No mesh has as many axes of more than one chip as it takes."""

    needs: int


@dataclass(frozen=True, slots=True)
class TooLarge:
    """It exists, but takes so many `bytes` of a chip."""

    bytes: int


@dataclass(frozen=True, slots=True)
class Written:
    """The file demands another layout of a tensor."""

    tensor: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Undivided:
    """A weight can't be cut as it would have to be."""

    tensor: str
    dims: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class NoWay:
    """Each weight could be so, but no layouts of the rest go with it."""


Rule = TooFewAxes | TooLarge | Written | Undivided | NoWay


def ruled_out(program: Program, plan: Plan, kinds: tuple[Kind, ...]) -> list[tuple[str, Rule]]:
    """The names of classes that have no plan, and what rules each out."""
    race = Race(program, plan, thorough=True, fit=False)
    return [(named(program, k.gathered, k.sides), _rule(race, k)) for k in kinds]


def uncut(program: Program, chips: int) -> list[tuple[str, int, int]]:
    """Dims that can't be cut into as many parts as there are chips: their sizes, and the most."""
    found = {(d, size) for one in program.passes for d, size in one.dims.items() if size}
    return sorted((d, n, gcd(n, chips)) for d, n in found if n > 1 and gcd(n, chips) < chips)


def _rule(race: Race, kind: Kind) -> Rule:
    most = max(sum(n > 1 for n in m.values()) for m in meshes(race.program.axes, race.plan.chips))
    if most < kind.needs:
        return TooFewAxes(kind.needs)
    try:
        plan = race.best(race.nodes(kind))
        return TooLarge(max(one.prices.memory.bytes for one in plan.passes))
    except Infeasible:
        return _in_a_weight(race, kind) or _elsewhere(race, kind) or NoWay()


def _in_a_weight(race: Race, kind: Kind) -> Rule | None:
    """A weight that on no mesh may be, or can be, as the class demands."""
    ways = list(_ways(race, kind))
    for number, use in enumerate(uses(race.whole[0].instance.problem) if race.whole else ()):
        shape = race.program.types[use.value.name].shape
        if not any(_allowed(kind, way, number) for way in ways):
            return Written(use.value.name, shape)
        if not any(_divided(kind, way, number) for way in ways):
            dims, chips = race.whole[0].instance.sizes[use.value.part], race.plan.chips
            short = tuple((d, dims[d]) for d in shape.names if gcd(dims[d], chips) < chips)
            return Undivided(use.value.name, short)
    return None


_Way = tuple[Instance, tuple[str, ...], frozenset[str]]
"""A mesh, its axes of more than one chip, and those that weights are gathered over."""


def _ways(race: Race, kind: Kind) -> Iterator[_Way]:
    for node in race.whole:
        real = axes_of(node.instance)
        if kind.needs <= len(real):
            for over in choices(kind, node.instance, real):
                yield node.instance, real, over


def _divided(kind: Kind, way: _Way, number: int) -> bool:
    """Whether the mesh divides the weight of a use so that it may be stored and used."""
    instance, real, over = way
    use = uses(instance.problem)[number]
    root = instance.problem.find(use.root)
    stored, used = flags(kind, instance, use, real, over)
    valid = instance.valid(instance.problem.space(root), use.value.part)
    return bool(stored[instance.domains[root]].any() and used[valid].any())


def _allowed(kind: Kind, way: _Way, number: int) -> bool:
    """Whether the file allows the weight of a use to be stored so, whatever it is divided by."""
    instance, real, over = way
    problem = instance.problem
    use = uses(problem)[number]
    stored, _ = flags(kind, instance, use, real, over)
    space = problem.space(use.root)
    variable = problem.variables[problem.find(use.root)]
    allowed = variable.allowed & stored
    if variable.spread:
        places = [i for i, a in enumerate(space.axes) if a in real]
        allowed = allowed & (space.place[:, places] >= 0).all(axis=1)
    return bool(allowed.any())


def _elsewhere(race: Race, kind: Kind) -> Rule | None:
    """An annotation without which there would be a plan."""
    for name, held in race.program.types.items():
        if not bare(held.shape):
            freed = replace(race.program, items=tuple(_bared(race.program.items, name)))
            other = Race(freed, race.plan, thorough=True, fit=False)
            try:
                other.best(other.nodes(kind))
            except Infeasible:
                continue
            return Written(name, held.shape)
    return None


def _bared(items: tuple[Item, ...], name: str) -> Iterator[Item]:
    """The items with nothing said of the layout of `name`."""
    for item in items:
        if isinstance(item, Repeat):
            yield replace(item, body=tuple(_bared(item.body, name)))  # type: ignore[arg-type]
        elif item.name == name:
            dims = tuple(Dim(d) for d in item.type.shape.names)
            yield replace(item, type=replace(item.type, shape=Shape(dims, hole="?")))
        else:
            yield item
