"""The constants that predict runs best, and how well the runs tell each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from layoutc.solver.hardware.reached import FACTORS, SHARES, TIMES, Reached
from layoutc.solver.serving.runs import Together
from layoutc.solver.serving.terms import Floats

NAMES = (*SHARES, *TIMES, *FACTORS)
"""The constants in the order in which they are searched for."""

UNITS = dict.fromkeys((*SHARES, *FACTORS), 1.0) | {"launch": 1e-6}
"""What they are about: the search goes by such steps."""

LOW = dict.fromkeys(SHARES, 0.02) | dict.fromkeys(TIMES, 0.0) | dict.fromkeys(FACTORS, 0.01)
HIGH = dict.fromkeys(SHARES, 1.0) | dict.fromkeys(TIMES, 1e-3) | dict.fromkeys(FACTORS, 100.0)
"""The bounds of shares, of times in seconds, and of factors."""

EDGE = 1e-6
"""The search begins so far from the bounds, as a part of what is between them."""

SOFT = 0.05
"""Relative errors beyond this count for less than their square."""

USUAL = 0.05
"""The error that may be chance where there are too few runs to tell."""

STEPS = 60
"""A search is over after so many: the most that is usual is half of that."""

TOLD = 1e-3
"""A constant is told by runs of which some change by this share of what the constant does."""

LEVEL = 0.95
"""That of the intervals."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Runs, the seconds that were measured of each, and which of them count."""

    runs: Together
    measured: Floats
    counted: NDArray[np.bool_] | None = None

    def without(self, number: int) -> Sample:
        """The same but for one run."""
        return replace(self, counted=np.arange(len(self.measured)) != number)

    def off(self, reached: Reached) -> Floats:
        """The logarithms of predicted over measured, of those that count."""
        found: Floats = np.log(self.runs.seconds(reached) / self.measured)
        return found if self.counted is None else found[self.counted]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A constant, the 95 % interval around it, infinite where nothing bounds it, and whether the
    runs tell it: what they don't tell is as it was."""

    value: float
    low: float
    high: float
    told: bool


def around(start: Reached) -> list[Reached]:
    """Where searches begin: at `start`, and where one share is half or twice that. What a pass
    waits for, of two things at once, is another thing there, and no search gets from the one to the
    other where both predict worse between them."""
    shares = [(name, factor * start.constants[name]) for name in SHARES for factor in (0.5, 2.0)]
    return [start, *(start.with_constants({name: min(1.0, v)}) for name, v in shares)]


def estimated(
    sample: Sample, starts: Sequence[Reached], had: Reached
) -> tuple[Reached, Mapping[str, Estimate]]:
    """The constants that predict the runs best, of those that searches from all `starts` come to,
    and the estimate of each by its name. What the runs don't tell is as the machine `had` it."""
    solved = min((_solved(sample, start, NAMES) for start in starts), key=lambda one: one.loss)
    while loose := solved.loose:
        without = (_without(sample, solved, name, had) for name in loose)
        rest = min(without, key=lambda one: one.loss)
        # Nothing bounds it, and yet the old value may be wrong: a share that is too small to be so.
        if rest.loss > solved.loss + solved.noise:
            break
        solved = rest
    return solved.reached, {name: _estimate(solved, name) for name in NAMES}


def _without(sample: Sample, solved: _Solved, name: str, had: Reached) -> _Solved:
    """The same with one constant as it was."""
    back = solved.reached.with_constants({name: had.constants[name]})
    return _solved(sample, back, [one for one in solved.names if one != name])


@dataclass(frozen=True, slots=True)
class _Solved:
    """The constants of some `names` that predict runs best, beside others that are given: the sum
    of squares that is left, in which far errors count for less, how much of it may be noise, and
    half the width of each constant's interval."""

    reached: Reached
    names: Sequence[str]
    loss: float
    noise: float
    widths: Mapping[str, float]

    @property
    def loose(self) -> list[str]:
        """Those that nothing bounds."""
        return [name for name in self.names if self.widths[name] == inf]


def _solved(sample: Sample, start: Reached, names: Sequence[str]) -> _Solved:
    """The search goes from `start`, which has the constants that are given."""
    from scipy.optimize import least_squares

    if not names:
        soft = np.sqrt(1 + (sample.off(start) / SOFT) ** 2) - 1
        return _Solved(start, names, float(2 * SOFT**2 * soft.sum()), 0.0, {})
    units, low, high = (np.array([table[n] for n in names]) for table in (UNITS, LOW, HIGH))

    def reached(values: Floats) -> Reached:
        return start.with_constants(dict(zip(names, map(float, values * units), strict=True)))

    low, high = low / units, high / units
    edge = EDGE * (high - low)
    first = np.clip([start.constants[n] for n in names] / units, low + edge, high - edge)
    found = least_squares(
        lambda values: sample.off(reached(values)), first,
        bounds=(low, high), x_scale="jac", loss="soft_l1", f_scale=SOFT, xtol=1e-10,
        max_nfev=STEPS,
    )  # fmt: skip
    told = np.abs(found.jac).max(axis=0) * np.maximum(found.x, units < 1) > TOLD
    variance = _variance(2 * found.cost, len(found.fun) - int(told.sum()))
    widths = np.full(len(names), inf)
    widths[told] = np.sqrt(variance) * _spread(found.jac[:, told])
    widths = np.where(widths < high - low, widths, inf) * units
    noise = len(found.fun) * TOLD**2 + (variance if variance < inf else USUAL**2)
    by_name = dict(zip(names, map(float, widths), strict=True))
    return _Solved(reached(found.x), names, 2 * float(found.cost), noise, by_name)


def _variance(loss: float, free: int) -> float:
    """The square of what an error may be by chance, where so many errors more than constants make
    up a sum of squares; infinite where there are no more."""
    from scipy.special import stdtrit

    return float(stdtrit(free, (1 + LEVEL) / 2)) ** 2 * loss / free if free > 0 else inf


def _spread(slopes: Floats) -> Floats:
    """How far each constant goes where errors are 1, by the slopes of the errors."""
    _, sizes, ways = np.linalg.svd(slopes, full_matrices=False)
    # Where two constants always come together, nothing bounds either of them.
    bounded = np.maximum(sizes, 1e-9 * sizes.max(initial=1e-9))
    return np.asarray(np.sqrt(((ways / bounded[:, None]) ** 2).sum(axis=0)))


def _estimate(solved: _Solved, name: str) -> Estimate:
    value, width = solved.reached.constants[name], solved.widths.get(name, inf)
    if width == inf:
        return Estimate(value, -inf, inf, name in solved.names)
    low, high = max(LOW[name], value - width), min(HIGH[name], value + width)
    return Estimate(value, low, high, True)
