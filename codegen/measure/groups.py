"""Which chips move something together: groups, and the mesh on which each is an axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from layoutc.solver.hardware.samples import Group, Seen
from layoutc.solver.hardware.timing import Run
from layoutc.solver.meshes import divisors


def groups(seen: Sequence[Seen]) -> list[Group]:
    """The groups that are timed: of a switch every divisor of its chips, side by side and as far
    apart as they can be; of a torus every set of its axes; of several tiers all of one with any of
    another.

    All groups of a kind move at once, as they do in a program.
    """
    found: list[Group] = []
    for number in range(len(seen)):
        for runs in _within(seen[number]):
            inner = [_whole(one) for one in seen[:number]]
            alone = [_one(one) for one in seen[:number]]
            rest = [_one(one) for one in seen[number + 1 :]]
            found += [(*inner, runs, *rest), (*alone, runs, *rest)]
    return list(dict.fromkeys(found))


def _within(one: Seen) -> Iterator[tuple[Run, ...]]:
    """The groups inside a tier, the largest first."""
    if one.topology == "switch":
        yield from ((run,) for run in _runs(one.extents[0]))
        return
    lengths = [sorted({length, 1}, reverse=True) for length in one.extents]
    for sizes in product(*lengths):
        if prod(sizes) > 1:
            yield tuple(map(Run, sizes))


def _runs(chips: int) -> Iterator[Run]:
    for size in divisors(chips)[:-1]:
        for stride in sorted({1, chips // size}):
            yield Run(size, stride)


def _whole(one: Seen) -> tuple[Run, ...]:
    return tuple(map(Run, one.extents))


def _one(one: Seen) -> tuple[Run, ...]:
    return tuple(Run(1) for _ in one.extents)


class Grid(NamedTuple):
    """A mesh of all chips: its shape, its axes' names, and those along which a group lies."""

    shape: tuple[int, ...]
    names: tuple[str, ...]
    along: tuple[str, ...]


def grid(group: Group, seen: Sequence[Seen]) -> Grid:
    """The mesh in which a group's chips are in a row, devices in the order of their tiers.

    Each axis of a tier is cut in three: what is outside of the run, the run, what is between its
    chips.
    """
    shape: list[int] = []
    along: list[str] = []
    for runs, one in zip(reversed(group), reversed(seen), strict=True):
        for run, length in zip(runs, one.extents, strict=True):
            along += [f"a{len(shape) + 1}"] if run.size > 1 else []
            shape += [length // (run.size * run.stride), run.size, run.stride]
    return Grid(tuple(shape), tuple(f"a{i}" for i in range(len(shape))), tuple(along))
