"""Costs as sums of monomials: a coefficient times powers of dims and mesh sizes.

A dim is spelled by its capital ("E"), the size of mesh axis x by "x". NumPy evaluates such a
cost for a million meshes at once, integers evaluate it exactly, and SymPy (in its own room)
reads it as the formula that a person sees. A sum of symbols may stand as one of them (`added`):
what is over `bandwidth_y + bandwidth_z` is a monomial too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Powers = tuple[tuple[str, int], ...]
"""Exponents by symbol, sorted, none of them zero."""

PLUS = " + "


def added(symbols: Sequence[str]) -> str:
    """The sum of symbols as one symbol."""
    return PLUS.join(symbols)


def addends(symbol: str) -> list[str]:
    """The symbols that one is the sum of: itself alone, mostly."""
    return symbol.split(PLUS)


@dataclass(frozen=True, slots=True)
class Monomial:
    """`coefficient` times the product of symbol ** exponent."""

    coefficient: Fraction
    powers: Powers = ()

    @classmethod
    def of(cls, up: Iterable[str], down: Iterable[str] = (), coefficient: int = 1) -> Monomial:
        """The product of `up` over the product of `down`: of("BLE", "yz") is BLE/(yz)."""
        exponents: dict[str, int] = {}
        for symbol in up:
            exponents[symbol] = exponents.get(symbol, 0) + 1
        for symbol in down:
            exponents[symbol] = exponents.get(symbol, 0) - 1
        powers = tuple(sorted((s, e) for s, e in exponents.items() if e))
        return cls(Fraction(coefficient), powers)

    def __mul__(self, other: Monomial) -> Monomial:
        exponents = dict(self.powers)
        for symbol, exponent in other.powers:
            exponents[symbol] = exponents.get(symbol, 0) + exponent
        powers = tuple(sorted((s, e) for s, e in exponents.items() if e))
        return Monomial(self.coefficient * other.coefficient, powers)

    def exact(self, values: Mapping[str, int | Fraction]) -> Fraction:
        """The value at whole numbers or fractions, without rounding."""
        result = self.coefficient
        for symbol, exponent in self.powers:
            result *= Fraction(values[symbol]) ** exponent
        return result

    def at(self, values: Mapping[str, Floats | float], out: Floats) -> Floats:
        """Adds the value at arrays of floats (one entry a mesh) to `out`."""
        result: Floats | float = float(self.coefficient)
        for symbol, exponent in self.powers:
            size = values[symbol]
            result = result * (size if exponent == 1 else size ** float(exponent))
        out += result
        return out


@dataclass(frozen=True, slots=True)
class Cost:
    """A sum of monomials, like terms collected; `Cost()` is nothing at all."""

    terms: tuple[Monomial, ...] = ()

    @classmethod
    def of(cls, *terms: Monomial) -> Cost:
        collected: dict[Powers, Fraction] = {}
        for term in terms:
            collected[term.powers] = collected.get(term.powers, Fraction(0)) + term.coefficient
        return cls(tuple(Monomial(c, p) for p, c in sorted(collected.items()) if c))

    def __add__(self, other: Cost) -> Cost:
        return Cost.of(*self.terms, *other.terms)

    def __sub__(self, other: Cost) -> Cost:
        return self + other * Monomial(Fraction(-1))

    def __mul__(self, factor: Monomial | int) -> Cost:
        by = factor if isinstance(factor, Monomial) else Monomial(Fraction(factor))
        return Cost.of(*(term * by for term in self.terms))

    def exact(self, values: Mapping[str, int | Fraction]) -> Fraction:
        """The value at whole numbers or fractions, without rounding."""
        return sum((term.exact(values) for term in self.terms), Fraction(0))

    def at(self, values: Mapping[str, Floats | float], out: Floats) -> Floats:
        """Adds the value at arrays of floats (one entry a mesh) to `out`."""
        for term in self.terms:
            term.at(values, out)
        return out
