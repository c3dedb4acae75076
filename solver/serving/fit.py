"""A machine's constants, fitted on timings of whole models.

Each timing is run as `plan` would: layouts are found, or those that were said, and what they take
is predicted. What is minimised is the logarithm of predicted over measured, under a loss that grows
no faster than linearly. Since layouts hang on constants they are found once more with those fitted.
How far the fit can be trusted is told by leaving each timing out in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from layoutc.dsl.program import Program
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reached import SHARES, TIMES, Reached
from layoutc.solver.serving.demand import Demand
from layoutc.solver.serving.planner import ANYHOW, Pinned, Planner
from layoutc.solver.serving.runs import Run, run
from layoutc.solver.serving.service import serve
from layoutc.solver.serving.splits import Split
from layoutc.solver.serving.terms import Floats
from layoutc.solver.serving.timings import Timing

ROUNDS = 2
"""So often layouts are found and constants fitted."""

SOFT = 0.05
"""Relative errors beyond this count for less than their square."""

LEAST_SHARE, MOST_TIME, MOST_FACTOR = 0.02, 1e-3, 100.0
"""Bounds of shares, from below, and of times, in seconds, and factors, from above."""

UNIT = {"launch": 1e-6}
"""What times are about: the search for constants goes by such steps."""

TOLD = 1e-3
"""A constant is told by timings of which some change by this share of what the constant does."""

QUANTILES = (0.05, 0.95)
"""Nine timings in ten are within."""

START = Reached(0.8, 0.2, 0.9, 0.8, 5e-6, 2.0)
"""Where the search for constants begins: served models mostly reach about so much."""

Watch = Callable[[list[int]], Iterable[int]]


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was fitted: `runs` in the timings' order, the seconds predicted for each, and those
    predicted by a fit without it. `told` are the constants that the timings tell."""

    reached: Reached
    runs: tuple[Run, ...]
    predicted: Floats
    left_out: Floats
    told: frozenset[str]

    @property
    def measured(self) -> Floats:
        """The seconds of each timing."""
        return np.array([one.timing.seconds for one in self.runs])

    @property
    def errors(self) -> Floats:
        """Predicted over measured, less 1."""
        return self.predicted / self.measured - 1

    @property
    def left_out_errors(self) -> Floats:
        """The same, of fits without the timing in question."""
        return self.left_out / self.measured - 1


def fitted(
    timings: Sequence[Timing],
    program_of: Callable[[str], Program],
    machine: Machine,
    at_once: int,
    watch: Watch = iter,
) -> Fitted:
    """The constants that predict the timings best. `watch` shows how far it is.

    Raises:
        Unsolvable: a timing is of a layout that can't be had.
    """
    reached = START.with_constants({"at_once": at_once})
    runs: list[Run] = []
    told = frozenset[str]()
    for _ in range(ROUNDS):
        runs = prepared(timings, program_of, machine, reached, watch)
        told = _told(runs, reached)
        reached = _constants(runs, reached, told)
    predicted = _seconds(runs, reached)
    left_out = np.array([
        float(one.seconds(_constants([*runs[:at], *runs[at + 1 :]], reached, told)))
        for at, one in enumerate(runs)
    ])  # fmt: skip
    low, high = np.quantile(np.array([r.timing.seconds for r in runs]) / left_out, QUANTILES)
    reached = reached.with_constants({"low": min(1.0, float(low)), "high": max(1.0, float(high))})
    return Fitted(reached, tuple(runs), predicted, left_out, told)


# Running.


def prepared(
    timings: Sequence[Timing],
    program_of: Callable[[str], Program],
    machine: Machine,
    reached: Reached,
    watch: Watch = iter,
) -> list[Run]:
    """Each timing in the layouts in which it was run, or is best. Raises `Unsolvable`."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for number, timing in enumerate(timings):
        alike.setdefault(_key(timing), []).append(number)
    found: dict[int, Run] = {}
    groups = list(alike.values())
    for at in watch(list(range(len(groups)))):
        rows = [timings[number] for number in groups[at]]
        found.update(zip(groups[at], _together(rows, program_of, machine, reached), strict=True))
    return [found[number] for number in range(len(timings))]


def _key(timing: Timing) -> tuple[object, ...]:
    """What is the same for timings whose layouts are found together."""
    return (
        timing.model, timing.phase, timing.chips, timing.pipeline, timing.micro, timing.weights,
        timing.layout, timing.attention, timing.context,
    )  # fmt: skip


def _together(
    rows: Sequence[Timing],
    program_of: Callable[[str], Program],
    machine: Machine,
    reached: Reached,
) -> list[Run]:
    first, demand = rows[0], _demand(rows)
    pinned = Pinned(
        frozenset([first.layout] if first.layout else []),
        frozenset([first.attention] if first.attention else []),
    )
    prefill = pinned if first.phase != "decode" else ANYHOW
    decode = pinned if first.phase != "prefill" else ANYHOW
    program = program_of(first.model)
    planner = Planner(program, machine, reached, demand, prefill, decode, first.micro)
    service = planner.service(first.weights, Split(first.tensor, first.pipeline))
    served = serve(service, demand, machine)
    return [run(timing, served, at) for at, timing in enumerate(rows)]


def _demand(rows: Sequence[Timing]) -> Demand:
    """What the rows ask: a prefill makes nothing, and a step of decode has a prompt of one token,
    which takes next to nothing and so decides nothing."""
    columns = [
        (t.batch, t.batch, max(1, t.prompt), t.generate, max(t.context, t.prompt, 1)) for t in rows
    ]
    return Demand(*(np.array(column, dtype=np.int64) for column in zip(*columns, strict=True)))


# Fitting.


def _seconds(runs: Sequence[Run], reached: Reached) -> Floats:
    return np.array([one.seconds(reached) for one in runs])


def _constants(runs: Sequence[Run], start: Reached, told: frozenset[str]) -> Reached:
    """Those that predict the runs best, of the constants that are told; the others stay."""
    names = sorted(told)
    units = np.array([UNIT.get(name, 1.0) for name in names])
    measured = np.array([one.timing.seconds for one in runs])

    def reached(values: Floats) -> Reached:
        return start.with_constants(dict(zip(names, map(float, values * units), strict=True)))

    def off(values: Floats) -> Floats:
        return np.asarray(np.log(_seconds(runs, reached(values)) / measured))

    most = {(True, False): 1.0, (False, True): MOST_TIME, (False, False): MOST_FACTOR}
    low = [LEAST_SHARE if name in SHARES else 0.0 for name in names]
    high = [most[name in SHARES, name in TIMES] / UNIT.get(name, 1.0) for name in names]
    first = np.clip([start.constants[n] for n in names] / units, low, high)
    found = least_squares(off, first, bounds=(low, high), loss="soft_l1", f_scale=SOFT)
    return reached(found.x)


def _told(runs: Sequence[Run], reached: Reached) -> frozenset[str]:
    """The constants without which some run would take another time: those that the runs tell."""
    before = _seconds(runs, reached)
    found = set[str]()
    for name, value in reached.constants.items():
        changed = {name: value / 2 if value else UNIT.get(name, 0.0)}
        after = _seconds(runs, reached.with_constants(changed))
        if np.max(np.abs(after / before - 1)) > TOLD:
            found.add(name)
    return frozenset(found)
