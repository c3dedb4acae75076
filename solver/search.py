"""The best assignment over every mesh, exactly, for a time that is a maximum of sums.

Relaxations (`layoutc.solver.objectives`) bound a branch from below. Where the bound meets the time
of an assignment, that assignment is proven best there; this is the usual case. Where it doesn't,
or the assignment does not fit in memory, the branch is parted in two (`layoutc.solver.branching`),
the most promising first, meshes and branches in one queue.

A mesh that has several places on the machine is first bounded by the least that each collective
takes in any of them; only if that is promising are they looked at one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count

import numpy as np

from layoutc.dsl.program import Program
from layoutc.solver import capacity
from layoutc.solver.asked import Asked
from layoutc.solver.assignment import Found, Limits, Shares
from layoutc.solver.branching import alike, halves
from layoutc.solver.build import build
from layoutc.solver.eliminate import TOLERANCE, Infeasible
from layoutc.solver.hardware.fabric import Cheapest, Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.instance import Instance
from layoutc.solver.meshes import Mesh, named_axes
from layoutc.solver.objectives import (
    TRAFFIC,
    ByOverlap,
    ByTime,
    Relax,
    Relaxed,
    by_communication,
    least_work,
    seconds,
    weighed,
    work,
)
from layoutc.solver.problem import Problem
from layoutc.solver.sites import distinct


@dataclass(frozen=True, slots=True)
class Node:
    """A branch: one mesh, confined by `limits`; `bound` is no more than what is in it.

    Where the mesh has several `places`, the instance is on the cheapest of them, move by move.
    """

    instance: Instance
    limits: Limits
    bound: float
    places: tuple[Fabric, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A best assignment in its branch, and the sum by which ties are settled.

    It is the best met there if it is not `proven`.
    """

    node: Node
    weights: Shares
    value: float
    found: Found
    proven: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """The optima, one for each mesh (and branch) that ties, and what other meshes came to.

    `bound` is what nothing is below. `others` are values and meshes, each value that of an
    assignment worse than the best; the first is the best of them, and worse meshes may be missing.
    """

    answers: list[Answer]
    bound: float
    others: list[tuple[float, Mesh]]


def search(program: Program, chips: int, machine: Machine, asked: Asked) -> Outcome:
    """The optima of `program` on `chips` chips.

    Raises `Infeasible` if no mesh has a layout for every tensor (and room for them).
    """
    return best(list(branches(program, chips, machine, asked)), asked, following=not asked.gap)


def best(nodes: list[Node], asked: Asked, *, following: bool = False) -> Outcome:
    """The optima in any of the branches; `following`: the mesh after the best is looked for in all
    its places. Raises `Infeasible` if there is nothing in them."""
    relax: Relax = ByTime(asked.gap)
    if nodes and nodes[0].instance.machine.overlap:
        relax = ByOverlap()
    if asked.minimize == "communication":
        relax = by_communication(least_work((n.instance, n.limits) for n in nodes), asked.gap)
    queue = _Queue(relax, asked)
    queue.run(nodes)
    if following:
        queue.look_on()
    values = queue.values.items()
    worse = [(v, dict(mesh)) for mesh, v in values if v > queue.best * (1 + TOLERANCE)]
    proven = [a for a in queue.answers if a.proven] or queue.answers
    return Outcome(proven, queue.bound, sorted(worse, key=lambda pair: pair[0]))


def tidied(answer: Answer, gap: float = 0.0) -> Found:
    """The answer with ties settled (see `Instance.solve`), no worse than it was found; with a
    `gap`, as far as that takes no more than finding it.

    Equal sums can have another maximum. Where the tidy assignment loses by that, ties are
    settled only among those that store and share everything as the answer does.
    """
    instance, limits = answer.node.instance, answer.node.limits
    least = weighed(instance, answer.found, answer.weights) * (1 + ROUNDING)
    tidy = instance.solve(answer.weights, limits, tidy=True, ceiling=least, gap=gap)
    if _as_good(instance, tidy, answer):
        return tidy
    same = alike(instance, limits, answer.found)
    tidy = instance.solve(answer.weights, same, tidy=True, ceiling=least, gap=gap)
    # What runs inside a matmul hangs on more than what is stored and shared.
    good = not instance.machine.overlap or _as_good(instance, tidy, answer)
    return tidy if good else answer.found


def _as_good(instance: Instance, found: Found, answer: Answer) -> bool:
    if answer.weights[0] == TRAFFIC:
        return work(instance, found) <= work(instance, answer.found) * (1 + TOLERANCE)
    return seconds(instance, found) <= answer.value * (1 + TOLERANCE)


def branches(program: Program, chips: int, machine: Machine, asked: Asked) -> Iterator[Node]:
    """One for each mesh; axes of one chip that nobody names play no part in it."""
    named = named_axes(program)
    problems: dict[tuple[str, ...], Problem] = {}
    for places in distinct(program, chips, machine):
        mesh, several = places[0].mesh, len(places) > 1
        axes = tuple(a for a in mesh if mesh[a] > 1 or a in named)
        if axes not in problems:
            problems[axes] = build(program, axes)
        fabric = Cheapest(places) if several else places[0]
        try:
            instance = Instance(problems[axes], fabric, asked.large)
            limits = capacity.narrowed(instance, Limits()) if asked.fit else Limits()
        except Infeasible:
            continue
        yield Node(instance, limits, 0.0, tuple(places) if several else ())


def branch_at(program: Program, fabric: Fabric) -> Node:
    """All that is possible of a program in one place of its mesh. Raises `Infeasible`."""
    named = named_axes(program)
    axes = tuple(a for a in fabric.mesh if fabric.mesh[a] > 1 or a in named)
    return Node(Instance(build(program, axes), fabric), Limits(), 0.0)


