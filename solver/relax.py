"""Exact minimisation near lower bounds: values that are above a known cost are not looked at.

Bounds come from `layoutc.solver.forest` and rise as `layoutc.solver.ascent` goes on. As soon as
they leave little of the domains, elimination (`layoutc.solver.narrow`) finds the least cost in
what is left, which is the least of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from layoutc.solver.ascent import Ascent
from layoutc.solver.eliminate import TOLERANCE, Costs, Infeasible
from layoutc.solver.fan import Fan
from layoutc.solver.forest import Bounds, Forest
from layoutc.solver.guess import guessed
from layoutc.solver.messages import Bounded
from layoutc.solver.narrow import Solution, within, work

ROUNDS = 200
"""How often copies are brought to agree at most."""

PATIENCE = 6
"""Rounds that may pass without a gain that is worth one."""

WORTH = 1e-9
"""The least gain of the bound, as a share of it, for which a round is worth its time."""

EVERY = 2
"""After so many rounds, what they leave is looked at."""

AHEAD = 2.0
"""How many times the gain of the last rounds the least may still lie above the bound: rounds
halve the distance, so that what they have yet to gain is about what the last ones gained."""

EASY = 2e6
"""Where elimination has to look at so few numbers, it takes less time than better bounds."""

HUGE = 5e7
"""So many numbers at once are too many: ties among them are left as they come."""

ROUNDING = 1e-9
"""How far bounds may be off, as a share: they are sums of many numbers."""

NOISE = 1e-14
"""And how far as a share of the largest of them, which matters where the least is nothing."""

PROVEN = 1e-11
"""What meets its bound so closely, as a share of it, is the least."""

DIVE = 4
"""So deep parts are parted before the next guess: going on is as good as one, unless what is left
are equals."""

WIDENING = (1e-9, 1e-3, 0.02, 0.2, 2.0, np.inf)
"""How far above the bound to look at last, one after the other until there is anything."""


def minimise_near(
    domains: dict[int, int], factors: Sequence[Bounded], ceiling: float = np.inf, gap: float = 0.0
) -> Solution:
    """What `minimise` finds, looking only at values whose bounds are near the least; or what is
    above that by no more than a `gap`, a share of what is found.

    What is left out costs more than the threshold: a minimum below it is the minimum of all.
    Raises `Infeasible`, also where nothing up to `ceiling` is to be had.
    """
    forest = Forest.of(domains, factors)
    least = forest.passed()
    near = _Near(forest, ceiling, forest.bounds(), gap)
    near.prove(least)
    return near.solved()


@dataclass
class _Near:
    """A problem as a forest, what has been proven of it, and what the best is known to be up to.

    A part of a part is two `depth` below the problem. `best` is a solution that is known, where
    nothing but a better one is of use, better by more than the `gap`.
    """

    forest: Forest
    cap: float
    bound: Bounds
    gap: float = 0.0
    depth: int = 0
    best: Solution | None = None

    def __post_init__(self) -> None:
        finite = (b[np.isfinite(b)] for b in self.bound.values.values())
        self.largest = max(float(b.max(initial=0.0)) for b in finite)
        self.noise = self.largest * NOISE

    def _above(self, cost: float) -> float:
        """A threshold that bounds of what costs so much do not exceed."""
        return cost + abs(cost) * ROUNDING + self.noise

    def prove(self, least: float) -> None:
        """Gives up where nothing up to the cap can be had."""
        if least > self.cap or least == np.inf:
            raise Infeasible

    def solved(self) -> Solution:
        """The least. Raises `Infeasible` where nothing up to the cap is to be had."""
        guess = self.depth % DIVE == 0
        try:
            return (
                self.rising()
                or (self.guessing() if guess and not self.tidy else None)
                or self.parting()
                or self.agreeing()
                or self.widening()
            )
        except Infeasible:
            if self.best is None:
                raise
            return self.best

    @property
    def tidy(self) -> bool:
        """Whether ties are to be settled, so that equals are of use."""
        return any(len(f.costs) > 1 for f in self.forest.factors if not isinstance(f, Fan))

    def know(self, found: Solution) -> None:
        """Looks only for what is better from here on, or as good where ties are to be settled."""
        cost = float(found[1][0])
        if self.best is None or _less(found[1], self.best[1]):
            self.best = found
        equals = self.tidy and not self.gap
        below = self._above(cost) if equals else cost - abs(cost) * max(ROUNDING, self.gap)
        self.cap = min(self.cap, below)

    def rising(self) -> Solution | None:
        """The least, if little enough is left to look at before the bound stops rising."""
        ascent, marks = Ascent(self.forest), [self.forest.least()]
        gain = abs(marks[0])
        while True:
            solution = self._tried(self.bound.least + AHEAD * gain, EASY)
            if solution or not self.forest.copies or _flat(marks):
                return solution
            for _ in range(EVERY):
                marks.append(max(marks[-1], ascent.round()))
                self.prove(marks[-1])
            self.bound = self.bound.raised(self.forest.bounds())
            gain = marks[-1] - marks[-1 - EVERY]

    def agreeing(self) -> Solution | None:
        """Where there is nothing to part, copies agree, and a guess is as good as its bound: it is
        taken where there are too many equals to look at them all."""
        many = work(self.bound, self.cap, self.forest.factors, HUGE) > HUGE
        return self.guessing() if many else None

    def guessing(self) -> Solution | None:
        """A solution that meets its bound."""
        try:
            found = guessed(self.forest)
        except Infeasible:
            return None
        cost = float(found[1][0])
        if cost - abs(cost) * self.gap <= self.bound.least * (1 + PROVEN):
            return found
        if cost <= self.cap:
            self.know(found)
        return None

    def parting(self) -> Solution | None:
        """The least of two parts, where too much is left to look at: a variable has the value that
        looks best in the one, and any other in the other."""
        choice = None if self._little() else self._choice()
        if choice is None:
            return None
        variable, value = choice
        for only in (True, False):
            with suppress(Infeasible):
                self.know(self._part(variable, value, only).solved())
        if self.best is None:
            raise Infeasible
        return self.best

    def _little(self) -> bool:
        """Whether what is left up to the cap is easy to look at."""
        return work(self.bound, self.cap, self.forest.factors, EASY) <= EASY

    def _choice(self) -> tuple[int, int] | None:
        """The variable of which the second best value looks worst, and its best one."""
        found: tuple[float, int, int] | None = None
        for variable in self.forest.copies:
            costs = self.forest.agreed(variable)
            if np.count_nonzero(np.isfinite(costs) & (costs <= self.cap)) > 1:
                first, second = np.argpartition(costs, 1)[:2]
                if found is None or costs[second] > found[0]:
                    found = float(costs[second]), variable, int(first)
        return None if found is None else found[1:]

    def _part(self, variable: int, value: int, only: bool) -> _Near:
        """The problem in which a variable has only a value, or never has it."""
        forest = self.forest.apart()
        barred = np.full(forest.sizes[variable], np.inf if only else 0.0)
        barred[value] = 0.0 if only else np.inf
        for node in forest.copies[variable]:
            forest.owe(node, barred)
        forest.settle()
        least = forest.passed()
        near = _Near(forest, self.cap, self.bound, self.gap, self.depth + 1)
        near.prove(least)
        near.bound = self.bound.raised(forest.bounds())
        return near

    def widening(self) -> Solution:
        """The least, however much is left to look at."""
        for slack in WIDENING:
            least = self.bound.least
            # A bound of nothing has no shares: then they are of the largest.
            scale = abs(least) or self.largest or 1.0
            solution = self._tried(least + scale * slack, np.inf)
            if solution:
                return solution
        raise Infeasible

    def _tried(self, threshold: float, easy: float) -> Solution | None:
        """The least, if it is up to the threshold and no more than `easy` is left to look at."""
        upto = min(max(threshold, self._above(self.bound.least)), self.cap)
        if work(self.bound, upto, self.forest.factors, easy) > easy:
            return None
        try:
            values, costs = within(upto, self.bound, self.forest)
        except Infeasible:
            self.prove(np.nextafter(upto, np.inf))
            return None
        found = float(costs[0])
        # Equals of what is found must be among what was looked at.
        if self._above(found) <= upto or found <= upto == self.cap:
            return values, costs
        self.prove(np.nextafter(upto, np.inf))
        # A solution all the same: the least is no more.
        self.cap = min(self.cap, self._above(found))
        return self._tried(self.cap, easy)


def _less(one: Costs, other: Costs) -> bool:
    """Whether costs are less, compared one after the other."""
    for mine, theirs in zip(one, other, strict=True):
        if abs(mine - theirs) > TOLERANCE * max(abs(mine), abs(theirs)):
            return bool(mine < theirs)
    return False


def _flat(marks: Sequence[float]) -> bool:
    """Whether the bound has stopped rising, or never rose."""
    if len(marks) > ROUNDS or (len(marks) > 1 and marks[-1] == marks[0] > 0):
        return True
    waited = len(marks) > PATIENCE
    return waited and marks[-1] - marks[-1 - PATIENCE] < WORTH * abs(marks[-1])
