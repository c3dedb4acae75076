"""The table of points: as in a report, with each phase's layout beside its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from layoutc.document import Document
from layoutc.serving import said
from layoutc.serving.page.html import Markup, element, joined
from layoutc.serving.page.pieces import remark, wide
from layoutc.serving.page.shown import Shown, anchor
from layoutc.solver.units import duration, mesh, size


@dataclass(frozen=True, slots=True)
class Column:
    """A column: by which of a point's figures it is sorted, and how that is spelled; one without
    a figure is words, and sorted by them."""

    title: str
    value: Callable[[Document], float] | None
    spelled: Callable[[Document], str]


def _columns(here: Shown) -> Iterator[Column]:
    """Sizes in which no two points differ have none: the page's head says them."""
    columns = here.found.study.columns
    yield Column("chips", lambda p: p["chips"], lambda p: f"{p['chips']:,}{said.divided(p)}")
    yield _number("batch", lambda p: p["batch"])
    yield Column("weights", None, lambda p: p["weights"])
    if (columns.prefill_batch != columns.batch).any():
        yield _number("prefill batch", lambda p: p["prefill"]["batch"])
    if np.ptp(columns.prompt):
        yield _number("prompt", lambda p: p["prefill"]["tokens"])
    if np.ptp(columns.context) and (columns.context != columns.prompt).any():
        yield _number("context", lambda p: p["context"])
    if np.ptp(columns.generate):
        yield _number("made", lambda p: p["decode"]["tokens"])
    yield _seconds("prefill", lambda p: p["prefill"]["seconds"])
    yield _share("prefill MFU", lambda p: p["prefill"]["mfu"])
    yield _seconds("step", lambda p: p["decode"]["step_seconds"])
    yield _share("step MFU", lambda p: p["decode"]["mfu"])
    yield _seconds("request", lambda p: p["request_seconds"])
    yield _cost("chip-s/token", lambda p: p["chip_seconds_per_token"], "{:.3g}")
    if here.found.query.price:
        yield _cost("$/Mtok", lambda p: p["dollars_per_million_tokens"], "{:,.2f}")
    yield Column("a chip holds", lambda p: p["memory_bytes"], _holds)
    yield Column("room for", lambda p: p["max_context"] if p["fits"] else 0, _room)
    for phase in ("prefill", "decode"):
        yield _layout(phase)


def _number(title: str, of: Callable[[Document], int]) -> Column:
    return Column(title, of, lambda p: f"{of(p):,}")


def _seconds(title: str, of: Callable[[Document], float]) -> Column:
    return Column(title, of, lambda p: duration(of(p)))


def _share(title: str, of: Callable[[Document], float]) -> Column:
    return Column(title, of, lambda p: said.percent(of(p)))


def _cost(title: str, of: Callable[[Document], float], spelling: str) -> Column:
    return Column(title, of, lambda p: spelling.format(of(p)))


def _holds(made: Document) -> str:
    held = size(made["memory_bytes"])
    return held if made["fits"] else f"{held}: too much"


def _room(made: Document) -> str:
    return f"{made['max_context']:,}" if made["fits"] else ""


def _layout(phase: str) -> Column:
    def spelled(made: Document) -> str:
        run = made[phase]
        return f"{run['layout']}, {mesh(run['mesh'])}"

    return Column(f"{phase} layout", None, spelled)


def points(here: Shown) -> Markup:
    """The table, and which points are in it."""
    table = element(
        "table",
        element("caption", _caption(here)),
        element("thead", element("tr", *_head(here))),
        element("tbody", *(_row(here, row) for row in here.listed)),
        class_="points sortable",
    )
    return joined([wide(table, "Points"), *map(remark, _refused(here))])


def _caption(here: Shown) -> str:
    study, listed = here.found.study, here.listed
    front = int(study.front.sum())
    if here.all_listed:
        return f"All {len(study):,} points; {front:,} are on the front of latency and cost: ●"
    some = "" if front <= len(listed) else f", of which {len(listed):,} are listed"
    return f"Of {len(study):,} points those on the front of latency and cost, {front:,}{some}: ●"


def _head(here: Shown) -> Iterator[Markup]:
    yield element("th", "front", scope="col")
    for column in _columns(here):
        yield element("th", column.title, scope="col", class_=_kind(column))


def _row(here: Shown, row: int) -> Markup:
    made = here.made[row]
    on_front = made["on_front"]
    cells = [element("td", "●" if on_front else "", data_value=str(int(on_front)),
                     aria_label="on the front" if on_front else None)]  # fmt: skip
    cells += [_cell(column, made) for column in _columns(here)]
    kinds = ["front"] * on_front + ["unfit"] * (not made["fits"])
    return element("tr", *cells, id=anchor(row), class_=" ".join(kinds) or None)


def _cell(column: Column, made: Document) -> Markup:
    """A cell; that of the chips is the row's heading."""
    named = column.title == "chips"
    return element(
        "th" if named else "td",
        column.spelled(made),
        scope="row" if named else None,
        class_=_kind(column),
        data_value=None if column.value is None else repr(column.value(made)),
    )


def _kind(column: Column) -> str | None:
    return "text" if column.value is None else None


def _refused(here: Shown) -> Iterator[str]:
    for one in here.found.refused:
        yield said.refused(one)
