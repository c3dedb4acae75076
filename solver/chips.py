"""Where two layouts cost the same as the number of chips grows, each on its best real mesh.

Over meshes of n chips whose sizes may be any real numbers, a sum of two terms whose product is
fixed by n is least where the two are equal: a/X + b/Y is at least 2·sqrt(a·b/n) if X·Y = n (the
paper's appendix A.2). What layouts move is mostly of that form, and then the least is
flat + root/sqrt(n) + per/n. Of other forms nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from layoutc.solver.algebra import expression
from layoutc.solver.monomial import Cost, Monomial, Powers

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True, slots=True)
class Curve:
    """The least over meshes of n chips: flat + 2·sqrt(one · other / n) + per / n."""

    flat: Cost
    one: Cost
    other: Cost
    per: Cost

    @property
    def root(self) -> sympy.Expr:
        """What stands over sqrt(n)."""
        import sympy

        return 2 * sympy.sqrt(expression(self.one) * expression(self.other))


def curve(cost: Cost, axes: tuple[str, ...]) -> Curve | None:
    """The least of a cost over the sizes of `axes`, whose product is n; None for other forms."""
    groups: dict[Powers, list[Monomial]] = {}
    for term in cost.terms:
        mesh = tuple((s, e) for s, e in term.powers if s in axes)
        dims = tuple((s, e) for s, e in term.powers if s not in axes)
        groups.setdefault(mesh, []).append(Monomial(term.coefficient, dims))
    every = tuple((axis, -1) for axis in sorted(axes))
    flat, per = (Cost.of(*groups.pop(powers, [])) for powers in ((), every))
    if not groups:
        return Curve(flat, Cost(), Cost(), per)
    if len(groups) != 2 or _product(*groups) != every:
        return None
    one, other = (Cost.of(*terms) for terms in groups.values())
    return Curve(flat, one, other, per)


def _product(one: Powers, other: Powers) -> Powers:
    return (Monomial(Fraction(1), one) * Monomial(Fraction(1), other)).powers


@dataclass(frozen=True, slots=True)
class Meeting:
    """The number of chips at which two curves meet, or touch."""

    one: Curve
    other: Curve

    def value(self, sizes: Mapping[str, int]) -> Fraction | None:
        """The number, None if there is none or it is not rational."""
        found = self._chips()
        if found is None:
            return None
        number = found.subs({s: sizes[s.name] for s in found.free_symbols})
        if not number.is_Rational or not number > 0:
            return None
        return Fraction(int(number.p), int(number.q))

    def formula(self) -> str:
        """The same over dims: `4*F/E`."""
        return str(self._chips())

    def _chips(self) -> sympy.Expr | None:
        """n from flat + root·s + per·s² = 0 with s = 1/sqrt(n), where that has one solution."""
        import sympy

        flat = expression(self.one.flat - self.other.flat)
        root = sympy.expand(self.one.root - self.other.root)
        per = expression(self.one.per - self.other.per)
        square = sympy.expand(root**2)
        if flat == 0 or (root == 0 and per == 0):
            return None
        if root == 0:
            return sympy.factor(-per / flat)
        if per == 0:
            return sympy.factor(square / flat**2)
        touching = sympy.expand(square - 4 * flat * per) == 0
        return sympy.factor(4 * per**2 / square) if touching else None
