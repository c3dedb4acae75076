"""How far a choice holds: where another layout takes over as a dim or the network changes.

As a context changes it is what attention is sharded over that is looked at. Of several phases the
context of one changes, while weights stay where they are, on the plan's mesh.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import gcd, sqrt

from layoutc.dsl.layer import TOKENS
from layoutc.dsl.program import Declare, Program
from layoutc.solver.attention import attention, phrase
from layoutc.solver.contenders import Race, attention_of, holding
from layoutc.solver.context import growing_dim, longest
from layoutc.solver.meshes import pinned
from layoutc.solver.plan import Plan
from layoutc.solver.solve import solve
from layoutc.solver.turns import Line, Range, Sweep, lines

DOUBLINGS = 10
"""How far is looked: a factor of 1,024 either way."""

FINE = 64
"""A dim is varied in steps of a 64th."""

CLOSE = 1.02
"""Bandwidths are told apart from here."""


def holds(program: Program, plan: Plan, others: Sequence[Plan]) -> list[Range]:
    """How far the plan's layout is the best: by each phase's batch, by the network, and by the
    context of each phase that attends."""
    racers = [plan, *others]
    dim = _batch(program)
    ranges = []
    for number, one in enumerate(plan.passes) if dim else ():
        race = [line for p in racers for line in lines(program, p, number, dim)]
        size = one.program.dims[dim] or 1
        ranges.append(_Dim(program, plan, race, number, dim, size).range())
    race = [line for p in racers for line in lines(program, p, 0, "")]
    return [*ranges, _Network(program, plan, race).range(), *contexts(program, plan, others)]


def attended(plan: Plan) -> str:
    """What is said of a plan's attention."""
    return phrase(attention_of(plan))


def contexts(program: Program, plan: Plan, others: Sequence[Plan]) -> Iterator[Range]:
    """How far attention stays as it is, in each phase that has caches; where nothing else could be
    tried it is left out."""
    dim, several = growing_dim(program), len(plan.passes) > 1
    for number, one in enumerate(plan.passes):
        if dim is None or not attention(one.program, plan.mesh):
            continue
        on, mine, rest = _alone(program, plan, number) if several else (program, plan, others)
        race = [line for p in (mine, *rest) for line in lines(on, p, 0, dim, attended)]
        sweep = _Context(on, mine, race, 0, dim, one.program.sizes[dim])
        found = replace(sweep.range(), phase=one.phase if several else "")
        if found.least < found.most:
            yield found


def _alone(program: Program, plan: Plan, number: int) -> tuple[Program, Plan, Sequence[Plan]]:
    """One of several phases with weights where they are and on the plan's mesh, the plan for it,
    and the best of each other class of attention."""
    phase = replace(program, phases=program.phases[number : number + 1])
    on = pinned(holding(phase, plan), plan.mesh)
    mine = replace(plan, passes=plan.passes[number : number + 1], hand_overs=())
    return on, mine, [*Race(on, mine, thorough=True).by_attention()]


def _batch(program: Program) -> str:
    """The first dim of the inputs that no weight has, and that is not 1 in all phases."""
    kinds = {"input": dict[str, None](), "weight": dict[str, None]()}
    for item, _ in program.walk():
        if isinstance(item, Declare) and item.kind in kinds:
            kinds[item.kind].update(dict.fromkeys(item.type.shape.names))
    free = [d for d in kinds["input"] if d not in kinds["weight"]]
    many = [d for d in free if any((one.dims[d] or 1) > 1 for one in program.passes)]
    return next(iter([*many, *free]), "")


@dataclass
class _Dim(Sweep):
    """A dim of one phase."""

    number: int
    dim: str
    size: int

    def range(self) -> Range:
        below = [self.size >> k for k in range(1, DOUBLINGS + 1) if self.size % (1 << k) == 0]
        above = [self.size << k for k in range(1, DOUBLINGS + 1)]
        phase = self.plan.passes[self.number].phase if len(self.plan.passes) > 1 else ""
        return self.span(self.dim, phase, self.size, [*below], [*above])

    def can(self, line: Line, value: float) -> bool:
        return value % line.divisor == 0

    def worth(self, line: Line, value: float) -> tuple[float, float]:
        return line.worth(self.plan.minimize, value / self.size, 1.0)

    def middle(self, good: float, bad: float) -> float | None:
        low, high = sorted((int(good), int(bad)))
        if high > 2 * low:
            return low << ((high // low).bit_length() // 2)
        unit = gcd(low, high, self.plan.chips)
        step = max(unit, low // FINE // unit * unit)
        steps = (high - low) // step
        return low + steps // 2 * step if steps > 1 else None

    def solved(self, value: float) -> Plan:
        size = {self.dim: int(value)}
        program = replace(self.program, dims={**self.program.dims, **size})
        phases = list(program.phases)
        if phases:
            phase = phases[self.number]
            phases[self.number] = replace(phase, sizes={**phase.sizes, **size})
            program = replace(self.program, phases=tuple(phases))
        return solve(program, self.plan.chips, self.plan.machine, self.plan.minimize)


@dataclass
class _Context(_Dim):
    """The context of one phase: no longer than there is room for, no shorter than what is new."""

    def range(self) -> Range:
        one = self.plan.passes[self.number]
        new = one.program.dims.get(TOKENS) or 1
        most = longest(one.program, self.plan.mesh, self.plan.machine)
        halves = (self.size >> k for k in range(1, DOUBLINGS + 1) if self.size % (1 << k) == 0)
        doubles = (self.size << k for k in range(1, DOUBLINGS + 1))
        below, above = [n for n in halves if n >= new], [n for n in doubles if n <= most]
        return replace(self.span(self.dim, "", self.size, [*below], [*above]), attention=self.name)

    def title(self, plan: Plan) -> str:
        return attended(plan)


@dataclass
class _Network(Sweep):
    """What a chip receives in a second."""

    def range(self) -> Range:
        now = self.plan.machine.network_bandwidth  # of all tiers, by the same factor
        steps = [2.0**k for k in range(1, DOUBLINGS + 1)]
        return self.span("network", "", now, [now / s for s in steps], [now * s for s in steps])

    def worth(self, line: Line, value: float) -> tuple[float, float]:
        return line.worth(self.plan.minimize, 1.0, value / self.plan.machine.network_bandwidth)

    def middle(self, good: float, bad: float) -> float | None:
        return sqrt(good * bad) if max(good, bad) > CLOSE * min(good, bad) else None

    def solved(self, value: float) -> Plan:
        machine = self.plan.machine.faster(network=value / self.plan.machine.network_bandwidth)
        return solve(self.program, self.plan.chips, machine, self.plan.minimize)
