"""Everything that the page compares, or as much of it as some chapters need."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from published_page.chat import Chat, chat
from published_page.contexts import Context, contexts
from published_page.facts import GPU, TPU
from published_page.predictions import Point, predicted
from published_page.volumes import Volume, compared

TIMED = {
    "tables2and3": ("table 2", "table 3"),
    "tabled2": ("table D.2",),
    "figure6": ("figure 6",),
    "figure7": ("figure 7",),
}
"""The tables and figures that are timings, by the chapter that they are in."""

CHAPTERS = ("table1", "tables2and3", "tabled2", "figure3", "figure6", "figure7", "chat")
"""In the order of the page."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was predicted, beside what was published; empty, or None, where it was not asked for."""

    tpu: Sequence[Point]
    gpu: Sequence[Point]
    contexts: Sequence[Context]
    volumes: Sequence[Volume]
    chat: Chat | None

    def of(self, *tables: str) -> list[Point]:
        """The points of some tables or figures, on both machines."""
        return [point for point in (*self.tpu, *self.gpu) if point.table in tables]

    def of_tpu(self, table: str) -> list[Point]:
        """The points of a table on TPU v4."""
        return [point for point in self.tpu if point.table == table]

    def series(self, name: str) -> list[Point]:
        """The points of one column of table D.2, or of one scenario of tables 2 and 3."""
        return [point for point in (*self.tpu, *self.gpu) if point.series == name]


def found(chapters: Collection[str] = CHAPTERS) -> Found:
    """As much as these chapters need: with timings it takes a minute or two."""
    tables = [table for name in chapters for table in TIMED.get(name, ())]
    return Found(
        predicted(TPU, tables) if tables else [],
        predicted(GPU, tables) if "tabled2" in chapters else [],
        contexts() if "table1" in chapters else [],
        compared() if "figure3" in chapters else [],
        chat() if "chat" in chapters else None,
    )
