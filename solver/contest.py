"""Two explicit programs on a machine, each in its best place: which is cheaper, and from where on.

In a place mesh sizes are numbers, and what moving takes is affine in the tokens: starting and hops
take their time without any. Two such lines meet once or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose

from layoutc.dsl.program import Program
from layoutc.solver.comparison import TOKENS
from layoutc.solver.formula import moving
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.monomial import Cost
from layoutc.solver.placed import CLOSE, Placed, best_place
from layoutc.solver.switch import Zero, Zeros


@dataclass(frozen=True, slots=True)
class Line:
    """Seconds that moving takes: `start`, and `slope` for each of what varies."""

    start: float
    slope: float


@dataclass(frozen=True, slots=True)
class Race:
    """Two lines, and where they meet as `variable` ("B*L") grows."""

    first: Line
    second: Line
    variable: str
    zeros: Zeros


@dataclass(frozen=True, slots=True)
class Contest:
    """Two programs in their best places, for large K and exactly."""

    first: Program
    second: Program
    places: tuple[Placed, Placed]
    large: Race
    exact: Race


def contest(first: Program, second: Program, chips: int, machine: Machine) -> Contest:
    """The two programs; every dim of them has a size.

    Raises:
        Unsolvable: one of them has no place on so many chips.
    """
    programs = first, second
    places = best_place(first, chips, machine), best_place(second, chips, machine)
    large, exact = (
        _race(
            programs, [moving(p, at.fabric, each) for p, at in zip(programs, places, strict=True)]
        )
        for each in (True, False)
    )
    return Contest(first, second, places, large, exact)


def _race(programs: tuple[Program, Program], costs: list[Cost]) -> Race:
    varying = _varying(costs)
    one, two = (
        _line(cost, program, varying) for program, cost in zip(programs, costs, strict=True)
    )
    return Race(one, two, "*".join(varying), meeting(one, two))


def _varying(costs: list[Cost]) -> tuple[str, ...]:
    """What of the tokens varies: their product, where they come in no other way."""
    found = {tuple(t for t in TOKENS if t in dict(p.powers)) for c in costs for p in c.terms}
    found.discard(())
    return max(found, key=len) if len(found) == 1 else TOKENS[:1]


def _line(cost: Cost, program: Program, varying: tuple[str, ...]) -> Line:
    sizes = {**program.sizes, **dict.fromkeys(varying, 1)}
    at_none, at_one = (cost.exact({**sizes, varying[0]: tokens}) for tokens in (0, 1))
    return Line(float(at_none), float(at_one - at_none))


def meeting(one: Line, two: Line) -> Zeros:
    """Where the first less the second is 0, beyond nothing at all."""
    start, slope = _less(one.start, two.start), _less(one.slope, two.slope)
    if not start and not slope:
        return Zeros(same=True)
    if start * slope >= 0:
        return Zeros(sign=1 if start + slope > 0 else -1)
    return Zeros((Zero(-start / slope, 1 if slope > 0 else -1),))


def _less(one: float, two: float) -> float:
    """The difference; none where that is rounding."""
    return 0.0 if isclose(one, two, rel_tol=CLOSE) else one - two
