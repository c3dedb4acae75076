"""Stacked bars: where the seconds of a pass go, and what a chip's memory holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from layoutc.serving import said
from layoutc.serving.page.html import Child, Markup, element
from layoutc.serving.page.patterns import filled, swatch
from layoutc.serving.page.pieces import percent_of
from layoutc.serving.page.shown import Shown
from layoutc.serving.said import BUSY, ON_TOP, went
from layoutc.solver.units import duration, size

Phase = Literal["prefill", "decode"]

TITLES = {"prefill": "A prefill", "decode": "A step of decode"}
SECONDS = {"prefill": "seconds", "decode": "step_seconds"}

HEIGHT, THIN = 20.0, 8.0
"""How high a bar is, and each one under it, with what is around it."""

MARGIN = 1.06
"""The memory's limit is drawn so far from the right."""


def keys() -> Markup:
    """Which pattern is what."""
    named = [*BUSY.values(), *ON_TOP]
    entries = [element("li", swatch(name), name) for name in named]
    under = element(
        "li", swatch("computing", under=True), "thin, below: meanwhile, no time of its own"
    )
    return element("ul", *entries, under, class_="key")


# Time.


def taken(here: Shown, phase: Phase) -> Markup:
    """A bar for each point on the front: the whole of it is one pass."""
    rows = (_passed(here, row, phase) for row in here.barred)
    return _figure(here, f"time-{phase}", TITLES[phase], f"{_which(here)} Each bar is one whole "
                   "pass; how long that takes stands beside it.", "takes", rows)  # fmt: skip


def _passed(here: Shown, row: int, phase: Phase) -> Markup:
    run = here.made[row][phase]
    seconds, bounds = run[SECONDS[phase]], run[f"{SECONDS[phase]}_range"]
    found = went(run)
    parts = [*_stacked(found.added, seconds, duration, seconds), *_under(found.under, seconds)]
    bar = _bar(f"{duration(seconds)} taken apart", parts, len(found.under))
    between = element("small", said.between(bounds).strip()) if bounds[0] < bounds[1] else None
    return _line(here, row, bar, said.shares(run), [element("strong", duration(seconds)), between])


def _under(parts: Mapping[str, float], whole: float) -> Iterator[Markup]:
    for number, (name, seconds) in enumerate(parts.items()):
        yield element(
            "rect",
            element("title", f"{name} {duration(seconds)}, meanwhile"),
            x="0", y=HEIGHT + THIN * number + 1, height=THIN - 2, width=percent_of(seconds / whole),
            fill=filled(name, under=True), class_="part under",
        )  # fmt: skip


# Memory.


def held(here: Shown) -> Markup:
    """A bar for each point on the front, and a line where the chip's memory ends."""
    limit = here.found.query.machine.memory_bytes
    whole = MARGIN * max(limit, *(here.made[row]["memory_bytes"] for row in here.barred))
    named = ("weights", "caches", "activations", "free")
    key = element("ul", *(element("li", swatch(name), name) for name in named), class_="key")
    rows = (_holding(here, row, limit, whole) for row in here.barred)
    said_so = f"{_which(here)} The line is what a chip has, {size(limit)}."
    return element("div", key, _figure(here, "memory-bars", "A chip that decodes", said_so,
                                       "holds", rows))  # fmt: skip


def _holding(here: Shown, row: int, limit: float, whole: float) -> Markup:
    made = here.made[row]
    parts = {name: made["memory"][name] for name in ("weights", "caches", "activations", "free")}
    end = percent_of(limit / whole)
    line = element("line", x1=end, x2=end, y1="0", y2=HEIGHT, class_="end")
    drawn = [*_stacked({n: b for n, b in parts.items() if b > 0}, limit, size, whole), line]
    bar = _bar(f"{size(made['memory_bytes'])} taken apart", drawn)
    return _line(here, row, bar, said.memory(made), element("strong", size(made["memory_bytes"])))


# Both.


def _stacked(
    parts: Mapping[str, float], of: float, spelled: Callable[[float], str], whole: float
) -> Iterator[Markup]:
    """Parts side by side, `whole` as long as there is room; shares are told `of` something."""
    start = 0.0
    for name, amount in parts.items():
        said_so = f"{name} {spelled(amount)}, {said.percent(amount / of)}"
        yield element(
            "rect", element("title", said_so),
            x=percent_of(start / whole), y="2", height=HEIGHT - 4, width=percent_of(amount / whole),
            fill=filled(name), class_="part",
        )  # fmt: skip
        start += amount


def _bar(title: str, parts: Iterable[Markup], under: int = 0) -> Markup:
    """A drawing as high as the bar and what lies under it."""
    return element(
        "svg", element("title", title), *parts,
        role="img", class_="bar", height=HEIGHT + THIN * under,
    )  # fmt: skip


def _line(here: Shown, row: int, bar: Markup, words: str, whole: Child) -> Markup:
    """A point's name, its bar with the same in words, and the whole."""
    return element(
        "tr",
        element("th", here.link(row), scope="row"),
        element("td", bar, element("small", words), class_="drawn"),
        element("td", whole, class_="whole"),
    )


def _which(here: Shown) -> str:
    """Which points have a bar."""
    flags = here.found.study.front
    front, drawn = int(flags.sum()), sum(bool(flags[row]) for row in here.barred)
    said = "The point" if front == 1 else f"The {front} points"
    said = said if drawn == front else f"{drawn} of the {front:,} points"
    beside = " and the answers beside it" if drawn < len(here.barred) else ""
    return f"{said} on the front{beside}, the fastest request first."


def _figure(
    here: Shown, name: str, title: str, caption: str, whole: str, rows: Iterable[Markup]
) -> Markup:
    titles = (("point", None), ("of which", None), (whole, "whole"))
    head = (element("th", text, scope="col", class_=kind) for text, kind in titles)
    table = element(
        "table",
        element("thead", element("tr", *head)),
        element("tbody", *rows),
        class_="bars", aria_labelledby=f"{name}-title",
    )  # fmt: skip
    return element(
        "figure",
        element("figcaption", element("h3", title, id=f"{name}-title"), element("p", caption)),
        table, id=name,
    )  # fmt: skip
