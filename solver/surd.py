"""Products of powers with rational exponents, and their sums: what closed forms are made of.

A `Surd` is a coefficient times powers of symbols ("E", "X", "n"), of whole numbers (√2) and of
sums of monomials ((E + G)**(1/2)). All symbols are positive. Products, quotients and roots of
surds are surds, so that the minimum of a sum of two of them needs no equation solver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import floor, gcd, lcm, prod

from layoutc.solver.monomial import Cost, Monomial, addends

Base = str | int | Cost
LARGEST_PRIME = 10_000
"""Whole numbers are taken apart into primes up to here; what is left stays as it is."""


@dataclass(frozen=True, slots=True)
class Surd:
    """`coefficient` times the product of base ** exponent.

    Invariants: factors are sorted, no exponent is 0, those of whole numbers lie between 0 and 1;
    a base that is a sum has two terms or more and no common factor.
    """

    coefficient: Fraction
    factors: tuple[tuple[Base, Fraction], ...] = ()

    @classmethod
    def of(cls, coefficient: Fraction | int, powers: Mapping[Base, Fraction]) -> Surd:
        """The whole parts of powers of numbers go into the coefficient."""
        number, factors = Fraction(coefficient), []
        for base, exponent in powers.items():
            left = exponent
            if isinstance(base, int):
                number *= Fraction(base) ** floor(exponent)
                left -= floor(exponent)
            if left:
                factors.append((base, left))
        return cls(number, tuple(sorted(factors, key=lambda factor: _rank(factor[0]))))

    @classmethod
    def from_monomial(cls, term: Monomial) -> Surd:
        return cls.of(term.coefficient, {_base(s): Fraction(e) for s, e in term.powers})

    @classmethod
    def from_cost(cls, cost: Cost) -> Surd:
        """A sum as one factor, what its terms have in common in front; not of nothing."""
        common = common_factor(cost)
        if len(cost.terms) == 1:
            return cls.from_monomial(common)
        rest = cost * inverse(common)
        return cls.from_monomial(common) * cls.of(1, {rest: Fraction(1)})

    def __mul__(self, other: Surd) -> Surd:
        powers = dict(self.factors)
        for base, exponent in other.factors:
            powers[base] = powers.get(base, Fraction(0)) + exponent
        return Surd.of(self.coefficient * other.coefficient, powers)

    def __truediv__(self, other: Surd) -> Surd:
        return self * other ** Fraction(-1)

    def __pow__(self, exponent: Fraction) -> Surd:
        """Raises `ValueError` for a root of what is not positive."""
        powers = {base: e * exponent for base, e in self.factors}
        if exponent.denominator == 1:
            return Surd.of(self.coefficient**exponent.numerator, powers)
        if self.coefficient <= 0:
            raise ValueError(f"no root of {self.coefficient}")
        for base, e in _primes(self.coefficient).items():
            powers[base] = powers.get(base, Fraction(0)) + e * exponent
        return Surd.of(1, powers)

    def exponent(self, base: Base) -> Fraction:
        """That of one base, 0 where it does not occur."""
        return dict(self.factors).get(base, Fraction(0))

    def symbols(self) -> set[str]:
        """All that occur, those inside sums too."""
        found: set[str] = set()
        for base, _ in self.factors:
            if isinstance(base, str):
                found.add(base)
            elif isinstance(base, Cost):
                found |= Sum.from_cost(base).symbols()
        return found

    def value(self, values: Mapping[str, float]) -> float:
        """The number, each symbol given one."""
        parts: list[float] = [pow(_number(b, values), float(e)) for b, e in self.factors]
        return float(self.coefficient) * prod(parts)


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of surds, like terms collected; `Sum()` is nothing at all."""

    terms: tuple[Surd, ...] = ()

    @classmethod
    def of(cls, *terms: Surd) -> Sum:
        collected: dict[tuple[tuple[Base, Fraction], ...], Fraction] = {}
        for term in terms:
            for part in _multiplied_out(term):
                before = collected.get(part.factors, Fraction(0))
                collected[part.factors] = before + part.coefficient
        return cls(tuple(Surd(c, f) for f, c in collected.items() if c))

    @classmethod
    def from_cost(cls, cost: Cost) -> Sum:
        return cls.of(*map(Surd.from_monomial, cost.terms))

    def __add__(self, other: Sum) -> Sum:
        return Sum.of(*self.terms, *other.terms)

    def __sub__(self, other: Sum) -> Sum:
        return self + other * -1

    def __mul__(self, factor: Surd | int) -> Sum:
        by = factor if isinstance(factor, Surd) else Surd(Fraction(factor))
        return Sum.of(*(term * by for term in self.terms))

    def times(self, other: Sum) -> Sum:
        """The product of two sums, multiplied out."""
        return Sum.of(*(one * two for one in self.terms for two in other.terms))

    @property
    def sign(self) -> int | None:
        """1 or -1 where all terms agree, 0 for nothing, None where it depends on the symbols."""
        signs = {1 if term.coefficient > 0 else -1 for term in self.terms}
        if len(signs) > 1:
            return None
        return signs.pop() if signs else 0

    def symbols(self) -> set[str]:
        """All that occur."""
        return set().union(*(term.symbols() for term in self.terms))

    def value(self, values: Mapping[str, float]) -> float:
        """The number, each symbol given one."""
        return sum(term.value(values) for term in self.terms)


