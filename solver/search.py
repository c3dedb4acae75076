"""The best assignment over every mesh, exactly, for a time that is a maximum of sums.

A pass takes max(compute, memory) + communication. For any share s between 0 and 1 the sum
s·compute + (1-s)·memory + communication is no more than that, and elimination minimises it
exactly: a lower bound. Where it meets the time of an assignment, that assignment is proven
best; this is the usual case. Where it doesn't, the two solutions at s = 1 and s = 0 differ in
how some weight is stored or how some matmul is shared, and the search branches there, the most
promising branch first, meshes and branches in one queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count
from typing import Literal

import numpy as np

from layoutc.dsl.program import Program
from layoutc.solver.build import build
from layoutc.solver.eliminate import TOLERANCE, Infeasible
from layoutc.solver.instance import Found, Instance, Limits, Weights
from layoutc.solver.machine import Machine
from layoutc.solver.meshes import Mesh, distinct, named_axes
from layoutc.solver.problem import Problem

Minimize = Literal["time", "communication"]

COMPUTE = Weights(1.0, 0.0, 1.0)
MEMORY = Weights(0.0, 1.0, 1.0)
WORK = Weights(1.0, 0.0, 0.0)
TRAFFIC = Weights(0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Node:
    """A branch: one mesh, confined by `limits`; `bound` is no more than what is in it."""

    instance: Instance
    limits: Limits
    bound: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A proven best assignment in its branch, and the sum by which ties are settled."""

    node: Node
    weights: Weights
    value: float
    found: Found


@dataclass(slots=True)
class Relaxed:
    """Two relaxations of a branch: what they prove, and the better assignment of the two."""

    bound: float
    value: float
    weights: Weights
    found: Found
    other: Found


Relax = Callable[[Instance, Limits], Relaxed]


