"""Everything timed, one sample after the other, kept in a file as it comes.

What the file has already is not timed again: a run that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from layoutc.codegen.measure import present
from layoutc.codegen.measure.bench import Bench, Refused
from layoutc.codegen.measure.points import Point, most, points
from layoutc.dsl.errors import Diagnostic
from layoutc.dsl.source import decode
from layoutc.solver.hardware.samples import Sample, Samples, Setting, head, line
from layoutc.solver.hardware.samples_reading import read_samples

Watch = Callable[[list[int]], Iterable[int]]
"""Passes numbers on one by one, and shows how far it is."""


class OtherMachine(Exception):
    """The samples that are there are of another machine; the message says what differs."""


class BrokenSamples(Exception):
    """The file that is there is none of samples: its text, and every error in it."""

    def __init__(self, text: str, errors: list[Diagnostic]) -> None:
        super().__init__()
        self.text, self.errors = text, errors


class Stopped(KeyboardInterrupt):
    """Somebody stopped it; `done` of `total` points are in the file."""

    def __init__(self, done: int, total: int) -> None:
        super().__init__()
        self.done, self.total = done, total


@dataclass(frozen=True, slots=True)
class Taken:
    """All samples, how many of them were there before, and what could not be timed, and why."""

    samples: Samples
    before: int
    refused: tuple[tuple[Point, str], ...]


def taken(path: Path, repeats: int, largest: int | None, watch: Watch) -> Taken:
    """The samples of the devices that JAX sees; those that `path` lacks are timed and added to it.

    Args:
        repeats: how often each is timed; the median counts.
        largest: bytes of the largest move; None is what suits the devices.

    Raises:
        OSError: the file can't be read or written.
        BrokenSamples: it is no file of samples.
        OtherMachine: it is of another machine.
        Stopped: by Ctrl-C. What was timed is in the file.
    """
    setting = present.setting()
    before = _before(path, setting)
    if not before:
        path.write_text(head(setting), encoding="utf-8")
    found = list(before.samples) if before else []
    wanted = points(setting, largest or most(setting))
    there = {sample.point for sample in found}
    left = [point for point in wanted if point.taking(1.0).point not in there]
    refused: list[tuple[Point, str]] = []
    bench = Bench(setting, repeats)
    for known in sorted(found, key=lambda sample: sample.work):
        bench.known(known)
    try:
        with path.open("a", encoding="utf-8") as file:
            for number in watch(list(range(len(left)))):
                sample = _timed(bench, left[number], refused)
                if sample:
                    file.write(line(sample))
                    file.flush()
                    found.append(sample)
    except KeyboardInterrupt:
        raise Stopped(len(found), len(wanted)) from None
    count = len(before.samples) if before else 0
    kept = before.setting if before else setting
    return Taken(Samples(kept, tuple(found)), count, tuple(refused))


def _timed(bench: Bench, point: Point, refused: list[tuple[Point, str]]) -> Sample | None:
    try:
        return bench.time(point)
    except Refused as why:
        refused.append((point, str(why)))
        return None


def _before(path: Path, setting: Setting) -> Samples | None:
    """What the file has; None where there is none. A last line that was cut off is dropped."""
    if not path.exists():
        return None
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if not whole:
        return None
    text = decode(whole)
    if isinstance(text, Diagnostic):
        raise BrokenSamples("", [text])
    found = read_samples(text)
    if not isinstance(found, Samples):
        raise BrokenSamples(text, found)
    differences = found.setting.differences(setting)
    if differences:
        raise OtherMachine("; ".join(differences))
    if len(whole) < len(data):
        path.write_bytes(whole)
    return found
