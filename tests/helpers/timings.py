"""Timings that a machine of known figures would give, with noise, and with some that are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from layoutc.solver.hardware import timing
from layoutc.solver.hardware.samples import (
    MOVES,
    Group,
    Sample,
    SampleKind,
    Samples,
    Seen,
    Setting,
    group,
)

PEAK, READ = 2e12, 3e11


@dataclass(frozen=True, slots=True)
class Known:
    """A tier, its figures, and the noise of what is timed on it."""

    seen: Seen
    bandwidth: float
    hop: float
    start: float


def setting(tiers: Sequence[Known]) -> Setting:
    seen = tuple(one.seen for one in tiers)
    devices = prod(size for one in seen for size in one.extents)
    return Setting("chip", "none", devices, "1.2", "2030-01-31", 10**9, seen)


def seconds(tiers: Sequence[Known], kind: SampleKind, where: Group, bytes_: float) -> float:
    """What a move takes by the rules that price it."""
    assert kind in MOVES
    stages = []
    for runs, one in zip(where, tiers, strict=True):
        tier = replace(one.seen.tier, bandwidth=one.bandwidth, hop=one.hop, start=one.start)
        stages += [stage] if (stage := one.seen.stage(runs, tier)) else []
    return timing.latency(kind, stages) + timing.rate(kind, stages) * bytes_


def timings(
    tiers: Sequence[Known],
    groups: Sequence[str],
    noise: float = 0.0,
    seed: int = 0,
    wrong: int = 0,
) -> tuple[Samples, set[tuple[object, ...]]]:
    """Samples of every kind, and the points of those, `wrong` of them, that are off by a factor of
    ten."""
    random = np.random.default_rng(seed)
    found: list[Sample] = []
    for spelled in groups:
        where = group(spelled)
        assert where
        for kind in MOVES:
            for bytes_ in 4.0 ** np.arange(5, 14):
                took = seconds(tiers, kind, where, bytes_) * random.lognormal(0.0, noise)
                found.append(Sample(kind, where, "f32", float(bytes_), float(took)))
    chosen = random.choice(len(found), wrong, replace=False)
    for i in chosen:
        found[i] = replace(found[i], seconds=found[i].seconds * 10)
    points = {found[i].point for i in chosen}
    for work in (1e8, 1e9, 1e10, 1e11):
        found.append(Sample("matmul", (), "bf16", work, 1e-5 + work / PEAK))
        found.append(Sample("memory", (), "bf16", work, 1e-5 + work / READ))
    return Samples(setting(tiers), tuple(found)), points
