"""What was as good as the plan, and by which rule the plan was taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from layoutc.dsl.program import Declare, Program
from layoutc.solver.asked import Asked
from layoutc.solver.eliminate import TOLERANCE, Infeasible
from layoutc.solver.instance import Instance
from layoutc.solver.kinds import axes_of
from layoutc.solver.meshes import Mesh, pinned
from layoutc.solver.plan import Plan
from layoutc.solver.relations import Flags
from layoutc.solver.search import best, branches
from layoutc.solver.solve import solve
from layoutc.solver.space import TOKENS

By = Literal["memory", "even", "order", "tokens"]


@dataclass(frozen=True, slots=True)
class Tie:
    """What took as long: another `mesh`, or an input that is split by its tokens. It lost `by` more
    memory (`bytes` on a chip, against `least`), by a mesh that is less even, by the order in which
    axes are declared, or by `tokens` being split rather than dims that no one sees."""

    by: By
    mesh: Mesh
    bytes: int = 0
    least: int = 0
    tensor: str = ""
    layout: str = ""


def ties(program: Program, plan: Plan) -> list[Tie]:
    """All that was as good, axes renamed aside."""
    if plan.stood:
        return [_mesh(program, plan, mesh) for mesh in plan.ties]
    return [*(_mesh(program, plan, mesh) for mesh in plan.ties), *_tokens(program, plan)]


def _mesh(program: Program, plan: Plan, mesh: Mesh) -> Tie:
    other = solve(pinned(program, mesh), plan.chips, plan.machine, plan.minimize)
    least, taken = _memory(plan), _memory(other)
    if taken > least:
        return Tie("memory", mesh, taken, least)
    same = sorted(mesh.values()) == sorted(plan.mesh.values())
    return Tie("order" if same else "even", mesh, taken, least)


def _memory(plan: Plan) -> int:
    return max(one.prices.memory.bytes for one in plan.passes)


def _tokens(program: Program, plan: Plan) -> list[Tie]:
    """Inputs that could as well have come split by their tokens."""
    asked = Asked(plan.minimize)
    on = pinned(program, plan.mesh)
    found = []
    for item in (i for i, _ in program.walk() if isinstance(i, Declare) and i.kind == "input"):
        if any(d.name in TOKENS and d.axes for d in plan.passes[0].program.types[item.name].shape):
            continue
        for node in branches(on, plan.chips, plan.machine, asked):
            root = node.instance.problem.find(node.instance.problem.parts[0].of[item.name].root)
            value = node.instance.problem.parts[0].of[item.name]
            limits = node.limits.storing(root, _by_tokens(node.instance, root))
            try:
                outcome = best([replace(node, limits=limits)], asked)
            except Infeasible:
                continue
            answer = outcome.answers[0]
            if answer.value <= plan.value * (1 + TOLERANCE):
                shape = node.instance.problem.space(value.root).shape(answer.found.nodes[root])
                found.append(Tie("tokens", plan.mesh, tensor=item.name, layout=str(shape)))
    return found


def _by_tokens(instance: Instance, root: int) -> Flags:
    """[nodes], whether an axis of more than one chip splits a dim of tokens."""
    space, real = instance.problem.space(root), axes_of(instance)
    tokens = [i for i, d in enumerate(space.dims) if d in TOKENS]
    places = space.place[:, [i for i, a in enumerate(space.axes) if a in real]]
    return np.asarray(np.isin(places, tokens).any(axis=1))
