"""Classes of layouts, by what happens to the weights that are multiplied, as `describe` names them.

In a class all such weights fare alike: each stays as it is stored, or is gathered over the same
axes, and what a product reads of each is split on as many of its sides (`describe.sides`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from layoutc.dsl.program import Program
from layoutc.solver import capacity
from layoutc.solver.asked import Asked
from layoutc.solver.assignment import Limits
from layoutc.solver.describe import most_sides, sides
from layoutc.solver.eliminate import Infeasible
from layoutc.solver.instance import Instance
from layoutc.solver.problem import Problem, Step, Value
from layoutc.solver.relations import Flags
from layoutc.solver.search import Node
from layoutc.solver.space import Ints, Space
from layoutc.solver.stored import layers_weights
from layoutc.solver.symmetry import alike


@dataclass(frozen=True, slots=True)
class Kind:
    """A class: weights are gathered over `gathered` axes of more than one chip (none: they stay;
    -1: over all, so that they are whole), and what is used is split on `sides` sides."""

    gathered: int
    sides: int

    @property
    def needs(self) -> int:
        """How many axes of more than one chip it takes."""
        return 1 if self == WHOLE else self.gathered + self.sides

    @property
    def stays(self) -> bool:
        """Whether weights are used as they are stored."""
        return self.gathered == 0


WHOLE = Kind(-1, 0)
EVERYWHERE = Kind(0, 0)


@dataclass(frozen=True, slots=True)
class Use:
    """A weight in a product that sums a dim: how it is stored, how it is had there, and the side
    of the product on which each of its dims stands."""

    value: Value
    root: int
    leaf: int
    sides: tuple[int, ...]


def kinds(program: Program) -> list[Kind]:
    """The classes that meshes of the program's axes allow, whether or not it does."""
    axes = len(program.axes)
    most = most_sides(program)
    split = range(1, min(axes, most) + 1)
    stay = [Kind(0, sides) for sides in split]
    partly = [Kind(n, sides) for n in range(1, axes) for sides in split if n + sides <= axes]
    return [*stay, *partly, WHOLE, EVERYWHERE] if most else []


def uses(problem: Problem) -> list[Use]:
    """Where the weights are multiplied, in all parts."""
    of = {leaf: value for value in problem.values for leaf in value.leaves}
    weights = layers_weights(problem.parts[0].program)
    return [
        Use(of[leaf], of[leaf].root, leaf, _sides_in(problem, step, leaf))
        for step in problem.steps
        if step.flops
        for leaf in step.scope[:2]
        if of[leaf].name in weights and of[leaf].stored
    ]


def _sides_in(problem: Problem, step: Step, leaf: int) -> tuple[int, ...]:
    one, other, result = (problem.space(v).dims for v in step.scope)
    own, beside = (one, other) if leaf == step.scope[0] else (other, one)
    return sides(own, beside, result)


def confined(kind: Kind, node: Node, asked: Asked) -> Iterator[Node]:
    """What there is of a class on the mesh of a branch, in a branch for each choice of axes."""
    real = axes_of(node.instance)
    if kind.needs > len(real):
        return
    try:
        instance = _narrow(kind, node.instance)
        for gathered in choices(kind, instance, real):
            with suppress(Infeasible):
                limits, bound = _limits(kind, instance, real, gathered)
                limits = capacity.narrowed(instance, limits) if asked.fit else limits
                yield Node(instance, limits, bound, node.places)
    except Infeasible:
        return


def axes_of(instance: Instance) -> tuple[str, ...]:
    """The axes of more than one chip."""
    return tuple(a for a in instance.problem.axes if instance.mesh[a] > 1)


def choices(kind: Kind, instance: Instance, real: tuple[str, ...]) -> Iterator[frozenset[str]]:
    """The axes to gather over: every set of so many, one of those that differ by a renaming."""
    groups = alike(instance.problem, instance.fabric)
    first = {axis: group[0] for group in groups for axis in group}
    seen = set()
    for chosen in combinations(real, len(real) if kind == WHOLE else kind.gathered):
        key = tuple(sorted(first.get(axis, axis) for axis in chosen))
        if key not in seen:
            seen.add(key)
            yield frozenset(chosen)


def _narrow(kind: Kind, instance: Instance) -> Instance:
    """The instance for a class; where weights stay, they are used as they are stored."""
    problem = instance.problem
    if kind.stays:
        variables = [replace(variable) for variable in problem.variables]
        problem = replace(problem, variables=variables, merged=dict(problem.merged))
        for use in uses(problem):
            problem.equate(use.root, use.leaf)
    same = kind.stays or kind == WHOLE
    return Instance(problem, instance.fabric, instance.large, instance, alike=same)


def _limits(
    kind: Kind, instance: Instance, real: tuple[str, ...], gathered: frozenset[str]
) -> tuple[Limits, float]:
    """How each weight may be stored and used, and seconds that all of that takes at least.

    Weights that are gathered are stored once, split over every axis, where they can be.
    Raises `Infeasible` if one can't be so.
    """
    limits, received = Limits(), dict[int, float]()
    for use in uses(instance.problem):
        root, leaf = instance.problem.find(use.root), instance.problem.find(use.leaf)
        stored, used = flags(kind, instance, use, real, gathered)
        limits = limits.storing(root, stored).storing(leaf, used)
        held = instance.held(instance.problem.space(root), use.value.part)
        domains = instance.confined(limits)
        more = held[domains[leaf]].min() - held[domains[root]].max()
        often = use.value.times * instance.frequency[use.value.part]
        received[id(use.value)] = max(0.0, float(more)) * use.value.itemsize * often
    return limits, sum(received.values()) / instance.fabric.fastest


def flags(
    kind: Kind,
    instance: Instance,
    use: Use,
    real: tuple[str, ...],
    gathered: frozenset[str],
) -> tuple[Flags, Flags]:
    """[nodes], in which of them a weight may be stored and in which used."""
    root = instance.problem.find(use.root)
    space = instance.problem.space(root)
    held = _held(space, real)
    used = _split(space, use.sides, real) == min(kind.sides, len({*use.sides}))
    if kind.stays:
        return used, used
    every, over = space.mask(real), space.mask(tuple(gathered))
    stored = held > 0 if kind == WHOLE else held & over == over
    if (held == every)[instance.domains[root]].any():
        stored, used = held == every, used & (held == every & ~over)
    return stored, used & (held & over == 0)


def _held(space: Space, real: tuple[str, ...]) -> Ints:
    """[nodes], a bit mask of the axes of more than one chip that split some dim."""
    bits = np.array([1 << i if a in real else 0 for i, a in enumerate(space.axes)])
    return np.asarray(((space.place >= 0) * bits).sum(axis=1))


def _split(space: Space, side: tuple[int, ...], real: tuple[str, ...]) -> Ints:
    """[nodes], on how many sides there is an axis of more than one chip; `side` has each dim's."""
    cut = np.array([any(a in real for a in s) for s in space.sequences])[space.lists]
    on = [cut[:, [s == each for s in side]].any(axis=1) for each in sorted(set(side))]
    return np.asarray(np.sum(on, axis=0))
