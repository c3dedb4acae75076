"""A problem on one mesh: domains and costs as numbers, solved exactly by elimination.

What is minimised is a weighted sum of compute, memory and communication seconds; the maximum
that a pass takes is the business of `layoutc.solver.search`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import prod

import numpy as np

from layoutc.dsl.shape import Reduction
from layoutc.solver.assignment import ANY, Found, Limits, Shares, Times, Weights
from layoutc.solver.eliminate import Costs, Infeasible, Rows, Table
from layoutc.solver.fan import Edge, Fan
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.messages import Bounded
from layoutc.solver.problem import Problem, Statistic, Step, Value
from layoutc.solver.relations import Flags
from layoutc.solver.relax import minimise_near
from layoutc.solver.routes import Routes
from layoutc.solver.space import KINDS, Floats, Ints, Space
from layoutc.solver.symmetry import ordered

STATEMENT = 1e6
"""What a statement weighs among the small numbers that settle ties (`Space.untidiness`)."""


_Sized = tuple[Space, tuple[int, ...]]
"""A space, and the sizes of its dims."""


class Instance:
    """`problem` on the mesh of `fabric`, moves priced exactly, or for large K.

    What was worked out on the mesh for a wider problem, or for another fabric, is taken from the
    instance `known`. Where some axes are to be treated otherwise than others of their size, they
    are not `alike`.

    Raises `Infeasible` if a tensor has no layout that divides it.
    """

    def __init__(
        self,
        problem: Problem,
        fabric: Fabric,
        large: bool = False,
        known: Instance | None = None,
        alike: bool = True,
    ) -> None:
        self.problem, self.fabric, self.large, self.alike = problem, fabric, large, alike
        self.mesh, self.machine = fabric.mesh, fabric.machine
        self.sizes = tuple(part.sizes for part in problem.parts)
        self.frequency = tuple(part.weight for part in problem.parts)
        self.chips = chips_of(problem.axes, self.mesh)
        self._routes: dict[tuple[_Sized, Reduction, int, bool, bool], Routes]
        self._routes = known._routes if known is not None and known.fabric is fabric else {}
        self._valid: dict[_Sized, Flags] = {} if known is None else known._valid
        self._memory: dict[_Sized, Floats] = {} if known is None else known._memory
        self._moving: dict[_Sized, Floats] = {} if known is None else known._moving
        self.domains: dict[int, Ints] = {}
        for variable in {problem.find(v) for v in range(len(problem.variables))}:
            self.domains[variable] = np.flatnonzero(self._allowed(variable))
        if alike:
            variable, flags = ordered(problem, fabric)
            self.domains[variable] = self.domains[variable][flags[self.domains[variable]]]
        if not all(map(len, self.domains.values())):
            raise Infeasible

    # What the mesh makes of a space, in the sizes of a part.

    def _sized(self, space: Space, part: int) -> _Sized:
        """A space and the sizes of its dims; what is the same in two parts is worked out once."""
        return space, tuple(self.sizes[part].get(d, 0) for d in space.dims)

    def valid(self, space: Space, part: int) -> Flags:
        """[nodes], the layouts that divide, axes of one chip left out where nobody named them."""
        key = self._sized(space, part)
        if key not in self._valid:
            self._valid[key] = space.divides(self.sizes[part], self.mesh)
        return self._valid[key]

    def held(self, space: Space, part: int) -> Floats:
        """[nodes], elements on one chip."""
        key = self._sized(space, part)
        if key not in self._memory:
            self._memory[key] = space.held(self.sizes[part], self.mesh)
        return self._memory[key]

    def moving(self, space: Space, part: int) -> Floats:
        """[edges], elements that a move of a partial sum is priced by (`Space.moving`)."""
        key = self._sized(space, part)
        if key not in self._moving:
            self._moving[key] = space.moving(self.sizes[part], self.mesh)
        return self._moving[key]

    def _allowed(self, variable: int) -> Flags:
        found = self.problem.variables[variable]
        flags = found.allowed & self.valid(found.space, found.part)
        if found.spread:
            real = [i for i, a in enumerate(self.problem.axes) if self.mesh[a] > 1]
            flags = flags & (found.space.place[:, real] >= 0).all(axis=1)
        return flags

    def routes(self, value: Value, tidy: bool) -> Routes:
        """Ways between a value's layouts, in seconds each time; `tidy` adds what settles ties."""
        space, reduction = self.problem.space(value.root), value.reduction
        itemsize, partial = value.itemsize, self.may_be_partial(value)
        key = self._sized(space, value.part), reduction, itemsize, partial, tidy
        if key not in self._routes:
            edges = space.edges(reduction)
            valid = self.valid(space, value.part) & (partial | (space.partial == 0))
            seconds = self.seconds(space, value.part, itemsize)
            if reduction == "max":
                seconds = seconds[space.edges("sum").kinds != KINDS.index("reduce-scatter")]
            weights: Costs = (seconds,)
            if tidy:
                still = edges.kinds < 0
                stored = self.held(space, value.part)[edges.target] * itemsize
                order = space.untidiness(self.mesh)[edges.target] + STATEMENT
                weights += (np.where(still, 0, stored), np.where(still, 0, order))
            self._routes[key] = Routes.of(edges, weights, valid)
        return self._routes[key]

    def may_be_partial(self, value: Value) -> bool:
        """Whether a value comes to be as a partial sum or maximum in some layout."""
        root = self.problem.variables[self.problem.find(value.root)]
        return bool(root.allowed[root.space.partial != 0].any())

    def seconds(self, space: Space, part: int, itemsize: int) -> Floats:
        """[edges], what each move of a partial sum takes, once."""
        edges = space.edges("sum")
        bytes_ = self.moving(space, part) * itemsize
        starts, rates = (table[edges.kinds, edges.axes] for table in self._rates)
        return np.where(bytes_ > 0, starts + rates * bytes_, 0.0)

    @cached_property
    def _rates(self) -> tuple[Floats, Floats]:
        """[kinds, bit masks] twice: seconds to start, and seconds a byte; the last kind is the
        move that is not made."""
        axes = self.problem.axes
        masks = [[a for i, a in enumerate(axes) if m >> i & 1] for m in range(1 << len(axes))]
        found = np.zeros((2, len(KINDS) + 1, len(masks)))
        for number, kind in enumerate(KINDS):
            rates = [self.fabric.rate(kind, mask) for mask in masks]
            found[0, number] = [rate.start for rate in rates]
            found[1, number] = [rate.large if self.large else rate.per_byte for rate in rates]
        return found[0], found[1]

    # Solving.

    def solve(
        self,
        shares: Sequence[Weights],
        limits: Limits = ANY,
        tidy: bool = False,
        ceiling: float = np.inf,
        gap: float = 0.0,
    ) -> Found:
        """The assignment that minimises the weighted sum: `shares` has the weights of each part,
        which count as often as it runs. Raises `Infeasible`, also where the sum is found to be
        above `ceiling` at the least. What is found may be above the least by a `gap`, a share of
        it.

        `tidy` settles ties: less memory, then fewer statements, then hidden dims before tokens,
        then axes in order. It takes several times as long.
        """
        weights = [w.times(n) for w, n in zip(shares, self.frequency, strict=True)]
        domains = self.confined(limits)
        fans = [self._fan(value, weights, domains, tidy) for value in self.problem.values]
        factors: list[Bounded] = [*self._stored(weights, domains, tidy)]
        factors += self._steps(weights, limits, domains, tidy)
        if tidy or any(w.held for w in weights):
            factors += self._read(weights, domains, tidy)
        moving = zip(self.problem.values, fans, strict=True)
        factors += [fan for value, fan in moving if len(fan.scope) > 1 and not value.free]
        sizes = {v: len(d) for v, d in domains.items()}
        places, _ = minimise_near(sizes, factors, ceiling, gap)
        nodes = {v: int(domains[v][i]) for v, i in places.items()}
        trees = tuple(fan.tree([nodes[v] for v in fan.scope]) for fan in fans)
        return self._found(nodes, trees)

    def _fan(self, value: Value, weights: Shares, domains: Mapping[int, Ints], tidy: bool) -> Fan:
        """All that moves a value; leaves that equal the root need nothing."""
        root = self.problem.find(value.root)
        leaves = dict.fromkeys(self.problem.find(v) for v in value.leaves)
        scope = (root, *(v for v in leaves if v != root))
        rate = value.times * weights[value.part].communication
        nodes = tuple(domains[v] for v in scope)
        return Fan(scope, nodes, self.routes(value, tidy), rate)

    def confined(self, limits: Limits) -> dict[int, Ints]:
        """The nodes that each variable may take. Raises `Infeasible` if one has none."""
        domains = dict(self.domains)
        for variable, flags in limits.stored:
            nodes = domains[variable]
            domains[variable] = nodes[flags[nodes]]
            if not len(domains[variable]):
                raise Infeasible
        return domains

    # Tables.

    def _stored(self, weights: Shares, domains: Mapping[int, Ints], tidy: bool) -> Iterator[Table]:
        """What each value's first layout costs: a weight is stored, and read once a pass."""
        for value in self.problem.values:
            root = self.problem.find(value.root)
            space, nodes = self.problem.variables[root].space, domains[root]
            size = self.held(space, value.part)[nodes] * value.itemsize
            seconds = (size * value.stored + value.beside) / self.machine.memory_bandwidth
            copies = value.copies
            seconds = (
                seconds * weights[value.part].memory + size * copies * weights[value.part].held
            )
            costs: Costs = (seconds,)
            if tidy:
                costs += (size * copies, space.untidiness(self.mesh)[nodes])
            yield Table((root,), costs)

    def _read(self, weights: Shares, domains: Mapping[int, Ints], tidy: bool) -> Iterator[Table]:
        """What the layouts take in which a value is used.

        Among versions that cost the same to use, `tidy` has the smallest: it need not live longer.
        """
        for value in self.problem.values:
            for leaf in {self.problem.find(v) for v in value.leaves}:
                held = self.held(self.problem.space(leaf), value.part)
                read = held[domains[leaf]] * value.itemsize
                costs: Costs = (read * weights[value.part].held,)
                yield Table((leaf,), (*costs, read, np.zeros(len(read))) if tidy else costs)

    def _steps(
        self, weights: Shares, limits: Limits, domains: Mapping[int, Ints], tidy: bool
    ) -> Iterator[Rows]:
        confined = dict(limits.steps)
        for number, step in enumerate(self.problem.steps):
            mine = weights[step.part]
            seconds = self.computing(step) * mine.compute
            seconds = seconds + self._moved(step) * mine.communication
            keep = np.ones(len(seconds), dtype=bool)
            if number in confined and step.used is not None:
                keep &= confined[number][step.used]
            scope = tuple(self.problem.find(v) for v in step.scope)
            places = []
            for variable, column in zip(scope, step.columns, strict=True):
                place = np.full(len(self.problem.variables[variable].space), -1)
                place[domains[variable]] = np.arange(len(domains[variable]))
                places.append(place[column])
                keep &= places[-1] >= 0
            if len(set(scope)) < len(scope):
                raise AssertionError(
                    "an operation's operands and result are variables of their own"
                )
            costs: Costs = (seconds[keep],)
            if tidy:
                costs += (np.zeros(keep.sum()), np.zeros(keep.sum()))
            yield Rows(scope, tuple(p[keep] for p in places), costs)

    # What an assignment costs.

    def flops(self, step: Step) -> Floats:
        """[rows], the work of one chip."""
        if step.used is None or not step.flops:
            return np.zeros(len(step.columns[0]))
        return float(step.flops) / self.chips[step.used]

    def computing(self, step: Step) -> Floats:
        """[rows], the seconds of that."""
        return self.flops(step) / self.machine.peak(*step.dtypes)

    def _moved(self, step: Step) -> Floats:
        """[rows], the seconds of a step that is itself a move, or reduces a statistic."""
        if step.statistic is not None:
            return self._reduced(step, step.statistic)
        if step.edges is None:
            return np.zeros(len(step.columns[0]))
        space = self.problem.variables[step.scope[0]].space
        return self.seconds(space, step.part, step.itemsize)[step.edges] * step.times

    def _reduced(self, step: Step, statistic: Statistic) -> Floats:
        """[rows], the seconds of the all-reduces that a norm or a softmax takes."""
        space, sizes = self.problem.space(step.scope[0]), self.sizes[step.part]
        lists = space.lists[:, space.dims.index(statistic.dim)]
        parts = np.array([prod(self.mesh[a] for a in s) for s in space.sequences], dtype=float)
        rates = [self.fabric.rate("all-reduce", s) for s in space.sequences]
        starts = np.array([statistic.moves * rate.start for rate in rates])
        per_byte = np.array([r.large if self.large else r.per_byte for r in rates])
        left = self.held(space, step.part) * parts[lists] / sizes[statistic.dim]
        seconds = starts[lists] + per_byte[lists] * left * statistic.bytes
        return np.asarray(seconds * step.times)[step.columns[0]]

    def _found(self, nodes: dict[int, int], forest: tuple[tuple[Edge, ...], ...]) -> Found:
        times = tuple(Times() for _ in self.problem.parts)
        for step in self.problem.steps:
            row, mine = self.row(step, nodes), times[step.part]
            mine.compute += float(self.computing(step)[row])
            mine.communication += float(self._moved(step)[row])
        for value, tree in zip(self.problem.values, forest, strict=True):
            root, mine = self.problem.find(value.root), times[value.part]
            held = self.held(self.problem.space(root), value.part)
            size = float(held[nodes[root]]) * value.itemsize * value.stored + value.beside
            mine.memory += size / self.machine.memory_bandwidth
            ways = self.routes(value, False)
            mine.communication += sum(ways.cost(a, b)[0] for a, b in tree) * value.times
        return Found(nodes, forest, times)

    def row(self, step: Step, nodes: Mapping[int, int]) -> int:
        """The row of `step` that an assignment takes."""
        same = [
            c == nodes[self.problem.find(v)] for c, v in zip(step.columns, step.scope, strict=True)
        ]
        return int(np.flatnonzero(np.logical_and.reduce(same))[0])


def chips_of(axes: tuple[str, ...], mesh: Mapping[str, int]) -> Floats:
    """[bit masks], the product of the sizes of the axes in each mask."""
    return np.array(
        [
            np.prod([mesh[a] for i, a in enumerate(axes) if m >> i & 1])
            for m in range(1 << len(axes))
        ]
    )
