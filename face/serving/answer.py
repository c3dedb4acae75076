"""Which of the points is the answer: the cheapest within a latency, the fastest within a budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from layoutc.serving.studied import Studied
from layoutc.serving.words import Timed
from layoutc.solver.serving.study import HOUR, MILLION
from layoutc.solver.serving.terms import Floats
from layoutc.solver.units import duration

SPOKEN: dict[Timed, str] = {
    "step": "a step of decode", "prefill": "a prefill", "request": "a request",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """A row of the study, and why it is the answer; `met` is false where the limit can't be kept,
    and the row is then the nearest to it."""

    row: int
    why: str
    met: bool = True


def answers(found: Studied) -> list[Answer]:
    """To what was asked; without a limit the fastest and the cheapest of all that fits."""
    query = found.query
    asked = []
    if query.limit is not None:
        asked.append(_within_latency(found))
    if query.budget:
        asked.append(_within_budget(found))
    if asked:
        return asked
    columns = found.study.columns
    fastest = _least(found, columns.request_seconds)
    cheapest = _least(found, columns.per_token)
    if fastest == cheapest:
        return [Answer(fastest, "the fastest and the cheapest that fits")]
    return [Answer(fastest, "the fastest that fits"), Answer(cheapest, "the cheapest that fits")]


def timed(found: Studied, of: Timed) -> Floats:
    """The seconds of each row that a limit is on."""
    columns = found.study.columns
    match of:
        case "step":
            return columns.step_seconds
        case "prefill":
            return columns.prefill_seconds
        case "request":
            return columns.request_seconds


def _within_latency(found: Studied) -> Answer:
    limit = found.query.limit
    assert limit is not None
    seconds, what = timed(found, limit.of), SPOKEN[limit.of]
    row = found.study.cheapest(seconds, limit.seconds)
    if row is not None:
        return Answer(row, f"the cheapest with {what} within {limit.text}")
    row = _least(found, seconds)
    best = duration(float(seconds[row]))
    return Answer(row, f"{what} within {limit.text} can't be met: the best there is takes {best}",
                  met=False)  # fmt: skip


def _within_budget(found: Studied) -> Answer:
    query, columns = found.query, found.study.columns
    limit = query.limit.of if query.limit is not None else "step"
    said = f"{query.budget:g} dollars a million tokens"
    row = found.study.fastest(timed(found, limit), query.budget / MILLION / query.price * HOUR)
    if row is not None:
        return Answer(row, f"the fastest within {said}")
    row = _least(found, columns.per_token)
    best = float(columns.per_token[row]) * query.price / HOUR * MILLION
    return Answer(row, f"{said} can't be met: the cheapest there is takes {best:.2f}", met=False)


def _least(found: Studied, values: Floats) -> int:
    """The row that fits with the least of something."""
    return int(np.argmin(np.where(found.study.columns.fits, values, np.inf)))
