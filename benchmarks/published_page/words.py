"""How the page spells paragraphs, tables and errors."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from layoutc.solver.serving.layouts import Layout
from published_page.predictions import Errors, Point


def table(head: Sequence[str], rows: Iterable[Sequence[str]], words: int) -> str:
    """A table of Markdown, of which the first columns are `words` and the others are figures."""
    marks = [":--" if column < words else "--:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, marks, *rows))


def prose(text: str) -> str:
    """A paragraph, in lines of no more than a hundred characters; an entry of a list is indented
    from its second line on."""
    indent = "  " if text.startswith("- ") else ""
    words = " ".join(text.split())
    return textwrap.fill(words, 100, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip


def percent(share: float) -> str:
    """A share of the peak: 43.4 %."""
    return f"{100 * share:.1f} %"


def signed(error: float) -> str:
    """An error: +3.0 %; what rounds to nothing is +0.0 %."""
    return f"{round(100 * error, 1) + 0.0:+.1f} %"


def errors(points: Sequence[Point]) -> str:
    """How far predictions are off, as the end of a sentence."""
    found = Errors.of(points)
    mean = f"the mean absolute error is {percent(found.mean)} over {found.count} points"
    return f"{mean}, the worst {worst(found)}."


def worst(found: Errors) -> str:
    """The worst point, and which it is."""
    return f"{signed(found.worst.error)} ({called(found.worst)})"


def called(point: Point) -> str:
    """What a point is of."""
    timing = point.timing
    if point.table in ("figure 6", "figure 7"):
        what = f"{timing.layout} on {timing.chips} chips"
    elif point.table == "table D.2":
        what = point.series
    else:
        what = f"{timing.model}, {point.series}, {timing.phase}"
    return f"{what} at batch {timing.batch}"


def held(layout: Layout) -> str:
    """What a layout does with the weights, and what attention is sharded over."""
    return f"{layout.name}, {layout.attention}"
