"""From timings to a machine: the figures with which `timing.py` predicts them best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from layoutc.dsl.errors import START, Diagnostic
from layoutc.dsl.program import DTYPES, Dtype
from layoutc.solver.hardware import parts
from layoutc.solver.hardware.machine import Figure, Machine
from layoutc.solver.hardware.parts import FIGURES, ORDER, Judged, Part
from layoutc.solver.hardware.samples import MOVES, Sample, SampleKind, Samples, Seen, Setting
from layoutc.solver.hardware.shapes import Shapes
from layoutc.solver.hardware.tier import Tier
from layoutc.solver.hardware.values import UNITS


@dataclass(frozen=True, slots=True)
class Calibration:
    """A machine that was fitted, and every sample held against it."""

    machine: Machine
    judged: tuple[Judged, ...]
    intervals: Mapping[str, tuple[float, float]]
    """The 95% interval of each fitted figure, by its name; infinite where nothing bounds it."""

    @property
    def outliers(self) -> tuple[Judged, ...]:
        """What was left out."""
        return tuple(one for one in self.judged if one.outlier)


def calibrated(samples: Samples, name: str) -> Calibration | list[Diagnostic]:
    """The machine, called `name`, or why the samples don't tell it."""
    wrong = list(_missing(samples))
    if wrong:
        return wrong
    found, seen = _parts(samples), samples.setting.seen
    wrong = list(_boundless(found, seen))
    if wrong:
        return wrong
    machine = _machine(found, samples.setting, name)
    judged = tuple(one for part in found.every for one in part.judged)
    return Calibration(machine, judged, dict(_intervals(found, seen)))


@dataclass(frozen=True, slots=True)
class _Parts:
    """What was fitted; of a chip that is alone, no network."""

    matmuls: Mapping[Dtype, Part]
    memory: Part
    network: Part | None

    @property
    def every(self) -> tuple[Part, ...]:
        network = (self.network,) if self.network else ()
        return (*self.matmuls.values(), self.memory, *network)


def _parts(samples: Samples) -> _Parts:
    setting = samples.setting
    matmuls = {dtype: _chosen(samples, "matmul", dtype) for dtype in DTYPES}
    moves = [s for s in samples.samples if s.kind in MOVES]
    return _Parts(
        {dtype: parts.work(own) for dtype, own in matmuls.items() if own},
        parts.work(_chosen(samples, "memory")),
        parts.network(moves, setting.seen) if setting.devices > 1 else None,
    )


def _chosen(samples: Samples, kind: SampleKind, dtype: Dtype | None = None) -> list[Sample]:
    return [s for s in samples.samples if s.kind == kind and dtype in (None, s.dtype)]


def _intervals(found: _Parts, seen: Sequence[Seen]) -> Iterator[tuple[str, tuple[float, float]]]:
    for dtype, part in found.matmuls.items():
        yield f"peak_flops.{dtype}", part.ends(1)
    yield "memory_bandwidth", found.memory.ends(1)
    if found.network:
        names = [f"{one.name}.{key}" for one in seen for key in ORDER]
        yield from ((name, found.network.ends(i)) for i, name in enumerate(names))


# What is missing.


def _missing(samples: Samples) -> Iterator[Diagnostic]:
    """What has to be there, and is not."""
    if not _chosen(samples, "matmul", "bf16"):
        yield Diagnostic("there are no matmuls in bf16", START, "a machine needs their peak")
    for dtype in DTYPES:
        works = {s.work for s in _chosen(samples, "matmul", dtype)}
        if len(works) == 1:
            yield Diagnostic(f"there are matmuls in {dtype} of one size only", START, "time two")
    if len({s.work for s in _chosen(samples, "memory")}) < 2:
        yield Diagnostic("reading memory was not timed at two sizes", START, "time two")
    moves = [s for s in samples.samples if s.kind in MOVES]
    for number, one in enumerate(samples.setting.seen):
        if samples.setting.devices == 1:
            continue
        works = {s.work for s in moves if any(run.size > 1 for run in s.group[number])}
        if len(works) < 2:
            message = f"moves through {one.name} were not timed at two sizes"
            yield Diagnostic(message, START, "a small one shows the start, a large one the rate")


