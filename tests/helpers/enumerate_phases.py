"""Plain enumeration of programs of several phases: all ways to hold what the phases share.

Each phase is enumerated by itself, apart for every layout of the weights and of its caches. Then
every way is looked at to hold the weights, in all phases alike, and the caches, in each as one
likes: to hand a cache over takes what moves it to the layout in which the next phase has it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise, product
from math import inf

from enumerate import Minimize, Search, Tables, all_networks
from layouts import Layouts
from networks import Network
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
    """The least over every mesh of `chips` chips, in every place; None if no mesh has a layout for
    everything."""
    networks = all_networks(program, chips, machine)
    found = (_on(program, network, machine, minimize) for network in networks)
    return min((value for value in found if value is not None), default=None)


def handed_over(
    passes: Iterable[Program], network: Network, machine: Machine, held: Iterable[Held]
) -> float:
    """The seconds of all hand-overs, the caches held so in each phase."""
    return sum(
        _handed(source, target, network, machine, here, there)
        for (source, target), (here, there) in zip(pairwise(passes), pairwise(held), strict=True)
    )


def _on(program: Program, network: Network, machine: Machine, minimize: Minimize) -> Value | None:
    tables = [_by_layouts(alone, network, machine, minimize) for alone in program.passes]
    best = None
    for weights in set.intersection(*(set(table) for table in tables)):
        for choice in product(*(table[weights].items() for table in tables)):
            held, values = zip(*choice, strict=True)
            moving = handed_over(program.passes, network, machine, held)
            often = [alone.phase.weight for alone in program.passes]
            first, second = (
                sum(n * v[i] for n, v in zip(often, values, strict=True)) for i in (0, 1)
            )
            total = (first + moving, 0.0) if minimize == "time" else (first, second + moving)
            best = total if best is None else min(best, total)
    return best


def _by_layouts(
    program: Program, network: Network, machine: Machine, minimize: Minimize
) -> dict[Held, dict[Held, Value]]:
    """The least of a phase by the layouts of its weights, and by those of its caches."""
    names = {kind: list(_named(program, kind)) for kind in ("weight", "cache")}
    tables = Tables(program, network, kept=[*names["weight"], *names["cache"]])
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
    network: Network,
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
        itemsize = DTYPES[declared(source)[name].type.dtype]
        layouts = _layouts(start.names, tuple(own.items()), network, itemsize)
        numbers = layouts.number[start], layouts.number[end.without(resized)]
        total += int(layouts.distances[numbers])
    return total / network.rate(machine) * source.phase.weight


@cache
def _layouts(
    dims: tuple[str, ...], sizes: tuple[tuple[str, int], ...], network: Network, itemsize: int
) -> Layouts:
    return Layouts(dims, dict(sizes), network.mesh, False, network, itemsize)
