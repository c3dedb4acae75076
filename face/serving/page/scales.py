"""A logarithmic axis: where values lie on it, and which of them are marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import floor, log, log10

ROOM = 0.06
"""So much of an axis is left free at both ends."""

ALONE = 1.5
"""What is one value alone is in the middle of an axis from so many times less to so many more."""

MOST = 7
"""So many values are marked."""

STEPS = (
    tuple(n / 10 for n in range(10, 100)),
    tuple(n / 10 for n in range(10, 100, 2)),
    tuple(n / 10 for n in range(10, 100, 5)),
    (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9),
    (1, 2, 5),
    (1, 3),
    (1,),
)
"""What is marked of a power of ten, from close to wide."""


@dataclass(frozen=True, slots=True)
class Log:
    """From `low` to `high`, drawn from `start` to `end`, which may be the lesser."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a value is drawn."""
        share = log(value / self.low) / log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """The values to mark: round ones, as many as there is room for."""
        for step in STEPS:
            found = list(self._round(step))
            if len(found) <= MOST:
                return found
        every = -(-len(found) // MOST)
        return found[::every]

    def _round(self, step: tuple[float, ...]) -> Iterator[float]:
        for power in range(floor(log10(self.low)), floor(log10(self.high)) + 1):
            for digit in step:
                # As it is written, so that 3 * 10^-6 is 3e-06 and not the next number beside it.
                value = float(f"{digit:g}e{power}")
                if self.low <= value <= self.high:
                    yield value


def over(values: Iterable[float], start: float, end: float) -> Log:
    """An axis on which all values lie, with some room at both ends."""
    found = list(values)
    low, high = min(found), max(found)
    if high < low * ALONE:
        middle = (low * high) ** 0.5
        low, high = middle / ALONE, middle * ALONE
    room = (high / low) ** ROOM
    return Log(low / room, high * room, start, end)
