"""Where each figure of a point is from: the statements that take the time, and what is known of the
machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from layoutc.dsl.printer import print_statement
from layoutc.dsl.program import Define
from layoutc.serving.studied import Studied
from layoutc.solver.serving.layouts import Layout
from layoutc.solver.serving.sweep import Run, padded
from layoutc.solver.serving.terms import Sizes, Term, at
from layoutc.solver.units import duration
from layoutc.table import Rows, table

REACHES = {
    "matmul": "matmul", "attention": "attention", "weights": "memory", "caches": "memory",
    "gathered": "network", "moved": "network",
}  # fmt: skip
"""The constant by which each kind of time is divided."""

NEGLIGIBLE = 0.001
"""Statements that take less of a pass are added up in a line of their own."""


@dataclass(frozen=True, slots=True)
class Traced:
    """A phase at one point: its explicit program in its place, and rows of the kind, the statement,
    how often it comes and what all of that takes, which last is text."""

    name: str
    layout: Layout
    seconds: float
    rows: Rows


def traced(found: Studied, row: int) -> str:
    """The statements of both phases with what each takes, and the figures that this hangs on."""
    parts = [
        f"{phase.name}, {duration(phase.seconds)}, statement by statement\n\n"
        f"{table(phase.rows, right=(3,))}"
        for phase in phases(found, row)
    ]
    return "\n\n".join(
        [*parts, f"figures of {found.query.machine.name}\n\n{table(figures(found))}"]
    )


def phases(found: Studied, row: int) -> tuple[Traced, Traced]:
    """Prefill and a step of decode, statement by statement."""
    served, point = found.study.served(row)
    prefill, decode = served.layouts(point)
    demand = served.demand.at(np.array([point]))
    waves, micro = served.prefill.waves[point], served.prefill.micro[point]
    batch = np.ceil(demand.prefill_batch / served.service.replicas / waves / micro)
    before = padded(prefill, batch, demand.prompt, demand.context)
    batch = np.ceil(demand.batch / served.service.replicas / served.decode.micro[point])
    step = padded(decode, batch, np.ones_like(demand.batch), demand.places)
    return (
        _phase("prefill", prefill, served.prefill, point, before),
        _phase("a step of decode", decode, served.decode, point, step),
    )


def _phase(name: str, layout: Layout, run: Run, point: int, sizes: Sizes) -> Traced:
    whole = float(run.parts.seconds[point])
    rows: Rows = list(_statements(layout, sizes, whole))
    chain = layout.priced.chains[0] + layout.priced.chains[1]
    waits = duration(float(chain.latency))
    rows.append([
        "latency", f"{chain.launches:,.0f} launches in a row, {waits} of starts and hops", "",
        duration(float(run.parts.latency[point])),
    ])  # fmt: skip
    return Traced(name, layout, whole, rows)


def _statements(layout: Layout, sizes: Sizes, whole: float) -> Iterator[list[str]]:
    """The kind, the statement, how often it comes, and what all of that takes."""
    terms, left = layout.priced.terms, 0.0
    order = tuple(axis.name for axis in layout.program.axes)
    lines = {
        item.name: print_statement(item, order)
        if isinstance(item, Define)
        else f"{item.kind} {item.name} : {item.type.shape}"
        for item, _ in layout.program.walk()
    }
    for term in (*terms.block, *terms.outside):
        seconds = _seconds(layout, term, sizes)
        if seconds < NEGLIGIBLE * whole:
            left += seconds
            continue
        yield [term.kind, lines[term.name], f"x {term.times}", duration(seconds)]
    if left:
        yield ["", "all that takes less than a thousandth", "", duration(left)]


def _seconds(layout: Layout, term: Term, sizes: Sizes) -> float:
    reached = layout.priced.reached.constants[REACHES[term.kind]]
    return float(at(term.cost, sizes)[0]) / reached


def figures(found: Studied) -> Rows:
    """The machine's figures and constants: the name, the value in its unit, the source."""
    query = found.query
    rows: Rows = [
        [figure.name, f"{figure.value:g} {figure.unit}", figure.source]
        for figure in query.machine.figures
    ]
    return rows + [[name, f"{value:g}", query.whose] for name, value in _constants(found)]


def _constants(found: Studied) -> Iterator[tuple[str, float]]:
    named = {figure.name for figure in found.query.machine.figures}
    for name, value in found.query.reached.constants.items():
        if f"reached.{name}" not in named:
            yield f"reached.{name}", value