def _base(symbol: str) -> Base:
    """A symbol, or the sum that it stands for."""
    parts = addends(symbol)
    return symbol if len(parts) == 1 else Cost.of(*(Monomial.of([part]) for part in parts))


def inverse(monomial: Monomial) -> Monomial:
    """One over it."""
    return Monomial(1 / monomial.coefficient, tuple((s, -e) for s, e in monomial.powers))


def common_factor(cost: Cost) -> Monomial:
    """The largest monomial that divides every term, denominators shared by all among it."""
    coefficients = [t.coefficient for t in cost.terms]
    number = common_number(coefficients)
    symbols = {s for t in cost.terms for s, _ in t.powers}
    least = {s: min(dict(t.powers).get(s, 0) for t in cost.terms) for s in symbols}
    return Monomial(number, tuple(sorted((s, e) for s, e in least.items() if e)))


def common_number(coefficients: list[Fraction]) -> Fraction:
    """The largest that leaves whole numbers; negative if they all are."""
    size = Fraction(
        gcd(*(c.numerator for c in coefficients)), lcm(*(c.denominator for c in coefficients))
    )
    return -size if all(c < 0 for c in coefficients) else size


def _rank(base: Base) -> tuple[int, str]:
    return (0 if isinstance(base, int) else 1 if isinstance(base, str) else 2, repr(base))


def _number(base: Base, values: Mapping[str, float]) -> float:
    if isinstance(base, str):
        return float(values[base])
    if isinstance(base, int):
        return float(base)
    return sum(Surd.from_monomial(term).value(values) for term in base.terms)


def _primes(number: Fraction) -> dict[Base, Fraction]:
    """Exponents by prime; of the denominator, negative."""
    found: dict[Base, Fraction] = {}
    for part, sign in ((number.numerator, 1), (number.denominator, -1)):
        for prime in _factors(part):
            found[prime] = found.get(prime, Fraction(0)) + sign
    return found


def _factors(number: int) -> Iterator[int]:
    """Primes, as often as they divide; a last factor may be the product of large ones."""
    candidate = 2
    while candidate * candidate <= number and candidate < LARGEST_PRIME:
        while number % candidate == 0:
            yield candidate
            number //= candidate
        candidate += 1
    if number > 1:
        yield number


def _multiplied_out(term: Surd) -> Iterator[Surd]:
    """The surds that a product with whole powers of sums comes to."""
    for base, exponent in term.factors:
        if isinstance(base, Cost) and exponent >= 1:
            left = term * Surd.of(1, {base: Fraction(-1)})
            for part in base.terms:
                yield from _multiplied_out(left * Surd.from_monomial(part))
            return
    yield term


def product(surds: list[Surd]) -> Surd:
    """All of them multiplied; 1 for none."""
    return reduce(Surd.__mul__, surds, Surd(Fraction(1)))
