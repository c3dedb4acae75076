"""The race as a figure, in the manner of the paper's figure 3: both axes logarithmic. What is
drawn is what was weighed, so that lines cross where layouts change places: bytes received on a flat
network, else seconds. The least is a broad band beneath the lines.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from layoutc.figures.drawing import COLOURS, DASHES, MARKERS, saved
from layoutc.regimes import labels, number, on, pretty
from layoutc.solver.contender import CHIPS, Contender, itemsize
from layoutc.solver.regimes import Regimes
from layoutc.solver.units import duration, size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = list[tuple[float, float]]


def figure(found: Regimes, form: str) -> bytes:
    """The figure as a file of that kind, the same bytes each time."""
    return saved(form, lambda: _figure(found))


def _figure(found: Regimes) -> Figure:
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(7.4, 4.8), layout="constrained")
    _draw(drawn.add_subplot(), found)
    return drawn


def _draw(axes: Axes, found: Regimes) -> None:
    names = labels(found.contenders)
    for i, contender in enumerate(found.contenders):
        axes.plot(
            *zip(*_line(found, contender), strict=True),
            color=COLOURS[i % len(COLOURS)], marker=MARKERS[i % len(MARKERS)], markersize=4.5,
            linestyle=DASHES[i % len(DASHES)], linewidth=1.4, label=names[contender], zorder=3,
        )  # fmt: skip
    least = _least(found)
    axes.plot(
        *zip(*least, strict=True), color="#F3D36B", linewidth=9, solid_capstyle="round",
        label="the least", zorder=1,
    )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    _frame(axes, found)
    _switches(axes, found)


def _frame(axes: Axes, found: Regimes) -> None:
    """Title, labels with units, ticks as people write numbers, the legend."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    sweep = found.sweep
    sizes = ", ".join(f"{d} = {n:,}" for d, n in sweep.program.dims.items() if d != sweep.over)
    what = "number of chips, n" if sweep.over == CHIPS else sweep.over
    flat = sweep.machine.flat
    title = "what each chip receives" if flat else "how long moving takes"
    axes.set_title(f"{sweep.program.name}{on(sweep)}: {title}", loc="left")
    axes.set_xlabel(f"{what}    ({sizes})")
    axes.set_ylabel(f"{'bytes received by each chip' if flat else 'time of all moves'}, K large")
    axes.xaxis.set_major_locator(LogLocator(base=2, numticks=8))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    low, high = axes.get_ylim()
    if high < 100 * low:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: size(v) if flat else duration(v)))
    axes.grid(which="major", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(framealpha=0.9, edgecolor="none", handlelength=4)


def _switches(axes: Axes, found: Regimes) -> None:
    """A thin line at each, its closed form above."""
    marked = [(float(s.at), pretty(s.formula) or number(s.at)) for s in found.switches]
    for at, _ in marked:
        axes.axvline(at, color="0.45", linewidth=0.8, linestyle=(0, (2, 2)), zorder=2)
    top = axes.secondary_xaxis("top")
    top.set_xticks([at for at, _ in marked], [text for _, text in marked], minor=False)
    top.set_xticks([], minor=True)
    top.set_xlabel(f"switches at {found.sweep.over} =" if marked else "", loc="left")


def _line(found: Regimes, contender: Contender) -> Points:
    """What a contender takes at the values where it divides."""
    points = found.points[found.contenders.index(contender)]
    return [(float(value), _drawn(contender, m.moved)) for value, m in points if m.moved]


def _drawn(contender: Contender, moved: Fraction) -> float:
    """Bytes for elements, on a flat network; seconds as they are."""
    scale = itemsize(contender.program) if contender.sweep.machine.flat else 1
    return float(moved) * scale


def _least(found: Regimes) -> Points:
    """What winners take at every value that was weighed, and where two of them cross."""
    won: dict[float, float] = {}
    for contender, points in zip(found.contenders, found.points, strict=True):
        for value, measure in points:
            mine = _drawn(contender, measure.moved)
            if any(r.contender is contender and r.low <= value <= r.high for r in found.regimes):
                won[float(value)] = min(won.get(float(value), mine), mine)
    for switch in found.switches:
        if switch.cross:
            won[float(switch.at)] = _drawn(switch.before, switch.before.moved(switch.at))
    return sorted((value, taken) for value, taken in won.items() if taken)
