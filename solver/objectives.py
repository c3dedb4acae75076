"""What is minimised, bounded from below by sums, which elimination minimises exactly.

A pass takes max(compute, memory) + communication. For any share s between 0 and 1 the sum
s·compute + (1-s)·memory + communication is no more than that, and so is, for several phases, the
sum of such sums with a share for each, each counted as often as its phase runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from layoutc.solver import capacity
from layoutc.solver.assignment import Found, Limits, Shares, Times, Weights
from layoutc.solver.eliminate import TOLERANCE, Infeasible
from layoutc.solver.hardware.fabric import InHalves
from layoutc.solver.instance import Instance
from layoutc.solver.price import price
from layoutc.solver.problem import Step
from layoutc.solver.space import Floats

WORK = Weights(1.0, 0.0, 0.0)
TRAFFIC = Weights(0.0, 0.0, 1.0)


@dataclass(slots=True)
class Relaxed:
    """Relaxations of a branch: what they prove, and the best assignment met.

    `weights` are those by which `found` is the least; `others` are other relaxations' assignments,
    where there was need for them. It is the `last` word where parting would not prove more. `on` is
    the instance on which it was found, where that is another than the branch's.
    """

    bound: float
    value: float
    weights: Shares
    found: Found
    others: list[Found] = field(default_factory=list)
    last: bool = False
    on: Instance | None = None


Relax = Callable[[Instance, Limits, float], Relaxed]
"""Raises `Infeasible` where a branch is found to hold nothing up to a ceiling."""

TRIES = 8
"""How many shares are tried on a branch before it is parted."""


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
    apart = sum(often * times.seconds for times, often in terms)
    return apart - _hidden(instance, found) if instance.machine.overlap else apart


def _hidden(instance: Instance, found: Found) -> float:
    """How much less the phases take as they are spelled out, where what can be goes on under
    matmuls, and starts are what they really are."""
    hidden, fabric = 0.0, instance.fabric
    for one in (filled.program for filled in capacity.filled(instance, found)):
        here = price(one, fabric)
        real = here if fabric.real is fabric else price(one, fabric.real)
        hidden += one.phase.weight * (here.apart - real.seconds)
    return hidden


class ByTime:
    """Bounds the time by shares between compute and memory, the best that are found.

    Each assignment met says how low a sum can be for any shares; the next shares to try are those
    for which all of them together allow most. The search begins with the shares that bound best
    on the mesh before. With a `gap`, sums may be above the least by such a share of them.
    """

    def __init__(self, gap: float = 0.0) -> None:
        self.gap = gap
        self.last: tuple[float, ...] = ()

    def __call__(self, instance: Instance, limits: Limits, ceiling: float) -> Relaxed:
        shares = self.last or (1.0,) * len(instance.frequency)
        tried: list[tuple[tuple[float, ...], Found]] = []
        bound = promised = 0.0
        for _ in range(TRIES):
            weights = tuple(map(_weights, shares))
            found = instance.solve(weights, limits, ceiling=ceiling, gap=self.gap)
            tried.append((shares, found))
            bound = max(bound, (1 - self.gap) * _sum(instance, found, shares))
            value = min(seconds(instance, f) for _, f in tried)
            if value * (1 - self.gap) <= bound * (1 + TOLERANCE) or bound > ceiling:
                break
            shares, promised = _most(instance, [f for _, f in tried])
            if promised * (1 - self.gap) <= bound * (1 + TOLERANCE):
                break
        shares, found = min(tried, key=lambda pair: seconds(instance, pair[1]))
        others = [f for _, f in tried if f is not found]
        self.last = max(tried, key=lambda pair: _sum(instance, pair[1], pair[0]))[0]
        weights = tuple(map(_weights, shares))
        return Relaxed(bound, seconds(instance, found), weights, found, others)


class ByOverlap:
    """Bounds the time where collectives run inside matmuls.

    A pass takes at least the longest of its compute, memory and communication, and so at least any
    average of them. What runs under what is known only of a program that is spelled out, so the
    best of the assignments met is taken, and may lie above what is proven. Among those met are the
    best without overlap, and the best of what has reduce-scatters and all-gathers in place of
    all-reduces.
    """

    ALONE = Weights(1.0, 0.0, 0.0), Weights(0.0, 1.0, 0.0), Weights(0.0, 0.0, 1.0)
    TOGETHER = Weights(1.0, 0.0, 1.0), Weights(0.0, 1.0, 1.0)

    def __call__(self, instance: Instance, limits: Limits, ceiling: float) -> Relaxed:
        bound, met = 0.0, list[tuple[float, Shares, Found, Instance]]()
        for weights in (*self.ALONE, *self.TOGETHER):
            shares = alike(instance, weights)
            whole = weights.compute + weights.memory + weights.communication
            found = instance.solve(shares, limits, ceiling=whole * ceiling)
            bound = max(bound, weighed(instance, found, shares) / whole)
            met.append((seconds(instance, found), shares, found, instance))
        if instance.fabric.latent:
            met += self._in_halves(instance, limits)
        value, shares, found, on = min(met, key=lambda one: one[0])
        return Relaxed(bound, value, shares, found, last=True, on=on)

    def _in_halves(
        self, instance: Instance, limits: Limits
    ) -> Iterator[tuple[float, Shares, Found, Instance]]:
        """Assignments in which an all-reduce is not worth its one start."""
        halved = in_halves(instance)
        for weights in self.TOGETHER:
            shares = alike(instance, weights)
            found = halved.solve(shares, limits)
            yield seconds(halved, found), shares, found, halved


def in_halves(instance: Instance) -> Instance:
    """The same problem where an all-reduce is no better than its two halves."""
    fabric = InHalves(instance.fabric)
    return Instance(instance.problem, fabric, instance.large, instance, instance.alike)


def _weights(share: float) -> Weights:
    return Weights(share, 1 - share, 1.0)


def _sum(instance: Instance, found: Found, shares: Sequence[float]) -> float:
    return weighed(instance, found, tuple(map(_weights, shares)))


def _most(instance: Instance, found: list[Found]) -> tuple[tuple[float, ...], float]:
    """The shares for which the least sum of all assignments is the most, and that sum."""
    if len(instance.frequency) > 1:
        return _most_of_several(instance, found)
    (often,) = instance.frequency
    lines = [f.times[0] for f in found]
    at = {0.0, 1.0, *(c for one, other in combinations(lines, 2) for c in _crossing(one, other))}
    sums = {s: often * min(t.weighed(_weights(s)) for t in lines) for s in at}
    share = max(sums, key=sums.__getitem__)
    return (share,), sums[share]


def _crossing(one: Times, other: Times) -> Iterator[float]:
    """The share at which two assignments come to the same, if there is one."""
    slopes = [t.compute - t.memory for t in (one, other)]
    apart = other.memory + other.communication - one.memory - one.communication
    if slopes[0] != slopes[1] and 0 < apart / (slopes[0] - slopes[1]) < 1:
        yield apart / (slopes[0] - slopes[1])


def _most_of_several(instance: Instance, found: list[Found]) -> tuple[tuple[float, ...], float]:
    """The same for several parts: a linear program of the shares and the sum."""
    from scipy.optimize import linprog

    often = np.array(instance.frequency)
    slopes = np.array([[t.compute - t.memory for t in f.times] for f in found]) * often
    rest = np.array([[t.memory + t.communication for t in f.times] for f in found]) @ often
    scale = float(rest.max()) or 1.0
    solved = linprog(
        [*np.zeros(len(often)), -1.0],
        A_ub=np.column_stack([-slopes / scale, np.ones(len(found))]),
        b_ub=rest / scale,
        bounds=[*[(0.0, 1.0)] * len(often), (None, None)],
    )
    return tuple(float(s) for s in solved.x[:-1]), float(solved.x[-1]) * scale


def by_communication(least: float, gap: float = 0.0) -> Relax:
    """Communication among the assignments with the least matmul work, which is `least`, to within a
    `gap`."""

    def relax(instance: Instance, limits: Limits, ceiling: float) -> Relaxed:
        traffic = alike(instance, TRAFFIC)
        limits = _working(instance, limits, least)
        still = instance.solve(traffic, limits, ceiling=ceiling, gap=gap)
        moved = weighed(instance, still, traffic)
        proven = (1 - gap) * moved
        if work(instance, still) <= least * (1 + TOLERANCE):
            return Relaxed(proven, moved, traffic, still)
        light = instance.solve(alike(instance, WORK), limits)
        if work(instance, light) > least * (1 + TOLERANCE):
            raise Infeasible
        return Relaxed(proven, np.inf, traffic, still, [light])

    return relax


def _working(instance: Instance, limits: Limits, least: float) -> Limits:
    """`limits` with each matmul shared so widely that the others can still do with the `least`."""
    able = {
        number: _spent(instance, number)
        for number, step in enumerate(instance.problem.steps)
        if step.used is not None and step.flops
    }
    floor = sum(float(spent.min()) for spent in able.values())
    spare = least * (1 + TOLERANCE) - floor + least * TOLERANCE
    if spare < 0:
        raise Infeasible
    for number, spent in able.items():
        if (spent > spent.min() + spare).any():
            step = instance.problem.steps[number]
            each = float(step.flops) / instance.chips * _rate(instance, step)
            limits = limits.sharing(number, each <= spent.min() + spare)
    return limits


def _spent(instance: Instance, number: int) -> Floats:
    """[rows], the seconds of a matmul in the layouts that the mesh allows; as often as it runs."""
    step = instance.problem.steps[number]
    keep = np.ones(len(step.columns[0]), dtype=bool)
    for variable, column in zip(step.scope, step.columns, strict=True):
        keep &= np.isin(column, instance.domains[instance.problem.find(variable)])
    if not keep.any():
        raise Infeasible
    return instance.flops(step)[keep] * _rate(instance, step)


def _rate(instance: Instance, step: Step) -> float:
    return instance.frequency[step.part] / instance.machine.peak(*step.dtypes)


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
