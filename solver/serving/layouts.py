"""The layouts that a phase can be run in: of each class the best, found at a few sizes.

A class is what happens to the weights (`layoutc.solver.kinds`) and what attention is sharded over
(`layoutc.solver.attention_kinds`). Each layout found is an explicit program that can be priced at
any size, so that a sweep asks the search once for each class and a few sizes, and not at every
point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, prod

import numpy as np

from layoutc.dsl.program import DTYPES, Declare, Program
from layoutc.solver.asked import Asked
from layoutc.solver.attention import Side, attention
from layoutc.solver.attention_kinds import ALONE, AttentionKind, attending
from layoutc.solver.contenders import holding
from layoutc.solver.describe import named, of_weights
from layoutc.solver.eliminate import Infeasible
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reached import Reached
from layoutc.solver.hardware.reaching import reaching
from layoutc.solver.kinds import Kind, confined, kinds
from layoutc.solver.plan import Plan
from layoutc.solver.search import Node, best, branch_at, branches
from layoutc.solver.serving.passes import Priced
from layoutc.solver.serving.terms import VARYING
from layoutc.solver.serving.variants import spread
from layoutc.solver.solve import as_found, solve
from layoutc.solver.stored import layers_weights
from layoutc.solver.unsolvable import explain, no_place

GAP = 0.03
"""Of each class a layout is found that is within so much of the best."""

HOPELESS = 1.25
"""A class is passed over where gathering its weights alone takes so many times as long as a pass in
another takes at the same size: gathering grows with nothing, so that it would not pay at a smaller
size either."""

NEAR = 1.08
"""A home is kept where a step takes so many times as long as in the best one: with its prefill it
may be the better."""

ASKED = Asked(fit=False, gap=GAP)


@dataclass(frozen=True, slots=True)
class Layout:
    """An explicit program of one phase in its place: what its weights do, what its attention is
    sharded over ("" without attention), and its prices at any size."""

    name: str
    attention: str
    plan: Plan
    priced: Priced

    @property
    def program(self) -> Program:
        """The explicit program, at the size at which it was found."""
        return self.plan.only.program

    @property
    def key(self) -> tuple[object, ...]:
        """What is the same of two layouts that differ in sizes alone."""
        types = tuple(str(held.shape) for held in self.program.types.values())
        return tuple(self.plan.mesh.items()), str(self.plan.fabric), types

    @property
    def home(self) -> tuple[object, ...]:
        """What phases on the same chips have in common: the place, and how weights are stored."""
        stored = tuple(
            str(item.type.shape)
            for item, _ in self.program.walk()
            if isinstance(item, Declare) and item.kind == "weight"
        )
        return tuple(self.plan.mesh.items()), str(self.plan.fabric), stored

    def on(self, reached: Reached) -> Layout:
        """The same, where so much of the machine is reached."""
        priced = Priced(self.program, self.plan.fabric, self.priced.machine, reached)
        return replace(self, priced=priced)

    @property
    def found_in(self) -> float:
        """Seconds of a pass at the size at which it was found."""
        known = self.program.sizes
        sizes = {dim: np.array([float(known.get(dim, 1))]) for dim in VARYING}
        return float(self.priced.parts(sizes).seconds[0])


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds layouts on so many chips of a machine; `names` confines them to those of the weights,
    `over` to those of attention, where they are not empty."""

    chips: int
    machine: Machine
    reached: Reached
    names: frozenset[str] = frozenset()
    over: frozenset[str] = frozenset()

    @property
    def used(self) -> Machine:
        """What is searched on."""
        return reaching(self.machine, self.reached)

    def homes(self, program: Program) -> list[Layout]:
        """Where weights may be stored: on all meshes, in all places, the best of each class in
        which they stay where they are, those left out that are far from the best.

        Raises:
            Unsolvable: nothing can be had. Where names were given there may be none by those.
        """
        if program.explicit:
            return [self._layout(solve(program, self.chips, self.used, fit=False))]
        refusal = no_place(program, self.chips, self.machine)
        if refusal is not None:
            raise refusal
        best: dict[str, Layout] = {}
        for home in self._staying(program):
            if home.name not in best or home.found_in < best[home.name].found_in:
                best[home.name] = home
        if not best and not self.names:
            raise explain(program, self.chips, self.machine)
        least = min((home.found_in for home in best.values()), default=inf)
        return [home for home in best.values() if home.found_in <= NEAR * least]

    def _staying(self, program: Program) -> Iterator[Layout]:
        for one in _variants(program, self.chips):
            nodes = list(branches(one, self.chips, self.used, ASKED))
            for kind in self._kinds(program, stays=True):
                with suppress(Infeasible):
                    yield self._best(one, nodes, kind)

    def beside(self, program: Program, home: Layout) -> list[Layout]:
        """In the place of a home, with the weights stored as it has them: the best of each class
        that may pay at the size of the program."""
        if program.explicit:
            return [self._layout(solve(program, self.chips, self.used, fit=False))]
        *_, spread_out = variants = _variants(program, self.chips)
        found = [x for one in variants for x in self._found(one, home, gathering=one is spread_out)]
        return list({layout.key: layout for layout in found}.values())

    def _found(self, program: Program, home: Layout, gathering: bool) -> Iterator[Layout]:
        """The classes, those that gather least first, until gathering alone takes too long; or
        those alone that gather nothing."""
        program, least = holding(program, home.plan), inf
        try:
            node = branch_at(program, home.plan.fabric)
        except Infeasible:
            return
        classes = (kind for kind in self._kinds(program) if gathering or kind.stays)
        bounds = {kind: self._gathering(program, node, kind) for kind in classes}
        for kind in sorted(bounds, key=lambda kind: bounds[kind]):
            if bounds[kind] > HOPELESS * least:
                return
            for side in self._sides():
                with suppress(Infeasible):
                    layout = self._best(program, [node], kind, side)
                    least = min(least, layout.found_in)
                    if self._wanted(layout):
                        yield layout

    def _sides(self) -> list[Side | None]:
        """What attention is to be sharded over alone, if that was said."""
        return [side for side in ALONE if side in self.over] or [None]

    def _kinds(self, program: Program, stays: bool = False) -> Iterator[Kind]:
        """The classes; or those in which weights `stay`, which a home is of."""
        every = [kind for kind in kinds(program) if kind.stays or not stays]
        called = {kind: named(program, kind.gathered, kind.sides) for kind in every}
        wanted = [kind for kind in every if called[kind] in self.names]
        # Weights that are gathered in every phase have a home all the same.
        yield from wanted if wanted or (self.names and not stays) else every

    def _gathering(self, program: Program, node: Node, kind: Kind) -> float:
        """Seconds that gathering the weights of a class takes, at least."""
        instance, tiers = node.instance, self.machine.tiers
        rate = instance.fabric.fastest
        if all(tier.shaped for tier in tiers):
            rate = max(tier.bandwidth for tier in tiers) * self.reached.network
        return (gathered_from(kind, instance.mesh) - 1) * _matrices(program) / self.chips / rate

    def _wanted(self, layout: Layout) -> bool:
        named_so = not self.names or layout.name in self.names
        return named_so and (not self.over or layout.attention in self.over)

    def _best(
        self, program: Program, nodes: list[Node], kind: Kind, side: Side | None = None
    ) -> Layout:
        """The best of a class, attention sharded over one side alone if that is said. Raises
        `Infeasible` where there is none."""
        confining = [x for node in nodes for x in confined(kind, node, ASKED)]
        if side is not None:
            confining = list(attending(AttentionKind(0, side), confining, ASKED))
        outcome = best(confining, ASKED)
        return self._layout(as_found(self.chips, ASKED, outcome))

    def _layout(self, plan: Plan) -> Layout:
        program, mesh = plan.only.program, plan.mesh
        priced = Priced(program, plan.fabric, self.machine, self.reached)
        return Layout(of_weights(program, mesh), attention(program, mesh), plan, priced)


def _variants(program: Program, chips: int) -> tuple[Program, ...]:
    """The program as it is, and with its caches spread over all chips; of a batch with a sequence
    for every chip that alone.

    A pass that computes long enough reads its caches beside that, and does not tell how much they
    take, nor that attention waits for them.
    """
    alone = spread(program)
    enough = program.sizes.get("B", 1) >= chips
    return (alone,) if enough else tuple(dict.fromkeys((program, alone)))


def gathered_from(kind: Kind, mesh: Mapping[str, int]) -> int:
    """From how many chips the weights of a class come together on one, at least."""
    sizes = sorted(size for size in mesh.values() if size > 1)
    return prod(sizes) if kind.gathered < 0 else prod(sizes[: kind.gathered])


def _matrices(program: Program) -> float:
    """The bytes of the layers' weights, all of them."""
    sizes, layers = program.sizes, layers_weights(program)
    return sum(
        times * DTYPES[item.type.dtype] * prod(sizes[d] for d in item.type.shape.names)
        for item, times in program.walk()
        if item.name in layers
    )
