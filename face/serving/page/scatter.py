"""Points over two logarithmic axes as a drawing: all faint, the front joined and labelled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from layoutc.figures.boxes import Box
from layoutc.serving.page.html import Markup, element, joined
from layoutc.serving.page.labels import Labels
from layoutc.serving.page.scales import Log, over

LEFT, RIGHT, TOP, BOTTOM = 76, 14, 12, 46
"""What is around the axes."""


@dataclass(frozen=True, slots=True)
class Axis:
    """What is along it, how a value is spelled, and a limit with its words, if there is one."""

    title: str
    spelled: Callable[[float], str]
    limit: tuple[float, str] | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A point that can be pointed at: `told` is what is said of it then, and `link` where it leads.
    Its label is what stands beside it, "" for none; one that is `answer` has a ring."""

    across: float
    up: float
    square: bool
    told: str
    link: str = ""
    label: str = ""
    answer: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing to be: `faint` are points that are only seen, `joined` those of the line."""

    name: str
    title: str
    described: str
    size: tuple[int, int]
    across: Axis
    up: Axis
    faint: Sequence[tuple[float, float]]
    marks: Sequence[Mark]
    joined: Sequence[tuple[float, float]]


def scatter(it: Drawing) -> Markup:
    """The drawing as SVG, as wide as there is room for."""
    width, height = it.size
    places = [*it.faint, *it.joined, *((m.across, m.up) for m in it.marks)]
    across = over(_with(it.across, [x for x, _ in places]), LEFT, width - RIGHT)
    up = over(_with(it.up, [y for _, y in places]), height - BOTTOM, TOP)
    ids = f"{it.name}-title", f"{it.name}-desc"
    return element(
        "svg",
        element("title", it.title, id=ids[0]),
        element("desc", it.described, id=ids[1]),
        *_frame(it, across, up),
        _faint(it.faint, across, up),
        _line(it.joined, across, up),
        *_marks(it.marks, across, up),
        viewBox=f"0 0 {width} {height}", role="group", class_="scatter",
        aria_labelledby=" ".join(ids),
    )  # fmt: skip


def _with(axis: Axis, values: list[float]) -> list[float]:
    return [*values, axis.limit[0]] if axis.limit else values


# What points lie in.


def _frame(it: Drawing, across: Log, up: Log) -> Iterator[Markup]:
    for value in across.ticks():
        x = across.at(value)
        yield _rule(x, up.start, x, up.end, "grid")
        yield _text(it.across.spelled(value), x, up.start + 17, "middle")
    for value in up.ticks():
        y = up.at(value)
        yield _rule(across.start, y, across.end, y, "grid")
        yield _text(it.up.spelled(value), across.start - 7, y + 4, "end")
    middle = (up.start + up.end) / 2
    yield _text(it.across.title, (across.start + across.end) / 2, up.start + 38, "middle")
    yield element("text", it.up.title, x=13.0, y=middle, text_anchor="middle",
                  transform=f"rotate(-90 13 {middle:g})")  # fmt: skip
    yield from _limits(it, across, up)


def _limits(it: Drawing, across: Log, up: Log) -> Iterator[Markup]:
    """A dashed line where an answer has to stay left of it, or below."""
    if it.across.limit is not None:
        x = across.at(it.across.limit[0])
        yield _rule(x, up.start, x, up.end, "limit")
        yield _text(it.across.limit[1], x - 4, up.end + 11, "end", "note")
    if it.up.limit is not None:
        y = up.at(it.up.limit[0])
        yield _rule(across.start, y, across.end, y, "limit")
        yield _text(it.up.limit[1], across.end - 4, y - 5, "end", "note")


def _rule(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def _text(text: str, x: float, y: float, anchor: str, kind: str | None = None) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, class_=kind)


# The points.


def _faint(places: Sequence[tuple[float, float]], across: Log, up: Log) -> Markup | None:
    """All in one path, a dot each: a thousand of them take no room."""
    if not places:
        return None
    dots = "".join(f"M{across.at(x):.1f} {up.at(y):.1f}h0" for x, y in places)
    return element("path", d=dots, class_="faint")


def _line(places: Sequence[tuple[float, float]], across: Log, up: Log) -> Markup | None:
    if len(places) < 2:
        return None
    ends = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in sorted(places))
    return element("polyline", points=ends, class_="joined")


def _marks(marks: Sequence[Mark], across: Log, up: Log) -> Iterator[Markup]:
    """Those with a label last, over the others; labels where they cover nothing."""
    labels = Labels(Box(across.start, up.end, across.end, up.start))
    for mark in marks:
        if mark.label:
            labels.keep_clear(across.at(mark.across), up.at(mark.up))
    named = sorted((m for m in marks if m.label), key=lambda m: not m.answer)
    placed = {id(m): labels.place(m.label, across.at(m.across), up.at(m.up)) for m in named}
    for mark in sorted(marks, key=lambda m: (bool(m.label), m.answer)):
        yield _mark(mark, across.at(mark.across), up.at(mark.up), placed.get(id(mark)))


def _mark(mark: Mark, x: float, y: float, label: tuple[float, float, str] | None) -> Markup:
    kind = "mark front" if mark.label else "mark"
    inner = joined([
        element("title", mark.told),
        element("circle", cx=x, cy=y, r=8.5, class_="ring") if mark.answer else None,
        _shape(mark, x, y),
        _text(mark.label, *label, "label") if label else None,
    ])  # fmt: skip
    if mark.link:
        return element("a", inner, href=mark.link, class_=kind)
    return element("g", inner, class_=kind)


def _shape(mark: Mark, x: float, y: float) -> Markup:
    half = 4.2 if mark.label else 3.0
    if mark.square:
        return element("rect", x=x - half, y=y - half, width=2 * half, height=2 * half)
    return element("circle", cx=x, cy=y, r=1.1 * half)
