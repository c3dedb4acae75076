"""A mesh on a machine: what each collective takes over each set of its axes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from types import MappingProxyType

from layoutc.dsl.operation import MoveKind
from layoutc.solver.hardware import timing
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.placement import Part, Placement, described
from layoutc.solver.hardware.timing import Run, Stage

KINDS: tuple[MoveKind, ...] = ("all-gather", "all-reduce", "all-to-all", "permute")
"""One of each kind that takes another time: a reduce-scatter takes that of an all-gather."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A collective takes `start` seconds and `per_byte` for each byte of D, the larger side of it
    on one chip; for large K, `large` in place of that."""

    start: float
    per_byte: float
    large: float

    def seconds(self, bytes_: float) -> float:
        """What a collective of so many bytes takes."""
        return self.start + self.per_byte * bytes_


STILL = Rate(0.0, 0.0, 0.0)


class Fabric:
    """`mesh` on `machine`, its axes where `placement` says; on a flat network it says nothing."""

    def __init__(self, machine: Machine, mesh: Mapping[str, int], placement: Placement) -> None:
        self.machine, self.placement = machine, placement
        self.mesh: Mapping[str, int] = MappingProxyType(dict(mesh))
        self._rates: dict[tuple[MoveKind, frozenset[str]], Rate] = {}

    @property
    def real(self) -> Fabric:
        """Itself; of one that stands for another in the search, that other."""
        return self

    @property
    def chips(self) -> int:
        """How many there are."""
        return prod(self.mesh.values())

    def rate(self, kind: MoveKind, axes: Iterable[str]) -> Rate:
        """What a collective takes over the axes; nothing where they have one chip."""
        key = "all-gather" if kind == "reduce-scatter" else kind, frozenset(axes)
        if key not in self._rates:
            self._rates[key] = self._rate(*key)
        return self._rates[key]

    def _rate(self, kind: MoveKind, axes: frozenset[str]) -> Rate:
        stages = self.stages(axes)
        if not stages or kind == "slice":
            return STILL
        rate, large = (timing.rate(kind, stages, large) for large in (False, True))
        return Rate(timing.latency(kind, stages), rate, large)

    def stages(self, axes: Iterable[str]) -> list[Stage]:
        """What a collective over the axes goes through, the innermost first."""
        lines: dict[tuple[int, int], list[Part]] = {}
        for axis in axes:
            for part in self.placement.parts[axis]:
                lines.setdefault((part.tier, part.axis), []).append(part)
        runs: dict[int, list[list[Run]]] = {}
        for (tier, _), parts in sorted(lines.items()):
            runs.setdefault(tier, []).append(list(_runs(parts)))
        return [
            Stage(self.machine.tiers[tier], at_once)
            for tier, found in runs.items()
            for at_once in self._at_once(tier, found)
        ]

    def _at_once(self, tier: int, runs: list[list[Run]]) -> Iterator[tuple[Run, ...]]:
        """Runs of one tier that are used together: one of each physical axis, until none is left.

        Through a switch any chips are one group.
        """
        if not self.machine.tiers[tier].shaped:
            yield (Run(prod(run.size for own in runs for run in own)),)
            return
        for number in range(max(map(len, runs))):
            yield tuple(own[number] for own in runs if number < len(own))

    def bandwidth(self, axes: Iterable[str]) -> float:
        """What a chip receives over the axes in bytes/s, for large K; infinite for one chip."""
        large = self.rate("all-gather", axes).large
        return 1 / large if large else float("inf")

    @property
    def latent(self) -> bool:
        """Whether collectives have to start, or to go hop by hop."""
        return not self.machine.prompt

    @cached_property
    def fastest(self) -> float:
        """The most that a chip receives in an all-gather over any axes, in bytes/s."""
        every = [a for a in self.mesh if self.mesh[a] > 1]
        sets = [s for n in range(len(every)) for s in combinations(every, n + 1)]
        return max(map(self._receiving, sets), default=float("inf"))

    def _receiving(self, axes: tuple[str, ...]) -> float:
        new = 1 - 1 / prod(self.mesh[a] for a in axes)
        return new / self.rate("all-gather", axes).per_byte

    def times(self, axes: Sequence[str] = ()) -> tuple[float, ...]:
        """All that collectives take, the axes in this order."""
        axes = axes or tuple(self.mesh)
        sets = [s for n in range(len(axes)) for s in combinations(axes, n + 1)]
        rates = (self.rate(kind, s) for kind in KINDS for s in sets)
        return tuple(float(f"{x:.12e}") for r in rates for x in (r.start, r.per_byte, r.large))

    def key(self, axes: Sequence[str]) -> tuple[object, ...]:
        """What is the same for two fabrics on which everything takes as long."""
        sizes = tuple(self.mesh[a] for a in axes)
        return sizes if self.machine.uniform else (sizes, self.times(axes))

    def exchangeable(self, one: str, other: str) -> bool:
        """Whether everything takes as long with two axes' names exchanged."""
        if self.mesh[one] != self.mesh[other]:
            return False
        if self.machine.uniform:
            return True
        swap, axes = {one: other, other: one}, tuple(self.mesh)
        return self.key(axes) == self.key(tuple(swap.get(a, a) for a in axes))

    def renamed(self, names: Mapping[str, str]) -> Fabric:
        """The same with its axes renamed, in the order that they had."""
        mesh = {names[axis]: size for axis, size in self.mesh.items()}
        ordered = {axis: mesh[axis] for axis in self.mesh}
        return Fabric(self.machine, ordered, self.placement.renamed(names))

    def on(self, machine: Machine) -> Fabric:
        """The same place on a machine of the same shape with other figures."""
        return Fabric(machine, self.mesh, self.placement)

    def __str__(self) -> str:
        """Where the axes lie."""
        return described(self.machine.tiers, self.placement)


