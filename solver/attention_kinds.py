"""Classes of layouts by what attention is sharded over, as `attention` names it.

In a class the tensors of the two products of one phase's attention are split by dims of one side
alone, as far as they are split at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from layoutc.dsl.program import Program
from layoutc.solver import capacity
from layoutc.solver.asked import Asked
from layoutc.solver.assignment import Limits
from layoutc.solver.attention import Attended, Side, attended, attention
from layoutc.solver.eliminate import Infeasible
from layoutc.solver.instance import Instance
from layoutc.solver.plan import Plan
from layoutc.solver.problem import Part
from layoutc.solver.relations import Flags
from layoutc.solver.search import Node
from layoutc.solver.space import Space

ALONE: tuple[Side, ...] = ("batch", "heads", "context")
"""The sides that attention may be sharded over alone."""


@dataclass(frozen=True, slots=True)
class AttentionKind:
    """A class: the attention of the phase of a number is sharded over one side alone."""

    part: int
    side: Side


def attention_kinds(program: Program, plan: Plan) -> list[AttentionKind]:
    """The classes that a plan is not itself of, phase by phase: of the sides that have a dim which
    is not 1 there."""
    found = []
    for number, one in enumerate(plan.passes):
        dims = {d: side for each in attended(program) for d, side in each.sides.items()}
        able = {side for dim, side in dims.items() if one.program.sizes[dim] > 1}
        own = attention(one.program, one.mesh)
        found += [AttentionKind(number, s) for s in ALONE if s in able and s != own]
    return found


def attending(kind: AttentionKind, nodes: list[Node], asked: Asked) -> Iterator[Node]:
    """What there is of a class in each of the branches."""
    for node in nodes:
        try:
            limits = _limits(kind, node.instance, node.limits)
            limits = capacity.narrowed(node.instance, limits) if asked.fit else limits
        except Infeasible:
            continue
        yield replace(node, limits=limits)


def _limits(kind: AttentionKind, instance: Instance, limits: Limits) -> Limits:
    """Raises `Infeasible` where something can't be so."""
    problem = instance.problem
    part = problem.parts[kind.part]
    for each in attended(part.program):
        for variable in map(problem.find, _variables(part, each)):
            space = problem.space(variable)
            limits = limits.storing(variable, _alone(space, each, kind.side, instance))
    instance.confined(limits)
    return limits


def _variables(part: Part, each: Attended) -> list[int]:
    """The layouts in which a product reads its operands and makes its result."""
    operands = [part.uses[each.name, position] for position in range(len(each.operands))]
    return [*operands, part.of[each.name].root]


def _alone(space: Space, each: Attended, side: Side, instance: Instance) -> Flags:
    """[nodes], whether no axis of more than one chip splits a dim of another side."""
    real = [i for i, axis in enumerate(space.axes) if instance.mesh[axis] > 1]
    other = [i for i, dim in enumerate(space.dims) if each.sides[dim] != side]
    return np.asarray(~np.isin(space.place[:, real], other).any(axis=1))
