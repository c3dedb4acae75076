"""Which layout wins over which range of one size, and where two of them change places.

For one value of the size the search finds the winner. What a layout moves is affine in a dim, so
that the least over layouts is concave in it: between two winners, either they are the best up to
the value at which they cost the same, or a third one is better there, and the same holds on both
sides of it. That is exact for multiples of the number of chips, which every layout divides.
Below that a layout counts only where it divides, and the divisors are tried one by one. Where
the number of chips varies the mesh does too, nothing is affine, and powers of two are tried, those
that the machine has. Off a flat network what counts are seconds, which are affine as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise

from layoutc.solver.chips import Meeting
from layoutc.solver.contender import CHIPS, Contender, Measure, Sweep
from layoutc.solver.crossing import Crossing, crossing
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.meshes import Mesh, divisors
from layoutc.solver.unsolvable import Unsolvable

Watch = Callable[[list[int]], Iterable[int]]
"""Passes values on, one by one; whoever likes can show how far it is."""


@dataclass(frozen=True, slots=True)
class Regime:
    """The winner from `low` to `high`, in its place at the first value at which it was tried."""

    low: Fraction
    high: Fraction
    contender: Contender
    fabric: Fabric

    @property
    def mesh(self) -> Mesh:
        """The size of each axis."""
        return dict(self.fabric.mesh)


@dataclass(frozen=True, slots=True)
class Switch:
    """Where two winners change places.

    They `cross` there if both cost the same. Else the next layout wins as soon as its axes divide
    the dim, or was the winner of the next number of chips. `formula` says where they cross, over
    chips on the best real meshes; it is None where they don't, and off a flat network, since bytes
    do not add up with the seconds that starting takes. `exact` is where the same two layouts change
    places when the (K-1)/K are kept, None if nowhere.
    """

    before: Contender
    after: Contender
    at: Fraction
    cross: bool = False
    formula: str | None = None
    exact: Fraction | None = None
    exact_formula: str | None = None


@dataclass(frozen=True, slots=True)
class Regimes:
    """The whole race. `points[i]` are the values at which contender i was weighed, in order."""

    sweep: Sweep
    regimes: tuple[Regime, ...]
    switches: tuple[Switch, ...]
    contenders: tuple[Contender, ...]
    points: tuple[tuple[tuple[int, Measure], ...], ...]


@dataclass(frozen=True, slots=True)
class _Leg:
    """A winner, and the first and the last of the values tried at which it wins."""

    contender: Contender
    first: int
    last: int


@dataclass(slots=True)
class _Race:
    """Winners by the values tried, every layout that won anywhere, and what they measured."""

    sweep: Sweep
    winners: dict[int, Contender] = field(default_factory=dict)
    contenders: list[Contender] = field(default_factory=list)
    measures: dict[tuple[int, int], Measure | None] = field(default_factory=dict)

    def run(self, value: int) -> None:
        """Finds the winner at `value`; one that is known already is taken for the same."""
        found = Contender.best(self.sweep, value)
        mine = self.measure(found, value)
        for known in self.contenders:
            if known.name == found.name and self._same(known, mine, value):
                self.winners[value] = known
                return
        self.contenders.append(found)
        self.winners[value] = found

    def _same(self, known: Contender, mine: Measure, value: int) -> bool:
        there = self.weighed(known, value)
        return there is not None and there.rank == mine.rank and there.mesh == mine.mesh

    def weighed(self, contender: Contender, value: int) -> Measure | None:
        """`contender.measure`, remembered."""
        key = id(contender), value
        if key not in self.measures:
            self.measures[key] = contender.measure(value)
        return self.measures[key]

    def measure(self, winner: Contender, value: int) -> Measure:
        """What a winner takes where it won."""
        found = winner.measure(value)
        assert found is not None, "a winner divides where it wins"
        return found

    def between(self, low: int, high: int) -> None:
        """Looks for winners between two values tried, where their winners cost the same."""
        one, other = self.winners[low], self.winners[high]
        crossed = _number(_crossing(one, other, self.sweep.large), self.sweep)
        value = _whole(crossed, low, high, self.sweep.chips)
        if value is None:
            return
        known = [m.rank for c in (one, other) if (m := self.weighed(c, value)) is not None]
        self.run(value)
        if self.measure(self.winners[value], value).rank < min(known):
            self.between(low, value)
            self.between(value, high)

    def legs(self) -> list[_Leg]:
        """The fewest winners in a row: at a tie, whoever wins the longest from there."""
        values, legs, at = self.weighing(), list[_Leg](), 0
        while at < len(values):
            runs = [(self._run(c, values[at:]), c) for c in self.contenders]
            length, longest = max(runs, key=lambda run: run[0])
            legs.append(_Leg(longest, values[at], values[at + length - 1]))
            at += length
        return legs

    def _run(self, contender: Contender, values: list[int]) -> int:
        """At how many of `values`, from the first on, a contender is as good as any."""
        for length, value in enumerate(values):
            found = self.weighed(contender, value)
            if found is None or found.rank > self.least(value):
                return length
        return len(values)

    def least(self, value: int) -> tuple[int, Fraction]:
        """The best rank at a value."""
        measures = (self.weighed(c, value) for c in self.contenders)
        return min(m.rank for m in measures if m is not None)

    def weighing(self) -> list[int]:
        """The values tried, and some between them: who ties at both ends wins between them."""
        values = sorted(self.winners)
        if self.sweep.over == CHIPS:
            return values
        pairs, step = pairwise(values), self.sweep.chips
        middles = (_whole(Fraction(a + b, 2), a, b, step) for a, b in pairs if a >= step)
        return sorted({*values, *(m for m in middles if m is not None)})


def regimes(sweep: Sweep, watch: Watch = iter, favoured: Iterable[Contender] = ()) -> Regimes:
    """The race of all layouts of a program over one size; ties go to those `favoured`.

    Raises:
        Unsolvable: no value in the range has a layout.
    """
    race, refused = _Race(sweep), list[Unsolvable]()
    race.contenders = [replace(contender, sweep=sweep) for contender in favoured]
    for value in watch(tried(sweep)):
        try:
            race.run(value)
        except Unsolvable as error:
            refused.append(error)
    if not race.winners:
        raise refused[-1]
    if sweep.over != CHIPS:
        for low, high in pairwise(sorted(race.winners)):
            race.between(low, high)
    return _told(race)


def tried(sweep: Sweep) -> list[int]:
    """The values at which the search is asked first.

    Of a dim: the divisors of the number of chips, and the first and last of its multiples. Of
    chips: the powers of two, and both ends.
    """
    if sweep.over == CHIPS:
        return grid(sweep)
    low, high, chips = sweep.low, sweep.high, sweep.chips
    values = {*divisors(chips), -(-low // chips) * chips, high // chips * chips}
    return sorted(v for v in values if low <= v <= high) or [low, high]


def grid(sweep: Sweep) -> list[int]:
    """The values at which every contender is weighed: round ones, which most layouts divide."""
    low, high = sweep.low, sweep.high
    if sweep.over == CHIPS:
        values = {low, high, *(1 << k for k in range(high.bit_length()))}
    else:
        doublings = (sweep.chips << k for k in range(high.bit_length()))
        values = {*divisors(sweep.chips), *doublings}
    return sorted(v for v in values if low <= v <= high) or [low, high]


def _whole(value: Fraction | None, low: int, high: int, step: int) -> int | None:
    """The multiple of `step` nearest to `value`, strictly between two numbers; None if none is."""
    if value is None or not low < value < high:
        return None
    near = round(value / step) * step
    inside = [v for v in (near, near - step, near + step) if low < v < high and v > 0]
    return min(inside, key=lambda v: abs(v - value), default=None)


# Telling.


def _told(race: _Race) -> Regimes:
    legs, values = race.legs(), grid(race.sweep)
    switches = tuple(_switch(race.sweep, one, other) for one, other in pairwise(legs))
    chosen = tuple(dict.fromkeys(leg.contender for leg in legs))
    return Regimes(
        race.sweep,
        tuple(_regimes(race, legs, switches)),
        switches,
        chosen,
        tuple(
            tuple((v, m) for v in values if (m := race.weighed(c, v)) is not None) for c in chosen
        ),
    )


def _regimes(race: _Race, legs: list[_Leg], switches: tuple[Switch, ...]) -> Iterable[Regime]:
    """Legs as ranges that meet where costs cross, and reach the ends of what was asked."""
    lows = [Fraction(leg.first) for leg in legs]
    highs = [Fraction(leg.last) for leg in legs]
    for i, switch in enumerate(switches):
        if switch.cross:
            highs[i] = lows[i + 1] = switch.at
    lows[0], highs[-1] = _ends(race, lows[0], highs[-1])
    for leg, low, high in zip(legs, lows, highs, strict=True):
        there = race.weighed(leg.contender, leg.first)
        assert there is not None
        yield Regime(low, high, leg.contender, there.fabric)


def _ends(race: _Race, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """The ends of the range, where the values tried that are nearest to them have a layout."""
    values = tried(race.sweep)
    return (
        Fraction(race.sweep.low) if values[0] in race.winners else low,
        Fraction(race.sweep.high) if values[-1] in race.winners else high,
    )


def _switch(sweep: Sweep, one: _Leg, other: _Leg) -> Switch:
    before, after = one.contender, other.contender
    same, exactly = (_crossing(before, after, large) for large in (sweep.large, False))
    at, exact = _number(same, sweep), _number(exactly, sweep)
    if same is None or at is None or not one.last <= at <= other.first:
        return Switch(before, after, Fraction(other.first))
    if not sweep.machine.flat:
        return Switch(before, after, at, cross=True, exact=exact)
    told = exactly.formula() if exactly is not None and exact is not None else None
    return Switch(before, after, at, True, same.formula(), exact, told)


def _number(crossed: Crossing | Meeting | None, sweep: Sweep) -> Fraction | None:
    """A crossing at the sizes that the program has; of seconds, which are rounded, ten digits."""
    value = None if crossed is None else crossed.value(sweep.program.sizes)
    if value is None or sweep.machine.flat:
        return value
    return Fraction(f"{float(value):.9e}")


def _crossing(one: Contender, other: Contender, large: bool) -> Crossing | Meeting | None:
    """Where two contenders cost the same, if that can be told."""
    if one.sweep.over == CHIPS:
        curves = one.curve(exact=not large), other.curve(exact=not large)
        return Meeting(curves[0], curves[1]) if curves[0] and curves[1] else None
    costs = (one.large, other.large) if large else (one.exact, other.exact)
    return crossing(*costs, one.sweep.over)
