"""A machine's constants, fitted on timings of whole models.

Each timing is run as `plan` would: layouts are found, or those that were said, and what they take
is predicted. What is minimised is the logarithm of predicted over measured, under a loss that grows
no faster than linearly. Since layouts hang on constants they are found once more with those fitted.
How far the fit can be trusted is told by leaving each timing out in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reached import Reached
from layoutc.solver.serving.constants import Estimate, Sample, around, estimated
from layoutc.solver.serving.prepared import Programs, Watch, prepared
from layoutc.solver.serving.runs import Run, on, together
from layoutc.solver.serving.terms import Floats
from layoutc.solver.serving.timings import Timing

START = Reached(0.8, 0.2, 0.9, 0.8, 5e-6, 2.0)
"""Where the search for constants begins: served models mostly reach about so much."""

QUANTILES = (0.05, 0.95)
"""Nine timings in ten are within."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What was fitted: `runs` in the timings' order, the seconds predicted for each, and those
    predicted by a fit without it, in the same layouts. `estimates` are the constants', by name."""

    reached: Reached
    estimates: Mapping[str, Estimate]
    runs: tuple[Run, ...]
    predicted: Floats
    left_out: Floats

    @property
    def measured(self) -> Floats:
        """The seconds of each timing."""
        return measured(self.runs)

    @property
    def errors(self) -> Floats:
        """Predicted over measured, less 1."""
        return self.predicted / self.measured - 1

    @property
    def left_out_errors(self) -> Floats:
        """The same, of fits without the timing in question."""
        return self.left_out / self.measured - 1

    @property
    def mean_error(self) -> float:
        """How far the predictions are off, on average."""
        return float(np.abs(self.errors).mean())

    @property
    def mean_left_out(self) -> float:
        """The same, of fits without the timing in question."""
        return float(np.abs(self.left_out_errors).mean())

    @property
    def worst(self) -> int:
        """The number of the run that is furthest off, as a factor."""
        return int(np.argmax(np.abs(np.log(self.predicted / self.measured))))


def axes_to_try(machine: Machine) -> range:
    """How many axes of its torus a collective may go along at a time: 0 for all of its own, and
    each number that is less than all there are."""
    return range(max((tier.shapes.axes for tier in machine.tiers if tier.shaped), default=1))


def fitted(
    timings: Sequence[Timing],
    programs: Programs,
    machine: Machine,
    had: Reached,
    at_once: Sequence[int],
    watch: Watch = iter,
) -> list[Fit]:
    """The constants that predict at least two timings best, for each number of axes `at_once`: the
    fit with the least error of what is left out comes first. Constants that the timings don't tell
    are those that the machine `had`.

    Layouts are found once for the first of the numbers, at usual constants; for each of them the
    constants that this comes to begin its own search.

    Raises:
        Unrunnable: timings are of layouts that can't be had.
    """
    usual = [START.with_constants({"at_once": number}) for number in at_once]
    first = prepared(timings, programs, machine, usual[0], watch)
    found = []
    for start in usual:
        reached, _ = _best(on(first, start), start, had)
        found.append(fitted_on(prepared(timings, programs, machine, reached, watch), start, had))
    return sorted(found, key=lambda fit: fit.mean_left_out)


def measured(runs: Sequence[Run]) -> Floats:
    """The seconds of each timing."""
    return np.array([one.timing.seconds for one in runs])


def _best(
    runs: Sequence[Run], start: Reached, had: Reached
) -> tuple[Reached, Mapping[str, Estimate]]:
    return estimated(Sample(together(runs), measured(runs)), around(start), had)


def fitted_on(runs: Sequence[Run], start: Reached, had: Reached) -> Fit:
    """The constants that predict at least two runs best, in the layouts that they have. They are
    fitted twice, since they decide which of a program's chains of statements is the longest."""
    reached, _ = _best(runs, start, had)
    runs = on(runs, reached)
    sample = Sample(together(runs), measured(runs))
    reached, estimates = estimated(sample, [reached, *around(start)], had)
    predicted = sample.runs.seconds(reached)
    left_out = np.array([
        sample.runs.seconds(estimated(sample.without(at), [reached, start], had)[0])[at]
        for at in range(len(runs))
    ])  # fmt: skip
    low, high = np.quantile(sample.measured / left_out, QUANTILES)
    bounds = {"low": min(1.0, float(low)), "high": max(1.0, float(high))}
    return Fit(reached.with_constants(bounds), estimates, tuple(runs), predicted, left_out)
