"""The cost of an explicit program as a formula: for large K, as in the paper, or exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import gcd

from layoutc.dsl.program import DTYPES, Define, Move, Program
from layoutc.solver.collectives import moves_nothing, received, received_large
from layoutc.solver.monomial import Cost, Monomial


def communication(program: Program, mesh: Mapping[str, int], exact: bool = False) -> Cost:
    """Elements of the program's dtype that a chip receives, for large K unless `exact`.

    Moves over axes of one chip are left out; a tensor of another dtype counts by its size.
    """
    types, total = program.types, Cost()
    rule = received if exact else received_large
    for item, times in program.walk():
        if isinstance(item, Define) and isinstance(item.operation, Move):
            before, after = types[item.operation.operand].shape, item.type.shape
            if not moves_nothing(item.operation, before, after, mesh):
                size = Fraction(DTYPES[item.type.dtype], DTYPES[program.dtype])
                each = rule(item.operation, before, after)
                total += each * Monomial(size * times)
    return total


def spelled(cost: Cost, order: Sequence[str] = ()) -> str:
    """A cost with its common factor in front: `2·B·L·(E/X + F/(Y·Z))`, symbols in `order`."""
    if not cost.terms:
        return "0"
    common = _common(cost)
    inverse = Monomial(1 / common.coefficient, tuple((s, -e) for s, e in common.powers))
    rest = [_term(term * inverse, order) for term in cost.terms]
    front = _term(common, order)
    if len(rest) == 1:
        return front
    inner = " + ".join(sorted(rest))
    return f"({inner})" if front == "1" else f"{front}·({inner})"


def _common(cost: Cost) -> Monomial:
    """The largest monomial that divides every term."""
    numerators = [t.coefficient.numerator for t in cost.terms]
    denominators = [t.coefficient.denominator for t in cost.terms]
    coefficient = Fraction(gcd(*numerators), max(denominators))
    symbols = {s for t in cost.terms for s, _ in t.powers}
    least = {s: min(dict(t.powers).get(s, 0) for t in cost.terms) for s in symbols}
    powers = tuple(sorted((s, e) for s, e in least.items() if e))
    if len(cost.terms) > 1:
        # A denominator that all terms share reads better once, but under each term it is
        # where the paper has it: next to the dim that it divides.
        powers = tuple((s, e) for s, e in powers if e > 0)
    return Monomial(coefficient, powers)


def _term(monomial: Monomial, order: Sequence[str]) -> str:
    """Dims over mesh sizes, these in capitals: `2·E/(Y·Z)`."""
    rank = {symbol: i for i, symbol in enumerate(order)}
    powers = sorted(monomial.powers, key=lambda power: rank.get(power[0], len(rank)))
    up = [s for s, e in powers for _ in range(e)]
    down = [s for s, e in powers for _ in range(-e)]
    number = monomial.coefficient
    above = ([str(number.numerator)] if number.numerator != 1 or not up else []) + up
    below = ([str(number.denominator)] if number.denominator != 1 else []) + down
    top = "·".join(s.upper() for s in above)
    if not below:
        return top
    bottom = "·".join(s.upper() for s in below)
    return f"{top}/({bottom})" if len(below) > 1 else f"{top}/{bottom}"
