"""What is fitted to the samples of one kind of work: matmuls in a dtype, memory, all moves.

A move's time is linear in the figures of the tiers that it goes through: so many starts, so many
hops, so many seconds a byte at a bandwidth of 1. How many is what `timing` says of a network on
which only that figure is not 0: what is fitted is what is priced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import median
from typing import NamedTuple

import numpy as np

from layoutc.solver.hardware import timing
from layoutc.solver.hardware.robust import Array, Design, Estimate, Fitted, fitted
from layoutc.solver.hardware.samples import MOVES, Group, Sample, SampleKind, Seen
from layoutc.solver.hardware.timing import Stage
from layoutc.solver.units import duration, operations, size

ORDER = ("bandwidth", "hop", "start")
"""What is fitted of each tier; the inverse of its bandwidth."""

FIGURES = len(ORDER)


@dataclass(frozen=True, slots=True)
class Judged:
    """A sample, the seconds that the machine predicts, and whether it was left out of the fit."""

    sample: Sample
    predicted: float
    outlier: bool

    @property
    def factor(self) -> float:
        """How many times too long the prediction is, or too short: at least 1."""
        return max(self.predicted / self.sample.seconds, self.sample.seconds / self.predicted)


@dataclass(frozen=True, slots=True)
class Part:
    """What was fitted to some of the samples, and how."""

    estimates: tuple[Estimate, ...]
    judged: tuple[Judged, ...]
    rates: tuple[bool, ...]
    """Of each estimate, whether it is the seconds of a byte or an operation, and not of a call."""

    def said(self, number: int) -> str:
        """On what a figure was fitted, how far off the samples are, and between which values it
        lies."""
        kept = [one for one in self.judged if not one.outlier]
        factors = sorted(one.factor for one in kept)
        works = [one.sample.work for one in kept]
        show = _shown(self.judged)
        return (
            f"on {len(kept)} points from {show(min(works))} to {show(max(works))}: median error "
            f"{off(median(factors))}, worst {off(factors[-1])}, "
            f"95% interval {self.interval(number)}"
        )

    def ends(self, number: int) -> tuple[float, float]:
        """Between which values a figure lies; of a rate, the inverse of what was fitted."""
        estimate = self.estimates[number]
        if not self.rates[number]:
            return estimate.low, estimate.high
        return 1 / estimate.high, 1 / estimate.low if estimate.low else inf

    def interval(self, number: int) -> str:
        """The same for a person."""
        return interval(*self.ends(number), self.show(number))

    def show(self, number: int) -> Callable[[float], str]:
        """How a figure is told."""
        return _rate(self.judged) if self.rates[number] else duration


def off(factor: float) -> str:
    """How far off a prediction is: 6%, or 2.5 times."""
    return f"{factor - 1:.0%}" if factor < 2 else f"{factor:.1f} times"


def interval(low: float, high: float, show: Callable[[float], str]) -> str:
    """Two ends for a person."""
    return f"{show(low)} to {show(high)}" if high < inf else f"from {show(low)} up"


def _rate(judged: Sequence[Judged]) -> Callable[[float], str]:
    show = _shown(judged)
    return lambda value: f"{show(value)}/s"


def _shown(judged: Sequence[Judged]) -> Callable[[float], str]:
    """How the work of samples is told."""
    return operations if judged[0].sample.kind == "matmul" else size


def _judged(samples: Sequence[Sample], found: Fitted) -> tuple[Judged, ...]:
    rows = zip(samples, found.predicted.tolist(), found.outliers.tolist(), strict=True)
    return tuple(Judged(*row) for row in rows)


def _seconds(samples: Sequence[Sample]) -> Array:
    return np.array([sample.seconds for sample in samples])


def work(samples: Sequence[Sample]) -> Part:
    """Matmuls or memory: what an operation or a byte takes, beside what every call takes."""
    columns = np.array([(1.0, sample.work) for sample in samples])
    design = Design(columns, np.zeros(columns.shape, bool))
    found = fitted(design, _seconds(samples), [sample.point for sample in samples])
    return Part(found.estimates, _judged(samples, found), (False, True))


def network(moves: Sequence[Sample], seen: Sequence[Seen]) -> Part:
    """All moves together: for each tier its start, its hop and the seconds of a byte."""
    known = {key: _columns(*key, seen) for key in {(s.kind, s.group) for s in moves}}
    columns = np.array([known[s.kind, s.group] for s in moves])
    columns[:, ::FIGURES] *= np.array([[s.work] for s in moves])
    rivals = np.zeros(columns.shape, bool)
    rivals[[s.kind == "permute" for s in moves], ::FIGURES] = True
    found = fitted(Design(columns, rivals), _seconds(moves), [s.series for s in moves])
    return Part(found.estimates, _judged(moves, found), (True, False, False) * len(seen))


def _columns(kind: SampleKind, where: Group, seen: Sequence[Seen]) -> list[float]:
    """How often each figure counts in a move, those of bandwidths for each byte."""
    assert kind in MOVES
    found = []
    for number in range(len(seen)):
        found.append(timing.rate(kind, _stages(where, seen, number, _Alone(bandwidth=1.0))))
        for alone in (_Alone(hop=1.0), _Alone(start=1.0)):
            found.append(timing.latency(kind, _stages(where, seen, number, alone)))
    return found


class _Alone(NamedTuple):
    """The figures of a tier through which all goes in no time, but for what is said."""

    start: float = 0.0
    hop: float = 0.0
    bandwidth: float = inf


def _stages(where: Group, seen: Sequence[Seen], number: int, alone: _Alone) -> list[Stage]:
    """What a group uses of a network where only tier `number` takes time."""
    stages = []
    for i, (runs, one) in enumerate(zip(where, seen, strict=True)):
        start, hop, bandwidth = alone if i == number else _Alone()
        tier = replace(one.tier, start=start, hop=hop, bandwidth=bandwidth)
        stages += [stage] if (stage := one.stage(runs, tier)) else []
    return stages
