"""Timings beside what is predicted for them, in the layouts in which they were run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean

from layoutc.dsl.header import Settings
from layoutc.dsl.program import Program
from layoutc.pipeline import sound
from layoutc.progress import watched
from layoutc.serving.asking import model_source
from layoutc.solver.hardware.catalogue import load_machine, reached_of
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.serving.layouts import Layout
from layoutc.solver.serving.prepared import prepared
from layoutc.solver.serving.runs import together
from layoutc.solver.serving.timings import Timing
from published_page.facts import TPU, Printed, printed, table_of, tables, timings


@dataclass(frozen=True, slots=True)
class Point:
    """A timing, the seconds predicted for it, the layouts of its passes, and what was printed.

    `peak` is one chip's, in FLOP/s, and `parameters` are the model's, without padding.
    """

    timing: Timing
    predicted: float
    layouts: tuple[Layout, ...]
    peak: float
    parameters: int
    printed: Printed | None

    @property
    def table(self) -> str:
        """The table or figure that it is of."""
        return table_of(self.timing.note)

    @property
    def series(self) -> str:
        """The column of the table, or its scenario."""
        return self.timing.note.partition(": ")[2]

    @property
    def error(self) -> float:
        """Predicted over published, less 1."""
        return self.predicted / self.timing.seconds - 1

    def mfu(self, seconds: float) -> float:
        """The share of the peak that so many seconds are: 2 operations for each parameter and
        token. Only of what a share was printed for."""
        assert self.printed is not None, self.timing
        useful = 2 * self.parameters * self.timing.batch * self.printed.tokens
        return useful / (self.timing.chips * self.peak * seconds)


@dataclass(frozen=True, slots=True)
class Errors:
    """How far predictions are off: the mean of absolute relative errors, and the worst point."""

    count: int
    mean: float
    worst: Point

    @classmethod
    def of(cls, points: Sequence[Point]) -> Errors:
        """Over all points, of which there is one at least."""
        worst = max(points, key=lambda point: abs(point.error))
        return cls(len(points), fmean(abs(point.error) for point in points), worst)


@cache
def program_of(model: str) -> Program:
    """A model of the catalogue, whole."""
    return sound(model_source(model), Settings())


def predicted(name: str, wanted: Collection[str]) -> list[Point]:
    """The points of some tables and figures on a machine of the catalogue, with the constants of
    its file."""
    machine = load_machine(name)
    asked = [timing for timing in timings(name) if table_of(timing.note) in wanted]
    found = {point.timing: point for point in _points(asked, machine)}
    points = [found[timing] for timing in asked]
    return [*points, *(_totals(points) if name == TPU else ())]


def _points(asked: Sequence[Timing], machine: Machine) -> Iterator[Point]:
    reached, _ = reached_of(machine)
    watch = watched(f"finding layouts on {machine.name}")
    runs = prepared(asked, program_of, machine, reached, watch)
    for run, seconds in zip(runs, together(runs).seconds(reached), strict=True):
        layouts = tuple(piece.layout for piece in run.pieces)
        yield Point(
            run.timing, float(seconds), layouts,
            machine.peak_flops / machine.efficiencies[0],
            program_of(run.timing.model).parameters, printed(run.timing),
        )  # fmt: skip


def _totals(points: Sequence[Point]) -> Iterator[Point]:
    """PaLM's column of totals in table D.2, printed beside its two parts."""
    decode = {p.timing.batch: p for p in points if p.series == "PaLM generate"}
    for prefill in points:
        if prefill.series == "PaLM prefill":
            both, note = decode[prefill.timing.batch], "table D.2: PaLM total"
            found = tables()[note, "request", prefill.timing.batch]
            timing = replace(
                prefill.timing, phase="request", generate=both.timing.generate,
                seconds=found.seconds, note=note,
            )  # fmt: skip
            seconds, layouts = prefill.predicted + both.predicted, prefill.layouts + both.layouts
            yield replace(prefill, timing=timing, predicted=seconds, layouts=layouts, printed=found)
