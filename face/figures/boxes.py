"""Rectangles that labels take up, and what lies in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from layoutc.solver.serving.terms import Floats


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of a figure: `bottom` is its lesser y, whichever way y grows."""

    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: Box) -> bool:
        """Whether they have more than an edge in common."""
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.top <= other.bottom or other.top <= self.bottom)

    def within(self, other: Box) -> bool:
        """Whether all of it is in the other."""
        inside = other.left <= self.left and self.right <= other.right
        return inside and other.bottom <= self.bottom and self.top <= other.top

    def covers(self, dots: Floats) -> int:
        """How many of some places, [places, 2], lie in it."""
        x, y = dots[:, 0], dots[:, 1]
        inside = (x > self.left) & (x < self.right) & (y > self.bottom) & (y < self.top)
        return int(np.count_nonzero(inside))

    def apart(self, places: Floats) -> Floats:
        """How far some places, [places, 2], are from it."""
        low, high = np.array([self.left, self.bottom]), np.array([self.right, self.top])
        return np.asarray(np.hypot(*np.maximum(0, np.maximum(low - places, places - high)).T))
