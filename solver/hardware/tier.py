"""How chips are linked: tiers, each a torus, lines, a switch, or a network without a shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Literal

from layoutc.solver.hardware.shapes import Shape, Shapes

Topology = Literal["flat", "torus", "line", "switch"]

TOPOLOGIES: tuple[Topology, ...] = ("flat", "torus", "line", "switch")


@dataclass(frozen=True, slots=True)
class Wraparound:
    """Which axes of a torus are closed to rings: those whose size is a multiple of `multiple` (0:
    none). Where they wrap `together`, all are, or none. `source` is where that is from."""

    multiple: int = 1
    together: bool = False
    source: str = field(default="", compare=False)

    def of(self, shape: Shape) -> tuple[bool, ...]:
        """For each axis, whether it is a ring."""
        closed = tuple(bool(self.multiple) and size % self.multiple == 0 for size in shape)
        return (all(closed),) * len(shape) if self.together else closed


@dataclass(frozen=True, slots=True)
class Tier:
    """Chips that are linked alike; of an outer tier, groups of chips that are.

    `bandwidth` is in bytes/s: of a torus or a line that of one link in one direction, of a switch
    or a flat network what one chip receives. `hop` is seconds a hop, `start` seconds a collective;
    a flat network has neither. A torus whose links run `both_ways` is used in both directions at
    once. A gather goes along `at_once` physical axes at a time, along all of its own if that is 0.
    An axis of a torus or a line is taken whole by a mesh axis, unless it may be `cut`; a switch can
    always be cut.
    """

    name: str
    topology: Topology
    bandwidth: float
    hop: float = 0.0
    start: float = 0.0
    both_ways: bool = True
    cut: bool = False
    shapes: Shapes = field(default_factory=Shapes)
    wraparound: Wraparound = field(default_factory=Wraparound)
    at_once: int = 0

    @property
    def shaped(self) -> bool:
        """Whether it matters which chips are neighbours."""
        return self.topology in ("torus", "line")

    @property
    def divisible(self) -> bool:
        """Whether a mesh axis may take a part of a physical axis."""
        return self.cut or not self.shaped

    @property
    def received(self) -> float:
        """Bytes/s that a chip receives over all its links at once."""
        if not self.shaped:
            return self.bandwidth
        ways = 2 if self.both_ways or self.topology == "line" else 1
        return self.shapes.axes * ways * self.bandwidth

    def rings(self, shape: Shape) -> tuple[bool, ...]:
        """For each axis of a shape, whether it is closed to a ring."""
        if self.topology != "torus":
            return (False,) * len(shape)
        return self.wraparound.of(shape)

    def faster(self, factor: float) -> Tier:
        """The same with so many times the bandwidth."""
        return replace(self, bandwidth=factor * self.bandwidth)


LOOKED = 4096
"""So far beyond a number of chips the next that can be had is looked for, at least."""

Slice = tuple[Shape, ...]
"""The shape taken of each tier, the innermost first; a tier that is not used has sizes of 1."""


def slices(tiers: Sequence[Tier], chips: int) -> Iterator[Slice]:
    """The slices of so many chips. Of tiers inside one that is used, all is taken."""
    inner, *outer = tiers
    unused = tuple((1,) * tier.shapes.axes for tier in outer)
    found = inner.shapes.of(chips)
    if found or not outer:
        yield from ((shape, *unused) for shape in found)
        return
    for shape in inner.shapes.whole:
        if chips % prod(shape) == 0:
            yield from ((shape, *rest) for rest in slices(outer, chips // prod(shape)))


def most(tiers: Sequence[Tier]) -> int:
    """The most chips there are; 0 where there is no end."""
    return prod(tier.shapes.most for tier in tiers)


def most_axes(tiers: Sequence[Tier]) -> int:
    """The most physical axes of a tier; 0 where none has axes."""
    return max((tier.shapes.axes for tier in tiers if tier.shaped), default=0)


def nearest(tiers: Sequence[Tier], chips: int) -> tuple[int, int]:
    """The numbers of chips next to one that can't be had, 0 where there is none."""
    end = most(tiers)
    below = range(min(chips - 1, end or chips), 0, -1)
    above = range(chips + 1, (end or 2 * chips + LOOKED) + 1)
    had = (next((n for n in way if any(slices(tiers, n))), 0) for way in (below, above))
    return next(had), next(had)


def spelled(one: Slice) -> str:
    """4x8x8; of two tiers, groups of 8 and two of them, 8·2."""
    used = [shape for shape in one if prod(shape) > 1] or [one[0]]
    return "·".join("x".join(map(str, shape)) for shape in used)
