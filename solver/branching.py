"""How a branch of the search is parted in two where its relaxations don't meet.

What is parted is how a value is stored, how a matmul is shared, or how a tensor that takes too
much memory is held: the smaller ways in one half, the larger in the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutc.solver.assignment import Found, Limits
from layoutc.solver.instance import Instance

Halves = tuple[Limits, Limits]


def halves(
    instance: Instance, limits: Limits, one: Found, others: Sequence[Found]
) -> Halves | None:
    """Two parts of a branch that keep an assignment from another; None if all is alike in them."""
    choices = [
        choice
        for other in others
        for apart in (_storage, _sharing)
        for choice in apart(instance, limits, one, other)
    ]
    return max(choices, key=lambda choice: choice[0])[1] if choices else None


def _storage(
    instance: Instance, limits: Limits, one: Found, other: Found
) -> Iterator[tuple[float, Halves]]:
    """Values stored in two ways: at most the smaller part of it on a chip, or more."""
    problem = instance.problem
    for value in problem.values:
        if value.stored:
            root = problem.find(value.root)
            held = instance.held(problem.space(root), value.part) * value.itemsize
            sizes = held[one.nodes[root]], held[other.nodes[root]]
            small = held <= min(sizes)
            bytes_ = abs(sizes[0] - sizes[1]) * value.stored * instance.frequency[value.part]
            if bytes_:
                both = limits.storing(root, small), limits.storing(root, ~small)
                yield bytes_ / instance.machine.memory_bandwidth, both


def _sharing(
    instance: Instance, limits: Limits, one: Found, other: Found
) -> Iterator[tuple[float, Halves]]:
    """Matmuls shared in two ways: at most the smaller work on a chip, or more."""
    for number, step in enumerate(instance.problem.steps):
        flops = instance.flops(step)
        work = [float(flops[instance.row(step, found.nodes)]) for found in (one, other)]
        if step.used is not None and work[0] != work[1]:
            small = float(step.flops) / instance.chips <= min(work)
            apart = abs(work[0] - work[1]) * instance.frequency[step.part]
            both = limits.sharing(number, small), limits.sharing(number, ~small)
            yield apart / instance.machine.peak(*step.dtypes), both


def alike(instance: Instance, limits: Limits, found: Found) -> Limits:
    """Limits to what stores each value in as many bytes, and shares each matmul as widely."""
    problem = instance.problem
    for value in problem.values:
        root = problem.find(value.root)
        held = instance.held(problem.space(root), value.part)
        if value.stored:
            limits = limits.storing(root, held == held[found.nodes[root]])
    for number, step in enumerate(problem.steps):
        if step.used is not None:
            mine = instance.chips[step.used[instance.row(step, found.nodes)]]
            limits = limits.sharing(number, instance.chips == mine)
    return limits


def smaller(instance: Instance, limits: Limits, variable: int, now: float) -> Halves:
    """A layout that takes less than `now` elements of a chip, or no less."""
    found = instance.problem.variables[instance.problem.find(variable)]
    less = instance.held(found.space, found.part) < now
    return limits.storing(variable, less), limits.storing(variable, ~less)
