"""From a program, with or without holes, to a plan: explicit, on a mesh, priced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf

from layoutc.dsl.handing import HandOver
from layoutc.dsl.program import Program
from layoutc.solver import capacity, units
from layoutc.solver.asked import Asked, Minimize
from layoutc.solver.assignment import Found
from layoutc.solver.eliminate import TOLERANCE, Infeasible
from layoutc.solver.fill import renamed_axes
from layoutc.solver.formula import moving
from layoutc.solver.handed import handed, stood
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.meshes import Mesh, mesh_of, pinned, renamings, uneven
from layoutc.solver.padding import Padded, paddings
from layoutc.solver.plan import Alternative, Pass, Plan
from layoutc.solver.price import Prices, held_in, price
from layoutc.solver.search import Answer, Outcome, search, tidied
from layoutc.solver.shortage import shortage
from layoutc.solver.sites import sites
from layoutc.solver.unsolvable import Unsolvable, explain, no_place

MOST_PADDINGS = 8
"""So many ways to pad a dim are tried."""

Passes = tuple[Program, ...]
"""The explicit program of each phase."""


@dataclass(frozen=True, slots=True)
class _Spelled:
    """A plan as programs, in their place: one for each phase, and what hands caches over."""

    passes: Passes
    fabric: Fabric
    hand_overs: tuple[HandOver, ...] = ()

    def renamed(self, names: Mapping[str, str]) -> _Spelled:
        """The same with its axes renamed."""
        handed = (replace(h, program=renamed_axes(h.program, names)) for h in self.hand_overs)
        passes = tuple(renamed_axes(p, names) for p in self.passes)
        return _Spelled(passes, self.fabric.renamed(names), tuple(handed))


def solve(
    program: Program,
    chips: int,
    machine: Machine,
    minimize: Minimize = "time",
    *,
    large: bool = False,
    fit: bool = True,
    gap: float = 0.0,
) -> Plan:
    """The best mesh and layouts for `program` on `chips` chips, proven.

    With `large`, moves are weighed as for large K, as the paper does; prices stay exact. Unless
    `fit` is false, what does not fit in a chip's memory is not chosen. The search may stop at a
    `gap` from what is proven, a share of the best.

    An explicit program keeps every statement as it is, and only its mesh is sought. Ties go to
    less memory a chip, then to the more even mesh, then to hidden dims split rather than tokens,
    then to axes in declared order.

    Raises:
        Unsolvable: no mesh of so many chips satisfies the program; the message says why.
    """
    unsized = {d: None for one in program.passes for d, size in one.dims.items() if size is None}
    if unsized:
        settings = " ".join(f"--set {d}=..." for d in unsized)
        raise Unsolvable(f"{', '.join(unsized)} has no size", f"give it one: {settings}")
    refusal = no_place(program, chips, machine)
    if refusal is not None:
        raise refusal
    asked = Asked(minimize, large, fit, gap)
    try:
        return _found(program, chips, machine, asked)
    except Infeasible:
        raise _unsolvable(program, chips, machine, asked) from None


def _found(program: Program, chips: int, machine: Machine, asked: Asked) -> Plan:
    """Raises `Infeasible` where there is none."""
    if program.explicit:
        return _placed(program, chips, machine, asked)
    plan = settled(program, chips, machine, asked, search(program, chips, machine, asked))
    if not machine.overlap or asked.minimize != "time":
        return plan
    # The search with overlap may miss the best without; what is proven is the same for both.
    apart = _found(program, chips, replace(machine, overlap=False), asked)
    again = apart.on(apart.fabric.on(machine))
    best = min(plan, again, key=lambda p: p.value)
    return plan if best is plan else replace(again, bound=plan.bound, runner_up=None, ties=())


def _unsolvable(program: Program, chips: int, machine: Machine, asked: Asked) -> Unsolvable:
    """Memory, if that is what is short, else what does not divide, and how it could."""
    if not asked.fit:
        # Whoever sweeps over sizes that need not fit asks often, and wants no advice.
        return explain(program, chips, machine)
    short = shortage(program, chips, machine)
    if short is not None:
        return short
    refusal = explain(program, chips, machine)
    found = padded(program, chips, machine, asked).values()
    if not found:
        return refusal
    padding, plan = min(found, key=lambda pair: pair[1].value)
    took = f"{units.duration(plan.seconds)} {'a pass' if len(plan.passes) == 1 else 'in all'}"
    more = f"{padding.to / padding.size - 1:.0%} more of it, {took}"
    hints = [refusal.hint] * bool(refusal.hint)
    hint = ", or ".join([*hints, f"pad {padding.dim}:  {padding}  ({more})"])
    return Unsolvable(refusal.message, hint, refusal.name)


def padded(
    program: Program, chips: int, machine: Machine, asked: Asked
) -> dict[str, tuple[Padded, Plan]]:
    """For each dim that could be padded and have a plan then, the best way, and its plan."""
    found: dict[str, tuple[Padded, Plan]] = {}
    for padding in paddings(program, chips)[:MOST_PADDINGS]:
        with suppress(Infeasible):
            plan = _found(padding.program, chips, machine, asked)
            before = found.get(padding.dim)
            if before is None or plan.value < before[1].value:
                found[padding.dim] = padding, plan
    return found


def objective(prices: Prices, minimize: Minimize) -> tuple[float, float]:
    """What is minimised, compared in order: seconds of a pass, or work and then communication."""
    if minimize == "time":
        return prices.seconds, 0.0
    return prices.compute.seconds, prices.communication.seconds


# Explicit programs.


def _placed(program: Program, chips: int, machine: Machine, asked: Asked) -> Plan:
    """The best mesh for a program whose layouts stand."""
    weighed = list(_weighed(program, chips, machine, asked))
    roomy = [(value, fabric) for value, fabric, fits in weighed if fits]
    if not roomy:
        raise Infeasible
    best = min(value for value, _ in roomy)
    tied = {tuple(f.mesh.items()): f for value, f in reversed(roomy) if _equal(value, best)}
    candidates = [_stood(program, fabric) for fabric in tied.values()]
    place = 0 if asked.minimize == "time" else 1
    plan = _best(candidates, chips, asked.minimize, best[place])
    worse = sorted(
        (v for v in roomy if not _equal(v[0], best) and v[1].mesh != plan.fabric.mesh),
        key=lambda pair: pair[0],
    )
    return replace(
        plan,
        stood=True,
        ties=tuple(dict(f.mesh) for f in tied.values() if f.mesh != plan.fabric.mesh),
        runner_up=Alternative(dict(worse[0][1].mesh), worse[0][0][place]) if worse else None,
    )


def _stood(program: Program, fabric: Fabric) -> _Spelled:
    passes = pinned(program, dict(fabric.mesh)).passes
    return _Spelled(passes, fabric, stood(passes))


def _weighed(
    program: Program, chips: int, machine: Machine, asked: Asked
) -> Iterator[tuple[tuple[float, float], Fabric, bool]]:
    """What is minimised in each place where every dim divides, and whether all phases fit there."""
    handing = stood(program.passes)
    for fabric in sites(program.axes, chips, machine):
        first = second = 0.0
        fits = True
        for one in program.passes:
            try:
                prices = price(one, fabric)
            except ValueError:
                break
            value = objective(prices, asked.minimize)
            fits &= not asked.fit or prices.memory.bytes <= machine.memory_bytes
            first += one.phase.weight * value[0]
            second += one.phase.weight * (_received(one, fabric) if asked.large else value[1])
        else:
            for hand_over in handing:
                moved = _handing(hand_over, fabric, asked)
                first += moved if asked.minimize == "time" else 0.0
                second += 0.0 if asked.minimize == "time" else moved
            yield (first, second), fabric, fits


def _handing(hand_over: HandOver, fabric: Fabric, asked: Asked) -> float:
    """What a hand-over adds to what is minimised, as often as it is done."""
    program = hand_over.program
    if asked.large:
        return program.phase.weight * _received(program, fabric)
    return program.phase.weight * price(program, fabric).communication.seconds


def _received(program: Program, fabric: Fabric) -> float:
    """What moving takes for large K, in seconds."""
    return float(moving(program, fabric, large=True).exact(program.sizes))


def _equal(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(abs(a - b) <= TOLERANCE * abs(b) for a, b in zip(one, other, strict=True))


# Programs with holes.


def settled(program: Program, chips: int, machine: Machine, asked: Asked, outcome: Outcome) -> Plan:
    """The plan that a search comes to, ties settled."""
    candidates = list(_worth_spelling(program, outcome.answers, asked.gap))
    plan = _best(candidates, chips, asked.minimize, outcome.bound)
    others = [Alternative(mesh, seconds) for seconds, mesh in outcome.others]
    return replace(
        plan,
        runner_up=others[0] if others and others[0].seconds < inf else None,
        ties=tuple(_others(program, plan.mesh, outcome.answers)),
    )


def as_found(chips: int, asked: Asked, outcome: Outcome) -> Plan:
    """One of the plans that a search comes to, whichever of equals: ties are not settled, which
    takes about as long as the search."""
    answer = min(outcome.answers, key=lambda a: uneven(dict(a.node.instance.mesh)))
    spelled = _spelled(answer, answer.found)
    passes = tuple(Pass(p, spelled.fabric, price(p, spelled.fabric)) for p in spelled.passes)
    return Plan(passes, chips, spelled.fabric, asked.minimize, outcome.bound)


def _others(program: Program, mesh: Mesh, answers: list[Answer]) -> Iterator[Mesh]:
    """The meshes of the answers, without those that are `mesh` with its axes renamed."""
    seen = [{names[a]: mesh[a] for a in mesh} for names in renamings(program)]
    for answer in answers:
        other = {a.name: answer.node.instance.mesh.get(a.name, 1) for a in program.axes}
        if other not in seen:
            seen.append(other)
            yield other


def _worth_spelling(program: Program, answers: list[Answer], gap: float) -> Iterator[_Spelled]:
    """The answer on the most even mesh, and those that get by with less memory than it.

    Settling the ties within an answer takes longer than finding it, so that an answer whose
    memory is not already less is passed over.
    """
    ordered = sorted(answers, key=lambda a: uneven(dict(a.node.instance.mesh)))
    least: int | None = None
    for answer in ordered:
        if least is not None and _memory(_spelled(answer, answer.found)) >= least:
            continue
        spelled = _spelled(answer, tidied(answer, gap))
        least = min(_memory(spelled), least or _memory(spelled))
        for names in renamings(program):
            yield spelled.renamed(names)


def _memory(spelled: _Spelled) -> int:
    machine = spelled.fabric.machine
    return max(held_in(one, mesh_of(one), machine).bytes for one in spelled.passes)


def _spelled(answer: Answer, found: Found) -> _Spelled:
    """An assignment of an answer as explicit programs."""
    instance = answer.node.instance
    passes = tuple(filled.program for filled in capacity.filled(instance, found))
    return _Spelled(passes, instance.fabric.real, handed(instance, found))


def _best(candidates: list[_Spelled], chips: int, minimize: Minimize, bound: float) -> Plan:
    """Settles ties. Memory is the same for all renamings, so one of each mesh is priced."""
    memory: dict[tuple[int, ...], int] = {}

    def rank(spelled: _Spelled) -> tuple[object, ...]:
        first, *_ = spelled.passes
        key = uneven(mesh_of(first))
        if key not in memory:
            memory[key] = _memory(spelled)
        reading = tuple(map(_reading, spelled.passes))
        return memory[key], key, reading, _sizes(first)

    best = min(candidates, key=rank)
    fabric = best.fabric
    passes = tuple(Pass(one, fabric, price(one, fabric)) for one in best.passes)
    return Plan(passes, chips, fabric, minimize, bound, hand_overs=best.hand_overs)


def _reading(program: Program) -> tuple[tuple[int, ...], ...]:
    """Axes in the order in which they are read, statement by statement: less is more in order."""
    order = {axis.name: i for i, axis in enumerate(program.axes)}
    return tuple(tuple(order[a] for a in item.type.shape.axes) for item, _ in program.walk())


def _sizes(program: Program) -> tuple[int, ...]:
    """At the last tie, larger axes first."""
    return tuple(-(axis.size or 1) for axis in program.axes)
