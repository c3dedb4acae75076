"""Why one layout was taken and not another: the term that decided, in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from layoutc.dsl.printer import print_statement
from layoutc.dsl.program import Define
from layoutc.solver.context import stored
from layoutc.solver.matmuls import matmul
from layoutc.solver.plan import Pass, Plan
from layoutc.solver.price import StatementPrice
from layoutc.solver.units import duration, size

SAME = 0.005
"""What differs by less than half a percent is said to be the same."""


@dataclass(frozen=True, slots=True)
class Reason:
    """`short` fits into a line of the report; `more` is what one would ask next."""

    short: str
    more: str = ""

    @property
    def sentence(self) -> str:
        """Both."""
        return f"{self.short}{self.more}"


@dataclass(frozen=True, slots=True)
class _Totals:
    """Seconds and bytes of all phases, each as often as it runs; `caches` are the seconds that
    reading them takes."""

    compute: float
    memory: float
    moving: float
    bytes: float
    caches: float
    busy: float
    """The larger of compute and memory in each phase."""


def _totals(plan: Plan) -> _Totals:
    def summed(one: Pass) -> tuple[float, ...]:
        p = one.prices
        busy, rate = max(p.compute.seconds, p.memory.seconds), one.machine.memory_bandwidth
        return (
            p.compute.seconds, p.memory.seconds, p.communication.seconds,
            float(p.communication.bytes), stored(one.program, one.mesh) / rate, busy,
        )  # fmt: skip

    columns = zip(*([one.weight * v for v in summed(one)] for one in plan.passes), strict=True)
    return _Totals(*map(sum, columns))


def why(best: Plan, other: Plan) -> Reason:
    """What `other` has more of than `best`, first of all."""
    mine, its = _totals(best), _totals(other)
    busier, further = its.busy - mine.busy, its.moving - mine.moving
    if best.minimize == "communication":
        busier = its.compute - mine.compute
        further = 0.0 if busier > SAME * mine.compute else further
    if max(busier, further) <= 1e-9 * (mine.busy + mine.moving):
        return _tied(best, other)
    if busier > further:
        bound = its.compute >= its.memory or best.minimize == "communication"
        if bound and its.compute > mine.compute * (1 + SAME):
            return Reason(_shared(best, other, mine, its), _yet(mine.moving, its.moving))
        return Reason(_read(mine, its), f", {duration(its.memory)}{_yet(mine.moving, its.moving)}")
    return Reason(_received(mine, its), f"{_mostly(other)}{_but(mine, its)}")


def _read(mine: _Totals, its: _Totals) -> str:
    """Memory that is read more often: of caches, if they are the larger part of it."""
    more, of_caches = its.memory - mine.memory, its.caches - mine.caches
    if of_caches > more / 2 and mine.caches:
        return f"each chip reads {_more(its.caches / mine.caches, 'caches')} from memory"
    return f"each chip reads {_more(its.memory / mine.memory, 'weights')} from memory"


def _tied(best: Plan, other: Plan) -> Reason:
    least, taken = (max(p.prices.memory.bytes for p in x.passes) for x in (best, other))
    if taken > least:
        return Reason(f"takes as long, and {size(taken)} of memory where {size(least)} do")
    return Reason("takes as long and as much memory; the mesh, or the order of axes, decided")


def _shared(best: Plan, other: Plan, mine: _Totals, its: _Totals) -> str:
    """Matmuls that fewer chips share."""
    ratio = _times(its.compute / mine.compute)
    one, two = _sharing(best), _sharing(other)
    if one and two:
        return (
            f"its matmuls are shared by {two:,} chips where the best shares them by {one:,}: "
            f"compute takes {ratio} times as long"
        )
    return f"its matmuls are shared by fewer chips: compute takes {ratio} times as long"


def _sharing(plan: Plan) -> int:
    """By how many chips all matmuls are shared; 0 if that is not one number."""
    found = {_total(one) / one.prices.compute.flops for one in plan.passes}
    shared = found.pop() if len(found) == 1 else 0.0
    return round(shared) if abs(shared - round(shared)) < 1e-9 else 0


def _total(one: Pass) -> int:
    """The work of all matmuls on one chip alone."""
    total, types = 0, one.program.types
    for item, times in one.program.walk():
        found = matmul(item, types) if isinstance(item, Define) else None
        if found is not None:
            total += 2 * times * prod(one.program.dims[dim] or 1 for dim in found.dims)
    return total


def _received(mine: _Totals, its: _Totals) -> str:
    if not mine.bytes:
        bytes_ = f"{size(its.bytes)} to receive where the best receives nothing"
    else:
        bytes_ = _more(its.bytes / mine.bytes, "bytes")
    if its.compute > mine.compute * (1 + SAME):
        return f"{_more(its.compute / mine.compute, 'matmul work')}, {bytes_}"
    if its.compute < mine.compute * (1 - SAME):
        return f"less matmul work, {bytes_}"
    return f"the same matmuls, {bytes_}"


def _more(ratio: float, what: str) -> str:
    """2.3 times the bytes; near one, 8.0% more bytes."""
    if ratio < 1.0005:
        return f"hardly more {what}"
    if ratio < 1.1:
        return f"{ratio - 1:.1%} more {what}"
    return f"{_times(ratio)} times the {what}"


def _mostly(plan: Plan) -> str:
    """The statement that takes most of the time that goes into moving."""
    moves = [(x.weight * p.seconds, x, p) for x in plan.passes for p in x.prices.collectives]
    seconds, one, price = max(moves, key=lambda move: move[0])
    whole = sum(move[0] for move in moves)
    often = price.seconds if one.weight == 1 else seconds
    share = "most of it" if seconds > (0.5 + SAME) * whole else "the largest part"
    share = "half of it" if abs(seconds / whole - 0.5) <= SAME else share
    share = "all of it" if seconds >= whole * (1 - SAME) else share
    return f" received; {share} {_statement(one, price, len(plan.passes))}, {duration(often)}"


def _statement(one: Pass, price: StatementPrice, phases: int) -> str:
    order = tuple(axis.name for axis in one.program.axes)
    where = f"{one.phase}'s " if phases > 1 else ""
    return where + print_statement(price.define, order)


def _yet(mine: float, its: float) -> str:
    """What the other saves, and in vain."""
    if its >= mine * (1 - SAME):
        return ""
    return f"; {duration(mine - its)} less of communication don't make up for it"


def _but(mine: _Totals, its: _Totals) -> str:
    if its.busy >= mine.busy * (1 - SAME):
        return ""
    saved = duration(mine.busy - its.busy)
    return f"; {saved} less at the matmuls and the weights don't make up for it"


def _times(ratio: float) -> str:
    """2.3, 4, 126."""
    if ratio >= 9.95:
        return f"{ratio:,.0f}"
    return f"{ratio:.1f}".removesuffix(".0")
