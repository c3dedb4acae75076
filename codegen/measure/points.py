"""What is timed: which moves, over which groups, matmuls and reads, and of which sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from layoutc.codegen.measure.groups import groups
from layoutc.dsl.program import DTYPES, Dtype
from layoutc.solver.hardware.samples import MOVES, Group, Sample, SampleKind, Setting

KIB, MIB = 2**10, 2**20

LEAST = KIB
"""The bytes of the smallest move."""

STEP = 4
"""Each size is so many times the one before."""

COMPUTED: tuple[Dtype, ...] = ("f32", "bf16", "int8")
"""The dtypes of matmuls."""

MULTIPLIED = {True: (128, 192, 256, 384, 512), False: (512, 1024, 2048, 4096, 6144, 8192)}
"""The sides of square matrices, on a CPU and elsewhere."""

READ = {True: (1024, 1536, 2048, 3072, 4096), False: (4096, 6144, 8192, 12288, 16384)}
"""The sides of weights that are read, which are larger than caches."""


@dataclass(frozen=True, slots=True)
class Point:
    """One thing to time. `extent` is its size: the elements of D, or the side of a matrix."""

    kind: SampleKind
    group: Group
    dtype: Dtype
    extent: int

    @property
    def work(self) -> float:
        """What a sample's `work` says."""
        match self.kind:
            case "matmul":
                return 2.0 * self.extent**3
            case "memory":
                return float(DTYPES[self.dtype] * self.extent**2)
            case _:
                return float(DTYPES[self.dtype] * self.extent)

    def taking(self, seconds: float) -> Sample:
        """The sample that it took so long."""
        return Sample(self.kind, self.group, self.dtype, self.work, seconds)


def most(setting: Setting) -> int:
    """The bytes of the largest move where nothing is said: what is quick enough to wait for."""
    return 4 * MIB if setting.platform == "cpu" else 256 * MIB


def held(setting: Setting) -> Dtype:
    """The dtype of what is moved and read: on CPUs XLA moves nothing narrower than f32."""
    return "f32" if setting.platform == "cpu" else "bf16"


def points(setting: Setting, most: int) -> list[Point]:
    """Everything to time, the small before the large, so that what is too slow can be left out."""
    room = setting.memory_bytes // 16
    found = [*_moves(setting, min(most, room)), *_matmuls(setting), *_memory(setting, room)]
    return sorted(found, key=lambda point: point.work if point.group else point.work / 1e3)


def _moves(setting: Setting, most: int) -> Iterator[Point]:
    if setting.devices == 1:
        return
    dtype = held(setting)
    for group in groups(setting.seen):
        chips = prod(run.size for runs in group for run in runs)
        sizes = {elements(size, dtype, chips) for size in _sizes(LEAST, most)}
        for kind in MOVES:
            yield from (Point(kind, group, dtype, size) for size in sorted(sizes))


def _matmuls(setting: Setting) -> Iterator[Point]:
    for dtype in COMPUTED:
        for side in MULTIPLIED[setting.platform == "cpu"]:
            yield Point("matmul", (), dtype, side)


def _memory(setting: Setting, room: int) -> Iterator[Point]:
    dtype = held(setting)
    for side in READ[setting.platform == "cpu"]:
        if DTYPES[dtype] * side**2 <= room:
            yield Point("memory", (), dtype, side)


def _sizes(least: int, most: int) -> Iterator[int]:
    while least <= most:
        yield least
        least *= STEP


def elements(bytes_: int, dtype: Dtype, chips: int) -> int:
    """The elements of D in about so many bytes: every chip has a part, and a part of each part."""
    return -(-bytes_ // DTYPES[dtype] // chips**2) * chips**2
