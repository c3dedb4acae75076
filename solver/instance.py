"""A problem on one mesh: domains and costs as numbers, solved exactly by elimination.

What is minimised is a weighted sum of compute, memory and communication seconds; the maximum
that a pass takes is the business of `layoutc.solver.search`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from layoutc.dsl.shape import Reduction
from layoutc.solver.eliminate import Costs, Infeasible, Rows, Table
from layoutc.solver.fan import Edge, Fan
from layoutc.solver.forest import Bounded
from layoutc.solver.machine import Machine
from layoutc.solver.problem import Problem, Step, Value
from layoutc.solver.relations import Flags
from layoutc.solver.relax import minimise_near
from layoutc.solver.routes import Routes
from layoutc.solver.space import Floats, Ints, Space

STATEMENT = 1e6
"""What a statement weighs among the small numbers that settle ties (`Space.untidiness`)."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What a second of each resource counts for in the sum that is minimised."""

    compute: float = 1.0
    memory: float = 0.0
    communication: float = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Parts of a problem that a branch of the search confines itself to.

    `stored` maps a variable to the nodes it may take, `steps` a step to the bit masks of axes
    that may share its work.
    """

    stored: tuple[tuple[int, Flags], ...] = ()
    steps: tuple[tuple[int, Flags], ...] = ()

    def storing(self, variable: int, nodes: Flags) -> Limits:
        """These limits and one more on a variable."""
        return replace(self, stored=_narrowed(self.stored, variable, nodes))

    def sharing(self, step: int, masks: Flags) -> Limits:
        """These limits and one more on a step."""
        return replace(self, steps=_narrowed(self.steps, step, masks))


def _narrowed(
    limits: tuple[tuple[int, Flags], ...], key: int, flags: Flags
) -> tuple[tuple[int, Flags], ...]:
    before = dict(limits).get(key)
    rest = tuple(pair for pair in limits if pair[0] != key)
    return (*rest, (key, flags if before is None else before & flags))


@dataclass(frozen=True, slots=True)
class Found:
    """An assignment: every variable's node, each value's tree (edges between nodes, the root's
    first), and the three times in seconds."""

    nodes: dict[int, int]
    trees: tuple[tuple[Edge, ...], ...]
    compute: float
    memory: float
    communication: float


class Instance:
    """`problem` on `mesh`, moves priced exactly, or for large K.

    Raises `Infeasible` if a tensor has no layout that divides it.
    """

    def __init__(
        self, problem: Problem, mesh: Mapping[str, int], machine: Machine, large: bool = False
    ) -> None:
        self.problem, self.mesh, self.machine, self.large = problem, mesh, machine, large
        self.sizes = {d: s for d, s in problem.program.dims.items() if s is not None}
        self.chips = chips_of(problem.axes, mesh)
        self._routes: dict[tuple[Space, Reduction, int, bool, bool], Routes] = {}
        self._valid: dict[Space, Flags] = {}
        self._memory: dict[Space, Floats] = {}
        self.domains: dict[int, Ints] = {}
        for variable in {problem.find(v) for v in range(len(problem.variables))}:
            self.domains[variable] = np.flatnonzero(self._allowed(variable))
            if not len(self.domains[variable]):
                raise Infeasible

    # What the mesh makes of a space.

    def valid(self, space: Space) -> Flags:
        """[nodes], the layouts that divide, axes of one chip left out where nobody named them."""
        if space not in self._valid:
            self._valid[space] = space.divides(self.sizes, self.mesh)
        return self._valid[space]

    def held(self, space: Space) -> Floats:
        """[nodes], elements on one chip."""
        if space not in self._memory:
            self._memory[space] = space.held(self.sizes, self.mesh)
        return self._memory[space]

    def _allowed(self, variable: int) -> Flags:
        found = self.problem.variables[variable]
        flags = found.allowed & self.valid(found.space)
        if found.spread:
            real = [i for i, a in enumerate(self.problem.axes) if self.mesh[a] > 1]
            flags = flags & (found.space.place[:, real] >= 0).all(axis=1)
        return flags

    def routes(self, value: Value, tidy: bool) -> Routes:
        """Ways between a value's layouts, priced in elements; `tidy` adds what settles ties."""
        space, reduction = self.problem.space(value.root), value.reduction
        itemsize, partial = value.itemsize if tidy else 0, self.may_be_partial(value)
        key = space, reduction, itemsize, partial, tidy
        if key not in self._routes:
            edges = space.edges(reduction)
            valid = self.valid(space) & (partial | (space.partial == 0))
            weights: Costs = (self._received(space, reduction),)
            if tidy:
                still = edges.kinds < 0
                stored = self.held(space)[edges.target] * itemsize
                order = space.untidiness(self.mesh)[edges.target] + STATEMENT
                weights += (np.where(still, 0, stored), np.where(still, 0, order))
            self._routes[key] = Routes.of(edges, weights, valid)
        return self._routes[key]

    def may_be_partial(self, value: Value) -> bool:
        """Whether a value comes to be as a partial sum or maximum in some layout."""
        root = self.problem.variables[self.problem.find(value.root)]
        return bool(root.allowed[root.space.partial != 0].any())

    def _received(self, space: Space, reduction: Reduction) -> Floats:
        received = space.received(self.sizes, self.mesh, self.large)
        if reduction == "sum":
            return received
        return received[np.isin(space.edges("sum").kinds, [1], invert=True)]

    # Solving.

    def solve(self, weights: Weights, limits: Limits = Limits(), tidy: bool = False) -> Found:
        """The assignment that minimises the weighted sum. Raises `Infeasible`.

        `tidy` settles ties: less memory, then fewer statements, then hidden dims before tokens,
        then axes in order. It takes several times as long.
        """
        domains = self._confined(limits)
        fans = [self._fan(value, weights, domains, tidy) for value in self.problem.values]
        factors: list[Bounded] = [*self._stored(weights, domains, tidy)]
        factors += self._steps(weights, limits, domains, tidy)
        factors += self._read(domains) if tidy else ()
        factors += [fan for fan in fans if len(fan.scope) > 1]
        places, _ = minimise_near({v: len(d) for v, d in domains.items()}, factors)
        nodes = {v: int(domains[v][i]) for v, i in places.items()}
        trees = tuple(fan.tree([nodes[v] for v in fan.scope]) for fan in fans)
        return self._found(nodes, trees)

    def _fan(self, value: Value, weights: Weights, domains: Mapping[int, Ints], tidy: bool) -> Fan:
        """All that moves a value; leaves that equal the root need nothing."""
        root = self.problem.find(value.root)
        leaves = dict.fromkeys(self.problem.find(v) for v in value.leaves)
        scope = (root, *(v for v in leaves if v != root))
        rate = value.itemsize * value.times / self.machine.network_bandwidth
        nodes = tuple(domains[v] for v in scope)
        return Fan(scope, nodes, self.routes(value, tidy), rate * weights.communication)

    def _confined(self, limits: Limits) -> dict[int, Ints]:
        domains = dict(self.domains)
        for variable, flags in limits.stored:
            nodes = domains[variable]
            domains[variable] = nodes[flags[nodes]]
            if not len(domains[variable]):
                raise Infeasible
        return domains

    # Tables.

    def _stored(self, weights: Weights, domains: Mapping[int, Ints], tidy: bool) -> Iterator[Table]:
        """What each value's first layout costs: a weight is stored, and read once a pass."""
        for value in self.problem.values:
            root = self.problem.find(value.root)
            space, nodes = self.problem.variables[root].space, domains[root]
            size = self.held(space)[nodes] * value.itemsize
            seconds = size * value.stored / self.machine.memory_bandwidth * weights.memory
            costs: Costs = (seconds,)
            if tidy:
                copies = max(1, value.stored)
                costs += (size * copies, space.untidiness(self.mesh)[nodes])
            yield Table((root,), costs)

    def _read(self, domains: Mapping[int, Ints]) -> Iterator[Table]:
        """Among versions that cost the same to use, the smallest: it need not live longer."""
        for value in self.problem.values:
            for leaf in {self.problem.find(v) for v in value.leaves}:
                read = self.held(self.problem.space(leaf))[domains[leaf]] * value.itemsize
                none = np.zeros(len(read))
                yield Table((leaf,), (none, read, none))

    def _steps(
        self, weights: Weights, limits: Limits, domains: Mapping[int, Ints], tidy: bool
    ) -> Iterator[Rows]:
        confined = dict(limits.steps)
        for number, step in enumerate(self.problem.steps):
            seconds = self.flops(step) / self.machine.peak_flops * weights.compute
            seconds = seconds + self._moved(step) * weights.communication
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
            if scope[0] in scope[1:]:
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

    def _moved(self, step: Step) -> Floats:
        """[rows], the seconds of a step that is itself a move."""
        if step.edges is None:
            return np.zeros(len(step.columns[0]))
        space = self.problem.variables[step.scope[0]].space
        received = space.received(self.sizes, self.mesh, self.large)[step.edges]
        return received * step.itemsize * step.times / self.machine.network_bandwidth

    def _found(self, nodes: dict[int, int], forest: tuple[tuple[Edge, ...], ...]) -> Found:
        compute = communication = memory = 0.0
        for step in self.problem.steps:
            row = self.row(step, nodes)
            compute += float(self.flops(step)[row]) / self.machine.peak_flops
            communication += float(self._moved(step)[row])
        for value, tree in zip(self.problem.values, forest, strict=True):
            root = self.problem.find(value.root)
            space = self.problem.space(root)
            size = float(self.held(space)[nodes[root]]) * value.itemsize * value.stored
            memory += size / self.machine.memory_bandwidth
            ways = self.routes(value, False)
            rate = value.itemsize * value.times / self.machine.network_bandwidth
            communication += sum(ways.cost(a, b)[0] * rate for a, b in tree)
        return Found(nodes, forest, compute, memory, communication)

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
