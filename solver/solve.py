"""From a program, with or without holes, to a plan: explicit, on a mesh, priced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

from layoutc.dsl.program import Axis, Program
from layoutc.solver.eliminate import TOLERANCE, Infeasible
from layoutc.solver.fill import fill, renamed_axes
from layoutc.solver.formula import communication
from layoutc.solver.instance import Found
from layoutc.solver.machine import Machine
from layoutc.solver.meshes import Mesh, meshes, renamings, uneven
from layoutc.solver.price import Prices, price
from layoutc.solver.search import Answer, Minimize, search, tidied
from layoutc.solver.unsolvable import Unsolvable, explain


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another mesh, and the least that was found there (seconds, of what was minimised)."""

    mesh: Mesh
    seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What the solver answers: an explicit program, its mesh, its prices on `machine`.

    `bound` is the proven lower bound of what was minimised, in seconds: of the pass, or of its
    communication. `runner_up` is the best mesh that is worse, if there is one. `stood` says that
    the program was explicit: its layouts stood, and only the mesh was sought.
    """

    program: Program
    chips: int
    mesh: Mesh
    machine: Machine
    prices: Prices
    minimize: Minimize
    bound: float
    runner_up: Alternative | None = None
    stood: bool = False


def solve(
    program: Program,
    chips: int,
    machine: Machine,
    minimize: Minimize = "time",
    large: bool = False,
) -> Plan:
    """The best mesh and layouts for `program` on `chips` chips, proven.

    With `large`, moves are weighed as for large K, as the paper does; prices stay exact.

    An explicit program keeps every statement as it is, and only its mesh is sought. Ties go to
    less memory a chip, then to the more even mesh, then to hidden dims split rather than tokens,
    then to axes in declared order.

    Raises:
        Unsolvable: no mesh of so many chips satisfies the program; the message says why.
    """
    unsized = [d for d, size in program.dims.items() if size is None]
    if unsized:
        settings = " ".join(f"--set {d}=..." for d in unsized)
        raise Unsolvable(f"{', '.join(unsized)} has no size", f"give it one: {settings}")
    if program.explicit:
        return _placed(program, chips, machine, minimize, large)
    try:
        outcome = search(program, chips, machine, minimize, large)
    except Infeasible:
        raise explain(program, chips) from None
    value = outcome.answers[0].value
    candidates = list(_worth_spelling(program, outcome.answers, machine))
    plan = _best(candidates, chips, machine, minimize, value)
    others = [Alternative(_full(program, mesh), seconds) for seconds, mesh in outcome.others]
    return replace(plan, runner_up=others[0] if others and others[0].seconds < inf else None)


def objective(prices: Prices, minimize: Minimize) -> tuple[float, float]:
    """What is minimised, compared in order: seconds of a pass, or work and then communication."""
    if minimize == "time":
        return prices.seconds, 0.0
    return prices.compute.seconds, prices.communication.seconds


# Explicit programs.


def _placed(
    program: Program, chips: int, machine: Machine, minimize: Minimize, large: bool
) -> Plan:
    """The best mesh for a program whose layouts stand."""
    priced = []
    for mesh in meshes(program.axes, chips):
        try:
            prices = price(program, mesh, machine)
        except ValueError:
            continue
        value = objective(prices, minimize)
        priced.append(((value[0], _received(program, mesh)) if large else value, mesh))
    if not priced:
        raise explain(program, chips)
    best = min(value for value, _ in priced)
    tied = [mesh for value, mesh in priced if _equal(value, best)]
    worse = sorted((v for v in priced if not _equal(v[0], best)), key=lambda pair: pair[0])
    candidates = [replace(program, axes=_pinned(program, mesh)) for mesh in tied]
    bound = best[0] if minimize == "time" else best[1]
    plan = replace(_best(candidates, chips, machine, minimize, bound), stood=True)
    if not worse:
        return plan
    value, mesh = worse[0]
    seconds = value[0] if minimize == "time" else value[1]
    return replace(plan, runner_up=Alternative(mesh, seconds))


def _received(program: Program, mesh: Mesh) -> float:
    """Elements that a chip receives, K large."""
    sizes = {d: size for d, size in program.dims.items() if size is not None}
    return float(communication(program, mesh).exact({**sizes, **mesh}))


def _equal(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(abs(a - b) <= TOLERANCE * abs(b) for a, b in zip(one, other, strict=True))


def _pinned(program: Program, mesh: Mesh) -> tuple[Axis, ...]:
    return tuple(replace(axis, size=mesh[axis.name]) for axis in program.axes)


# Programs with holes.


def _worth_spelling(program: Program, answers: list[Answer], machine: Machine) -> Iterator[Program]:
    """The answer on the most even mesh, and those that get by with less memory than it.

    Settling the ties within an answer takes longer than finding it, so that an answer whose
    memory is not already less is passed over.
    """
    ordered = sorted(answers, key=lambda a: uneven(dict(a.node.instance.mesh)))
    least: int | None = None
    for answer in ordered:
        if least is not None:
            rough = _spelled(program, answer, answer.found)
            if _memory(rough, machine) >= least:
                continue
        filled = _spelled(program, answer, tidied(answer))
        least = min(_memory(filled, machine), least or _memory(filled, machine))
        for names in renamings(program):
            yield renamed_axes(filled, names)


def _memory(program: Program, machine: Machine) -> int:
    return price(program, _mesh(program), machine).memory.bytes


def _mesh(program: Program) -> Mesh:
    """The mesh of a program whose sizes are all pinned."""
    return {axis.name: axis.size or 1 for axis in program.axes}


def _spelled(program: Program, answer: Answer, found: Found) -> Program:
    """An assignment of an answer as an explicit program."""
    instance = answer.node.instance
    return fill(program, instance, found, _full(program, dict(instance.mesh)))


def _full(program: Program, mesh: Mesh) -> Mesh:
    """A mesh with the axes of one chip that the search left out."""
    return {axis.name: mesh.get(axis.name, 1) for axis in program.axes}


def _best(
    candidates: list[Program], chips: int, machine: Machine, minimize: Minimize, bound: float
) -> Plan:
    """Settles ties. Memory is the same for all renamings, so one of each mesh is priced."""
    memory: dict[tuple[int, ...], int] = {}

    def rank(program: Program) -> tuple[object, ...]:
        key = uneven(_mesh(program))
        if key not in memory:
            memory[key] = _memory(program, machine)
        return memory[key], key, _reading(program), _sizes(program)

    best = min(candidates, key=rank)
    mesh = _mesh(best)
    return Plan(best, chips, mesh, machine, price(best, mesh, machine), minimize, bound)


def _reading(program: Program) -> tuple[tuple[int, ...], ...]:
    """Axes in the order in which they are read, statement by statement: less is more in order."""
    order = {axis.name: i for i, axis in enumerate(program.axes)}
    return tuple(tuple(order[a] for a in item.type.shape.axes) for item, _ in program.walk())


def _sizes(program: Program) -> tuple[int, ...]:
    """At the last tie, larger axes first."""
    return tuple(-(axis.size or 1) for axis in program.axes)
