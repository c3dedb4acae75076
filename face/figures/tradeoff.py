"""What `plan` found as a figure, in the manner of the paper's figures 1, B.1 and C.1: latency
against cost and against MFU, of decode above and of prefill below.

A line is a front; a marker is the layout in which a point runs, and a bar across a line is where
that changes. What fits and is on no front is a faint dot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, Literal

import numpy as np

from layoutc.figures.drawing import COLOURS, DASHES, DPI, MARKERS, saved
from layoutc.figures.fronts import Front, Phase, decode, prefill
from layoutc.figures.labels import Wanted, place, spread
from layoutc.figures.scales import ends, ticks, unit, written
from layoutc.serving.said import sizes, title
from layoutc.serving.studied import Studied
from layoutc.solver.serving.demand import Ints
from layoutc.solver.serving.service import Flags
from layoutc.solver.serving.study import dollars
from layoutc.solver.serving.terms import Floats

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

FAINT, GRID, WORDS = "0.7", "0.92", "0.35"
"""Shades of grey: of dots, of the grid, of what is said in passing."""

MANY = 2000
"""More faint dots than that are one picture, in an .svg too."""

ACROSS, WIDTH = 3, 46
"""Columns of the legend, and letters in a line of it."""

BAR = 11
"""Points: how long a bar across a line is."""

LABELS = 50
"""So many points of a front are labelled at most."""

MILLI = 1e3

Measure = Literal["cost", "mfu"]


@dataclass(frozen=True, slots=True)
class Style:
    """How a front is drawn: bf16 with full markers, int8 with hollow ones."""

    colour: str
    dashes: object
    fill: str


@dataclass(frozen=True, slots=True)
class Look:
    """How fronts are drawn, by their names, and the markers of layouts, by theirs."""

    styles: Mapping[str, Style]
    markers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Panel:
    """One of the four: a phase, and what its latency is held against."""

    axes: Axes
    phase: Phase
    measure: Measure

    @property
    def across(self) -> Floats:
        """Of each row, in the unit of the axis."""
        return self.phase.seconds * self.unit[1]

    @property
    def up(self) -> Floats:
        """Of each row: chip-milliseconds a token, or a share of the peak."""
        return self.phase.cost * MILLI if self.measure == "cost" else self.phase.mfu

    @property
    def unit(self) -> tuple[str, float]:
        """Of latency: a step is short, a prefill may be long."""
        largest = float(self.phase.seconds[self.phase.fits].max())
        return unit(largest, "ms" if self.phase.name == "decode" else "s")

    def points(self, rows: Flags | Ints) -> Floats:
        """Some rows as points of the axes, [points, 2]."""
        return np.stack([self.across[rows], self.up[rows]], axis=1)


def figure(found: Studied, form: str) -> bytes:
    """The figure as a file of that kind, the same bytes each time."""
    return saved(form, lambda: drawn(found))


def drawn(found: Studied) -> Figure:
    """The figure: four axes, decode before prefill and cost before MFU."""
    from matplotlib.figure import Figure

    phases = (decode(found), prefill(found))
    look = _look(phases)
    keys = list(_keys(phases, look))
    height = 7.4 + 0.21 * ceil(len(keys) / ACROSS)
    made = Figure(figsize=(11, height), dpi=DPI, layout="constrained")
    made.suptitle(f"{title(found)}: {sizes(found)}", x=0.008, ha="left", fontsize=11.5)
    measures: tuple[Measure, ...] = ("cost", "mfu")
    panels = [
        Panel(axes, phase, measure)
        for phase, row in zip(phases, made.subplots(2, 2), strict=True)
        for measure, axes in zip(measures, row, strict=True)
    ]
    for panel in panels:
        _draw(panel, look)
        _frame(panel, found.query.price)
    _legend(made, keys, phases, found.query.whose)
    # Once everything is in its place, nothing moves any more.
    made.draw_without_rendering()
    made.set_layout_engine("none")
    for panel in panels:
        _label(panel, look, _switches(panel, look))
    return made


def _look(phases: Sequence[Phase]) -> Look:
    """The same for what is called the same in both phases."""
    fronts = [front for phase in phases for front in phase.fronts]
    lengths = list(dict.fromkeys(tuple(front.lengths.items()) for front in fronts))
    styles = {}
    for front in fronts:
        hollow = front.weights == "int8"
        at = 2 * lengths.index(tuple(front.lengths.items())) + hollow
        colour = COLOURS[at % len(COLOURS)]
        styles[front.name] = Style(colour, DASHES[at % len(DASHES)], "white" if hollow else colour)
    layouts = dict.fromkeys(name for phase in phases for name in phase.layouts)
    return Look(styles, {name: MARKERS[i % len(MARKERS)] for i, name in enumerate(layouts)})


# What is drawn.


def _draw(panel: Panel, look: Look) -> None:
    """The dots, the fronts, and on them the layouts."""
    axes, fits = panel.axes, panel.phase.fits
    dots = panel.points(fits)
    axes.plot(*dots.T, ".", color=FAINT, markersize=3.5, zorder=1, rasterized=len(dots) > MANY)
    for front in panel.phase.fronts:
        style, line = look.styles[front.name], panel.points(front.rows)
        axes.plot(*line.T, color=style.colour, linestyle=style.dashes, linewidth=1.4, zorder=3)
        for layout in dict.fromkeys(point.layout for point in front.points):
            here = [point.layout == layout for point in front.points]
            axes.plot(
                *line[here].T, look.markers[layout], color=style.colour,
                markerfacecolor=style.fill, markersize=5, zorder=4,
            )  # fmt: skip


def _frame(panel: Panel, price: float) -> None:
    """Limits, ticks, the axes' names and units; dollars on the right where a price is known."""
    axes, name = panel.axes, panel.phase.name
    dots = panel.points(panel.phase.fits)
    of, token = ("a step", "token") if name == "decode" else ("a prefill", "token of a prompt")
    axes.set_xscale("log")
    axes.set_xlim(ends(dots[:, 0]))
    _ticked(axes.xaxis, *axes.get_xlim())
    axes.set_xlabel(f"latency of {of} ({panel.unit[0]})")
    if panel.measure == "cost":
        axes.set_yscale("log")
        axes.set_ylim(ends(dots[:, 1]))
        _ticked(axes.yaxis, *axes.get_ylim())
        axes.set_ylabel(f"cost (chip-ms per {token})")
        if price:
            _dollars(axes, price)
    else:
        most = float(dots[:, 1].max())
        axes.set_ylim(-0.04 * most, 1.12 * most)
        axes.yaxis.set_major_formatter(lambda share, _: f"{written(100 * share)} %")
        axes.set_ylabel("MFU (share of the data sheet's peak)")
    what = "cost" if panel.measure == "cost" else "MFU"
    axes.set_title(f"{name.capitalize()}: {what}", loc="left", fontsize=10.5)
    axes.grid(which="major", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)


