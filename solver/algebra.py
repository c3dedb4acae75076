"""From an explicit program to the formula of what it moves, for reading and for minimising.

Dims stay symbols whatever sizes the file gives them; the size of mesh axis x is X, the number of
chips n, and a chip receives `bandwidth` elements of the file's dtype per second. On a network whose
axes differ it is `bandwidth_x` over axis x (`layoutc.solver.network`), and costs are times. For
large K, as the paper's appendix A has it, or with every (K-1)/K kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from layoutc.dsl.program import Program
from layoutc.solver import formula
from layoutc.solver.formula import Moved, in_capitals
from layoutc.solver.monomial import Cost, Monomial
from layoutc.solver.network import BANDWIDTH, FLAT, Network
from layoutc.solver.spelling import Speller, Style
from layoutc.solver.surd import Base, Sum, Surd

if TYPE_CHECKING:
    import sympy

CHIPS = "n"
"""The number of chips; in formulas dims and mesh sizes are capitals."""

MANY = 2
"""Stands for the size of an axis that is not known: more than one chip."""

Ones = frozenset[str]
"""Axes (their letters) that are known to have one chip."""


def pinned_to_one(program: Program) -> Ones:
    """The axes that the file says have one chip."""
    return frozenset(axis.name for axis in program.axes if axis.size == 1)


def moved(program: Program, ones: Ones = frozenset(), network: Network = FLAT) -> tuple[Moved, ...]:
    """Every move of an explicit program, over mesh sizes in capitals, axes of one chip left out.

    Those that bring nothing (a slice, an axis of one chip) are among them, with costs of 0.
    """
    ones |= pinned_to_one(program)
    mesh = {a.name: 1 if a.name in ones else a.size or MANY for a in program.axes}
    gone = {axis: Monomial(Fraction(1)) for axis in ones}

    def open_sizes(cost: Cost) -> Cost:
        return in_capitals(substituted(cost, gone))

    found = formula.moved(program, mesh, network)
    return tuple(Moved(m.define, open_sizes(m.large), open_sizes(m.exact)) for m in found)


def communication(
    program: Program, exact: bool = False, ones: Ones = frozenset(), network: Network = FLAT
) -> Cost:
    """What a chip receives in a pass, over dims and mesh sizes in capitals: elements, or times of a
    network whose axes differ."""
    total = Cost()
    for one in moved(program, ones, network):
        total += one.exact if exact else one.large
    return total


def speller(program: Program, style: Style = "python") -> Speller:
    """Symbols in the order of the file's: dims, mesh sizes, n."""
    return Speller(style, symbols(program))


def symbols(program: Program, over: Sequence[str] = (BANDWIDTH,)) -> tuple[str, ...]:
    """The symbols that a formula of the program may hold, `over` some: dims, mesh sizes, n."""
    return (*program.dims, *(axis.name.upper() for axis in program.axes), CHIPS, *over)


# For SymPy.


@cache
def symbol(name: str) -> sympy.Symbol:
    """The positive symbol of that name: the only place in which one is made."""
    import sympy

    return sympy.Symbol(name, positive=True)


def expression(total: Sum | Cost) -> sympy.Expr:
    """A sum as SymPy has it."""
    import sympy

    terms = (total if isinstance(total, Sum) else Sum.from_cost(total)).terms
    return sympy.Add(*map(_product, terms))


def _product(term: Surd) -> sympy.Expr:
    import sympy

    number = sympy.Rational(term.coefficient.numerator, term.coefficient.denominator)
    powers = (_base(base) ** sympy.Rational(e.numerator, e.denominator) for base, e in term.factors)
    return sympy.Mul(number, *powers)


def _base(base: Base) -> sympy.Expr:
    import sympy

    if isinstance(base, str):
        return symbol(base)
    return sympy.Integer(base) if isinstance(base, int) else expression(base)


def substituted(cost: Cost, sizes: Mapping[str, Monomial]) -> Cost:
    """A cost with monomials in place of some of its symbols."""
    total = []
    for term in cost.terms:
        new = Monomial(term.coefficient, tuple(p for p in term.powers if p[0] not in sizes))
        for name, exponent in term.powers:
            if name in sizes:
                new = new * _raised(sizes[name], exponent)
        total.append(new)
    return Cost.of(*total)


def _raised(monomial: Monomial, exponent: int) -> Monomial:
    powers = tuple((s, e * exponent) for s, e in monomial.powers)
    return Monomial(monomial.coefficient**exponent, powers)
