"""Plain enumeration: the least that a small program can cost, found by trying everything.

Every mesh, in every place where a machine has places; on it every layout of every declaration; then
statement after statement, every way to have its operands. A state is the set of versions (layouts)
of each value that is still needed, and nothing is left out of the search but what is provably no
better: see `Search`. It is written from the rules of the notation alone, to be what the solver is
held against; of what moves cost in a place it asks the machine.

Blocks are not enumerated. Axes of one chip that no annotation names split nothing: left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, permutations, product
from math import inf, prod
from typing import Literal

from layouts import Layouts
from networks import Flat, Network, placed
from rows import rows_of, takes_a_maximum
from steps import (
    Begin,
    Demand,
    Operate,
    Plan,
    Read,
    matches,
    named_axes,
    plan_of,
)
from versions import Versions

from layoutc.dsl.operation import Product as Multiply
from layoutc.dsl.program import DTYPES, Program
from layoutc.dsl.scales import scaled
from layoutc.dsl.shape import Shape
from layoutc.solver.hardware.machine import Machine

Minimize = Literal["time", "communication"]
Label = tuple[int, int, int]
"""Flops at the machine's highest peak, bytes of weights read, what moving costs in the units of the
network: all whole."""
State = tuple[tuple[frozenset[int], ...], tuple[int, ...], tuple[int, ...]]
"""The versions at hand by value; the operands read so far; the layouts that others must equal."""
Frontier = dict[State, list[Label]]

CLOSE = 1e-12
NONE: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Optimum:
    """What the best program costs a chip: flops, bytes of weights read, bytes received; seconds of
    moving where axes have a place."""

    mesh: dict[str, int]
    flops: int
    traffic: int
    communication: Fraction
    objective: tuple[float, float]
    """What was minimised, in order: (seconds, 0) or (seconds of compute, of communication)."""


def optimum(
    program: Program,
    chips: int,
    machine: Machine,
    minimize: Minimize = "time",
    tables: Sequence[Tables] | None = None,
) -> Optimum | None:
    """The best over every mesh of `chips` chips; None if no mesh has a layout for everything.

    `tables` are those of the same program and chips, where they are there already.
    """
    best: Optimum | None = None
    for table in tables_of(program, chips, machine) if tables is None else tables:
        search = Search(table, machine, minimize)
        bound = (inf, inf) if best is None else best.objective
        # A narrow search first: what it finds can be had, so that worse need not be looked at.
        for width in (30, None):
            found = search.run(bound, width)
            if found is not None and (best is None or found.objective < best.objective):
                best, bound = found, found.objective
    return best


def tables_of(program: Program, chips: int, machine: Machine) -> list[Tables]:
    """What there is to choose from, on every mesh of `chips` chips, in every place."""
    return [Tables(program, network) for network in all_networks(program, chips, machine)]


def all_networks(program: Program, chips: int, machine: Machine) -> Iterator[Network]:
    """Every mesh of `chips` chips that agrees with the pinned sizes, in every place.

    Axes whose size is open and that nobody names are alike, so of the orders of their sizes one
    is taken.
    """
    named = named_axes(program)
    alike = [a.name for a in program.axes if a.size is None and a.name not in named]
    every = map(Flat.of, _factorisations(program, chips, named))
    for network in every if machine.flat else placed(program, chips, machine, named):
        sizes = [network.mesh.get(a, 1) for a in alike]
        if all(one >= other for one, other in pairwise(sizes)):
            yield network


def _factorisations(program: Program, chips: int, named: set[str]) -> Iterator[dict[str, int]]:
    for sizes in product(range(1, chips + 1), repeat=len(program.axes)):
        pinned = all(a.size in (None, n) for a, n in zip(program.axes, sizes, strict=True))
        mesh = {a.name: n for a, n in zip(program.axes, sizes, strict=True)}
        if prod(sizes) == chips and pinned:
            yield {a: n for a, n in mesh.items() if n > 1 or a in named}


class Tables:
    """What a program may choose from on one mesh: layouts of values, rows of statements."""

    def __init__(self, program: Program, network: Network, kept: Collection[str] = ()) -> None:
        self.program, self.network, self.kept = program, network, kept
        self.mesh = mesh = network.mesh
        self.plan: Plan = plan_of(program, kept)
        sizes = {d: size for d, size in program.dims.items() if size is not None}
        maxima = any(isinstance(s, Operate) and takes_a_maximum(s.define) for s in self.plan.steps)
        spaces: dict[tuple[tuple[str, ...], int], Layouts] = {}
        self.versions = []
        for found in self.plan.values:
            key = dims, itemsize = found.shape.names, DTYPES[found.dtype]
            if key not in spaces:
                spaces[key] = Layouts(dims, sizes, mesh, maxima, network, itemsize)
            self.versions.append(Versions(spaces[key]))
        self.rows = {
            step.define.name: rows_of(
                step.define,
                [self.versions[v].layouts for v in step.operands],
                [self.plan.values[v].dtype for v in step.operands],
                self.versions[step.result].layouts,
            )
            for step in self.plan.steps
            if isinstance(step, Operate)
        }


class Search:
    """All ways through the statements of a program on one mesh, step by step.

    Left out, as no better than what is kept:
      * moves that are not made for a reading: each reading walks one path from a version at hand,
        and of that path only the points are kept where paths of later readings may leave it
        (`Versions.ways`);
      * a label that another label of the same state beats in everything;
      * a state that another could turn into by moves that cost no more than the difference;
      * a label that, with the least work that the rest can take, is beyond the `bound`.
    """

    def __init__(self, tables: Tables, machine: Machine, minimize: Minimize) -> None:
        self.program, self.mesh, self.plan = tables.program, tables.mesh, tables.plan
        self.network = tables.network
        self.versions, self.rows = tables.versions, tables.rows
        self.machine, self.minimize = machine, minimize
        self.moving = self.network.rate(machine)
        self.itemsize = [DTYPES[found.dtype] for found in self.plan.values]
        self.highest = max(machine.peaks.values())
        self.scales = self._scales()
        self.least = self._least()
        # What is kept is compared with what other tables keep: there axes have their names.
        named = {*self.mesh} if tables.kept else named_axes(self.program)
        self.renamings = [n for n in _renamings(self.mesh, named) if self.network.alike(n)]

    # The search.

    def run(self, bound: tuple[float, float], width: int | None = None) -> Optimum | None:
        """The best that is within `bound`; with a `width`, of the most promising states only."""
        frontier = self._frontier(bound, width)
        labels = [label for labels in frontier.values() for label in labels]
        return self._optimum(min(labels, key=self._objective)) if labels else None

    def by_layouts(self) -> dict[tuple[int, ...], tuple[float, float]]:
        """The best for each choice of the layouts that are `kept`, or that others are like."""
        best: dict[tuple[int, ...], tuple[float, float]] = {}
        for (_, _, liked), labels in self._frontier((inf, inf), None).items():
            found = min(map(self._objective, labels))
            best[liked] = min(found, best.get(liked, found))
        return best

    def _frontier(self, bound: tuple[float, float], width: int | None) -> Frontier:
        start: State = ((NONE,) * len(self.versions), (), ())
        frontier: Frontier = {start: [(0, 0, 0)]}
        for number, step in enumerate(self.plan.steps):
            rest = self.least[number + 1]
            reached: Frontier = defaultdict(list)
            for state, label in self._step(step, frontier):
                if _within(self._objective(_plus(label, rest)), bound):
                    self._insert(reached[state], label)
            frontier = self._thinned(reached, number + 1)
            if width is not None:
                frontier = self._narrowed(frontier, width, rest)
        return frontier

    def _step(
        self, step: Begin | Read | Operate | Demand, frontier: Frontier
    ) -> Iterator[tuple[State, Label]]:
        for state, labels in frontier.items():
            for after, cost in self._options(step, state):
                for label in labels:
                    yield after, _plus(label, cost)

    def _options(
        self, step: Begin | Read | Operate | Demand, state: State
    ) -> Iterator[tuple[State, Label]]:
        match step:
            case Begin():
                return self._begin(step, state)
            case Read():
                return self._read(step, state)
            case Operate():
                return self._operate(step, state)
            case Demand():
                return self._demand(step, state)

    def _begin(self, step: Begin, state: State) -> Iterator[tuple[State, Label]]:
        """A declaration in every layout that it may have."""
        held, operands, liked = state
        layouts = self.versions[step.value].layouts
        allowed = self._allowed(step)
        if step is self.plan.steps[0]:
            allowed = [n for n in allowed if self._first(layouts.shapes[n])]
        for number in allowed:
            traffic = 0
            if step.stored and self.minimize == "time":
                traffic = layouts.elements(number) * self.itemsize[step.value]
                traffic += self.scales.get(step.value, 0)
            fixed = (*liked, number) if step.liked else liked
            later = frozenset({number}) if step.later else NONE
            yield (_with(held, step.value, later), operands, fixed), (0, traffic, 0)

    def _allowed(self, step: Begin) -> list[int]:
        shapes = self.versions[step.value].layouts.shapes
        return [i for i, s in enumerate(shapes) if matches(s, step.written, self.mesh)]

    def _first(self, shape: Shape) -> bool:
        """Whether of the layouts that a renaming of like axes makes of each other it is the one.

        Nobody names those axes and they are of one size, so nothing is lost by naming them so that
        the first layout is that.
        """
        return str(shape) == min(str(_renamed(shape, names)) for names in self.renamings)

    def _read(self, step: Read, state: State) -> Iterator[tuple[State, Label]]:
        """An operand in every layout that the operation takes beside those read before it."""
        held, operands, liked = state
        rows = self.rows[step.reader]
        place, shapes = len(operands), self.versions[step.value].layouts.shapes
        for target in sorted({key[place] for key in rows if key[:place] == operands}):
            if step.like is not None and shapes[target] != self._liked(step.like, liked):
                continue
            for cost, versions in self._ways(step.value, held, target, step.later):
                after = _with(held, step.value, versions), (*operands, target), liked
                yield after, (0, 0, cost)

    def _operate(self, step: Operate, state: State) -> Iterator[tuple[State, Label]]:
        held, operands, liked = state
        heft = self._heft(step)
        for result, flops, moved in self.rows[step.define.name][operands]:
            versions = frozenset({result}) if step.later else NONE
            yield (_with(held, step.result, versions), (), liked), (heft * flops, 0, moved)

    def _demand(self, step: Demand, state: State) -> Iterator[tuple[State, Label]]:
        """A name in every layout that its annotation, and where it leaves the program, allow."""
        held, operands, liked = state
        layouts = self.versions[step.value].layouts
        for target, shape in enumerate(layouts.shapes):
            if not matches(shape, step.written, self.mesh) or (step.whole and shape.partial):
                continue
            if step.like is not None and shape != self._liked(step.like, liked):
                continue
            for cost, versions in self._ways(step.value, held, target, step.later):
                yield (_with(held, step.value, versions), operands, liked), (0, 0, cost)

    def _liked(self, name: str, liked: tuple[int, ...]) -> Shape:
        place = self.plan.liked.index(name)
        return self.versions[self.plan.of[name]].layouts.shapes[liked[place]]

    def _ways(
        self, value: int, held: tuple[frozenset[int], ...], target: int, later: int
    ) -> Iterator[tuple[int, frozenset[int]]]:
        yield from self.versions[value].ways(held[value], target, later)

    # What costs what.

    def _heft(self, step: Operate) -> int:
        """How many operations at the highest peak take as long as one of a product."""
        if not isinstance(step.define.operation, Multiply):
            return 0
        peak = self.machine.peak(*(self.plan.values[v].dtype for v in step.operands))
        heft = Fraction(self.highest) / Fraction(peak)
        assert heft.denominator == 1, "peaks are multiples of each other"
        return int(heft)

    def _scales(self) -> dict[int, int]:
        """The bytes of the scales of each int8 weight, by its value; every chip reads them all."""
        sizes = self.program.sizes
        found = scaled(self.program).items()
        return {self.plan.of[name]: 4 * prod(sizes[d] for d in dims) for name, dims in found}

    def _objective(self, label: Label) -> tuple[float, float]:
        compute = label[0] / self.highest
        moving = label[2] / self.moving
        if self.minimize == "communication":
            return compute, moving
        return max(compute, label[1] / self.machine.memory_bandwidth) + moving, 0.0

    def _beats(self, one: Label, other: Label) -> bool:
        """True if whatever follows, `one` is no worse than `other`."""
        if self.minimize == "communication":
            return one <= other
        return one[0] <= other[0] and one[1] <= other[1] and one[2] <= other[2]

    def _least(self) -> list[Label]:
        """For each step, the least that it and all after it can add."""
        least: list[Label] = [(0, 0, 0)]
        for step in reversed(self.plan.steps):
            flops = traffic = 0
            if isinstance(step, Operate):
                costs = [c for found in self.rows[step.define.name].values() for c in found]
                flops = min((c[1] for c in costs), default=0) * self._heft(step)
            elif isinstance(step, Begin) and step.stored and self.minimize == "time":
                layouts = self.versions[step.value].layouts
                sizes = [layouts.elements(number) for number in self._allowed(step)]
                traffic = min(sizes, default=0) * self.itemsize[step.value]
                traffic += self.scales.get(step.value, 0)
            least.append(_plus((flops, traffic, 0), least[-1]))
        return least[::-1]

    def _optimum(self, label: Label) -> Optimum:
        mesh = {a.name: self.mesh.get(a.name, 1) for a in self.program.axes}
        received = Fraction(label[2], self.network.scale)
        return Optimum(mesh, label[0], label[1], received, self._objective(label))

    # What is left out.

    def _insert(self, labels: list[Label], new: Label) -> None:
        if not any(self._beats(old, new) for old in labels):
            labels[:] = [old for old in labels if not self._beats(new, old)]
            labels.append(new)

    def _thinned(self, frontier: Frontier, number: int) -> Frontier:
        """Without the states that another beats by having, or making, other versions of a value."""
        for value, versions in enumerate(self.versions):
            later = self.plan.later(value, number)
            if later and any(state[0][value] for state in frontier):
                frontier = self._thinned_by(frontier, value, versions, later)
        return frontier

    def _thinned_by(
        self, frontier: Frontier, value: int, versions: Versions, later: int
    ) -> Frontier:
        groups: dict[State, list[tuple[Label, frozenset[int]]]] = defaultdict(list)
        for state, labels in frontier.items():
            rest = (_with(state[0], value, NONE), *state[1:])
            groups[rest].extend((label, state[0][value]) for label in labels)
        thinned: Frontier = defaultdict(list)
        for rest, entries in groups.items():
            kept: list[tuple[Label, frozenset[int]]] = []
            for label, at in sorted(entries, key=lambda entry: (entry[0][2], entry[0])):
                if not any(
                    self._beats(self._bought(old, have, at, value, later), label)
                    for old, have in kept
                ):
                    kept.append((label, at))
                    thinned[(_with(rest[0], value, at), *rest[1:])].append(label)
        return thinned

    def _bought(
        self, label: Label, have: frozenset[int], want: frozenset[int], value: int, later: int
    ) -> Label:
        cost = self.versions[value].price(have, want, later)
        return label[0], label[1], label[2] + cost

    def _narrowed(self, frontier: Frontier, width: int, rest: Label) -> Frontier:
        def promise(entry: tuple[State, list[Label]]) -> tuple[float, float]:
            return min(self._objective(_plus(label, rest)) for label in entry[1])

        return dict(sorted(frontier.items(), key=promise)[:width])


def _renamings(mesh: Mapping[str, int], named: set[str]) -> Iterator[dict[str, str]]:
    """Every renaming of axes among those that nobody names, sizes kept."""
    free = [a for a in mesh if a not in named]
    for order in permutations(free):
        if all(mesh[a] == mesh[b] for a, b in zip(free, order, strict=True)):
            yield dict(zip(free, order, strict=True))


def _renamed(shape: Shape, names: Mapping[str, str]) -> Shape:
    dims = tuple(replace(d, axes=tuple(names.get(a, a) for a in d.axes)) for d in shape)
    return replace(shape, dims=dims, partial=tuple(names.get(a, a) for a in shape.partial))


def _within(found: tuple[float, float], bound: tuple[float, float]) -> bool:
    """Whether `found` is no more than `bound`, compared in order, rounding let pass."""
    for one, other in zip(found, bound, strict=True):
        if abs(one - other) > CLOSE * other:
            return one < other
    return True


def _plus(one: Label, other: Label) -> Label:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _with(
    held: tuple[frozenset[int], ...], value: int, versions: frozenset[int]
) -> tuple[frozenset[int], ...]:
    return (*held[:value], versions, *held[value + 1 :])