def _boundless(found: _Parts, seen: Sequence[Seen]) -> Iterator[Diagnostic]:
    """What takes as long whatever its size has no rate."""
    rates = {f"matmuls in {dtype}": part.estimates[1] for dtype, part in found.matmuls.items()}
    rates["reads of memory"] = found.memory.estimates[1]
    if found.network:
        bytes_ = found.network.estimates[::FIGURES]
        rates |= {f"moves through {s.name}": e for s, e in zip(seen, bytes_, strict=True)}
    for what, estimate in rates.items():
        if estimate.value <= 0:
            hint = "time larger ones, until they take longer"
            yield Diagnostic(f"{what} take as long whatever their size", START, hint)


# Figures.


def _machine(found: _Parts, setting: Setting, name: str) -> Machine:
    source = setting.source
    peaks = {d: _rate(part, 1) for d, part in found.matmuls.items()}
    bandwidth = _rate(found.memory, 1)
    memory = Figure("memory_bytes", setting.memory_bytes, "bytes", f"of the device, {source}")
    tiers, network = _tiers(found.network, setting.seen, source)
    figures = (
        *_peaks(peaks, found.matmuls, source),
        memory,
        _figure("memory_bandwidth", bandwidth, "bytes/s", found.memory, 1, source),
        *network,
    )
    title = f"{setting.devices} × {setting.device}"
    return Machine(
        name, peaks, setting.memory_bytes, bandwidth, tiers, figures=figures, title=title
    )


def _rate(part: Part, number: int) -> float:
    return _rounded(1 / part.estimates[number].value)


def _rounded(value: float) -> float:
    """Four digits: more would say more than was measured."""
    return float(f"{value:.4g}")


def _figure(name: str, value: float, unit: str, part: Part, number: int, source: str) -> Figure:
    return Figure(name, value, unit, source, part.said(number))


def _peaks(
    peaks: Mapping[Dtype, float], matmuls: Mapping[Dtype, Part], source: str
) -> list[Figure]:
    """Their file has one line for all of them."""
    said = "; ".join(f"{dtype} {part.said(1)}" for dtype, part in matmuls.items())
    return [Figure(f"peak_flops.{d}", peak, "FLOP/s", source, said) for d, peak in peaks.items()]


def _tiers(
    network: Part | None, seen: Sequence[Seen], source: str
) -> tuple[tuple[Tier, ...], list[Figure]]:
    """The tiers with their figures; a chip that is alone has a network over which nothing goes."""
    if network is None:
        alone = Tier("none", "flat", 1.0, cut=True, shapes=Shapes(chips=1, source=source))
        return (alone,), [Figure("none.bandwidth", 1.0, "bytes/s", "one chip: nothing moves")]
    tiers, figures = [], []
    for number, one in enumerate(seen):
        at = FIGURES * number
        hop, start = (_rounded(network.estimates[at + i].value) for i in (1, 2))
        shapes = replace(one.tier.shapes, source=f"as many as there were, {source}")
        tier = replace(one.tier, bandwidth=_rate(network, at), hop=hop, start=start, shapes=shapes)
        tiers.append(tier)
        figures += [
            _figure(
                f"{one.name}.{key}", getattr(tier, key), _unit(key, tier), network, at + i, source
            )
            for i, key in enumerate(ORDER)
        ]
    return tuple(tiers), figures


def _unit(key: str, tier: Tier) -> str:
    if key != "bandwidth":
        return UNITS[key]
    return "bytes/s, one link in one direction" if tier.shaped else "bytes/s that a chip receives"
