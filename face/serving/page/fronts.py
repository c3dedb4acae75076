"""Latency over cost: of a whole request, of a prefill and of a step of decode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from layoutc.serving.answer import SPOKEN
from layoutc.serving.page.html import Markup, element
from layoutc.serving.page.pieces import remark
from layoutc.serving.page.scatter import Axis, Drawing, Mark, scatter
from layoutc.serving.page.shown import Shown, anchor
from layoutc.serving.words import Timed
from layoutc.solver.serving.study import HOUR, MILLION, front
from layoutc.solver.serving.terms import Floats
from layoutc.solver.units import duration


@dataclass(frozen=True, slots=True)
class Measure:
    """What is drawn of each row: seconds, and chip-seconds for each token."""

    of: Timed
    title: str
    across: str
    token: str
    seconds: Floats
    per_token: Floats


def fronts(here: Shown) -> Markup:
    """All three, and how to read them."""
    request, prefill, decode = _measures(here)
    return element(
        "div",
        _figure(here, request, (960, 430)),
        _figure(here, prefill, (470, 360)),
        _figure(here, decode, (470, 360)),
        remark(_read(here)),
        class_="fronts",
    )


def _measures(here: Shown) -> tuple[Measure, Measure, Measure]:
    columns, study = here.found.study.columns, here.found.study
    services = [study.served(row)[0].service for row in range(len(study))]
    prefill = np.array([service.prefill_chips for service in services])
    decode = np.array([service.decode_chips for service in services])
    return (
        Measure("request", "A request", "a request, prefill and all steps", "generated token",
                columns.request_seconds, columns.per_token),
        Measure("prefill", "Prefill", "a prefill", "token of the prompt", columns.prefill_seconds,
                prefill * columns.prefill_seconds / (columns.prefill_batch * columns.prompt)),
        Measure("step", "Decode", "a step of decode", "generated token", columns.step_seconds,
                decode * columns.step_seconds / columns.batch),
    )  # fmt: skip


def _figure(here: Shown, it: Measure, size: tuple[int, int]) -> Markup:
    study, name = here.found.study, f"front-{it.of}"
    best = front(it.seconds, it.per_token, study.columns.fits)
    drawing = _drawing(here, it, best, size)
    said = f"{int(best.sum())} of {int(study.columns.fits.sum()):,} points are on the front."
    return element(
        "figure",
        element("figcaption", element("h3", it.title, id=f"{name}-caption"), element("p", said)),
        element("div", scatter(drawing), class_="drawn"),
        element("p", "Point at a mark, or step to it with the tab key.", class_="readout",
                aria_live="polite"),
        id=name,
    )  # fmt: skip


def _drawing(here: Shown, it: Measure, best: np.ndarray, size: tuple[int, int]) -> Drawing:
    cost, spelled, what = _cost(here, it)
    rows = np.flatnonzero(here.found.study.columns.fits)
    at = {int(row): (float(it.seconds[row]), float(cost[row])) for row in rows}
    line = [place for row, place in at.items() if best[row]]
    ends = sorted(line)
    described = (
        f"Both axes are logarithmic. The front goes from {duration(ends[0][0])} at "
        f"{spelled(ends[0][1])} to {duration(ends[-1][0])} at {spelled(ends[-1][1])}."
    )
    return Drawing(
        f"drawing-{it.of}", f"{it.title}: latency over cost", described, size,
        Axis(it.across, duration, _limit(here, it)), Axis(what, spelled, _budget(here, it)),
        [place for row, place in at.items() if row not in here.made],
        [_mark(here, row, at[row], bool(best[row])) for row in here.made if row in at],
        line,
    )  # fmt: skip


def _cost(here: Shown, it: Measure) -> tuple[Floats, Callable[[float], str], str]:
    """Dollars where there is a price, else chip-seconds; how it is spelled, and its axis."""
    price = here.found.query.price
    if price:
        kind = f"dollars a million {it.token.replace('token', 'tokens')}"
        return it.per_token * price / HOUR * MILLION, lambda value: f"${value:,g}", kind
    return it.per_token, lambda value: f"{value:g}", f"chip-seconds a {it.token}"


def _mark(here: Shown, row: int, place: tuple[float, float], on_front: bool) -> Mark:
    made = here.made[row]
    answers = [answer for answer in here.answers if answer.row == row]
    said = "".join(f"{answer.why}: " for answer in answers)
    label = f"C{made['chips']} B{made['batch']}" if on_front or answers else ""
    link = f"#{anchor(row)}" if label and row in here.listed else ""
    return Mark(
        *place, made["weights"] == "int8", f"{said}{here.told(row)}", link, label, bool(answers)
    )


def _limit(here: Shown, it: Measure) -> tuple[float, str] | None:
    limit = here.found.query.limit
    if limit is None or limit.of != it.of:
        return None
    return limit.seconds, f"{SPOKEN[limit.of]} within {limit.text}"


def _budget(here: Shown, it: Measure) -> tuple[float, str] | None:
    budget = here.found.query.budget
    return (budget, f"${budget:g} a million tokens") if budget and it.of == "request" else None


def _read(here: Shown) -> str:
    columns = here.found.study.columns
    left = int((~columns.fits).sum())
    said = [
        "Down and to the left is better. Of the points on a line none is both faster and cheaper "
        "than another. C64 B16 is 64 chips and a batch of 16; circles are bf16 weights and squares "
        "int8; a ring is an answer.",
    ]
    if left:
        said.append(f"{left:,} points do not fit in memory and are not drawn.")
    if not here.all_listed:
        said.append("Dots without an outline are points that are not listed on this page.")
    return " ".join(said)
