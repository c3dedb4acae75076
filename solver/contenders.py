"""What else was possible: the best plan of each class of layouts other than the winner's.

Classes are by what happens to weights (`layoutc.solver.kinds`), and by what attention is sharded
over (`layoutc.solver.attention_kinds`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

from layoutc.dsl.program import Declare, Item, Program, Repeat
from layoutc.solver.asked import Asked
from layoutc.solver.attention import attention
from layoutc.solver.attention_kinds import attending, attention_kinds
from layoutc.solver.branching import alike
from layoutc.solver.describe import describe, named, of_weights, together
from layoutc.solver.eliminate import Infeasible
from layoutc.solver.kinds import Kind, confined, kinds, uses
from layoutc.solver.meshes import pinned
from layoutc.solver.plan import Plan
from layoutc.solver.search import Answer, Node, best, branches
from layoutc.solver.sites import sites
from layoutc.solver.solve import objective, settled, solve
from layoutc.solver.unsolvable import Unsolvable

LARGE = 30
"""With so many names in all phases, a class takes about as long as the search itself."""

NEAR = 0.03
"""What is weighed beside the plan of a large program is found to within so much: the last of it
takes longest, and would change little of what is said."""


def near(program: Program) -> float:
    """How near to the best is near enough for what stands beside the plan."""
    names = sum(1 for _ in program.walk()) * len(program.passes)
    return NEAR if names >= LARGE else 0.0


@dataclass(frozen=True, slots=True)
class Contenders:
    """The best plan of each name but the winner's, the cheapest first.

    `runner_up` is the plan on the next best mesh, if it has the winner's name. `absent` are the
    classes of which there is no plan. `complete` says that all classes were tried on all meshes.
    """

    plans: tuple[Plan, ...]
    runner_up: Plan | None = None
    absent: tuple[Kind, ...] = ()
    complete: bool = True


def called(plan: Plan) -> str:
    """What a plan's layout is called."""
    return together({one.phase: describe(one.program, plan.mesh) for one in plan.passes})


def weights_of(plan: Plan) -> str:
    """What happens to a plan's weights."""
    return together({one.phase: of_weights(one.program, plan.mesh) for one in plan.passes})


def attention_of(plan: Plan) -> str:
    """What a plan's attention is sharded over; "" where there is none."""
    return together({one.phase: attention(one.program, plan.mesh) for one in plan.passes})


def worth(plan: Plan) -> tuple[float, float]:
    """What was minimised, over all phases, compared in order; less is better."""
    terms = [(one.weight, objective(one.prices, plan.minimize)) for one in plan.passes]
    return sum(w * v[0] for w, v in terms), sum(w * v[1] for w, v in terms)


def contenders(program: Program, plan: Plan, *, thorough: bool = False) -> Contenders:
    """What else was possible for a program, beside the plan for it.

    Unless `thorough`, classes are tried on the plan's mesh alone, of large programs only those
    that may come next, and other ways of sharding attention with the weights where they are.
    """
    if plan.stood:
        return _sorted(plan, list(_elsewhere(program, plan)), (), complete=True)
    race = Race(program, plan, thorough)
    found = race.run()
    if plan.runner_up is not None:
        on = pinned(program, plan.runner_up.mesh)
        found.append(solve(on, plan.chips, plan.machine, plan.minimize, gap=race.gap))
    return _sorted(plan, found, tuple(race.absent), complete=thorough)


def _sorted(plan: Plan, found: list[Plan], absent: tuple[Kind, ...], complete: bool) -> Contenders:
    """The best of each name; of the winner's name, the best on another mesh."""
    least: dict[str, Plan] = {}
    for other in sorted(found, key=worth):
        least.setdefault(called(other), other)
    runner_up = least.pop(called(plan), None)
    return Contenders(tuple(least.values()), runner_up, absent, complete)


