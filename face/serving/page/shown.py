"""Which of a study's points a page shows, and what they are called there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from layoutc.document import Document
from layoutc.serving.answer import Answer, answers
from layoutc.serving.document import point
from layoutc.serving.page.html import Markup, element
from layoutc.serving.studied import Studied
from layoutc.solver.units import chips, duration

LISTED = 300
"""So many points are listed; of more, those on the front."""

BARRED = 24
"""So many points on the front are taken apart."""

SIZES = {"prompt": "prompt", "generate": "made", "context": "context"}
"""What a point is also called by, where points differ in it."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A study, its answers, and rows of it: those `listed`, in the order of a report; and of these,
    those that are `barred`, the fastest first. `made` are the documents of all of them."""

    found: Studied
    answers: Sequence[Answer]
    listed: Sequence[int]
    barred: Sequence[int]
    made: Mapping[int, Document]

    @property
    def all_listed(self) -> bool:
        """Whether every point is."""
        return len(self.listed) == len(self.found.study)

    def name(self, row: int) -> str:
        """Chips, batch and weights, and what else points differ in."""
        made, columns = self.made[row], self.found.study.columns
        apart = np.any(columns.context != columns.prompt)
        differ = [
            f"{word} {int(getattr(columns, key)[row]):,}"
            for key, word in SIZES.items()
            if np.ptp(getattr(columns, key)) and (key != "context" or apart)
        ]
        if np.any(columns.prefill_batch != columns.batch):
            differ.insert(0, f"prefill batch {made['prefill']['batch']:,}")
        return ", ".join(
            [chips(made["chips"]), f"batch {made['batch']:,}", made["weights"], *differ]
        )

    def link(self, row: int) -> Markup:
        """The name, which leads to the point in the table."""
        return element("a", self.name(row), href=f"#{anchor(row)}")

    def told(self, row: int) -> str:
        """A point in one line."""
        made = self.made[row]
        price = made["dollars_per_million_tokens"]
        cost = f"{made['chip_seconds_per_token']:.3g} chip-s a token"
        taken = [
            f"prefill {duration(made['prefill']['seconds'])}",
            f"a step {duration(made['decode']['step_seconds'])}",
            f"request {duration(made['request_seconds'])}",
            cost if price is None else f"{cost}, ${price:.2f} a million tokens",
        ]
        return f"{self.name(row)}: {', '.join(taken)}"


def anchor(row: int) -> str:
    """The id of a point in the table."""
    return f"point-{row}"


def shown(found: Studied) -> Shown:
    """What a page shows of a study."""
    study, best = found.study, answers(found)
    mine = [answer.row for answer in best]
    front = list(study.rows(study.front))
    everything = range(len(study))
    listed = everything if len(study) <= LISTED else {*spread(front, LISTED), *mine}
    ordered = sorted(listed, key=lambda row: _order(found, row))
    columns = study.columns
    barred = {*spread(front, BARRED), *mine}
    return Shown(
        found, best, ordered, sorted(barred, key=lambda row: columns.request_seconds[row]),
        {row: point(found, row) for row in {*ordered, *barred}},
    )  # fmt: skip


def spread(rows: Sequence[int], most: int) -> Sequence[int]:
    """At most so many of the rows, evenly from the first to the last."""
    if len(rows) <= most:
        return rows
    return [rows[round(i * (len(rows) - 1) / (most - 1))] for i in range(most)]


def _order(found: Studied, row: int) -> tuple[float, ...]:
    columns, (served, _) = found.study.columns, found.study.served(row)
    return (served.service.chips, float(columns.batch[row]), float(columns.request_seconds[row]))
