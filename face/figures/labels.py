"""Labels beside points, such that none lies on another, on a line or on a marker.

Places are tried on the finished figure, in points (72 to the inch), the important labels first; a
label for which there is no place is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import cos, pi, sin
from typing import TYPE_CHECKING

import numpy as np

from layoutc.figures.boxes import Box
from layoutc.solver.serving.terms import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = 7.5
"""Of the letters, in points."""

CLEAR = 1.5
"""Points that stay free round a label."""

NEAR, FAR = 4.0, 9.0
"""Points between what is labelled and the nearest of its label."""

ANGLES = tuple(pi * quarter / 4 for quarter in (1, 5, 7, 3, 0, 4, 2, 6))
"""Where a label may be, seen from its point, the best first: off a line that falls."""

MARKER = 3.0
"""Points from the middle of a marker to its edge."""

STEP = 2.0
"""A label must not cover a line: it is looked at in steps of so many points."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A text beside a point of the data."""

    text: str
    at: tuple[float, float]
    colour: str


@dataclass(slots=True)
class Room:
    """Axes, and what is on them: markers, lines, dots, and the labels so far."""

    whole: Box
    markers: Floats
    lines: Floats
    dots: Floats
    labels: list[Box] = field(default_factory=list)

    def taken_by(self, at: Floats, width: float, height: float) -> Floats | None:
        """The middle of a label beside a place, and its own is taken; None if there is none."""
        places = enumerate(_places(at[0], at[1], width, height))
        others = self.markers[np.hypot(*(self.markers - at).T) > NEAR]
        free = [
            (box.covers(self.dots), nth, box)
            for nth, box in places
            if self._free(box) and (box.apart(others) > box.apart(at[None])).all()
        ]
        if not free:
            return None
        *_, box = min(free, key=lambda found: found[:2])
        self.labels.append(box)
        return np.array([box.left + box.right, box.bottom + box.top]) / 2

    def _free(self, box: Box) -> bool:
        apart = not any(box.meets(label) for label in self.labels)
        return apart and box.within(self.whole) and not box.covers(self.lines)


def spread(count: int) -> list[int]:
    """The numbers from 0 up to `count` in such an order that the first of them lie far apart: both
    ends, the middle, the quarters."""
    order, step = [0, count - 1], count
    while step > 1:
        step = -(-step // 2)
        order += range(step, count, step)
    return list(dict.fromkeys(order))


def place(
    axes: Axes,
    wanted: Sequence[Wanted],
    lines: Sequence[Floats],
    bars: Sequence[Floats],
    dots: Floats,
) -> None:
    """Puts labels on axes whose place and limits are settled, the first wanted first.

    `lines`, with a marker at each point, and `bars` ([points, 2] each) must not be covered; of
    `dots`, [points, 2], as few as can be. A label is nearer to its own marker than to any other.
    What two points at the same place would both say is said once.
    """
    inch = axes.figure.dpi / 72

    def on_figure(points: Floats) -> Floats:
        return np.asarray(axes.transData.transform(points)) / inch

    area = axes.get_window_extent().padded(-CLEAR * inch)
    room = Room(
        Box(area.x0 / inch, area.y0 / inch, area.x1 / inch, area.y1 / inch),
        np.concatenate([on_figure(line) for line in lines]),
        np.concatenate([_along(on_figure(line)) for line in (*lines, *bars)]),
        np.unique(on_figure(dots).round(), axis=0),
    )  # fmt: skip
    said: list[tuple[str, Floats]] = []
    for want in wanted:
        at = on_figure(np.array(want.at))
        if any(text == want.text and np.hypot(*(at - there)) < NEAR for text, there in said):
            continue
        text = axes.annotate(
            want.text, want.at, xytext=(0, 0), textcoords="offset points",
            ha="center", va="center", fontsize=SIZE, color=want.colour, zorder=5,
        )  # fmt: skip
        size = text.get_window_extent()
        middle = room.taken_by(at, size.width / inch, size.height / inch)
        if middle is None:
            text.remove()
        else:
            said.append((want.text, at))
            text.set_position(tuple(middle - at))


def _places(x: float, y: float, width: float, height: float) -> Iterator[Box]:
    """Round a point, the nearest first."""
    across, up = width / 2 + CLEAR, height / 2 + CLEAR
    for gap in (NEAR, FAR):
        for angle in ANGLES:
            at_x = x + cos(angle) * gap + _sign(cos(angle)) * across
            at_y = y + sin(angle) * gap + _sign(sin(angle)) * up
            yield Box(at_x - across, at_y - up, at_x + across, at_y + up)


def _sign(value: float) -> int:
    return 0 if abs(value) < 1e-9 else 1 if value > 0 else -1


def _along(line: Floats) -> Floats:
    """A line as places a step apart, its markers as four each."""
    pieces = [line + MARKER * np.array(side) for side in ((1, 0), (0, 1), (-1, 0), (0, -1))]
    for one, other in pairwise(line):
        count = max(1, int(np.hypot(*(other - one)) / STEP))
        shares = np.arange(count)[:, None] / count
        pieces.append(one + shares * (other - one))
    return np.concatenate(pieces)