def _elsewhere(program: Program, plan: Plan) -> Iterator[Plan]:
    """An explicit program on the other meshes; its name goes with the mesh."""
    places = sites(program.axes, plan.chips, plan.machine)
    for key in dict.fromkeys(tuple(place.mesh.items()) for place in places):
        mesh = dict(key)
        if mesh != plan.mesh and mesh not in plan.ties:
            try:
                yield solve(pinned(program, mesh), plan.chips, plan.machine, plan.minimize)
            except Unsolvable:
                continue


@dataclass
class Race:
    """Runs the classes one after the other: on the plan's mesh, or if `thorough` on all. With
    `fit`, what does not fit in memory does not count."""

    program: Program
    plan: Plan
    thorough: bool
    fit: bool = True

    def __post_init__(self) -> None:
        self.on = self.program if self.thorough else pinned(self.program, self.plan.mesh)
        self.absent: list[Kind] = []
        self.gap = near(self.program)
        self.asked = Asked(self.plan.minimize, fit=self.fit, gap=self.gap)

    def run(self) -> list[Plan]:
        """The best plan of each class that has one."""
        return [*self.by_weights(), *self.by_attention()]

    def by_weights(self) -> list[Plan]:
        """The best of each class of weights."""
        entries = [(kind, self.nodes(kind)) for kind in self.kinds()]
        entries.sort(key=lambda entry: _bound(entry[1]))
        found: list[Plan] = []
        for kind, nodes in entries:
            least = min((plan.value for plan in found), default=inf)
            if self.gap and not self.thorough and _bound(nodes) > least:
                break
            try:
                found.append(self.best(nodes))
            except Infeasible:
                self.absent.append(kind)
        return found

    def by_attention(self) -> Iterator[Plan]:
        """The best of each class of attention."""
        race = self if self.thorough else replace(self, program=holding(self.program, self.plan))
        for kind in attention_kinds(self.program, self.plan):
            with suppress(Infeasible):
                yield race.best(list(attending(kind, race.whole, race.asked)))

    def kinds(self) -> Iterator[Kind]:
        """The classes that the plan is not itself of."""
        own = weights_of(self.plan)
        for kind in kinds(self.program):
            if kind.gathered > 0 or named(self.program, kind.gathered, kind.sides) != own:
                yield kind

    @cached_property
    def whole(self) -> list[Node]:
        """A branch for each mesh, with all that is possible there."""
        return list(branches(self.on, self.plan.chips, self.plan.machine, self.asked))

    def nodes(self, kind: Kind) -> list[Node]:
        """What there is of a class."""
        return [x for node in self.whole for x in confined(kind, node, self.asked)]

    def best(self, nodes: list[Node]) -> Plan:
        """The best plan in any of the branches. Raises `Infeasible` if there is none."""
        outcome = best(nodes, self.asked)
        answers = [kept(answer) for answer in outcome.answers]
        plan = self.plan
        outcome = replace(outcome, answers=answers)
        return settled(self.on, plan.chips, plan.machine, self.asked, outcome)


def holding(program: Program, plan: Plan) -> Program:
    """The program with every weight stored as a plan has it."""
    types = plan.passes[0].program.types

    def held(item: Item) -> Item:
        if isinstance(item, Repeat):
            return replace(item, body=tuple(map(held, item.body)))  # type: ignore[arg-type]
        if isinstance(item, Declare) and item.kind == "weight":
            return replace(item, type=types[item.name])
        return item

    return replace(program, items=tuple(map(held, program.items)))


def _bound(nodes: list[Node]) -> float:
    """Seconds that nothing in the branches is below; with no branch there is nothing to do."""
    return min((node.bound for node in nodes), default=0.0)


def kept(answer: Answer) -> Answer:
    """The answer in a branch where each weight keeps the axes that it has on each dim.

    There ties are settled in little time.
    """
    instance, found = answer.node.instance, answer.found
    limits = alike(instance, answer.node.limits, found)
    for use in uses(instance.problem):
        for variable in {instance.problem.find(v) for v in (use.root, use.leaf)}:
            place = instance.problem.space(variable).place
            same = (place == place[found.nodes[variable]]).all(axis=1)
            limits = limits.storing(variable, same)
    return replace(answer, node=replace(answer.node, limits=limits))
