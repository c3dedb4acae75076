"""Timings of one machine's moves, matmuls and memory, and the CSV file that keeps them.

Lines that begin with "#" say of which machine they are; then come the columns' names and a line for
each sample. `docs/calibrate.md` describes the file for those who write their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal, get_args

from layoutc.dsl.program import Dtype
from layoutc.solver.hardware.shapes import Shape, Shapes
from layoutc.solver.hardware.tier import Tier, Topology, Wraparound
from layoutc.solver.hardware.timing import Run, Stage

MoveTimed = Literal["all-gather", "reduce-scatter", "all-reduce", "all-to-all", "permute"]
SampleKind = MoveTimed | Literal["matmul", "memory"]

MOVES: tuple[MoveTimed, ...] = get_args(MoveTimed)
KINDS: tuple[SampleKind, ...] = (*MOVES, "matmul", "memory")
COLUMNS = ("kind", "group", "dtype", "work", "seconds")

Group = tuple[tuple[Run, ...], ...]
"""The chips of a collective: for each tier, the innermost first, a run along each of its axes."""

OPEN = Wraparound(0)
"""No axis is closed."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One timing. `work` is what `seconds` are spent on: of a move the bytes of D, the larger side
    of it on one chip; of a matmul the operations of one chip; of memory the bytes it reads."""

    kind: SampleKind
    group: Group
    dtype: Dtype
    work: float
    seconds: float

    @property
    def point(self) -> tuple[SampleKind, Group, Dtype, float]:
        """What was timed."""
        return self.kind, self.group, self.dtype, self.work

    @property
    def series(self) -> tuple[SampleKind, Group, Dtype]:
        """What was timed, whatever its size."""
        return self.kind, self.group, self.dtype


@dataclass(frozen=True, slots=True)
class Seen:
    """A tier as it was found: its shape, and which of its axes are closed."""

    name: str
    topology: Topology
    extents: Shape
    wraparound: Wraparound = OPEN

    @property
    def tier(self) -> Tier:
        """The tier, its figures left open. Of a torus, smaller shapes can be had too."""
        axes, shaped = len(self.extents), self.topology in ("torus", "line")
        longest = tuple(sorted(self.extents)) if shaped else ()
        shapes = Shapes(axes, chips=0 if shaped else prod(self.extents), longest=longest)
        wraps = self.wraparound if self.topology == "torus" else Wraparound()
        return Tier(self.name, self.topology, 1.0, cut=not shaped, shapes=shapes, wraparound=wraps)

    def stage(self, runs: Sequence[Run], tier: Tier) -> Stage | None:
        """What a collective along runs uses of `tier`; None where it stays on one chip."""
        if not tier.shaped:
            size = prod(run.size for run in runs)
            return Stage(tier, (Run(size),)) if size > 1 else None
        rings = tier.rings(self.extents)
        closed = [
            replace(run, ring=ring and run.size * run.stride == length)
            for run, ring, length in zip(runs, rings, self.extents, strict=True)
            if run.size > 1
        ]
        return Stage(tier, tuple(closed)) if closed else None


@dataclass(frozen=True, slots=True)
class Setting:
    """The machine that was timed, and when. `memory_bytes` are those of one chip."""

    device: str
    platform: str
    devices: int
    jax: str
    date: str
    memory_bytes: int
    seen: tuple[Seen, ...]

    @property
    def source(self) -> str:
        """What a figure that comes from the timings says of itself."""
        platform = f" ({self.platform})" if self.platform else ""
        machine = f"{self.devices} × {self.device}{platform}"
        date = f", {self.date}" if self.date else ""
        if not self.jax:
            return f"timings of {machine}{date}"
        return f"measured with layoutc calibrate on {machine}, JAX {self.jax}{date}"

    def differences(self, other: Setting) -> list[str]:
        """What is not the same on another machine, "device: A, here B"; the day may differ."""
        pairs = {
            "device": (self.device, other.device),
            "platform": (self.platform, other.platform),
            "devices": (self.devices, other.devices),
            "JAX": (self.jax, other.jax),
            "network": (told(self.seen), told(other.seen)),
        }
        return [f"{what} {a}, here {b}" for what, (a, b) in pairs.items() if a != b]


@dataclass(frozen=True, slots=True)
class Samples:
    """All timings of one machine."""

    setting: Setting
    samples: tuple[Sample, ...]


# As text.


def spelled(group: Group) -> str:
    """ "4x1x1" of a torus, "2@4" of two chips that are four apart, "8*2" through two tiers."""
    return "*".join("x".join(map(_run, runs)) for runs in group)


def _run(run: Run) -> str:
    return f"{run.size}@{run.stride}" if run.stride > 1 else str(run.size)


RUN = r"[1-9]\d{0,6}(?:@[1-9]\d{0,6})?"
GROUP = re.compile(rf"{RUN}(?:x{RUN})*(?:\*{RUN}(?:x{RUN})*)*")


def group(text: str) -> Group | None:
    """The group that a text spells, None if it spells none."""
    if not GROUP.fullmatch(text):
        return None
    return tuple(tuple(map(_along, part.split("x"))) for part in text.split("*"))


def _along(text: str) -> Run:
    size, _, stride = text.partition("@")
    return Run(int(size), int(stride or 1))


def misplaced(group: Group, seen: Sequence[Seen]) -> str:
    """Why a group is none of the machine; "" if it is one."""
    if len(group) != len(seen):
        return f"it is of {len(group)} tiers, and the machine has {len(seen)}"
    for runs, one in zip(group, seen, strict=True):
        if len(runs) != len(one.extents):
            count = len(one.extents)
            return f"{one.name} has {count} ax{'i' if count == 1 else 'e'}s"
        for run, length in zip(runs, one.extents, strict=True):
            if length % (run.size * run.stride):
                return f"{_run(run)} is no part of the {length} of {one.name}"
    if prod(run.size for runs in group for run in runs) == 1:
        return "it is of one chip, and nothing moves"
    return ""


def told(seen: Sequence[Seen]) -> str:
    """The tiers of a machine in a line."""
    return "; ".join(map(tier_line, seen))


def tier_line(one: Seen) -> str:
    """A tier as its line has it: "ICI, torus, 4x4x8, wraps 4 together"."""
    said = [one.name, one.topology, "x".join(map(str, one.extents))]
    if one.topology == "torus" and one.wraparound.multiple:
        wraps = one.wraparound
        said.append(f"wraps {wraps.multiple}" + " together" * wraps.together)
    return ", ".join(said)


def head(setting: Setting) -> str:
    """What a file of samples begins with, the columns' names included."""
    lines = {
        "device": setting.device,
        "platform": setting.platform,
        "devices": setting.devices,
        "jax": setting.jax,
        "date": setting.date,
        "memory_bytes": setting.memory_bytes,
    }
    said = [f"# {key}: {value}\n" for key, value in lines.items()]
    said += [f"# tier: {tier_line(one)}\n" for one in setting.seen]
    return "".join([*said, ",".join(COLUMNS), "\n"])


def line(sample: Sample) -> str:
    """A sample as a line of the file."""
    where, work = spelled(sample.group), f"{sample.work:.17g}"
    return f"{sample.kind},{where},{sample.dtype},{work},{sample.seconds:.6g}\n"