def uniform(mesh: Mapping[str, int], machine: Machine) -> Fabric:
    """A mesh on a machine where it doesn't matter where its axes lie."""
    assert machine.uniform, f"on {machine.name} an axis has a place"
    chips, stride, parts = prod(mesh.values()), prod(mesh.values()), {}
    for axis, size in mesh.items():
        stride //= size
        parts[axis] = (Part(0, 0, size, stride, chips, ring=False),) if size > 1 else ()
    return Fabric(machine, mesh, Placement(((chips,),), parts))


class Cheapest(Fabric):
    """Of several fabrics of one mesh, for each collective the least that it takes on any."""

    def __init__(self, fabrics: Sequence[Fabric]) -> None:
        first = fabrics[0]
        super().__init__(first.machine, first.mesh, first.placement)
        self.fabrics = fabrics

    def exchangeable(self, one: str, other: str) -> bool:
        """What is alike on the whole need not be on each."""
        return False

    def _rate(self, kind: MoveKind, axes: frozenset[str]) -> Rate:
        rates = [fabric.rate(kind, axes) for fabric in self.fabrics]
        return Rate(
            min(r.start for r in rates),
            min(r.per_byte for r in rates),
            min(r.large for r in rates),
        )


class InHalves(Fabric):
    """A fabric on which an all-reduce is no better than its two halves, a reduce-scatter and an
    all-gather, each with a start of its own: those can run inside matmuls."""

    HAIR = 1 + 1e-6
    """By so much it is worse, that the halves be taken."""

    def __init__(self, fabric: Fabric) -> None:
        super().__init__(fabric.machine, fabric.mesh, fabric.placement)
        self.whole = fabric

    @property
    def real(self) -> Fabric:
        return self.whole

    def _rate(self, kind: MoveKind, axes: frozenset[str]) -> Rate:
        found = self.whole.rate(kind, axes)
        if kind != "all-reduce":
            return found
        half = self.whole.rate("all-gather", axes)
        return Rate(2 * half.start * self.HAIR, found.per_byte, found.large)


def _runs(parts: list[Part]) -> Iterator[Run]:
    """The parts of one physical axis as runs, the innermost first; neighbours are one run."""
    size, stride = 1, 0
    for part in sorted(parts, key=lambda p: p.stride):
        if stride and part.stride != stride * size:
            yield _run(part, size, stride)
            size, stride = 1, 0
        size, stride = size * part.size, stride or part.stride
    yield _run(parts[0], size, stride)


def _run(part: Part, size: int, stride: int) -> Run:
    """A run is closed where its physical axis is, and it goes all the way round."""
    return Run(size, stride, part.ring and size * stride == part.length)
