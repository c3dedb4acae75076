"""Where the costs of two layouts are the same, as a number and as a closed form.

A shape has a dim once, so that what a layout moves is a·D + b in each dim D; the same D makes
two of them equal at (b2 - b1)/(a1 - a2). No solver is needed, only SymPy's cancelling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from layoutc.solver.algebra import expression
from layoutc.solver.monomial import Cost, Monomial


@dataclass(frozen=True, slots=True)
class Crossing:
    """The value of a dim at which two costs are equal: `above / below`."""

    above: Cost
    below: Cost

    def value(self, sizes: Mapping[str, int]) -> Fraction | None:
        """The number, or None if there is none that is positive."""
        below = self.below.exact(sizes)
        value = self.above.exact(sizes) / below if below else Fraction(0)
        return value if value > 0 else None

    def formula(self) -> str:
        """The quotient over dims, SymPy's spelling: `12*F`, `3*E*F/(4*E - F)`."""
        import sympy

        return str(sympy.factor(sympy.cancel(expression(self.above) / expression(self.below))))


def crossing(one: Cost, other: Cost, dim: str) -> Crossing:
    """Where `one` and `other` change places as `dim` grows."""
    (slope, start), (other_slope, other_start) = _line(one, dim), _line(other, dim)
    return Crossing(other_start - start, slope - other_slope)


def _line(cost: Cost, dim: str) -> tuple[Cost, Cost]:
    """The two costs a and b of a·dim + b."""
    slope = [t for t in cost.terms if dict(t.powers).get(dim)]
    rest = [t for t in cost.terms if not dict(t.powers).get(dim)]
    return Cost.of(*slope) * Monomial.of((), dim), Cost.of(*rest)
