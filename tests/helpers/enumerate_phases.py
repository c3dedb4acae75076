"""Plain enumeration of programs of several phases: all ways to hold what the phases share.

Each phase is enumerated by itself, apart for every layout of the weights and of its caches. Then
every way is looked at to hold the weights, in all phases alike, and the caches, in each as one
likes: to hand a cache over takes what moves it to the layout in which the next phase has it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise, product
from math import inf, prod

from enumerate import Minimize, Search, Tables, all_meshes
from layouts import Layouts
from steps import declared

from layoutc.dsl.program import DTYPES, Program
from layoutc.dsl.shape import Shape
from layoutc.solver.hardware.machine import Machine

Value = tuple[float, float]
"""What is minimised, compared in order."""
Held = tuple[Shape, ...]
"""Layouts of the weights, or of the caches, in the order of the program."""


def optimum_of_phases(
    program: Program, chips: int, machine: Machine, minimize: Minimize
) -> Value | None:
    """The least over every mesh of `chips` chips; None if no mesh has a layout for everything."""
    found = (_on(program, mesh, machine, minimize) for mesh in all_meshes(program, chips))
    return min((value for value in found if value is not None), default=None)


def handed_over(
    passes: Iterable[Program], mesh: Mapping[str, int], machine: Machine, held: Iterable[Held]
) -> float:
    """The seconds of all hand-overs, the caches held so in each phase."""
    return sum(
        _handed(source, target, mesh, machine, here, there)
        for (source, target), (here, there) in zip(pairwise(passes), pairwise(held), strict=True)
    )


def _on(
    program: Program, mesh: Mapping[str, int], machine: Machine, minimize: Minimize
) -> Value | None:
    tables = [_by_layouts(alone, mesh, machine, minimize) for alone in program.passes]
    best = None
    for weights in set.intersection(*(set(table) for table in tables)):
        for choice in product(*(table[weights].items() for table in tables)):
            held, values = zip(*choice, strict=True)
            moving = handed_over(program.passes, mesh, machine, held)
            often = [alone.phase.weight for alone in program.passes]
            first, second = (
                sum(n * v[i] for n, v in zip(often, values, strict=True)) for i in (0, 1)
            )
            total = (first + moving, 0.0) if minimize == "time" else (first, second + moving)
            best = total if best is None else min(best, total)
    return best


def _by_layouts(
    program: Program, mesh: Mapping[str, int], machine: Machine, minimize: Minimize
) -> dict[Held, dict[Held, Value]]:
    """The least of a phase by the layouts of its weights, and by those of its caches."""
    names = {kind: list(_named(program, kind)) for kind in ("weight", "cache")}
    tables = Tables(program, mesh, kept=[*names["weight"], *names["cache"]])
    found: dict[Held, dict[Held, Value]] = defaultdict(dict)
    for liked, value in Search(tables, machine, minimize).by_layouts().items():
        shapes = {
            name: tables.versions[tables.plan.of[name]].layouts.shapes[number]
            for name, number in zip(tables.plan.liked, liked, strict=True)
        }
        weights, caches = (tuple(shapes[n] for n in names[kind]) for kind in ("weight", "cache"))
        found[weights][caches] = min(value, found[weights].get(caches, (inf, inf)))
    return found


def _named(program: Program, kind: str) -> Iterator[str]:
    return (name for name, item in declared(program).items() if item.kind == kind)


def _handed(
    source: Program,
    target: Program,
    mesh: Mapping[str, int],
    machine: Machine,
    here: Held,
    there: Held,
) -> float:
    """Once for each run of the source: nothing where the target has no place for all of it."""
    own, theirs, total = source.sizes, target.sizes, 0
    for name, start, end in zip(_named(source, "cache"), here, there, strict=True):
        if any(own[d] > theirs[d] for d in start.names):
            continue
        resized = [a for d in end for a in d.axes if own[d.name] != theirs[d.name]]
        layouts = _layouts(start.names, tuple(own.items()), tuple(mesh.items()))
        numbers = layouts.number[start], layouts.number[end.without(resized)]
        total += int(layouts.distances[numbers]) * DTYPES[declared(source)[name].type.dtype]
    seconds = total / prod(mesh.values()) / machine.network_bandwidth
    return seconds * source.phase.weight


@cache
def _layouts(
    dims: tuple[str, ...], sizes: tuple[tuple[str, int], ...], mesh: tuple[tuple[str, int], ...]
) -> Layouts:
    return Layouts(dims, dict(sizes), dict(mesh), maxima=False)
