"""What moves cost an enumeration, on a flat network and where axes have a place, in whole numbers.

Sums of whole numbers are exact, so that ways that cost the same are known to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

from layoutc.dsl.operation import MoveKind
from layoutc.dsl.program import Program
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.placement import placements
from layoutc.solver.hardware.tier import slices

FINE = 2**24 * 315
"""The units of a second where axes have a place. Times of small programs on machines with small
figures are mostly quotients by 2, 3, 5, 7 and 9, and come out whole; others are off by half a
unit, 1e-10 s, a move."""

RATED: tuple[MoveKind, ...] = ("all-gather", "all-reduce", "all-to-all", "permute")


@dataclass(frozen=True)
class Flat:
    """The page on costs: bytes that a chip receives, times the chips, which makes them whole.

    `sizes` are the mesh; `scale` is the units of a byte.
    """

    sizes: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, mesh: Mapping[str, int]) -> Flat:
        return cls(tuple(mesh.items()))

    @cached_property
    def mesh(self) -> Mapping[str, int]:
        return dict(self.sizes)

    @cached_property
    def scale(self) -> int:
        return prod(self.mesh.values())

    def cost(self, kind: MoveKind, axes: tuple[str, ...], held: int) -> int:
        """Of a move that brings anything: `held` is the bytes on one chip of its larger side."""
        group = prod(self.mesh[a] for a in axes)
        whole = held * self.scale
        if kind == "permute":
            return whole
        return (2 if kind == "all-reduce" else 1) * whole // group * (group - 1)

    def rate(self, machine: Machine) -> float:
        """The units that go by in a second."""
        return self.scale * machine.network_bandwidth

    def alike(self, names: Mapping[str, str]) -> bool:
        """Whether everything costs the same with axes of one size so renamed."""
        return True


class Placed:
    """A place on a machine: a start, and so much a byte, each time; `scale` is the units of a
    second."""

    scale = FINE

    def __init__(self, fabric: Fabric, mesh: Mapping[str, int]) -> None:
        self.fabric, self.mesh = fabric, mesh

    def cost(self, kind: MoveKind, axes: tuple[str, ...], held: int) -> int:
        rate = self.fabric.rate(kind, axes)
        return round((rate.start + rate.per_byte * held) * FINE)

    def rate(self, machine: Machine) -> float:
        return FINE

    def alike(self, names: Mapping[str, str]) -> bool:
        return self.rates(names) == self.rates({})

    def rates(self, names: Mapping[str, str]) -> dict[tuple[MoveKind, frozenset[str]], str]:
        """What a start and a byte take over every set of axes, of each set by its other names."""
        sets = [s for n in range(len(self.mesh)) for s in combinations(self.mesh, n + 1)]
        found = {}
        for kind in RATED:
            for axes in sets:
                rate = self.fabric.rate(kind, axes)
                found[kind, frozenset(names.get(a, a) for a in axes)] = (
                    f"{rate.start:.9e} {rate.per_byte:.9e}"
                )
        return found


Network = Flat | Placed
"""A mesh, and what moves cost on it."""


def placed(program: Program, chips: int, machine: Machine, kept: set[str]) -> Iterator[Placed]:
    """Every place of every mesh, one of those on which everything costs the same; axes of one chip
    are left out but for those to be `kept`."""
    seen = []
    for one in slices(machine.tiers, chips):
        for placement in placements(machine.tiers, one, program.axes):
            mesh = {a: n for a, n in placement.mesh.items() if n > 1 or a in kept}
            network = Placed(Fabric(machine, placement.mesh, placement), mesh)
            same = mesh, network.rates({})
            if same not in seen:
                seen.append(same)
                yield network