@dataclass(slots=True)
class _Queue:
    """Branches by their bounds, the answers no worse than the best so far, all values met."""

    best: float = np.inf
    values: dict[int, float] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    heap: list[tuple[float, int, Node]] = field(default_factory=list)
    ticket: Iterator[int] = field(default_factory=count)

    def push(self, node: Node) -> None:
        heappush(self.heap, (node.bound, next(self.ticket), node))

    def accept(self, answer: Answer) -> None:
        if answer.value < self.best * (1 - TOLERANCE):
            self.answers.clear()
        self.best = min(self.best, answer.value)
        self.answers.append(answer)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The optima, one for each mesh (and branch) that ties, and what other meshes came to.

    `others` are values and meshes, each value that of an assignment worse than the best.
    """

    answers: list[Answer]
    others: list[tuple[float, Mesh]]


def search(
    program: Program, chips: int, machine: Machine, minimize: Minimize, large: bool = False
) -> Outcome:
    """The optima of `program` on `chips` chips, moves priced exactly or for large K.

    Raises `Infeasible` if no mesh has a layout for every tensor.
    """
    instances = _instances(program, chips, machine, large)
    relax: Relax = _by_time
    if minimize == "communication":
        relax = _by_communication(_least_work(instances))
    queue = _branch_and_bound(instances, relax)
    meshes = {id(i): dict(i.mesh) for i in instances}
    worse = [(v, meshes[i]) for i, v in queue.values.items() if v > queue.best * (1 + TOLERANCE)]
    return Outcome(queue.answers, sorted(worse, key=lambda pair: pair[0]))


def tidied(answer: Answer) -> Found:
    """The answer with ties settled (see `Instance.solve`), no worse than it was found.

    Equal sums can have another maximum. Where the tidy assignment loses by that, ties are
    settled only among those that store and share everything as the answer does.
    """
    instance, limits = answer.node.instance, answer.node.limits
    tidy = instance.solve(answer.weights, limits, tidy=True)
    if _as_good(tidy, answer):
        return tidy
    return instance.solve(answer.weights, _alike(instance, limits, answer.found), tidy=True)


def _as_good(found: Found, answer: Answer) -> bool:
    if answer.weights == TRAFFIC:
        return found.compute <= answer.found.compute * (1 + TOLERANCE)
    return _time(found) <= answer.value * (1 + TOLERANCE)


def _alike(instance: Instance, limits: Limits, found: Found) -> Limits:
    """Limits to what stores each value in as many bytes, and shares each matmul as widely."""
    for value in instance.problem.values:
        root = instance.problem.find(value.root)
        held = instance.held(instance.problem.space(root))
        if value.stored:
            limits = limits.storing(root, held == held[found.nodes[root]])
    for number, step in enumerate(instance.problem.steps):
        if step.used is not None:
            mine = instance.chips[step.used[instance.row(step, found.nodes)]]
            limits = limits.sharing(number, instance.chips == mine)
    return limits


def _instances(program: Program, chips: int, machine: Machine, large: bool) -> list[Instance]:
    """One instance a mesh; axes of one chip that nobody names play no part in it."""
    named = named_axes(program)
    problems: dict[tuple[str, ...], Problem] = {}
    found = []
    for mesh in distinct(program, chips):
        axes = tuple(a for a in mesh if mesh[a] > 1 or a in named)
        if axes not in problems:
            problems[axes] = build(program, axes)
        try:
            found.append(Instance(problems[axes], mesh, machine, large))
        except Infeasible:
            continue
    return found


def _branch_and_bound(instances: list[Instance], relax: Relax) -> _Queue:
    queue = _Queue()
    for instance in instances:
        queue.push(Node(instance, Limits(), 0.0))
    while queue.heap:
        bound, _, node = heappop(queue.heap)
        if bound > queue.best * (1 + TOLERANCE):
            break
        try:
            relaxed = relax(node.instance, node.limits)
        except Infeasible:
            continue
        _settle(queue, replace(node, bound=max(node.bound, relaxed.bound)), relaxed)
    if not queue.answers:
        raise Infeasible
    return queue


def _settle(queue: _Queue, node: Node, relaxed: Relaxed) -> None:
    """Keeps what is proven; puts back what is not, in two halves."""
    seen = queue.values.get(id(node.instance), np.inf)
    queue.values[id(node.instance)] = min(seen, relaxed.value)
    halves = _halves(node, relaxed)
    # Relaxations that store and share alike differ in nothing that is not additive.
    if relaxed.value <= node.bound * (1 + TOLERANCE) or not halves:
        if relaxed.value <= queue.best * (1 + TOLERANCE):
            queue.accept(Answer(node, relaxed.weights, relaxed.value, relaxed.found))
        return
    if np.isfinite(relaxed.value) and relaxed.value < queue.best * (1 - TOLERANCE):
        queue.best, queue.answers = relaxed.value * (1 + TOLERANCE), []
    if node.bound <= queue.best * (1 + TOLERANCE):
        for limits in halves:
            queue.push(replace(node, limits=limits))


# The two objectives.


def _by_time(instance: Instance, limits: Limits) -> Relaxed:
    """Both ends of the share between compute and memory; the second only where it matters."""
    first = instance.solve(COMPUTE, limits)
    relaxed = Relaxed(first.compute + first.communication, _time(first), COMPUTE, first, first)
    if relaxed.value > relaxed.bound * (1 + TOLERANCE):
        second = instance.solve(MEMORY, limits)
        relaxed.other = second
        relaxed.bound = max(relaxed.bound, second.memory + second.communication)
        if _time(second) < relaxed.value:
            relaxed = Relaxed(relaxed.bound, _time(second), MEMORY, second, first)
    return relaxed


def _time(found: Found) -> float:
    return max(found.compute, found.memory) + found.communication


def _least_work(instances: list[Instance]) -> float:
    """The least compute time that any mesh allows."""
    least = np.inf
    for instance in instances:
        try:
            least = min(least, instance.solve(WORK).compute)
        except Infeasible:
            continue
    return least


def _by_communication(least: float) -> Relax:
    """Communication among the assignments with the least matmul work."""

    def relax(instance: Instance, limits: Limits) -> Relaxed:
        still = instance.solve(TRAFFIC, limits)
        if still.compute <= least * (1 + TOLERANCE):
            return Relaxed(still.communication, still.communication, TRAFFIC, still, still)
        light = instance.solve(WORK, limits)
        if light.compute > least * (1 + TOLERANCE):
            raise Infeasible
        return Relaxed(still.communication, np.inf, TRAFFIC, still, light)

    return relax


# Branching.


def _halves(node: Node, relaxed: Relaxed) -> list[Limits]:
    """Two parts of a branch that keep the two relaxations apart."""
    one, other = relaxed.found, relaxed.other
    choices = [*_storage(node, one, other), *_sharing(node, one, other)]
    return max(choices, key=lambda choice: choice[0])[1] if choices else []


def _storage(node: Node, one: Found, other: Found) -> Iterator[tuple[float, list[Limits]]]:
    """Values stored in two ways: at most the smaller part of it on a chip, or more."""
    instance, limits = node.instance, node.limits
    for value in instance.problem.values:
        root = instance.problem.find(value.root)
        held = instance.held(instance.problem.variables[root].space) * value.itemsize
        sizes = held[one.nodes[root]], held[other.nodes[root]]
        if value.stored and sizes[0] != sizes[1]:
            small = held <= min(sizes)
            seconds = abs(sizes[0] - sizes[1]) * value.stored / instance.machine.memory_bandwidth
            yield seconds, [limits.storing(root, part) for part in (small, ~small)]


def _sharing(node: Node, one: Found, other: Found) -> Iterator[tuple[float, list[Limits]]]:
    """Matmuls shared in two ways: at most the smaller work on a chip, or more."""
    instance, limits = node.instance, node.limits
    for number, step in enumerate(instance.problem.steps):
        flops = instance.flops(step)
        work = [float(flops[instance.row(step, found.nodes)]) for found in (one, other)]
        if step.used is not None and work[0] != work[1]:
            small = float(step.flops) / instance.chips <= min(work)
            seconds = abs(work[0] - work[1]) / instance.machine.peak_flops
            yield seconds, [limits.sharing(number, part) for part in (small, ~small)]
