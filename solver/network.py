"""What a move takes as a formula, on any network: bandwidths are symbols.

Where a chip receives as much in a second over whichever axes, there is one, `bandwidth`: a move is
a number of elements, and over the bandwidth it is a time. Elsewhere each axis of the mesh has its
own, and what an all-gather of D takes depends on where its axes lie:

    over x alone                        D/bandwidth_x
    over y and z of a torus             D/(bandwidth_y + bandwidth_z)      at once, side by side
    over x in a tier, y in the next     D/bandwidth_x + D/(X*bandwidth_y)  one after the other

Of chips linked by one switch, all axes have the same bandwidth, and that of the first stands for
it. A ring or a line of X chips exchanges D in D*X/(4*bandwidth_x): half of the blocks pass its
middle. Where no such rule holds there is a symbol for just that: `bandwidth_yz` for axes that
share links, or of which it is not known where they lie, `exchange_yz` for an all-to-all over
several axes of a torus, of which the slowest counts, `permute_yz` likewise.

Starting and hops are in no formula. `layoutc.solver.hardware.timing` has the same rules in numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf, prod

from layoutc.dsl.operation import Move, MoveKind
from layoutc.dsl.program import Program
from layoutc.dsl.shape import Shape
from layoutc.solver.collectives import RULES, held, received, received_large, sending
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.placement import Parts
from layoutc.solver.hardware.tier import Tier
from layoutc.solver.monomial import Cost, Monomial, added

BANDWIDTH = "bandwidth"
"""Elements of the file's dtype that a chip receives in a second; `bandwidth_x` over axis x."""

MEASURED: dict[str, MoveKind] = {
    BANDWIDTH: "all-gather",
    "exchange": "all-to-all",
    "permute": "permute",
}
"""The collective whose speed a symbol is, by how its name begins."""

QUARTER = Monomial(Fraction(1, 4))
"""X·D/4 over the bandwidth is what X/8 of D takes over a link: a ring has two ways for it, and on a
line, which has one, it is twice as much."""

Axes = tuple[str, ...]

Both = tuple[Cost, Cost]
"""A cost for large K, and exactly."""


@dataclass(frozen=True, slots=True)
class OneBandwidth:
    """A network on which it does not matter which axes take part."""

    over = (BANDWIDTH,)
    """What costs are divided by to be times: they are elements."""
    tiered = False

    def takes(self, move: Move, before: Shape, after: Shape, _ones: frozenset[str]) -> Both:
        """Elements that a chip receives."""
        return received_large(move, before, after), received(move, before, after)


@dataclass(frozen=True, slots=True)
class ManyBandwidths:
    """A network whose axes differ, as far as formulas tell it.

    `axes` are those of the mesh. `tiers` are the numbers of the tiers in which axes lie, of those
    that share no link with another axis and lie in one tier. `rows` are the axes that are a line or
    a ring of an even number of chips. `tiered`: axes are known to lie in several tiers, each of so
    many chips, so that sizes do not go from one axis to another.
    """

    machine: Machine
    axes: Axes
    tiers: Mapping[str, int]
    rows: frozenset[str]
    tiered: bool = False

    over = ()
    """Costs are times."""

    def takes(self, move: Move, before: Shape, after: Shape, ones: frozenset[str]) -> Both:
        """Seconds, over mesh sizes and bandwidths; axes of one chip, `ones`, take no part."""
        rule = RULES[move.kind]
        over = sending(move, before, after)
        axes = tuple(a for a in self.axes if a in over and a not in ones)
        side = held(before if rule.side == "before" else after)
        factor = side * Monomial(Fraction(rule.factor))
        large, exact = self._rate(move.kind, axes)
        return large * factor, exact * factor

    def _rate(self, kind: MoveKind, axes: Axes) -> Both:
        """Seconds for an element of D."""
        match kind:
            case "all-gather" | "reduce-scatter" | "all-reduce":
                return self._gathered(axes)
            case "all-to-all":
                return self._exchanged(axes)
            case "permute":
                return _alone(self._symbol("permute", axes))
            case "slice":
                return Cost(), Cost()

    def _gathered(self, axes: Axes) -> Both:
        """Stage after stage: what is inside has the larger part."""
        large, exact, inside = Cost(), Cost(), Axes()
        for stage, symbol in self._stages(axes):
            part = Monomial.of((), (*inside, symbol))
            large += Cost.of(part)
            exact += Cost.of(part) - Cost.of(part * Monomial.of((), stage))
            inside += stage
        return large, exact

    def _stages(self, axes: Axes) -> Iterable[tuple[Axes, str]]:
        """The axes of each tier, the innermost first, and the symbol of their bandwidth."""
        if not self._apart(axes):
            yield axes, named(BANDWIDTH, axes)
            return
        for number in sorted({self.tiers[a] for a in axes}):
            own = tuple(a for a in axes if self.tiers[a] == number)
            symbols = [named(BANDWIDTH, (a,)) for a in own]
            yield own, added(symbols) if self.machine.tiers[number].shaped else symbols[0]

    def _exchanged(self, axes: Axes) -> Both:
        if len(axes) == 1 and axes[0] in self.rows:
            return _alone(named(BANDWIDTH, axes), Monomial.of(axes) * QUARTER)
        if self._switched(axes):
            return self._gathered(axes)
        return _alone(named("exchange", axes))

    def _symbol(self, what: str, axes: Axes) -> str:
        """Through a switch everything goes at the bandwidth."""
        return named(BANDWIDTH, axes[:1]) if self._switched(axes) else named(what, axes)

    def _switched(self, axes: Axes) -> bool:
        """Whether all axes are chips of one switch."""
        if not self._apart(axes):
            return False
        found = {self.tiers[a] for a in axes}
        return len(found) == 1 and not self.machine.tiers[found.pop()].shaped

    def _apart(self, axes: Axes) -> bool:
        """Whether each has its links to itself."""
        return len(axes) > 0 and all(a in self.tiers for a in axes)


