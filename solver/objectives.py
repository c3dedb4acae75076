"""What is minimised, bounded from below by sums, which elimination minimises exactly.

A pass takes max(compute, memory) + communication. For any share s between 0 and 1 the sum
s·compute + (1-s)·memory + communication is no more than that, and so is, for several phases, the
sum of such sums with a share for each, each counted as often as its phase runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from layoutc.solver.eliminate import TOLERANCE, Infeasible
from layoutc.solver.instance import Found, Instance, Limits, Shares, Times, Weights

COMPUTE = Weights(1.0, 0.0, 1.0)
MEMORY = Weights(0.0, 1.0, 1.0)
WORK = Weights(1.0, 0.0, 0.0)
TRAFFIC = Weights(0.0, 0.0, 1.0)


@dataclass(slots=True)
class Relaxed:
    """Relaxations of a branch: what they prove, and the best assignment met.

    `weights` are those by which `found` is the least; `other` is another relaxation's assignment,
    where there was need for one.
    """

    bound: float
    value: float
    weights: Shares
    found: Found
    other: Found


Relax = Callable[[Instance, Limits], Relaxed]


def alike(instance: Instance, weights: Weights) -> Shares:
    """The same weights in all parts."""
    return (weights,) * len(instance.frequency)


def weighed(instance: Instance, found: Found, shares: Shares) -> float:
    """The weighted sum over the parts."""
    terms = zip(found.times, shares, instance.frequency, strict=True)
    return sum(often * times.weighed(weights) for times, weights, often in terms)


def seconds(instance: Instance, found: Found) -> float:
    """What all phases take, each as often as it runs."""
    terms = zip(found.times, instance.frequency, strict=True)
    return sum(often * times.seconds for times, often in terms)


class ByTime:
    """Bounds the time at one end of the share between compute and memory, or at the other.

    Which end binds in a phase is seen from an assignment; the search begins with the ends that
    bound on the mesh before.
    """

    def __init__(self) -> None:
        self.last: Shares = ()

    def __call__(self, instance: Instance, limits: Limits) -> Relaxed:
        shares = self.last or alike(instance, COMPUTE)
        tried: list[tuple[Shares, Found]] = []
        bound = 0.0
        while all(shares != before for before, _ in tried):
            found = instance.solve(shares, limits)
            tried.append((shares, found))
            bound = max(bound, weighed(instance, found, shares))
            if seconds(instance, found) <= bound * (1 + TOLERANCE):
                break
            shares = tuple(map(_binding, found.times))
        best, found = min(tried, key=lambda pair: seconds(instance, pair[1]))
        other = next((f for s, f in reversed(tried) if s != best), found)
        self.last = best
        return Relaxed(bound, seconds(instance, found), best, found, other)


def _binding(times: Times) -> Weights:
    return COMPUTE if times.compute >= times.memory else MEMORY


def by_communication(least: float) -> Relax:
    """Communication among the assignments with the least matmul work, which is `least`."""

    def relax(instance: Instance, limits: Limits) -> Relaxed:
        traffic = alike(instance, TRAFFIC)
        still = instance.solve(traffic, limits)
        moved = weighed(instance, still, traffic)
        if work(instance, still) <= least * (1 + TOLERANCE):
            return Relaxed(moved, moved, traffic, still, still)
        light = instance.solve(alike(instance, WORK), limits)
        if work(instance, light) > least * (1 + TOLERANCE):
            raise Infeasible
        return Relaxed(moved, np.inf, traffic, still, light)

    return relax


def work(instance: Instance, found: Found) -> float:
    """Seconds of matmuls, over all phases."""
    return weighed(instance, found, alike(instance, WORK))


def least_work(branches: Iterable[tuple[Instance, Limits]]) -> float:
    """The least compute time that any mesh allows."""
    least = np.inf
    for instance, limits in branches:
        try:
            found = instance.solve(alike(instance, WORK), limits)
        except Infeasible:
            continue
        least = min(least, work(instance, found))
    return float(least)
