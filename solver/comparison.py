"""Two explicit programs: what one moves more than the other, and where they change places.

Each is taken at its own best mesh, so that the difference is one of closed forms in n; on one
mesh, on one number of chips, or where more chips change nothing, what is left to vary is the
tokens, B·L.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from layoutc.dsl.program import DTYPES, Program
from layoutc.solver.algebra import CHIPS, substituted
from layoutc.solver.derivation import best
from layoutc.solver.minimum import Least, Minimum, Size
from layoutc.solver.monomial import Cost, Monomial
from layoutc.solver.surd import Base, Sum, Surd, product
from layoutc.solver.switch import Sizes, Zero, Zeros, as_one, zeros

TOKENS = ("B", "L")
"""The dims whose product is the number of tokens in a pass."""

CLOSE = 1e-9
"""Floats that differ by less, relatively, are the same."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What two programs move, each at its best, and the first's less the second's.

    `zeros` are where that is 0 as `variable` ("n" or "B*L") grows.
    """

    first: Minimum
    second: Minimum
    total: Sum
    variable: str
    zeros: Zeros


@dataclass(frozen=True, slots=True)
class Comparison:
    """For large K, and exactly."""

    first: Program
    second: Program
    large: Difference
    exact: Difference


def compare(first: Program, second: Program, chips: int | None = None) -> Comparison:
    """The two programs, on a number of chips if one is given, else on any."""
    large, exact = (_difference(first, second, chips, exact) for exact in (False, True))
    return Comparison(first, second, large, exact)


def _difference(first: Program, second: Program, chips: int | None, exact: bool) -> Difference:
    # One bandwidth for both: elements of the second count by their size over the first's.
    scale = Surd(Fraction(DTYPES[second.dtype], DTYPES[first.dtype]))
    one, two = _at(best(first, exact), chips), _at(best(second, exact), chips, scale)
    if not isinstance(one, Least) or not isinstance(two, Least):
        reason = next(m.reason for m in (one, two) if not isinstance(m, Least))
        return Difference(one, two, Sum(), CHIPS, Zeros(reason=reason))
    total, sizes = one.value - two.value, _sizes(first, second)
    places = _Places((one, two), sizes)
    found = places.inside(zeros(total, CHIPS, sizes), (CHIPS,))
    tokens = tuple(t for t in TOKENS if t in {**first.dims, **second.dims})
    single = as_one(total, tokens) if tokens else None
    if found.zeros or found.same or single is None or total.symbols().isdisjoint(tokens):
        return Difference(one, two, total, CHIPS, found)
    name = "*".join(tokens)
    found = places.inside(zeros(single, name, sizes), tokens)
    return Difference(one, two, total, name, found)


def _at(least: Minimum, chips: int | None, scale: Surd | None = None) -> Minimum:
    """A minimum where n is a number, in another unit."""
    if not isinstance(least, Least):
        return least
    sizes = tuple(Size(s.powers, _numbered(s.value, chips)) for s in least.sizes)
    terms = (_numbered(term, chips) * (scale or Surd(Fraction(1))) for term in least.value.terms)
    return Least(sizes, Sum.of(*terms))


def _numbered(term: Surd, chips: int | None) -> Surd:
    """With a number in place of n."""
    if chips is None:
        return term
    parts = [Surd(term.coefficient)]
    parts += [_base(base, chips) ** exponent for base, exponent in term.factors]
    return product(parts)


def _base(base: Base, chips: int) -> Surd:
    if base == CHIPS:
        return Surd(Fraction(chips))
    if isinstance(base, Cost):
        return Surd.from_cost(substituted(base, {CHIPS: Monomial(Fraction(chips))}))
    return Surd.of(1, {base: Fraction(1)})


def _sizes(first: Program, second: Program) -> Sizes:
    """The sizes of the dims on which the programs do not differ."""
    both = {**first.dims, **second.dims}
    return {
        dim: float(size)
        for dim, size in both.items()
        if size is not None and all(p.dims.get(dim, size) == size for p in (first, second))
    }


@dataclass(frozen=True, slots=True)
class _Places:
    """Which zeros count: those where no axis of a best mesh has less than one chip."""

    minima: tuple[Least, Least]
    sizes: Sizes

    def inside(self, found: Zeros, variable: tuple[str, ...]) -> Zeros:
        """Without the zeros elsewhere, as far as sizes tell."""
        kept = tuple(zero for zero in found.zeros if self.counts(zero, variable))
        if kept or not found.zeros:
            return replace(found, zeros=kept)
        return Zeros(sign=found.zeros[-1].beyond)

    def counts(self, zero: Zero, variable: tuple[str, ...]) -> bool:
        value = number(zero, self.sizes)
        if value is None:
            return True
        if variable == (CHIPS,) and value <= 1:
            return False
        there = {**self.sizes, **dict.fromkeys(variable, 1.0), variable[0]: value}
        axes = [size.value for least in self.minima for size in least.sizes]
        known = (axis.value(there) for axis in axes if axis.symbols() <= set(there))
        return all(axis >= 1 - CLOSE for axis in known)


def number(zero: Zero, sizes: Sizes) -> float | None:
    """Where a zero is, as a number; None if that takes more sizes."""
    if isinstance(zero.at, float):
        return zero.at
    if isinstance(zero.at, Surd):
        return zero.at.value(sizes) if zero.at.symbols() <= set(sizes) else None
    names = {symbol.name for symbol in zero.at.free_symbols}
    if not names <= set(sizes):
        return None
    return float(zero.at.subs({s: sizes[s.name] for s in zero.at.free_symbols}))