def _ticked(axis: Axis, low: float, high: float) -> None:
    """Round numbers, written out."""
    at = ticks(low, high)
    axis.set_ticks(at, [written(tick) for tick in at])
    axis.set_ticks([], minor=True)


def _dollars(axes: Axes, price: float) -> None:
    """A second scale of cost."""
    each = dollars(1 / MILLI, price)
    right = axes.secondary_yaxis(
        "right", functions=(lambda c: np.multiply(c, each), lambda d: np.divide(d, each))
    )
    low, high = axes.get_ylim()
    _ticked(right.yaxis, low * each, high * each)
    right.set_ylabel("dollars per million tokens")


def _legend(made: Figure, keys: list[Artist], phases: Sequence[Phase], whose: str) -> None:
    """Beneath the axes; what `C`, `B` and `S` stand for above its entries."""
    said = {"C": "chips", "B": "sequences of a batch", "S": "tokens of a prompt"}
    used = "".join(front.points[0].label for phase in phases for front in phase.fronts)
    letters = ", ".join(f"{letter}: {what}" for letter, what in said.items() if letter in used)
    legend = made.legend(
        handles=keys, loc="outside lower left", ncols=ACROSS, fontsize=8.5,
        frameon=False, handlelength=4, alignment="left", title_fontsize=8.5,
        title=f"{letters}. Lines are Pareto fronts. Constants: {whose}.",
    )  # fmt: skip
    legend.get_title().set_color(WORDS)


def _keys(phases: Sequence[Phase], look: Look) -> Iterator[Artist]:
    for name, style in look.styles.items():
        yield _key(
            label=name, color=style.colour, linestyle=style.dashes,
            marker="o", markersize=5, markerfacecolor=style.fill,
        )  # fmt: skip
    for name, marker in look.markers.items():
        yield _key(label=fill(name, WIDTH), marker=marker, markersize=5)
    if any(front.switches for phase in phases for front in phase.fronts):
        yield _key(label="the layout changes", marker="|", markersize=BAR, markeredgewidth=1.6)
    if any(phase.fits.sum() > sum(len(f.rows) for f in phase.fronts) for phase in phases):
        yield _key(label="also fits", marker=".", color=FAINT)


def _key(**how: object) -> Artist:
    """An entry of the legend; a grey marker, but for what is said."""
    from matplotlib.lines import Line2D

    key = Line2D([], [])
    key.set(**{"color": WORDS, "linestyle": "none", **how})
    return key


# What needs to know where everything is.


def _switches(panel: Panel, look: Look) -> list[Floats]:
    """A bar across a front, half way between two points whose layouts differ; their ends."""
    pixels, bars = panel.axes.transData, []
    for front in panel.phase.fronts:
        line = pixels.transform(panel.points(front.rows))
        for at in front.switches:
            before, after = line[at - 1], line[at]
            angle = np.arctan2(*(after - before)[::-1])
            half = BAR / 2 * DPI / 72 * np.array([-np.sin(angle), np.cos(angle)])
            middle = (before + after) / 2
            bar = pixels.inverted().transform([middle - half, middle + half])
            bars.append(bar)
            colour = look.styles[front.name].colour
            panel.axes.plot(*bar.T, color=colour, linewidth=1.6, zorder=3)
    return bars


def _label(panel: Panel, look: Look, bars: Sequence[Floats]) -> None:
    """Labels beside points of fronts: ends first, then where layouts change, then far apart."""
    wanted = [want for front in panel.phase.fronts for want in _wanted(panel, front, look)]
    wanted.sort(key=lambda want: want[0])
    lines = [panel.points(front.rows) for front in panel.phase.fronts]
    dots = panel.points(panel.phase.fits)
    place(panel.axes, [want for _, want in wanted], lines, bars, dots)


def _wanted(panel: Panel, front: Front, look: Look) -> Iterator[tuple[int, Wanted]]:
    """Of a front, each with its place in the queue."""
    line = panel.points(front.rows)
    order = spread(len(line))
    order = list(dict.fromkeys([*order[:2], *front.switches, *order]))
    for turn, at in enumerate(order[:LABELS]):
        x, y = map(float, line[at])
        yield turn, Wanted(front.points[at].label, (x, y), look.styles[front.name].colour)
