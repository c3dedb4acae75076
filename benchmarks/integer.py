"""A program as one integer program, built naively and solved by HiGHS: what the search is beside.

One binary a layout of each tensor, one a row of each operation, and for every use of a value a
flow over the moves between its layouts: a move is paid once, however many uses flow through it.
The maximum of compute and memory is one more variable, above both. One integer program a mesh.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from layoutc.dsl.program import Program
from layoutc.solver.build import build
from layoutc.solver.eliminate import Infeasible
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.instance import Instance
from layoutc.solver.meshes import named_axes
from layoutc.solver.problem import Step, Value
from layoutc.solver.sites import distinct

Terms = list[tuple[int, float]]
"""Columns and their coefficients."""


def optimum(program: Program, chips: int, machine: Machine) -> float:
    """The least seconds of a pass over all meshes; infinity where nothing fits."""
    named, best = named_axes(program), inf
    for fabric in (place for places in distinct(program, chips, machine) for place in places):
        axes = tuple(a for a, size in fabric.mesh.items() if size > 1 or a in named)
        try:
            model = _Model(Instance(build(program, axes), fabric))
        except Infeasible:
            continue
        best = min(best, model.solve())
    return best


@dataclass(slots=True)
class _Model:
    """Columns with their costs, and rows that are at least, or exactly, some number."""

    instance: Instance
    cost: list[float] = field(default_factory=list)
    binary: list[bool] = field(default_factory=list)
    rows: list[tuple[Terms, float, float]] = field(default_factory=list)
    chosen: dict[int, dict[int, int]] = field(default_factory=dict)
    """The column of each layout of each variable."""
    compute: Terms = field(default_factory=list)
    memory: Terms = field(default_factory=list)

    def __post_init__(self) -> None:
        for variable, nodes in self.instance.domains.items():
            self.chosen[variable] = {int(n): self.column() for n in nodes}
            self.equal([(c, 1.0) for c in self.chosen[variable].values()], 1.0)
        for step in self.instance.problem.steps:
            self.operation(step)
        for value in self.instance.problem.values:
            self.stored(value)
            self.moved(value)
        longest = self.column(1.0, binary=False)
        for part in (self.compute, self.memory):
            self.rows.append(([(longest, 1.0), *((c, -s) for c, s in part)], 0.0, inf))

    def column(self, cost: float = 0.0, binary: bool = True) -> int:
        self.cost.append(cost)
        self.binary.append(binary)
        return len(self.cost) - 1

    def equal(self, terms: Terms, number: float) -> None:
        self.rows.append((terms, number, number))

    def unit(self) -> float:
        """Seconds that are counted as one, so that numbers are neither large nor small."""
        steps = self.instance.problem.steps
        flops = sum(float(self.instance.flops(s).min(initial=inf)) for s in steps if s.flops)
        return (flops or 1.0) / self.instance.machine.peak_flops

    def seconds(self, number: float) -> float:
        return number / self.unit()

    # What there is to choose.

    def operation(self, step: Step) -> None:
        """One row is taken, and it is the one of the layouts that are taken."""
        scope = [self.instance.problem.find(v) for v in step.scope]
        flops = self.instance.flops(step) / self.instance.machine.peak_flops
        moved = self.instance._moved(step)
        taken: list[dict[int, Terms]] = [{n: [] for n in self.chosen[v]} for v in scope]
        for row, nodes in enumerate(zip(*step.columns, strict=True)):
            if all(int(n) in self.chosen[v] for n, v in zip(nodes, scope, strict=True)):
                column = self.column(self.seconds(float(moved[row])))
                self.compute.append((column, self.seconds(float(flops[row]))))
                for place, node in enumerate(nodes):
                    taken[place][int(node)].append((column, 1.0))
        for variable, rows in zip(scope, taken, strict=True):
            for node, terms in rows.items():
                self.equal([*terms, (self.chosen[variable][node], -1.0)], 0.0)

    def stored(self, value: Value) -> None:
        root = self.instance.problem.find(value.root)
        held = self.instance.held(self.instance.problem.space(root), value.part)
        rate = value.itemsize * value.stored / self.instance.machine.memory_bandwidth
        for node, column in self.chosen[root].items():
            self.memory.append((column, self.seconds(float(held[node]) * rate)))

    def moved(self, value: Value) -> None:
        """For each use a flow from where the value comes to be; a move is used if any flows."""
        find = self.instance.problem.find
        root = find(value.root)
        leaves = {find(v) for v in value.leaves} - {root}
        routes = self.instance.routes(value, tidy=False)
        real = np.flatnonzero(routes.source != routes.target)
        rate = value.times
        used = {int(e): self.column(self.seconds(float(routes.weights[0][e]) * rate)) for e in real}
        for leaf in leaves:
            self.flow(root, leaf, routes.layouts, routes.source, routes.target, used)

    def flow(
        self,
        root: int,
        leaf: int,
        layouts: np.ndarray,
        source: np.ndarray,
        target: np.ndarray,
        used: dict[int, int],
    ) -> None:
        balance: list[Terms] = [[] for _ in layouts]
        for edge, use in used.items():
            column = self.column(binary=False)
            balance[source[edge]].append((column, -1.0))
            balance[target[edge]].append((column, 1.0))
            self.rows.append(([(use, 1.0), (column, -1.0)], 0.0, inf))
        for place, node in enumerate(layouts):
            begins = self.chosen[root].get(int(node))
            ends = self.chosen[leaf].get(int(node))
            terms = [*balance[place], *([(begins, 1.0)] if begins is not None else [])]
            self.equal([*terms, *([(ends, -1.0)] if ends is not None else [])], 0.0)

    # Solving.

    def solve(self) -> float:
        """Seconds; infinity where nothing fits."""
        entries = [(r, c, a) for r, (terms, _, _) in enumerate(self.rows) for c, a in terms]
        rows, columns, values = (np.array(part) for part in zip(*entries, strict=True))
        shape = len(self.rows), len(self.cost)
        matrix = csr_array((values, (rows, columns)), shape=shape)
        low, high = (np.array([row[i] for row in self.rows]) for i in (1, 2))
        whole = np.array(self.binary)
        found = milp(
            np.array(self.cost),
            integrality=whole.astype(int),
            bounds=Bounds(0.0, np.where(whole, 1.0, inf)),
            constraints=LinearConstraint(matrix, low, high),
            options={"mip_rel_gap": 0.0},
        )
        return inf if found.x is None else float(found.fun) * self.unit()
