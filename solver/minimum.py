"""The mesh on which a formula is least, in closed form, and its value there.

Over mesh sizes that are positive numbers with a given product, a sum of positive monomials is a
geometric programme: convex in the logarithms of the sizes. Axes with the same exponents
everywhere are one variable. Terms whose exponents are linearly dependent in one way only form a
circuit; where that dependence has positive weights δ that add up to 1, the inequality of
arithmetic and geometric means

    t1 + ... + tk  >=  (t1/δ1)**δ1 · ... · (tk/δk)**δk

has a right side without mesh sizes, and equality at tj = δj · (the minimum): a linear system in
logarithms. Circuits that are independent of each other are minimised each on its own. Two terms
in one free variable, the paper's case, are the smallest circuit, with weights 1/2 and 1/2.

For large K a formula leaves out that an axis of one chip costs nothing, so the minimum is one
over sizes that are all more than 1: `Least.holds` says from how many chips on they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm, prod

from layoutc.solver.algebra import CHIPS, Ones, substituted
from layoutc.solver.monomial import Cost, Monomial
from layoutc.solver.rows import Matrix, circuits, reduced
from layoutc.solver.surd import Sum, Surd, product

Group = tuple[str, ...]
"""Mesh sizes that only their product matters of, in the mesh's order: ("Y", "Z")."""

Costing = Callable[[Ones], Cost]
"""What is minimised, given which axes (their letters) have one chip."""

ONE = Surd(Fraction(1))


@dataclass(frozen=True, slots=True)
class Size:
    """At the minimum the product of `powers` of mesh sizes is `value`."""

    powers: tuple[tuple[str, int], ...]
    value: Surd


@dataclass(frozen=True, slots=True)
class Least:
    """The minimum. `sizes` is empty where every mesh of n chips costs the same."""

    sizes: tuple[Size, ...]
    value: Sum


@dataclass(frozen=True, slots=True)
class NoClosedForm:
    """Why there is none."""

    reason: str


Minimum = Least | NoClosedForm


def minimum(costing: Costing, axes: Mapping[str, int | None], ones: Ones = frozenset()) -> Minimum:
    """The least of a cost over the open sizes among `axes` (capitals; numbers are pinned).

    The product of all is n, or a number where every size is pinned.
    """
    pinned = {a: Monomial(Fraction(size)) for a, size in axes.items() if size is not None}
    cost = substituted(costing(ones), pinned)
    known = tuple(Size(((a, 1),), Surd(m.coefficient)) for a, m in pinned.items())
    free = [a for a, size in axes.items() if size is None and a.lower() not in ones]
    groups = grouped(cost, free)
    if not groups:
        return Least(known, Sum.from_cost(cost))
    share = Monomial(Fraction(1, prod(size or 1 for size in axes.values())), ((CHIPS, 1),))
    edge = _edge(cost, groups)
    if edge is not None:
        shut = minimum(costing, axes, ones | {a.lower() for a in edge})
        return _with_ones(shut, edge, free, share)
    found = _inside(cost, groups, share)
    return found if isinstance(found, NoClosedForm) else Least((*known, *found.sizes), found.value)


def grouped(cost: Cost, free: list[str]) -> tuple[Group, ...]:
    """The free axes, those with the same exponent in every term together."""
    alike: dict[tuple[int, ...], list[str]] = {}
    for axis in free:
        column = tuple(dict(term.powers).get(axis, 0) for term in cost.terms)
        alike.setdefault(column, []).append(axis)
    return tuple(tuple(axes) for axes in alike.values())


def _edge(cost: Cost, groups: tuple[Group, ...]) -> Group | None:
    """A group from which chips are better moved to another one, however many each has."""
    for one in groups:
        for other in groups:
            if one != other and all(_gains(term, one[0], other[0]) for term in cost.terms):
                return one
    return None


def _gains(term: Monomial, giving: str, taking: str) -> bool:
    """Whether a term does not grow when chips go from one axis to another."""
    exponents = dict(term.powers)
    growth = exponents.get(taking, 0) - exponents.get(giving, 0)
    return term.coefficient * growth <= 0


