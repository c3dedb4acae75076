"""The page's figures: predicted as lines, published as marks. The same bytes each time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from layoutc.figures.drawing import COLOURS, MARKERS
from published_page.chapters import COLUMNS
from published_page.found import Found
from published_page.predictions import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Line = Sequence[tuple[float, float, float]]
"""Across, published, predicted."""

Up = Callable[[Point, float], float]
"""What is drawn upwards of so many seconds of a point."""


def drawn(found: Found, folder: Path) -> list[Path]:
    """Draws all figures into a folder, and says which they are."""
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with matplotlib.rc_context({"svg.hashsalt": "layoutc", "font.size": 9.5}):
        for name, draw in DRAWERS.items():
            paths.append(folder / f"{name}.svg")
            draw(found).savefig(paths[-1], metadata={"Date": None})
    return paths


def every(found: Found) -> Figure:
    """How far the prediction of each timing is off."""
    figure, axes = _alone()
    for number, (label, points) in enumerate(_groups(found).items()):
        axes.scatter(
            [point.timing.seconds for point in points], [100 * point.error for point in points],
            s=28, label=label, color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
        )  # fmt: skip
    axes.axhline(0, color="0.5", linewidth=1)
    axes.set(xscale="log", xlabel="published, seconds", ylabel="error of the prediction, %")
    _finished(axes)
    return figure


def table_d2(found: Found) -> Figure:
    """Seconds by batch, on both machines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    one, other = figure.subplots(1, 2, sharey=True)
    for axes, columns, title in ((one, COLUMNS[:4], "TPU v4"), (other, COLUMNS[4:], "A100")):
        lines = {
            name: _line(found.series(name), lambda p: p.timing.batch, _seconds) for name in columns
        }
        _lines(axes, lines)
        axes.set_xscale("log", base=2)
        axes.set(yscale="log", xlabel="batch", title=title)
        _finished(axes)
    one.set_ylabel("seconds")
    return figure


def figure3(found: Found) -> Figure:
    """Gigabytes by tokens."""
    lines: dict[str, list[tuple[float, float, float]]] = {}
    for one in found.volumes:
        point = one.tokens, one.drawn / 1e9, one.counted / 1e9
        lines.setdefault(one.layout, []).append(point)
    figure, axes = _alone()
    _lines(axes, lines)
    axes.set_xscale("log", base=2)
    axes.set(yscale="log", xlabel="tokens", ylabel="GB received by each chip")
    _finished(axes)
    return figure


def figure6(found: Found) -> Figure:
    """Milliseconds by chips."""
    points, (figure, axes) = found.of("figure 6"), _alone()
    _lines(axes, _by_layout(points, lambda p: p.timing.chips, lambda _, seconds: 1e3 * seconds))
    axes.set(xlabel="chips", ylabel="a step of decode, ms", xticks=(64, 128, 256))
    axes.set_ylim(bottom=0)
    _finished(axes)
    return figure


def figure7(found: Found) -> Figure:
    """The share of the peak by tokens."""
    points, (figure, axes) = found.of("figure 7"), _alone()
    _lines(axes, _by_layout(points, _tokens, lambda p, seconds: 100 * p.mfu(seconds)))
    axes.set_xscale("log", base=2)
    axes.set(xlabel="tokens", ylabel="MFU, %")
    axes.set_ylim(bottom=0)
    _finished(axes)
    return figure


DRAWERS: dict[str, Callable[[Found], Figure]] = {
    "all": every, "table_d2": table_d2, "figure3": figure3, "figure6": figure6, "figure7": figure7,
}  # fmt: skip
"""What draws each figure, by the name of its file."""

# What is drawn.


def _groups(found: Found) -> dict[str, list[Point]]:
    """Points that are told apart by colour and mark."""
    groups = {"tables 2 and 3": found.of("table 2", "table 3")}
    groups |= {name: found.series(name) for name in COLUMNS if name != "PaLM total"}
    return groups | {name: found.of(name) for name in ("figure 6", "figure 7")}


def _by_layout(
    points: Sequence[Point], across: Callable[[Point], float], up: Up
) -> dict[str, Line]:
    layouts = dict.fromkeys(point.timing.layout for point in points)
    return {
        layout: _line((p for p in points if p.timing.layout == layout), across, up)
        for layout in layouts
    }


def _line(points: Iterable[Point], across: Callable[[Point], float], up: Up) -> Line:
    return [(across(p), up(p, p.timing.seconds), up(p, p.predicted)) for p in points]


def _seconds(_: Point, seconds: float) -> float:
    return seconds


def _tokens(point: Point) -> float:
    return point.timing.batch * point.timing.prompt


# How.


def _alone() -> tuple[Figure, Axes]:
    """A figure of one drawing."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    return figure, figure.add_subplot()


def _lines(axes: Axes, lines: Mapping[str, Line]) -> None:
    """What was published as marks, what is predicted as a line of the same colour."""
    for number, (label, line) in enumerate(lines.items()):
        across, published, predicted = zip(*line, strict=True)
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(across, predicted, color=colour, linewidth=1.4)
        axes.plot(
            across, published, color=colour, marker=MARKERS[number % len(MARKERS)],
            markersize=5, linestyle="none", label=label,
        )  # fmt: skip


def _finished(axes: Axes) -> None:
    """The grid, and the legend."""
    axes.grid(which="major", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(framealpha=0.9, edgecolor="none", fontsize=8)
