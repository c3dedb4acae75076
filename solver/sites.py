"""Where a program's mesh can lie: every mesh of a number of chips, in every place on a machine."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import prod

from layoutc.dsl.program import Axis, Program
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.placement import placements
from layoutc.solver.hardware.tier import slices
from layoutc.solver.meshes import Mesh, interchangeable, renamings


def sites(axes: tuple[Axis, ...], chips: int, machine: Machine) -> Iterator[Fabric]:
    """Every placement of the axes, sizes that are given kept, on every slice of so many chips."""
    for one in slices(machine.tiers, chips):
        for placement in placements(machine.tiers, one, axes):
            yield Fabric(machine, placement.mesh, placement)


def at(program: Program, mesh: Mesh, machine: Machine) -> Iterator[Fabric]:
    """The places of one mesh, those left out on which all takes as long as on another."""
    axes = tuple(Axis(axis.name, mesh[axis.name]) for axis in program.axes)
    seen: set[object] = set()
    for fabric in sites(axes, prod(mesh.values()), machine):
        key = fabric.key(tuple(mesh))
        if key not in seen:
            seen.add(key)
            yield fabric


def distinct(program: Program, chips: int, machine: Machine) -> list[list[Fabric]]:
    """By mesh, the places that differ by more than a renaming of interchangeable axes, and that are
    not in everything as slow as another."""
    alike = interchangeable(program)
    names = list(renamings(program))
    seen: set[object] = set()
    found: dict[tuple[int, ...], list[Fabric]] = {}
    for fabric in sites(program.axes, chips, machine):
        if any(fabric.mesh[a] < fabric.mesh[b] for a, b in pairwise(alike)):
            continue
        mesh, axes = fabric.mesh, tuple(fabric.mesh)
        same = (name for name in names if all(mesh[name[a]] == mesh[a] for a in axes))
        keys = {fabric.key(tuple(name[a] for a in axes)) for name in same}
        if seen.isdisjoint(keys):
            seen |= keys
            found.setdefault(tuple(fabric.mesh.values()), []).append(fabric)
    return [_undominated(fabrics) for fabrics in found.values()]


def _undominated(fabrics: list[Fabric]) -> list[Fabric]:
    """Without those on which nothing takes less time than on another."""
    rates = [fabric.times() for fabric in fabrics]
    return [
        fabric
        for i, fabric in enumerate(fabrics)
        if not any(
            j != i and all(a <= b for a, b in zip(rates[j], rates[i], strict=True))
            for j in range(len(fabrics))
        )
    ]