def _with_ones(found: Minimum, edge: Group, free: list[str], share: Monomial) -> Minimum:
    """A minimum at the edge: the group there has one chip, what is alone left has the rest."""
    if isinstance(found, NoClosedForm):
        return found
    named = {name for size in found.sizes for name, _ in size.powers}
    rest = tuple(a for a in free if a not in edge and a not in named)
    sizes = found.sizes
    if rest:
        sizes += (Size(tuple((a, 1) for a in rest), Surd.from_monomial(share)),)
    return Least((*sizes, Size(tuple((a, 1) for a in edge), ONE)), found.value)


# Inside, where no size is 1.


@dataclass(frozen=True, slots=True)
class _Term:
    """Exponents over the groups, the last one's 0 thanks to X·Y·Z = n, and what is left."""

    exponents: tuple[int, ...]
    rest: Cost


def _inside(cost: Cost, groups: tuple[Group, ...], share: Monomial) -> Minimum:
    terms = _by_exponents(cost, groups, share)
    fixed = Sum.from_cost(terms.pop((0,) * len(groups), Cost()))
    if not terms:
        return Least((), fixed)
    if any(Sum.from_cost(rest).sign != 1 for rest in terms.values()):
        return NoClosedForm("some of its terms are taken away, so that it is not convex")
    found = [_Term(exponents, rest) for exponents, rest in terms.items()]
    value, shares = fixed, dict[int, Surd]()
    for circuit in circuits([term.exponents for term in found]):
        if circuit is None:
            return NoClosedForm("more of its terms hang together than logarithms can balance")
        if any(weight <= 0 for weight in circuit.values()):
            return NoClosedForm("it falls towards meshes in which axes have one chip")
        least = _balanced({j: Surd.from_cost(found[j].rest) for j in circuit}, circuit)
        value += Sum.of(least)
        for j, weight in circuit.items():
            shares[j] = least * Surd(weight) / Surd.from_cost(found[j].rest)
    rows = [(found[j].exponents, size) for j, size in shares.items()]
    return Least(_sizes(rows, groups, Surd.from_monomial(share)), value)


def _by_exponents(
    cost: Cost, groups: tuple[Group, ...], share: Monomial
) -> dict[tuple[int, ...], Cost]:
    """The cost taken apart by what it has of the groups."""
    axes = {axis for group in groups for axis in group}
    found: dict[tuple[int, ...], Cost] = {}
    for term in cost.terms:
        powers = dict(term.powers)
        last = powers.get(groups[-1][0], 0)
        exponents = tuple(powers.get(group[0], 0) - last for group in groups)
        rest = Monomial(term.coefficient, tuple(p for p in term.powers if p[0] not in axes))
        chips = Monomial(share.coefficient**last, ((CHIPS, last),) if last else ())
        found[exponents] = found.get(exponents, Cost()) + Cost.of(rest * chips)
    return {exponents: rest for exponents, rest in found.items() if rest.terms}


def _balanced(rests: Mapping[int, Surd], weights: Mapping[int, Fraction]) -> Surd:
    """The product of (t/δ)**δ, in which mesh sizes cancel."""
    return product([(rests[j] / Surd(weight)) ** weight for j, weight in weights.items()])


def _sizes(
    rows: list[tuple[tuple[int, ...], Surd]], groups: tuple[Group, ...], share: Surd
) -> tuple[Size, ...]:
    """Solves for the groups: the product of their powers is known for each row, and for all."""
    rows = [*rows, ((1,) * len(groups), share)]
    matrix: Matrix = [[Fraction(e) for e in exponents] for exponents, _ in rows]
    sizes = []
    for left, used in reduced(matrix):
        value = product([rows[i][1] ** by for i, by in enumerate(used) if by])
        scale = Fraction(lcm(*(e.denominator for e in left)), gcd(*(e.numerator for e in left)))
        whole = [int(e * scale) for e in left]
        powers = tuple((a, e) for g, e in zip(groups, whole, strict=True) if e for a in g)
        sizes.append(Size(powers, value**scale))
    return tuple(sizes)


def holds(least: Least) -> tuple[tuple[str, Surd], ...]:
    """From where on all sizes are 1 or more: ("n", F/E) means n >= F/E.

    Where n does not enter, or more chips make a size smaller, it is ("1", ...) with what has to
    be 1 or less.
    """
    found = []
    for size in least.sizes:
        exponent = size.value.exponent(CHIPS)
        if exponent > 0:
            rest = size.value * Surd.of(1, {CHIPS: -exponent})
            found.append((CHIPS, rest ** (-1 / exponent)))
        elif size.value.factors:
            found.append(("1", ONE / size.value))
    return tuple(dict.fromkeys(found))
