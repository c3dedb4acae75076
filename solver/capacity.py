"""What fits in the memory of a chip: weights, caches and the largest set of live activations.

The peak of a program is known only when it is spelled out. Before that there are bounds: what a
variable may be is narrowed to what leaves room for the least that everything else takes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layoutc.dsl.program import Program
from layoutc.solver.assignment import Found, Limits
from layoutc.solver.branching import Halves, smaller
from layoutc.solver.eliminate import Infeasible
from layoutc.solver.fill import Filled, fill
from layoutc.solver.instance import Instance
from layoutc.solver.meshes import mesh_of
from layoutc.solver.price import Memory, held_in
from layoutc.solver.problem import Value
from layoutc.solver.relations import Flags
from layoutc.solver.space import Floats


def filled(instance: Instance, found: Found) -> tuple[Filled, ...]:
    """Each part spelled out as an assignment has it."""
    return tuple(fill(instance, part, found) for part in range(len(instance.problem.parts)))


def memory(program: Program, instance: Instance) -> Memory:
    """What an explicit program takes of a chip."""
    return held_in(program, mesh_of(program), instance.machine)


def fits(instance: Instance, found: Found) -> bool:
    """Whether all phases do as they are spelled out."""
    most = instance.machine.memory_bytes
    return all(memory(f.program, instance).bytes <= most for f in filled(instance, found))


def relieved(instance: Instance, limits: Limits, found: Found) -> Halves | None:
    """Two parts of a branch whose assignment does not fit: a tensor of the peak made smaller, or
    not. None if no tensor can be made smaller."""
    domains = instance.confined(limits)
    choices: list[tuple[float, int, float]] = []
    for spelled in filled(instance, found):
        taken = memory(spelled.program, instance)
        if taken.bytes > instance.machine.memory_bytes:
            stored = {name for name, (value, _) in spelled.of.items() if value.stored}
            for name in stored.union(taken.peak) & spelled.of.keys():
                choices += _savings(instance, found, domains, *spelled.of[name])
    if not choices:
        return None
    _, variable, now = max(choices)
    return smaller(instance, limits, variable, now)


def _savings(
    instance: Instance, found: Found, domains: dict[int, np.ndarray], value: Value, node: int
) -> Iterator[tuple[float, int, float]]:
    """The bytes by which variables that hold a value at a node could be smaller."""
    problem = instance.problem
    held = instance.held(problem.space(value.root), value.part)
    for variable in {problem.find(v) for v in (value.root, *value.leaves)}:
        saved = held[node] - held[domains[variable]].min()
        if found.nodes[variable] == node and saved > 0:
            yield float(saved * value.itemsize * max(1, value.copies)), variable, float(held[node])


# Bounds.


def narrowed(instance: Instance, limits: Limits) -> Limits:
    """`limits` without layouts that leave too little room. Raises `Infeasible`."""
    while True:
        before = limits
        for part in range(len(instance.problem.parts)):
            limits = _Room(instance, limits, part).limits()
        if limits is before:
            return limits


class _Room:
    """The least bytes that each variable of a part takes within the limits."""

    def __init__(self, instance: Instance, limits: Limits, part: int) -> None:
        self.instance, self.before, self.part = instance, limits, part
        self.domains = instance.confined(limits)
        problem = instance.problem
        handed = {id(each.value) for each in problem.handed}
        self.values = [v for v in problem.values if v.part == part and id(v) not in handed]
        own = [(x, v) for x in self.values for v in (x.root, *x.leaves)]
        self.owner = {problem.find(v): x for x, v in own if v != x.root or not x.in_place}
        least = (self.least(problem.find(v.root)) + v.beside for v in self.values if v.stored)
        self.stored = sum(least)
        self.most = instance.machine.memory_bytes

    def bytes(self, variable: int) -> Floats:
        """[nodes], what a variable's layouts take; a stored one all its copies."""
        value = self.owner[variable]
        held = self.instance.held(self.instance.problem.space(variable), self.part)
        is_stored = value.stored and variable == self.instance.problem.find(value.root)
        return held * value.itemsize * (value.stored if is_stored else 1)

    def least(self, variable: int) -> float:
        return float(self.bytes(variable)[self.domains[variable]].min())

    def beside(self, variable: int) -> Floats:
        """[nodes], what a variable takes beside what is stored: nothing where it is that."""
        value, taken = self.owner[variable], self.bytes(variable)
        if not value.stored:
            return taken
        root = self.instance.problem.find(value.root)
        there = np.zeros(len(taken), dtype=bool)
        there[self.domains[root]] = True
        return np.where(there, 0.0, taken)

    def limits(self) -> Limits:
        """The limits that leave room for the rest."""
        found, working = self.before, 0.0
        for step in self.instance.problem.steps:
            if step.part == self.part:
                found_in = map(self.instance.problem.find, step.scope)
                scope = dict.fromkeys(v for v in found_in if v in self.owner)
                taken = {v: self.beside(v) for v in self._once(scope)}
                least = {v: float(t[self.domains[v]].min()) for v, t in taken.items()}
                together = sum(least.values())
                working = max(working, together)
                for variable, bytes_ in taken.items():
                    room = self.most - self.stored - (together - least[variable])
                    found = self._kept(found, variable, bytes_ <= room)
        for value in self.values:
            if value.stored:
                root = self.instance.problem.find(value.root)
                room = self.most - working - (self.stored - self.least(root))
                found = self._kept(found, root, self.bytes(root) <= room)
        return found

    def _once(self, scope: dict[int, None]) -> list[int]:
        """One variable for each value: two operands may be the same block."""
        return list({id(self.owner[v]): v for v in scope}.values())

    def _kept(self, limits: Limits, variable: int, flags: Flags) -> Limits:
        """One more limit, where it leaves anything out."""
        if flags[self.domains[variable]].all():
            return limits
        if not flags[self.domains[variable]].any():
            raise Infeasible
        return limits.storing(variable, flags)
