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
from layoutc.solver.formula import communication
from layoutc.solver.handed import handed, stood
from layoutc.solver.machine import Machine
from layoutc.solver.meshes import Mesh, mesh_of, meshes, pinned, renamings, uneven
from layoutc.solver.padding import Padded, paddings
from layoutc.solver.plan import Alternative, Pass, Plan
from layoutc.solver.price import Prices, price
from layoutc.solver.search import Answer, Outcome, search, tidied
from layoutc.solver.shortage import shortage
from layoutc.solver.unsolvable import Unsolvable, explain

MOST_PADDINGS = 8
"""So many ways to pad a dim are tried."""

Passes = tuple[Program, ...]
"""The explicit program of each phase."""


@dataclass(frozen=True, slots=True)
class _Spelled:
    """A plan as programs: one for each phase, and what hands caches over."""

    passes: Passes
    hand_overs: tuple[HandOver, ...] = ()

    def renamed(self, names: Mapping[str, str]) -> _Spelled:
        """The same with its axes renamed."""
        handed = (replace(h, program=renamed_axes(h.program, names)) for h in self.hand_overs)
        return _Spelled(tuple(renamed_axes(p, names) for p in self.passes), tuple(handed))


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
    asked = Asked(minimize, large, fit, gap)
    try:
        return _found(program, chips, machine, asked)
    except Infeasible:
        raise _unsolvable(program, chips, machine, asked) from None


def _found(program: Program, chips: int, machine: Machine, asked: Asked) -> Plan:
    """Raises `Infeasible` where there is none."""
    if program.explicit:
        return _placed(program, chips, machine, asked)
    outcome = search(program, chips, machine, asked)
    return settled(program, chips, machine, asked, outcome)


def _unsolvable(program: Program, chips: int, machine: Machine, asked: Asked) -> Unsolvable:
    """Memory, if that is what is short, else what does not divide, and how it could."""
    if not asked.fit:
        # Whoever sweeps over sizes that need not fit asks often, and wants no advice.
        return explain(program, chips)
    short = shortage(program, chips, machine)
    if short is not None:
        return short
    refusal = explain(program, chips)
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
    roomy = [(value, mesh) for value, mesh, fits in weighed if fits]
    if not roomy:
        raise Infeasible
    best = min(value for value, _ in roomy)
    tied = [mesh for value, mesh in roomy if _equal(value, best)]
    worse = sorted((v for v in roomy if not _equal(v[0], best)), key=lambda pair: pair[0])
    candidates = [_stood(pinned(program, mesh).passes) for mesh in tied]
    place = 0 if asked.minimize == "time" else 1
    plan = _best(candidates, chips, machine, asked.minimize, best[place])
    return replace(
        plan,
        stood=True,
        ties=tuple(mesh for mesh in tied if mesh != plan.mesh),
        runner_up=Alternative(worse[0][1], worse[0][0][place]) if worse else None,
    )


def _stood(passes: Passes) -> _Spelled:
    return _Spelled(passes, stood(passes))


def _weighed(
    program: Program, chips: int, machine: Machine, asked: Asked
) -> Iterator[tuple[tuple[float, float], Mesh, bool]]:
    """What is minimised on each mesh that divides every dim, and whether all phases fit there."""
    handing = stood(program.passes)
    for mesh in meshes(program.axes, chips):
        first = second = 0.0
        fits = True
        for one in program.passes:
            try:
                prices = price(one, mesh, machine)
            except ValueError:
                break
            value = objective(prices, asked.minimize)
            fits &= not asked.fit or prices.memory.bytes <= machine.memory_bytes
            first += one.phase.weight * value[0]
            second += one.phase.weight * (_received(one, mesh) if asked.large else value[1])
        else:
            for hand_over in handing:
                moved = _handing(hand_over, mesh, machine, asked)
                first += moved if asked.minimize == "time" else 0.0
                second += 0.0 if asked.minimize == "time" else moved
            yield (first, second), mesh, fits