Network = OneBandwidth | ManyBandwidths

FLAT = OneBandwidth()


def network(program: Program, machine: Machine, fabric: Fabric | None = None) -> Network:
    """The network of a program's mesh, in its place on `fabric` if that is known.

    If it isn't, axes of a machine of one tier are taken to be whole axes of it. Of several tiers it
    is not known which axes lie where.
    """
    if machine.uniform:
        return FLAT
    tiers, rows = dict[str, int](), set[str]()
    for axis in program.axes:
        parts = fabric.placement.parts[axis.name] if fabric else ()
        number = _tier(parts, machine)
        if number is None:
            continue
        tiers[axis.name] = number
        size = fabric.mesh[axis.name] if fabric else axis.size or 0
        if len(parts) <= 1 and size % 2 == 0 and _row(machine.tiers[number]):
            rows.add(axis.name)
    lies = fabric.placement.parts.values() if fabric else ()
    tiered = len({part.tier for parts in lies for part in parts}) > 1
    axes = tuple(axis.name for axis in program.axes)
    return ManyBandwidths(machine, axes, tiers, frozenset(rows), tiered)


def _tier(parts: Parts, machine: Machine) -> int | None:
    """The one tier in which an axis lies and shares no link with others; None if there is none."""
    if not parts:
        return 0 if len(machine.tiers) == 1 else None
    found = {part.tier for part in parts}
    if len(found) > 1:
        return None
    (number,) = found
    shares = machine.tiers[number].shaped and not all(part.whole for part in parts)
    return None if shares else number


def _row(tier: Tier) -> bool:
    """Whether a physical axis is a line, or a ring that is used both ways."""
    return tier.shaped and (tier.both_ways or tier.topology == "line")


def named(what: str, axes: Axes) -> str:
    """The symbol for the speed of something over axes: bandwidth_x."""
    return f"{what}_{''.join(axes)}"


def _alone(symbol: str, by: Monomial | None = None) -> Both:
    """A time over one speed, the same exactly as for large K."""
    cost = Cost.of((by or Monomial(Fraction(1))) * Monomial.of((), (symbol,)))
    return cost, cost


# In numbers.


def speeds(symbols: Iterable[str]) -> tuple[str, ...]:
    """Those of some symbols that are speeds, sorted."""
    return tuple(sorted({s for s in symbols if s.partition("_")[0] in MEASURED}))


def speed(symbol: str, fabric: Fabric, exact: bool = False) -> float:
    """What a symbol stands for where a mesh lies, in bytes/s; infinite for one chip.

    Of axes that share links, or lie in several tiers, it is one thing for large K and another
    exactly.
    """
    what, _, axes = symbol.partition("_")
    rate = fabric.rate(MEASURED[what], axes)
    chips = prod(fabric.mesh[a] for a in axes)
    share = 1 - 1 / chips if exact and what == BANDWIDTH else 1.0
    seconds = rate.per_byte if exact else rate.large
    return share / seconds if seconds else inf


def axes_of(symbol: str) -> Axes:
    """The axes whose speed a symbol is: of bandwidth_yz, y and z."""
    return tuple(symbol.partition("_")[2])
