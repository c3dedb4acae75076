"""The layouts of the answers, statement by statement, and the figures that all of it hangs on."""

from __future__ import annotations

from layoutc.dsl.printer import print_program
from layoutc.serving import said
from layoutc.serving.page.html import Markup, element, joined
from layoutc.serving.page.pieces import wide
from layoutc.serving.page.shown import Shown
from layoutc.serving.trace import Traced, phases
from layoutc.serving.trace import figures as figures_of
from layoutc.solver.serving.layouts import Layout
from layoutc.solver.units import duration, mesh
from layoutc.table import Rows


def layouts(here: Shown) -> Markup:
    """Prefill and decode of each answer."""
    rows = dict.fromkeys(answer.row for answer in here.answers)
    return joined([_answer(here, row) for row in rows])


def _answer(here: Shown, row: int) -> Markup:
    tables = [
        _phase(here, row, number, phase) for number, phase in enumerate(phases(here.found, row))
    ]
    return element(
        "article",
        element("h3", here.link(row), id=f"layouts-{row}"),
        element("p", "; ".join(answer.why for answer in here.answers if answer.row == row)),
        element("div", *tables, class_="phases"),
        aria_labelledby=f"layouts-{row}",
    )


def _phase(here: Shown, row: int, number: int, phase: Traced) -> Markup:
    layout, name = phase.layout, f"layout-{row}-{number}"
    laid_out = said.layout(layout.name, layout.attention)
    place = [laid_out, mesh(layout.plan.mesh), str(layout.plan.fabric)]
    title = f"{phase.name[0].upper()}{phase.name[1:]}, {duration(phase.seconds)}"
    table = _table(phase.rows, ("takes", "statement", "times", "in all"), name)
    return element(
        "div",
        element("h4", title, id=name),
        element("p", "; ".join(filter(None, place))),
        wide(table, title),
        _text(layout),
        class_="phase",
    )


def _text(layout: Layout) -> Markup:
    """The program as a file, behind a word: it is long."""
    return element(
        "details",
        element("summary", "The explicit program, at the size at which this layout was found"),
        element("pre", element("code", print_program(layout.program)), tabindex="0"),
    )


def _table(rows: Rows, head: tuple[str, str, str, str], name: str) -> Markup:
    return element(
        "table",
        element("thead", element("tr", *(element("th", title, scope="col") for title in head))),
        element("tbody", *(_statement(row) for row in rows)),
        class_="statements", aria_labelledby=name,
    )  # fmt: skip


def _statement(row: list[str]) -> Markup:
    kind, statement, times, seconds = row
    return element(
        "tr",
        element("td", kind),
        element("th", element("code", statement) if times else statement, scope="row"),
        element("td", times),
        element("td", seconds, class_="whole"),
    )


def figures(here: Shown) -> Markup:
    """The machine's figures and constants with their sources."""
    head = [element("th", title, scope="col") for title in ("figure", "value", "source")]
    rows = [
        element("tr", element("th", element("code", name), scope="row"), element("td", value),
                element("td", source))
        for name, value, source in figures_of(here.found)
    ]  # fmt: skip
    table = element(
        "table",
        element("caption", f"What is known of {here.found.query.machine.name}"),
        element("thead", element("tr", *head)),
        element("tbody", *rows),
        class_="figures",
    )
    return wide(table, "Figures and constants")
