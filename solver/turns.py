"""Where another layout takes over as one number changes: a race, of which the search has the last
word.

The plan and its contenders race as explicit programs, each on every mesh on which it keeps its
name. What they cost is linear in a dim and in the time that a byte takes, so that each is priced
twice and known everywhere. Where the race has another winner the search is asked, just before and
just beyond; where it knows of a better layout, the search looks for the place itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod

from layoutc.dsl.program import Program
from layoutc.solver.contenders import called
from layoutc.solver.meshes import Mesh
from layoutc.solver.plan import Plan
from layoutc.solver.price import Prices, price
from layoutc.solver.sites import sites
from layoutc.solver.unsolvable import Unsolvable

Title = Callable[[Plan], str]
"""What is looked at of a plan."""

MOST = 8
"""How often the search is asked before what it said last is believed."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Where another layout takes over: `at` is the last value for the plan's own, as near as it is
    known, `name` is that layout. `before` and `beyond` are values at which the search was asked."""

    at: float
    name: str
    before: float
    beyond: float


@dataclass(frozen=True, slots=True)
class Range:
    """Where the plan's layout is the best: from `low` to `high`, None where it is to the end of
    what was tried, `least` and `most`. `what` is a dim, of a `phase` if there are several, or
    "network". Of a context, `attention` is what is said of attention, and that alone is looked
    at."""

    what: str
    phase: str
    now: float
    low: Turn | None
    high: Turn | None
    least: float
    most: float
    attention: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One explicit program on one mesh: a number for each resource, at a factor of 1 and of 2, and
    what a dim must be a multiple of."""

    name: str
    phases: tuple[tuple[float, Prices, Prices], ...]
    divisor: int

    def worth(self, minimize: str, factor: float, bandwidth: float) -> tuple[float, float]:
        """What is minimised, where a dim is `factor` times what it is, and the bandwidth."""
        first = second = 0.0
        for often, one, two in self.phases:
            compute = _at(factor, one.compute.seconds, two.compute.seconds)
            memory = _at(factor, one.memory.seconds, two.memory.seconds)
            still = _at(factor, one.communication.latency, two.communication.latency)
            moving = _at(factor, one.communication.seconds, two.communication.seconds)
            moving = still + (moving - still) / bandwidth
            if minimize == "time":
                first += often * (max(compute, memory) + moving)
            else:
                first, second = first + often * compute, second + often * moving
        return _rounded(first), _rounded(second)


def _at(factor: float, one: float, two: float) -> float:
    return one + (two - one) * (factor - 1)


def _rounded(seconds: float) -> float:
    """What differs in the last bits only is equal."""
    return float(f"{seconds:.9e}")


def lines(
    program: Program, plan: Plan, number: int, dim: str, title: Title = called
) -> Iterator[Line]:
    """A plan on each mesh on which it has the same name, the dim varied in one phase."""
    for fabric in sites(program.axes, plan.chips, plan.machine):
        if title(replace(plan, fabric=fabric)) != title(plan):
            continue
        passes = [one.program for one in plan.passes]
        phases = []
        try:
            for i, one in enumerate(passes):
                now = price(one, fabric)
                then = price(_doubled(one, dim), fabric) if dim and i == number else now
                phases.append((one.phase.weight, now, then))
        except ValueError:
            continue
        yield Line(title(plan), tuple(phases), _divisor(passes[number], dict(fabric.mesh), dim))


def _doubled(program: Program, dim: str) -> Program:
    return replace(program, dims={**program.dims, dim: 2 * (program.dims[dim] or 1)})


def _divisor(program: Program, mesh: Mesh, dim: str) -> int:
    """The number of parts into which the dim is cut."""
    shapes = (held.shape for held in program.types.values())
    return max((prod(mesh[a] for a in s.split(dim)) for s in shapes if dim in s.names), default=1)


@dataclass
class Sweep(ABC):
    """One number that varies: the race, and the search, at any of its values."""

    program: Program
    plan: Plan
    lines: list[Line]

    def __post_init__(self) -> None:
        self.name = self.title(self.plan)
        self.asked: dict[float, str] = {}

    def title(self, plan: Plan) -> str:
        """What is looked at."""
        return called(plan)

    @abstractmethod
    def worth(self, line: Line, value: float) -> tuple[float, float]:
        """What is minimised, of a program in the race."""

    @abstractmethod
    def solved(self, value: float) -> Plan:
        """The best plan there is. Raises `Unsolvable`."""

    @abstractmethod
    def middle(self, good: float, bad: float) -> float | None:
        """A value between two; None if they are as near as values are told apart."""

    def can(self, line: Line, value: float) -> bool:
        """Whether a program in the race divides there."""
        return True

    def race(self, value: float) -> str:
        """The winner's name in the race, the plan's own at a tie; "" if no one divides so."""
        able = [line for line in self.lines if self.can(line, value)]
        ranked = [(self.worth(line, value), line.name != self.name, line.name) for line in able]
        return min(ranked)[-1] if ranked else ""

    def search(self, value: float) -> str:
        """The name of the best layout there is."""
        if value not in self.asked:
            try:
                self.asked[value] = self.title(self.solved(value))
            except Unsolvable:
                self.asked[value] = "no layout fits"
        return self.asked[value]

    def turn(self, start: float, ahead: list[float]) -> Turn | None:
        """Where another layout takes over on the way through the values `ahead`."""
        if not ahead:
            return None
        good, bad = self.first(self.race, start, ahead)
        if bad is None:
            if self.search(ahead[-1]) == self.name:
                return None
            return self.asking(start, ahead[-1])
        good, bad = self.between(self.race, good, bad)
        if self.search(good) != self.name:
            return self.asking(start, good)
        if self.search(bad) != self.name:
            return Turn(self.crossing(good, bad), self.search(bad), good, bad)
        further = [value for value in ahead if (value > bad) == (bad > start)]
        good, beyond = self.first(self.search, bad, further)
        return None if beyond is None else self.asking(good, beyond)

    def first(
        self, name: Callable[[float], str], start: float, ahead: list[float]
    ) -> tuple[float, float | None]:
        """The last value before the name changes, and the first after."""
        for value in ahead:
            if name(value) != self.name:
                return start, value
            start = value
        return start, None

    def between(self, name: Callable[[float], str], good: float, bad: float) -> tuple[float, float]:
        """The same two, brought together."""
        while (value := self.middle(good, bad)) is not None and len(self.asked) < MOST:
            good, bad = (value, bad) if name(value) == self.name else (good, value)
        return good, bad

    def asking(self, good: float, bad: float) -> Turn:
        """The turn between two values, found by the search alone."""
        good, bad = self.between(self.search, good, bad)
        return Turn(good, self.search(bad), good, bad)

    def crossing(self, good: float, bad: float) -> float:
        """Where the race itself turns, between two values."""
        able = [line for line in self.lines if self.can(line, bad)]
        own = [line for line in able if line.name == self.name]
        for _ in range(50):
            value = (good + bad) / 2
            least = min(self.worth(line, value) for line in able)
            won = bool(own) and min(self.worth(line, value) for line in own) == least
            good, bad = (value, bad) if won else (good, value)
        return good

    def span(
        self, what: str, phase: str, now: float, below: list[float], above: list[float]
    ) -> Range:
        """The turns on the way down and on the way up."""
        low = self.turn(now, below)
        self.asked.clear()
        high = self.turn(now, above)
        return Range(what, phase, now, low, high, (below or [now])[-1], (above or [now])[-1])
