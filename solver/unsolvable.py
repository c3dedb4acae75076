"""Why no mesh will do, said in the words of the file."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd, prod

from layoutc.dsl.printer import print_dim
from layoutc.dsl.program import Axis, Program, Type
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.tier import Slice, nearest, slices, spelled
from layoutc.solver.meshes import Mesh, meshes, uneven
from layoutc.solver.sites import sites

REACH = 64
"""How far around the number of chips a better one is looked for."""


class Unsolvable(Exception):
    """No mesh and layouts satisfy a program.

    `name` is the tensor in whose way it stands, "" if it is nobody's; `hint` is the fix.
    """

    def __init__(self, message: str, hint: str = "", name: str = "") -> None:
        super().__init__(message)
        self.message, self.hint, self.name = message, hint, name


def no_place(program: Program, chips: int, machine: Machine) -> Unsolvable | None:
    """Why a mesh of so many chips is not to be had on a machine; None if it is."""
    if any(True for _ in sites(program.axes, chips, machine)):
        return None
    if not any(True for _ in meshes(program.axes, chips)):
        return _no_mesh(program, chips)
    found = list(slices(machine.tiers, chips))
    if not found:
        near = " or ".join(f"{n:,}" for n in nearest(machine.tiers, chips) if n)
        return Unsolvable(f"{machine.name} has no slice of {chips:,} chips", f"take {near}")
    return _not_whole(program, chips, machine, found)


def _not_whole(program: Program, chips: int, machine: Machine, found: list[Slice]) -> Unsolvable:
    """An axis of the mesh that would be a part of a physical one."""
    sizes = " ".join(f"{a.name}={a.size}" for a in program.axes if a.size is not None)
    shapes = ", ".join(map(spelled, found))
    free = tuple(Axis(axis.name, None) for axis in program.axes)
    near = min((dict(f.mesh) for f in sites(free, chips, machine)), key=uneven, default={})
    takes = " ".join(f"{a}={n}" for a, n in near.items())
    hints = [f"{takes} would do"] * bool(near) + ["--network flat takes any mesh"]
    return Unsolvable(
        f"the mesh {sizes} has no place on {machine.name}: of {chips:,} chips there is {shapes}, "
        "and a mesh axis takes whole axes of it",
        ", or ".join(hints),
    )


def explain(program: Program, chips: int, machine: Machine | None = None) -> Unsolvable:
    """The reason why no mesh of `chips` chips satisfies `program`."""
    found = [dict(f.mesh) for f in sites(program.axes, chips, machine)] if machine else []
    found = found or list(meshes(program.axes, chips))
    if not found:
        return _no_mesh(program, chips)
    best, where = min(((_faults(program, mesh), mesh) for mesh in found), key=lambda f: len(f[0]))
    if not best:
        return _nothing_divides(program, chips, machine)
    name, message = best[0]
    shown = " ".join(f"{a}={s}" for a, s in where.items())
    near = f"on the mesh that comes nearest, {shown}: {message}"
    return Unsolvable(
        f"no mesh of {chips} chips fits every layout; {near}",
        _repair(program, chips, machine),
        name,
    )


def _faults(program: Program, mesh: Mesh) -> list[tuple[str, str]]:
    """What does not divide in what is written of the layouts, in any phase."""
    found = []
    for one in program.passes:
        where = f" in {one.phase.name}" if len(program.phases) > 1 else ""
        for name, held in one.types.items():
            fault = _fault(one, name, held, mesh)
            if fault:
                found.append((name, fault[1] + where))
    return found


def _no_mesh(program: Program, chips: int) -> Unsolvable:
    pinned = {a.name: a.size for a in program.axes if a.size is not None}
    product = prod(pinned.values())
    sizes = " ".join(f"{a}={s}" for a, s in pinned.items())
    if len(pinned) == len(program.axes):
        message = f"the mesh {sizes} has {product} chips, not {chips}"
        return Unsolvable(message, f"--chips {product}, or leave an axis without a size")
    low, high = chips // product * product, (chips // product + 1) * product
    near = f"{low} or {high}" if low else str(high)
    return Unsolvable(f"{chips} chips are not a multiple of {sizes}", f"take {near}")


def _fault(program: Program, name: str, held: Type, mesh: Mesh) -> tuple[str, str] | None:
    """What does not divide in what is written of one layout."""
    for dim in held.shape:
        size, parts = program.dims[dim.name] or 1, prod(mesh[a] for a in dim.axes)
        if size % parts:
            low, high = size // parts * parts, (size // parts + 1) * parts
            useful = program.useful.get(dim.name, 0)
            near = f"{low} or {high}" if low >= max(1, useful) else str(high)
            near = f"padded {near}" if useful else near
            said = _sizes(program, [dim.name])
            return name, f"{name} : {held.shape} cuts {said} into {parts}; {near} would do"
    if held.shape.hole == "!":
        return _unspread(program, name, held, mesh)
    return None


def _unspread(program: Program, name: str, held: Type, mesh: Mesh) -> tuple[str, str] | None:
    """Whether a tensor that is stored once can be cut into as many parts as there are chips."""
    parts = prod(mesh.values())
    able = prod(gcd(program.dims[d] or 1, parts) for d in held.shape.names)
    if able % parts == 0 and able >= parts:
        return None
    sizes = _sizes(program, held.shape.names)
    return name, f"{name} : {held.shape} can't be cut into {parts} equal parts ({sizes})"


def _sizes(program: Program, dims: Iterable[str]) -> str:
    return " ".join(print_dim(d, program.dims[d], program.useful.get(d)) for d in dims)


def _repair(program: Program, chips: int, machine: Machine | None) -> str:
    """The nearest numbers of chips, below and above, on which what is written divides."""
    ways = range(chips - 1, max(0, chips - REACH), -1), range(chips + 1, chips + REACH)
    below, above = (next((n for n in way if _able(program, n, machine)), 0) for way in ways)
    near = " or ".join(str(n) for n in (below, above) if n)
    return f"{near} chip{'' if near == '1' else 's'} would do" if near else ""


def _able(program: Program, chips: int, machine: Machine | None) -> bool:
    had = machine is None or any(True for _ in slices(machine.tiers, chips))
    return had and divides(program, chips)


def divides(program: Program, chips: int) -> bool:
    """Whether what is written of the layouts divides on some mesh of so many chips."""
    return any(not _faults(program, mesh) for mesh in meshes(program.axes, chips))


def _nothing_divides(program: Program, chips: int, machine: Machine | None) -> Unsolvable:
    sizes = "; ".join(_sizes(one, one.dims) for one in program.passes)
    return Unsolvable(
        f"no mesh of {chips} chips has layouts that divide every dim ({sizes}) and satisfy every "
        "statement",
        _repair(program, chips, machine),
    )
