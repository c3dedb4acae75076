"""A solution that is likely to be the best, by giving variables values one after the other.

A forest in which every variable with copies has one value is the problem itself: what it costs
at the least is no bound, but what a solution costs.
"""

from __future__ import annotations

import numpy as np

from layoutc.solver.forest import Forest
from layoutc.solver.narrow import Solution, within
from layoutc.solver.space import Floats

NUDGE = 1e-6
"""How much costs are changed, as a share, so that of equals one is the best."""

NEAR = 1e-3
"""Values that are so near the least, as a share of it, count as a choice."""

ALONE = 1e-9
"""How much less than any other solution the one that was guessed costs, as a share."""


def guessed(forest: Forest) -> Solution:
    """A solution, near the bound where that is good. Raises `Infeasible`.

    Equal solutions, and there are as many as axes can be renamed, would each speak for values
    that don't go together: every value's cost is nudged by a little of its own.
    """
    apart, nudges = forest.apart(), np.random.default_rng(0)
    size = abs(forest.least()) * NUDGE / len(forest.sizes)
    for variable in dict.fromkeys(apart.original.values()):
        apart.owe(variable, size * nudges.random(apart.sizes[variable]))
    apart.settle()
    apart.passed()
    left = set(apart.copies)
    while left:
        costs = {v: np.maximum.reduce([apart.known(n) for n in apart.copies[v]]) for v in left}
        chosen = min(left, key=lambda v: (_choices(costs[v]), v))
        left.remove(chosen)
        _decide(apart, chosen, int(costs[chosen].argmin()))
        apart.passed()
    bound = apart.bounds()
    return within(bound.least + abs(bound.least) * ALONE, bound, apart)


def _choices(costs: Floats) -> int:
    least = float(costs.min())
    return int(np.count_nonzero(costs <= least + abs(least) * NEAR))


def _decide(forest: Forest, variable: int, value: int) -> None:
    """Bars all values of a variable but one."""
    barred = np.full(forest.sizes[variable], np.inf)
    barred[value] = 0.0
    for node in forest.copies[variable]:
        forest.owe(node, barred)
