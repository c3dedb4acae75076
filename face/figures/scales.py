"""Logarithmic axes that can be read however much or little they span."""

from __future__ import annotations

from math import ceil, floor, log10

import numpy as np

from layoutc.solver.serving.terms import Floats

ROOM = 0.1
"""Of an axis, what is left free at either end."""

LEAST = 1.1
"""An axis ends at so many times its beginning at least, so that a single point has one too."""


def ends(values: Floats) -> tuple[float, float]:
    """Where an axis begins and ends that is to show these values, which are above 0."""
    low, high = float(values.min()), float(values.max())
    wider = max(1.0, LEAST * low / high) ** 0.5
    room = (high / low * wider**2) ** ROOM * wider
    return low / room, high * room


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between two: powers of ten where there are many, else 1, 2 and 5 of each; where
    that is too few, equal steps."""
    decades = [10.0**n for n in range(floor(log10(low)), ceil(log10(high)) + 1)]
    steps = (1,) if high > 2e3 * low else (1, 2, 5)
    found = [tick * step for tick in decades for step in steps if low <= tick * step <= high]
    return found if len(found) > 2 else _even(low, high)


def _even(low: float, high: float) -> list[float]:
    """Three to eight multiples of 1, 2 or 5 of a power of ten."""
    step = 10.0 ** floor(log10(high - low))
    step *= next(share for share in (1, 0.5, 0.2) if (high - low) / (share * step) >= 3)
    first, last = ceil(low / step), floor(high / step)
    return [float(np.format_float_positional(n * step, 12)) for n in range(first, last + 1)]


def written(value: float) -> str:
    """A tick: 0.002, 2.5, 10,000."""
    return f"{value:,.10g}" if value >= 1e-4 else f"{value:.10g}"


def unit(largest: float, usual: str) -> tuple[str, float]:
    """The unit for seconds, and how many are in a second: the usual, or the first beneath it in
    which the largest is not below 1."""
    units = [("s", 1.0), ("ms", 1e3), ("µs", 1e6)]
    usable = units[[name for name, _ in units].index(usual) :]
    return next((u for u in usable if largest * u[1] >= 1), usable[-1])