def _handing(hand_over: HandOver, mesh: Mesh, machine: Machine, asked: Asked) -> float:
    """What a hand-over adds to what is minimised, as often as it is done."""
    program = hand_over.program
    if asked.large:
        return program.phase.weight * _received(program, mesh)
    return program.phase.weight * price(program, mesh, machine).communication.seconds


def _received(program: Program, mesh: Mesh) -> float:
    """Elements that a chip receives, K large."""
    sizes = program.sizes
    return float(communication(program, mesh).exact({**sizes, **mesh}))


def _equal(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(abs(a - b) <= TOLERANCE * abs(b) for a, b in zip(one, other, strict=True))


# Programs with holes.


def settled(program: Program, chips: int, machine: Machine, asked: Asked, outcome: Outcome) -> Plan:
    """The plan that a search comes to, ties settled."""
    candidates = list(_worth_spelling(program, outcome.answers, machine))
    plan = _best(candidates, chips, machine, asked.minimize, outcome.bound)
    others = [Alternative(mesh, seconds) for seconds, mesh in outcome.others]
    return replace(
        plan,
        runner_up=others[0] if others and others[0].seconds < inf else None,
        ties=tuple(_others(program, plan.mesh, outcome.answers)),
    )


def _others(program: Program, mesh: Mesh, answers: list[Answer]) -> Iterator[Mesh]:
    """The meshes of the answers, without those that are `mesh` with its axes renamed."""
    seen = [{names[a]: mesh[a] for a in mesh} for names in renamings(program)]
    for answer in answers:
        other = {a.name: answer.node.instance.mesh.get(a.name, 1) for a in program.axes}
        if other not in seen:
            seen.append(other)
            yield other


def _worth_spelling(
    program: Program, answers: list[Answer], machine: Machine
) -> Iterator[_Spelled]:
    """The answer on the most even mesh, and those that get by with less memory than it.

    Settling the ties within an answer takes longer than finding it, so that an answer whose
    memory is not already less is passed over.
    """
    ordered = sorted(answers, key=lambda a: uneven(dict(a.node.instance.mesh)))
    least: int | None = None
    for answer in ordered:
        if least is not None and _memory(_spelled(answer, answer.found), machine) >= least:
            continue
        spelled = _spelled(answer, tidied(answer))
        least = min(_memory(spelled, machine), least or _memory(spelled, machine))
        for names in renamings(program):
            yield spelled.renamed(names)


def _memory(spelled: _Spelled, machine: Machine) -> int:
    return max(price(one, mesh_of(one), machine).memory.bytes for one in spelled.passes)


def _spelled(answer: Answer, found: Found) -> _Spelled:
    """An assignment of an answer as explicit programs."""
    instance = answer.node.instance
    passes = tuple(filled.program for filled in capacity.filled(instance, found))
    return _Spelled(passes, handed(instance, found))


def _best(
    candidates: list[_Spelled], chips: int, machine: Machine, minimize: Minimize, bound: float
) -> Plan:
    """Settles ties. Memory is the same for all renamings, so one of each mesh is priced."""
    memory: dict[tuple[int, ...], int] = {}

    def rank(spelled: _Spelled) -> tuple[object, ...]:
        first, *_ = spelled.passes
        key = uneven(mesh_of(first))
        if key not in memory:
            memory[key] = _memory(spelled, machine)
        reading = tuple(map(_reading, spelled.passes))
        return memory[key], key, reading, _sizes(first)

    best = min(candidates, key=rank)
    mesh = mesh_of(best.passes[0])
    passes = tuple(Pass(one, mesh, machine, price(one, mesh, machine)) for one in best.passes)
    return Plan(passes, chips, mesh, machine, minimize, bound, hand_overs=best.hand_overs)


def _reading(program: Program) -> tuple[tuple[int, ...], ...]:
    """Axes in the order in which they are read, statement by statement: less is more in order."""
    order = {axis.name: i for i, axis in enumerate(program.axes)}
    return tuple(tuple(order[a] for a in item.type.shape.axes) for item, _ in program.walk())


def _sizes(program: Program) -> tuple[int, ...]:
    """At the last tie, larger axes first."""
    return tuple(-(axis.size or 1) for axis in program.axes)
