"""`calibrate`: what was timed and what was fitted to it, for a person and for a machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from layoutc.document import Document
from layoutc.dsl.errors import START, Diagnostic
from layoutc.dsl.program import Dtype
from layoutc.dsl.source import decode
from layoutc.dsl.syntax import File
from layoutc.pipeline import Source, WrongCall, WrongFile
from layoutc.progress import watched
from layoutc.solver.hardware.fit import Calibration, calibrated
from layoutc.solver.hardware.machine import Figure
from layoutc.solver.hardware.parts import Judged, interval, off
from layoutc.solver.hardware.samples import KINDS, Group, Sample, SampleKind, Samples, spelled
from layoutc.solver.hardware.samples_reading import read_samples
from layoutc.solver.hardware.writing import write_machine
from layoutc.solver.units import duration, operations, size
from layoutc.table import Rows, table

if TYPE_CHECKING:
    from layoutc.codegen.measure.points import Point
    from layoutc.codegen.measure.record import Taken

Series = tuple[SampleKind, Group, Dtype]

LISTED = 12
"""So many outliers are named one by one."""


@dataclass(frozen=True, slots=True)
class Found:
    """A calibration, the file that its samples are in, and what could not be timed."""

    calibration: Calibration
    samples: Samples
    file: str
    before: int = 0
    refused: tuple[tuple[Point, str], ...] = ()

    @property
    def machine(self) -> str:
        """The text of the machine's file."""
        return write_machine(self.calibration.machine)


def measured(output: str, repeats: int, largest: int | None) -> Found:
    """The devices at hand timed, and a machine fitted.

    Raises:
        WrongCall: the timings that are there are of another machine, or can't be kept.
        WrongFile: they are no timings, or tell too little.
    """
    path = Path(output).with_suffix(".csv")
    taken = _taken(path, repeats, largest)
    fitted = _fitted(taken.samples, _source(str(path)), output)
    return Found(fitted, taken.samples, str(path), taken.before, taken.refused)


def _taken(path: Path, repeats: int, largest: int | None) -> Taken:
    from layoutc.codegen.measure import record

    try:
        return record.taken(path, repeats, largest, watched(f"timing, kept in {path}"))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise WrongCall(f"can't keep timings in {path}: {reason}") from None
    except record.BrokenSamples as broken:
        raise WrongFile(_source(str(path), broken.text), broken.errors) from None
    except record.OtherMachine as other:
        raise WrongCall(
            f"{path} holds timings of another machine: {other}. Remove it, or name another -o"
        ) from None


def read(path: str, output: str) -> Found:
    """A machine fitted to timings that are there. Raises `WrongFile`."""
    try:
        text = decode(Path(path).read_bytes())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        text = Diagnostic(f"can't be read: {reason}", START)
    if isinstance(text, Diagnostic):
        raise WrongFile(_source(path), [text])
    samples = read_samples(text)
    if not isinstance(samples, Samples):
        raise WrongFile(_source(path, text), samples)
    fitted = _fitted(samples, _source(path, text), output)
    return Found(fitted, samples, path, len(samples.samples))


def _fitted(samples: Samples, source: Source, output: str) -> Calibration:
    found = calibrated(samples, Path(output).stem)
    if isinstance(found, list):
        raise WrongFile(source, found)
    return found


def _source(path: str, text: str = "") -> Source:
    """A file of samples as errors point into it."""
    return Source(path, text, File(path, (), ()))


# For a person.


def report(found: Found) -> str:
    """The whole report, ending in a newline."""
    parts = [
        _head(found),
        table(_figures(found), right=(1,)),
        table(_series(found), right=(2, 4, 5)),
    ]
    aside = [*_outliers(found), *_refused(found)]
    return "\n\n".join([*parts, *([table(aside)] if aside else [])]) + "\n"


def _head(found: Found) -> str:
    total, before = len(found.samples.samples), found.before
    again = f", {before} of them from before" if 0 < before < total else ""
    machine = found.calibration.machine
    return f"{machine.name}: {found.samples.setting.source}; {total} samples{again}"


def _figures(found: Found) -> Rows:
    """Each figure of the machine, and between which values it lies."""
    rows = [["figure", "", "95% interval"]]
    for figure in found.calibration.machine.figures:
        if not figure.fitted and figure.name != "memory_bytes":
            continue
        ends, show = found.calibration.intervals.get(figure.name), _shown(figure)
        name = figure.name.replace("peak_flops.", "matmuls in ").replace(".", " ")
        rows.append(
            [name.replace("_", " "), show(figure.value), interval(*ends, show) if ends else ""]
        )
    return rows


