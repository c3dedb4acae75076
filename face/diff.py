"""What `diff` says: two explicit programs, statement by statement, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from layoutc.document import Document
from layoutc.dsl.printer import print_statement
from layoutc.pipeline import WrongCall
from layoutc.solver.alignment import Pair, aligned
from layoutc.solver.plan import Pass, Plan
from layoutc.solver.price import StatementPrice
from layoutc.solver.units import chips, duration, mesh, size
from layoutc.table import Rows, table


@dataclass(frozen=True, slots=True)
class Total:
    """A figure of a pass on one chip: its label, its key in a document, how to get and say it."""

    label: str
    key: str
    of: Callable[[Pass], float]
    said: Callable[[float], str]


def _count(number: float) -> str:
    return f"{number:,.0f}"


TOTALS = (
    Total("collectives", "collectives", lambda p: _moving(p), _count),
    Total("elements", "elements", lambda p: p.prices.communication.elements, _count),
    Total("bytes", "bytes", lambda p: p.prices.communication.bytes, size),
    Total("communication", "communication", lambda p: p.prices.communication.seconds, duration),
    Total("compute", "compute", lambda p: p.prices.compute.seconds, duration),
    Total("weights read", "memory", lambda p: p.prices.memory.seconds, duration),
    Total("memory", "memory_bytes", lambda p: p.prices.memory.bytes, size),
    Total("pass", "seconds", lambda p: p.prices.seconds, duration),
)


def _moving(plan: Pass) -> int:
    """How often a chip receives anything in a pass."""
    return sum(s.times for s in plan.prices.collectives if s.elements)


def _phases(first: Plan, second: Plan) -> list[tuple[Pass, Pass]]:
    names = [[part.phase for part in plan.passes] for plan in (first, second)]
    if (len(names[0]) > 1 and names[0] != names[1]) or len(names[0]) != len(names[1]):
        said = " and ".join(
            f"{plan.name} has {', '.join(n)}"
            for plan, n in zip((first, second), names, strict=True)
        )
        raise WrongCall(f"the phases are not the same: {said}")
    return list(zip(first.passes, second.passes, strict=True))


def _pairs(first: Pass, second: Pass) -> list[Pair]:
    return list(aligned(first.prices.statements, second.prices.statements))


# For people.


def report(first: Plan, second: Plan) -> str:
    """The whole report, ending in a newline, phase by phase. Raises `WrongCall`."""
    return "\n".join(_report(one, other) for one, other in _phases(first, second))


def _report(first: Pass, second: Pass) -> str:
    """A and B mark what only one of them has, or has in another layout; what both have alike
    stands once."""
    heads = [_head(mark, plan) for mark, plan in (("A", first), ("B", second))]
    parts = [table(heads), table(_statements(first, second), right=(4, 5), gap=(2, 2, 1, 1, 3, 3))]
    parts.append(table(_totals(first, second), right=(1, 2, 3)))
    return "\n\n".join(parts) + "\n"


def _head(mark: str, plan: Pass) -> list[str]:
    where = f"{chips(plan.chips)} ({plan.machine.name}), mesh {mesh(plan.mesh)}"
    phase = f", {plan.phase}" if plan.program.phases else ""
    return [mark, plan.program.name, where + phase]


def _statements(first: Pass, second: Pass) -> Rows:
    rows: Rows = []
    for one, other in _pairs(first, second):
        left = _row(first, one) if one else None
        right = _row(second, other) if other else None
        if left and left == right:
            rows.append(["", *left])
            continue
        rows += [["A", *left]] if left else []
        rows += [["B", *right]] if right else []
    return rows


def _row(plan: Pass, price: StatementPrice) -> list[str]:
    left, right = _statement(plan, price).split(" = ", 1)
    name, layout = left.split(" : ", 1)
    often = f" ({price.times} times)" if price.times > 1 else ""
    moved = size(price.bytes) if price.bytes else ""
    took = duration(price.seconds) if price.seconds else ""
    return [name, f": {layout}", f"= {right}{often}", moved, took]


def _statement(plan: Pass, price: StatementPrice) -> str:
    return print_statement(price.define, tuple(axis.name for axis in plan.program.axes))


def _totals(first: Pass, second: Pass) -> Rows:
    rows: Rows = [["", "A", "B", "B / A"]]
    for total in TOTALS:
        one, other = total.of(first), total.of(second)
        ratio = f"{other / one:.3g}" if one else ""
        rows.append([total.label, total.said(one), total.said(other), ratio])
    return rows


# For programs.


def document(first: Plan, second: Plan) -> Document:
    """Both programs side by side; of several phases, each. Raises `WrongCall`."""
    found = {one.phase: _document(one, other) for one, other in _phases(first, second)}
    return next(iter(found.values())) if len(found) == 1 else {"phases": found}


def _document(first: Pass, second: Pass) -> Document:
    """Both programs' meshes and totals, and their statements in pairs, None where one has none."""
    return {
        "a": _side(first),
        "b": _side(second),
        "statements": [
            {
                "a": _entry(first, one) if one else None,
                "b": _entry(second, other) if other else None,
            }
            for one, other in _pairs(first, second)
        ],
    }


def _side(plan: Pass) -> Document:
    return {
        "program": plan.program.name,
        "chips": plan.chips,
        "hardware": plan.machine.name,
        "mesh": dict(plan.mesh),
        "totals": {total.key: total.of(plan) for total in TOTALS},
    }


def _entry(plan: Pass, price: StatementPrice) -> Document:
    return {
        "statement": _statement(plan, price),
        "times": price.times,
        "elements": price.elements,
        "bytes": price.bytes,
        "seconds": price.seconds,
    }
