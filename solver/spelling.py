"""Closed forms as a person writes them: common factors in front, roots gathered under one sign.

    2*B*L*(E/X + F/(Y*Z))/bandwidth        4*B*L*sqrt(E*F/n)/bandwidth

in one of three styles: Python's, a terminal's (·, √, ²), LaTeX's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, prod
from typing import Literal

from layoutc.solver.monomial import Cost
from layoutc.solver.surd import Base, Sum, Surd, common_number

Style = Literal["python", "unicode", "latex"]
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
TIMES = {"python": "*", "unicode": "·", "latex": " "}


@dataclass(frozen=True, slots=True)
class Speller:
    """Spells surds and sums in a `style`; symbols stand in `order`, then others."""

    style: Style = "python"
    order: Sequence[str] = ()

    def sum(self, total: Sum, over: Sequence[str] = ()) -> str:
        """`total`, divided by the symbols `over`."""
        if not total.terms:
            return "0"
        if len(total.terms) == 1:
            return self.surd(total.terms[0], over)
        common = _common(total)
        inner = self._terms(total * common ** Fraction(-1))
        if common == Surd(Fraction(1)) and not over:
            return inner
        return self._quotient(common, self._enclosed(inner), over)

    def surd(self, term: Surd, over: Sequence[str] = ()) -> str:
        """One product of powers."""
        return self._quotient(term, "", over)

    def _terms(self, total: Sum) -> str:
        """What stands in the parentheses, what is added before what is taken away."""
        spelled = {self.surd(_size(t)): t.coefficient > 0 for t in total.terms}
        plus = sorted(text for text, positive in spelled.items() if positive)
        minus = sorted(text for text, positive in spelled.items() if not positive)
        if not plus:
            return "-" + " - ".join(minus)
        return " - ".join([" + ".join(plus), *minus])

    def _quotient(self, term: Surd, last: str, over: Sequence[str]) -> str:
        """A surd, times `last` (a sum in parentheses), over symbols."""
        size, whole, roots = _parts(term)
        ranked = sorted(whole, key=lambda power: self._rank(power[0]))
        above = [self._power(base, e) for base, e in ranked if e > 0]
        below = [self._power(base, -e) for base, e in ranked if e < 0]
        above += [self._root(q, inner) for q, inner in sorted(roots.items())]
        above += [last] if last else []
        below += [self._symbol(name) for name in over]
        if size.numerator != 1 or not above:
            above.insert(0, str(size.numerator))
        if size.denominator != 1:
            below.insert(0, str(size.denominator))
        return ("-" if term.coefficient < 0 else "") + self._over(above, below)

    def _over(self, above: list[str], below: list[str]) -> str:
        times = TIMES[self.style]
        top, bottom = times.join(above), times.join(below)
        if not below:
            return top
        if self.style == "latex":
            return rf"\frac{{{top}}}{{{bottom}}}"
        return f"{top}/({bottom})" if len(below) > 1 else f"{top}/{bottom}"

    def _power(self, base: Base, exponent: int) -> str:
        text = self._base(base)
        if exponent == 1:
            return text
        if self.style == "python":
            return f"{text}**{exponent}"
        if self.style == "latex":
            return f"{text}^{{{exponent}}}"
        return text + str(exponent).translate(SUPERSCRIPTS)

    def _base(self, base: Base) -> str:
        if isinstance(base, Cost):
            return self._enclosed(self._terms(Sum.from_cost(base)))
        return self._symbol(base) if isinstance(base, str) else str(base)

    def _enclosed(self, text: str) -> str:
        return rf"\left({text}\right)" if self.style == "latex" else f"({text})"

    def _symbol(self, name: str) -> str:
        if self.style != "latex" or len(name) == 1:
            return name
        word, _, index = name.partition("_")
        return rf"\mathrm{{{word}}}" + (f"_{{{index}}}" if index else "")

    def _root(self, degree: int, inner: Surd) -> str:
        text = self.surd(inner)
        if self.style == "latex":
            return rf"\sqrt{{{text}}}" if degree == 2 else rf"\sqrt[{degree}]{{{text}}}"
        simple = text.isalnum()
        if degree > 2:
            return f"{text if simple else f'({text})'}{'**' if self.style == 'python' else '^'}" + (
                f"(1/{degree})"
            )
        if self.style == "python":
            return f"sqrt({text})"
        return f"√{text}" if simple else f"√({text})"

    def _rank(self, base: Base) -> tuple[int, str]:
        if isinstance(base, str):
            known = base in self.order
            return (1 + (self.order.index(base) if known else len(self.order)), base)
        return (0, str(base)) if isinstance(base, int) else (len(self.order) + 2, repr(base))


def _size(term: Surd) -> Surd:
    return Surd(abs(term.coefficient), term.factors)


def _common(total: Sum) -> Surd:
    """What stands in front: a number, and whole positive powers that every term has.

    A denominator that all terms share stays under each: that is where the paper has it, next to
    the dim that it divides. Not so words, like bandwidths: one stands under all.
    """
    number = common_number([term.coefficient for term in total.terms])
    bases = {base for term in total.terms for base, _ in term.factors if not isinstance(base, int)}
    least = {base: min(term.exponent(base) for term in total.terms) for base in bases}
    whole: dict[Base, Fraction] = {b: Fraction(floor(e)) for b, e in least.items() if e >= 1}
    most = {base: max(term.exponent(base) for term in total.terms) for base in bases if _word(base)}
    whole |= {base: Fraction(ceil(e)) for base, e in most.items() if e <= -1}
    return Surd.of(number, whole)


def _word(base: Base) -> bool:
    """Whether it is a name of several letters, or a sum of such names."""
    if isinstance(base, Cost):
        return all(len(name) > 1 for term in base.terms for name, _ in term.powers)
    return isinstance(base, str) and len(base) > 1


def _parts(term: Surd) -> tuple[Fraction, list[tuple[Base, int]], Mapping[int, Surd]]:
    """The size of the number, the whole powers, and what stands under each degree of root.

    √6/3 is √(2/3): a prime that the number is divided by goes under the root that it has.
    """
    number, whole = abs(term.coefficient), list[tuple[Base, int]]()
    under: dict[int, dict[Base, Fraction]] = {}
    for base, exponent in term.factors:
        left = exponent
        if isinstance(base, int) and number.denominator % base == 0:
            number, left = number * base, exponent - 1
        kept = int(left)  # towards zero
        if kept:
            whole.append((base, kept))
        if left != kept:
            root = under.setdefault(left.denominator, {})
            root[base] = (left - kept) * left.denominator
    return number, whole, {degree: _radicand(powers) for degree, powers in under.items()}


def _radicand(powers: Mapping[Base, Fraction]) -> Surd:
    numbers = prod(Fraction(b) ** int(e) for b, e in powers.items() if isinstance(b, int))
    return Surd.of(numbers, {b: e for b, e in powers.items() if not isinstance(b, int)})