def _shown(figure: Figure) -> Callable[[float], str]:
    """How a figure is told, by its unit."""
    if figure.unit.startswith("FLOP"):
        return lambda value: f"{operations(value)}/s"
    if figure.unit.startswith("bytes/s"):
        return lambda value: f"{size(value)}/s"
    return duration if figure.unit.startswith("seconds") else size


def _series(found: Found) -> Rows:
    """What was timed, and how far off the fit is."""
    rows = [["timed", "group", "points", "sizes", "median", "worst off"]]
    for name, judged in _by_series(found.calibration.judged).items():
        kind, group, dtype = name
        kept = sorted(one.factor for one in judged if not one.outlier)
        errors = [off(median(kept)), off(kept[-1])] if kept else ["", ""]
        works = [told(one.sample, one.sample.work) for one in judged]
        sizes = f"{works[0]} to {works[-1]}" if len(works) > 1 else works[0]
        rows.append([f"{kind} {dtype}", spelled(group), str(len(judged)), sizes, *errors])
    return rows


def _by_series(judged: Sequence[Judged]) -> dict[Series, list[Judged]]:
    """The samples of each series, the small first."""
    found: dict[Series, list[Judged]] = {}
    for one in sorted(judged, key=lambda one: one.sample.work):
        found.setdefault(one.sample.series, []).append(one)
    order = {kind: number for number, kind in enumerate(KINDS)}
    return dict(sorted(found.items(), key=lambda item: (order[item[0][0]], spelled(item[0][1]))))


def told(sample: Sample, work: float) -> str:
    """What a sample's work is, for a person."""
    return operations(work) if sample.kind == "matmul" else size(work)


def _outliers(found: Found) -> Rows:
    """What was left out of the fit, the furthest off first."""
    far = sorted(found.calibration.outliers, key=lambda one: -one.factor)
    rows = [["outlier", f"{_named(one)}, left out of the fit"] for one in far[:LISTED]]
    more = len(far) - len(rows)
    return [*rows, *([["", f"and {more} more"]] if more > 0 else [])]


def _named(one: Judged) -> str:
    sample = one.sample
    over = f" over {spelled(sample.group)}" if sample.group else ""
    took = f"{duration(sample.seconds)} where the fit has {duration(one.predicted)}"
    return f"{sample.kind} of {told(sample, sample.work)} in {sample.dtype}{over}: {took}"


def _refused(found: Found) -> Rows:
    """What could not be timed, by its series: the first that could not."""
    first = {point.taking(1.0).series: (point, why) for point, why in reversed(found.refused)}
    return [["not timed", f"{_point(point)}: {why}"] for point, why in first.values()]


def _point(point: Point) -> str:
    sample = point.taking(1.0)
    over = f" over {spelled(sample.group)}" if sample.group else ""
    return f"{sample.kind} of {told(sample, sample.work)} in {sample.dtype}{over}"


# For a machine.


def document(found: Found, output: str) -> Document:
    """The same for a machine: each figure, and each sample beside what the fit says."""
    calibration = found.calibration
    return {
        "machine": calibration.machine.name,
        "file": output,
        "samples_file": found.file,
        "source": found.samples.setting.source,
        "figures": [_figure(one, calibration.intervals) for one in calibration.machine.figures],
        "samples": [_sample(one) for one in calibration.judged],
        "not_timed": [{"what": _point(point), "why": why} for point, why in found.refused],
    }


def _figure(figure: Figure, intervals: Mapping[str, tuple[float, float]]) -> Document:
    low, high = intervals.get(figure.name, (None, None))
    return {
        "name": figure.name,
        "value": figure.value,
        "unit": figure.unit,
        "low": low,
        "high": None if high == inf else high,
        "fitted": figure.fitted,
    }


def _sample(one: Judged) -> Document:
    sample = one.sample
    return {
        "kind": sample.kind,
        "group": spelled(sample.group),
        "dtype": sample.dtype,
        "work": sample.work,
        "seconds": sample.seconds,
        "predicted_seconds": one.predicted,
        "outlier": one.outlier,
    }
