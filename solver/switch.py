"""Where the difference of two closed forms changes its sign, as one variable grows.

Collected by powers of the variable, a difference of two terms has one zero, one of three whose
exponents are evenly spaced is a quadratic: it has two zeros, one, a point that it only touches,
or none. Where that hangs on signs that the symbols leave open, known sizes settle it; more terms
than three are left to numbers altogether.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from math import lcm
from typing import TYPE_CHECKING

from layoutc.solver.algebra import CHIPS, expression
from layoutc.solver.monomial import Cost, Monomial
from layoutc.solver.surd import Base, Sum, Surd

if TYPE_CHECKING:
    import sympy

Sizes = Mapping[str, float]
Side = int | None
"""1 where the difference is positive, -1 where it is negative, None where symbols decide."""

UNKNOWN = "which of its terms are positive hangs on the sizes of dims"


@dataclass(frozen=True, slots=True)
class Zero:
    """The difference is 0 at `at`, has the sign `beyond` beyond it, and before it the other one.

    If it `touches`, the sign is `beyond` on both sides. `at` is a closed form, a root of a
    quadratic as SymPy has it, or a number where there is neither. `where` is what has to be
    positive for the zero to be there, None if nothing.
    """

    at: Surd | sympy.Expr | float
    beyond: Side
    touches: bool = False
    where: Sum | None = None


@dataclass(frozen=True, slots=True)
class Zeros:
    """All zeros, in order where that is known. `same`: the difference is 0 everywhere.

    `sign` is that of a difference without zeros. `reason`: why they could not be found.
    """

    zeros: tuple[Zero, ...] = ()
    same: bool = False
    sign: Side = None
    reason: str = ""


def zeros(difference: Sum, variable: str, sizes: Sizes) -> Zeros:
    """Where `difference` is 0 for a positive `variable`; `sizes` are of
    other symbols, as far as they are known."""
    if variable in _inside_sums(difference):
        return Zeros(reason=f"{variable} stands in a sum under a root")
    parts = sorted(_by_power(difference, variable).items())
    match parts:
        case []:
            return Zeros(same=True)
        case [(_, only)]:
            return Zeros(sign=_sign(only, sizes))
        case [(low, one), (high, two)]:
            return _crossed(one, two, high - low, sizes)
        case [(low, one), (middle, two), (high, three)] if middle - low == high - middle:
            return _quadratic(one, two, three, middle - low, sizes)
        case _:
            return _counted(parts, sizes)


def as_one(total: Sum, names: Sequence[str]) -> Sum | None:
    """`total` with the product of `names` as one symbol, "B*L"; None if they stand alone too."""
    terms = []
    for term in total.terms:
        exponents = {term.exponent(name) for name in names}
        alone = Surd(term.coefficient, tuple(f for f in term.factors if f[0] not in names))
        if len(exponents) > 1 or alone.symbols() & set(names):
            return None
        terms.append(alone * Surd.of(1, {"*".join(names): exponents.pop()}))
    return Sum.of(*terms)


def _inside_sums(total: Sum) -> set[str]:
    """The symbols of sums that are factors."""
    sums = (b for term in total.terms for b, _ in term.factors if isinstance(b, Cost))
    return {s for base in sums for term in base.terms for s, _ in term.powers}


def _by_power(total: Sum, variable: str) -> dict[Fraction, Sum]:
    """Coefficients by exponent of the variable, those that vanish left out."""
    found: dict[Fraction, Sum] = {}
    for term in total.terms:
        exponent = term.exponent(variable)
        rest = term * Surd.of(1, {variable: -exponent})
        found[exponent] = found.get(exponent, Sum()) + Sum.of(rest)
    return {exponent: rest for exponent, rest in found.items() if rest.terms}


def _sign(total: Sum, sizes: Sizes) -> Side:
    """The sign where it is known: from the terms, for any n >= 1, or from sizes."""
    if total.sign is not None:
        return total.sign
    found = _sign_beyond_one(total)
    if found is None and total.symbols() <= set(sizes):
        value = total.value(sizes)
        return (value > 0) - (value < 0)
    return found


def _sign_beyond_one(total: Sum) -> Side:
    """The sign of E - E/n and its like: sums of coefficients from the highest power of n down."""
    like: dict[tuple[tuple[Base, Fraction], ...], dict[Fraction, float]] = {}
    for term in total.terms:
        rest = tuple(f for f in term.factors if f[0] != CHIPS and not isinstance(f[0], int))
        alone = Surd(term.coefficient, tuple(f for f in term.factors if isinstance(f[0], int)))
        by_power, exponent = like.setdefault(rest, {}), term.exponent(CHIPS)
        by_power[exponent] = by_power.get(exponent, 0.0) + alone.value({})
    running = [
        part
        for by_power in like.values()
        for part in accumulate(by_power[e] for e in sorted(by_power, reverse=True))
    ]
    if all(part >= 0 for part in running):
        return 1
    return -1 if all(part <= 0 for part in running) else None


def _open(total: Sum) -> bool:
    """Whether the sign hangs on sizes."""
    return _sign(total, {}) is None


def _crossed(one: Sum, two: Sum, apart: Fraction, sizes: Sizes) -> Zeros:
    """one + two · v**apart: zero at (-one/two)**(1/apart), if that is positive."""
    before, beyond = _sign(one, sizes), _sign(two, sizes)
    if before is not None and before == beyond:
        return Zeros(sign=beyond)
    if before is None or beyond is None:
        return Zeros(reason=UNKNOWN)
    where = one.times(two) * -1 if _open(one) or _open(two) else None
    return Zeros((Zero(_ratio_root(one * -1, two, apart), beyond, where=where),))


def _ratio_root(above: Sum, below: Sum, degree: Fraction) -> Surd | sympy.Expr:
    """(above/below) ** (1/degree), of what is positive."""
    top, bottom = _factored(above), _factored(below)
    if top is not None and bottom is not None:
        ratio = top / bottom
        if ratio.coefficient > 0:
            return ratio ** (1 / degree)
    return _root(expression(above) / expression(below), degree)


def _factored(total: Sum) -> Surd | None:
    """A sum as one surd, if it is one or a sum of whole powers whose terms are all positive."""
    if len(total.terms) == 1:
        return total.terms[0]
    whole = all(
        e.denominator == 1 and isinstance(b, str) for t in total.terms for b, e in t.factors
    )
    if not whole or total.sign is None:
        return None
    terms = (
        Monomial(t.coefficient, tuple(sorted((str(b), int(e)) for b, e in t.factors)))
        for t in total.terms
    )
    return Surd.from_cost(Cost.of(*terms))


def _root(value: sympy.Expr, degree: Fraction) -> sympy.Expr:
    """value ** (1/degree), common factors cancelled."""
    import sympy

    # SymPy cancels polynomials; with squares for symbols, square roots are some too.
    squares = {s: sympy.Dummy(s.name, positive=True) for s in value.free_symbols}
    rational = value.subs({symbol: dummy**2 for symbol, dummy in squares.items()})
    if rational.is_rational_function():
        back = {dummy: sympy.sqrt(symbol) for symbol, dummy in squares.items()}
        simple = sympy.cancel(rational)
        value = min((form.subs(back) for form in (simple, sympy.factor(simple))), key=_length)
    return value ** sympy.Rational(degree.denominator, degree.numerator)


def _length(form: sympy.Expr) -> int:
    return len(str(form))


def _quadratic(one: Sum, two: Sum, three: Sum, step: Fraction, sizes: Sizes) -> Zeros:
    """one + two · t + three · t², with t = v**step."""
    flip = -1 if _sign(three, sizes) == -1 else 1
    low, middle, high = one * flip, two * flip, three * flip
    signs = [_sign(part, sizes) for part in (low, middle, high)]
    inside = two.times(two) - one.times(three) * 4
    if not inside.terms:
        return _touching(middle, high, step, flip, signs)
    if signs[0] == -1 and signs[2] == 1:
        return Zeros((Zero(_quadratic_root(middle, high, inside, step, sizes, 1), flip),))
    if signs[0] == 1 and signs[2] == 1:
        inside_sign = _sign(inside, sizes)
        if signs[1] in (0, 1) or inside_sign == -1:
            return Zeros(sign=flip)
        if signs[1] == -1:
            square = _square_root(inside, sizes) is not None
            where = inside if _open(inside) and not square else None
            first = Zero(_quadratic_root(middle, high, inside, step, sizes, -1), -flip, where=where)
            last = Zero(_quadratic_root(middle, high, inside, step, sizes, 1), flip, where=where)
            return Zeros((first, last))
    return Zeros(reason=UNKNOWN)


def _touching(middle: Sum, high: Sum, step: Fraction, flip: int, signs: list[Side]) -> Zeros:
    """A square: zero where t = -middle/(2·high), if that is positive."""
    if signs[1] != -1:
        return Zeros(sign=flip if signs[1] is not None else None)
    at = _ratio_root(middle * -1, high * 2, step)
    return Zeros((Zero(at, flip, touches=True),))


def _quadratic_root(
    middle: Sum, high: Sum, inside: Sum, step: Fraction, sizes: Sizes, side: int
) -> sympy.Expr:
    """((-middle ± √inside) / (2·high)) ** (1/step)"""
    import sympy

    square = _square_root(inside, sizes)
    root = sympy.sqrt(expression(inside)) if square is None else expression(square)
    return _root((-expression(middle) + side * root) / (2 * expression(high)), step)


def _square_root(total: Sum, sizes: Sizes) -> Sum | None:
    """The positive root of a² + b² - 2ab and its like, if it is one and its sign is known."""
    half = Fraction(1, 2)
    for i, cross in enumerate(total.terms):
        rest = total.terms[:i] + total.terms[i + 1 :]
        if len(rest) == 2 and all(term.coefficient > 0 for term in rest):
            one, two = (term**half for term in rest)
            root = Sum.of(one, two if cross.coefficient > 0 else two * Surd(Fraction(-1)))
            sign = _sign(root, sizes)
            if sign and not (root.times(root) - total).terms:
                return root * sign
    return None


def _counted(parts: list[tuple[Fraction, Sum]], sizes: Sizes) -> Zeros:
    """Zeros as numbers, of a polynomial in a root of the variable."""
    if not all(part.symbols() <= set(sizes) for _, part in parts):
        return Zeros(reason="it has no closed form; give the dims sizes to have numbers")
    import numpy as np

    degree = lcm(*(e.denominator for e, _ in parts))
    lowest = parts[0][0]
    scaled = {int((e - lowest) * degree): part.value(sizes) for e, part in parts}
    coefficients = [scaled.get(k, 0.0) for k in range(max(scaled), -1, -1)]
    roots = [r.real for r in np.roots(coefficients) if abs(r.imag) < 1e-9 * abs(r) and r.real > 0]
    found = []
    edges = [0.0, *sorted(roots), 2 * max(roots, default=1.0)]
    for at, (before, after) in zip(sorted(roots), _around(edges), strict=True):
        left, right = (float(np.polyval(coefficients, t)) for t in (before, after))
        if left * right < 0:
            found.append(Zero(at**degree, 1 if right > 0 else -1))
    return Zeros(tuple(found), sign=None if found else _positive(coefficients))


def _around(edges: list[float]) -> list[tuple[float, float]]:
    """For each inner edge a point before and one after it."""
    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    return list(pairwise(middles))


def _positive(coefficients: list[float]) -> Side:
    return 1 if sum(coefficients) > 0 else -1
