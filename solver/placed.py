"""The best place of an explicit program on a machine: by counting, start-up times and hops among
it, and not by formula."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose

from layoutc.dsl.program import Program
from layoutc.solver.formula import communication, moving
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.meshes import Mesh, uneven
from layoutc.solver.sites import sites
from layoutc.solver.unsolvable import explain, no_place
from layoutc.solver.whole import undivided

CLOSE = 1e-9
"""Times that differ by less, relatively, are the same."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where moving takes the least time, in `seconds`, of which `latency` go to starting and hops.

    `formula` is what it would take for large K, in seconds; `elements` are what a chip receives.
    `ties` are the places on other meshes that are as good, `fabric` lies on the most even.
    `undivided` names the tensors' dims that its sizes do not divide.
    """

    fabric: Fabric
    seconds: float
    latency: float
    formula: float
    elements: float
    ties: tuple[Fabric, ...]
    undivided: tuple[str, ...]

    @property
    def chips(self) -> int:
        """How many there are."""
        return self.fabric.chips

    @property
    def mesh(self) -> Mesh:
        """The size of each axis."""
        return dict(self.fabric.mesh)


def best_place(program: Program, chips: int, machine: Machine) -> Placed:
    """The best of all places of all meshes of `chips` chips. Every dim has a size.

    A mesh counts whether or not its axes divide the dims: padding is another question.

    Raises:
        Unsolvable: no mesh of so many chips has a place on the machine.
    """
    times = [(_seconds(program, place), place) for place in sites(program.axes, chips, machine)]
    if not times:
        raise no_place(program, chips, machine) or explain(program, chips, machine)
    least = min(seconds for seconds, _ in times)
    as_good = [place for seconds, place in times if isclose(seconds, least, rel_tol=CLOSE)]
    fabric, *ties = _one_a_mesh(sorted(as_good, key=_parted))
    sizes, mesh = program.sizes, dict(fabric.mesh)
    nothing = dict.fromkeys(sizes, 0)
    received = communication(program, mesh, exact=True).exact({**sizes, **mesh})
    return Placed(
        fabric,
        least,
        float(moving(program, fabric).exact(nothing)),
        float(moving(program, fabric, large=True).exact(sizes)),
        float(received),
        tuple(ties),
        undivided(program, sizes, mesh),
    )


def _seconds(program: Program, place: Fabric) -> float:
    return float(moving(program, place).exact(program.sizes))


def _parted(place: Fabric) -> tuple[tuple[int, ...], int]:
    """Smaller for the more even mesh, and of one mesh where fewer axes are in several parts."""
    parts = place.placement.parts.values()
    return uneven(dict(place.mesh)), sum(map(len, parts))


def _one_a_mesh(places: list[Fabric]) -> Iterator[Fabric]:
    """The first place of each mesh."""
    seen: set[tuple[int, ...]] = set()
    for place in places:
        key = tuple(place.mesh.values())
        if key not in seen:
            seen.add(key)
            yield place