def placed(node: Node) -> Iterator[Node]:
    """A branch in each of its places."""
    whole = node.instance
    for fabric in node.places:
        with suppress(Infeasible):
            instance = Instance(whole.problem, fabric, whole.large, whole, whole.alike)
            yield replace(node, instance=instance, places=())


_Key = tuple[tuple[str, int], ...]
"""A mesh."""


def _key(node: Node) -> _Key:
    return tuple(node.instance.mesh.items())


ROUNDING = 1e-9
"""How far above the ceiling a branch must be to be left, as a share."""


@dataclass(slots=True)
class _Queue:
    """Branches by their bounds, the answers no worse than the best so far, and the least value met
    on each mesh; `waiting` is how many branches of a mesh there are yet to look into, `seen` the
    instances of those that were looked into; once the best is `proven`, only the next is sought.
    `floor` is the least bound of the branches that were left without a proof."""

    relax: Relax
    asked: Asked
    best: float = np.inf
    bound: float = 0.0
    floor: float = np.inf
    proven: bool = False
    values: dict[_Key, float] = field(default_factory=dict)
    waiting: Counter[_Key] = field(default_factory=Counter)
    seen: set[Instance] = field(default_factory=set)
    answers: list[Answer] = field(default_factory=list)
    heap: list[tuple[float, int, Node]] = field(default_factory=list)
    ticket: Iterator[int] = field(default_factory=count)

    def run(self, roots: list[Node]) -> None:
        """Looks into branches until none can be better than the best by more than the gap.

        Raises `Infeasible` if there is nothing in any.
        """
        for node in roots:
            self.push(node)
        while self.heap and self.least <= self.best * (1 + TOLERANCE) * (1 - self.asked.gap):
            self.look(self.pop())
        self.bound = min(self.least, self.best, self.floor)
        if not self.answers:
            raise Infeasible

    def look_on(self) -> None:
        """Finds the mesh after the best, in whichever of its places it is that."""
        self.proven = True
        while self.heap:
            node = self.pop()
            if node.instance not in self.seen and node.bound <= self.ceiling(node):
                self.look(node)

    def look(self, node: Node) -> None:
        """Bounds a branch, and keeps what comes of it."""
        self.seen.add(node.instance)
        try:
            relaxed = self.relax(node.instance, node.limits, self.ceiling(node))
        except Infeasible:
            return
        bounded = replace(node, bound=max(node.bound, relaxed.bound))
        if node.places:
            for one in placed(bounded):
                self.push(one)
        else:
            self.settle(bounded, relaxed)

    @property
    def least(self) -> float:
        """What nothing is below that is yet to be looked into."""
        return self.heap[0][0] if self.heap else np.inf

    def push(self, node: Node) -> None:
        self.waiting[_key(node)] += 1
        heappush(self.heap, (node.bound, next(self.ticket), node))

    def pop(self) -> Node:
        _, _, node = heappop(self.heap)
        self.waiting[_key(node)] -= 1
        return node

    def settle(self, node: Node, relaxed: Relaxed) -> None:
        """Keeps what is proven; puts back what is not, in two halves."""
        node = replace(node, instance=relaxed.on or node.instance)
        parts = None
        if not relaxed.last:
            parts = halves(node.instance, node.limits, relaxed.found, relaxed.others)
        # Relaxations that store and share alike differ in nothing that is not additive.
        near = relaxed.value * (1 - self.asked.gap) <= node.bound * (1 + TOLERANCE)
        proven = near or parts is None
        if relaxed.last or (near and self.asked.gap):
            self.floor = min(self.floor, node.bound)
        if self.fits(node, relaxed):
            met = self.values.get(_key(node), np.inf)
            self.values[_key(node)] = min(met, relaxed.value)
            self.accept(Answer(node, relaxed.weights, relaxed.value, relaxed.found, proven))
            if proven:
                return
        elif proven:
            parts = capacity.relieved(node.instance, node.limits, relaxed.found)
        if node.bound <= self.best * (1 + TOLERANCE):
            for limits in parts or ():
                self.part(node, limits)

    def part(self, node: Node, limits: Limits) -> None:
        """A part of a branch, if there may be room for anything in it."""
        with suppress(Infeasible):
            kept = capacity.narrowed(node.instance, limits) if self.asked.fit else limits
            self.push(replace(node, limits=kept))

    def ceiling(self, node: Node) -> float:
        """What a branch must not be above for its mesh to be the best or the one after it, or for
        it to be the best on its mesh.

        Only what is proven counts: a value that may yet tie with the best says nothing of the next.
        """
        above = self.best * (1 + TOLERANCE)
        final = (m for m in self.values if self.proven or not self.waiting[m])
        last = (self.values[m] for m in final if self.values[m] > above)
        own = self.values.get(_key(node), np.inf)
        return min([own, *last]) * (1 + ROUNDING)

    def accept(self, answer: Answer) -> None:
        """An assignment that fits is an answer if nothing is better."""
        if answer.value > self.best * (1 + TOLERANCE) or not np.isfinite(answer.value):
            return
        if answer.value < self.best * (1 - TOLERANCE):
            self.answers.clear()
        self.best = min(self.best, answer.value)
        self.answers.append(answer)

    def fits(self, node: Node, relaxed: Relaxed) -> bool:
        """Whether there is room, ties settled for less memory if need be."""
        if not self.asked.fit or capacity.fits(node.instance, relaxed.found):
            return True
        answer = Answer(node, relaxed.weights, relaxed.value, relaxed.found)
        if not np.isfinite(relaxed.value):
            return False
        return capacity.fits(node.instance, tidied(answer, self.asked.gap))
