"""Bounds are bounds, and a search near them finds what a search of everything finds."""

from dataclasses import replace
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutc.solver import relax
from layoutc.solver.ascent import Ascent
from layoutc.solver.eliminate import Factor, Infeasible, Rows, Table, minimise
from layoutc.solver.forest import Bounds, Forest
from layoutc.solver.guess import guessed
from layoutc.solver.narrow import Solution
from layoutc.solver.relax import minimise_near


@st.composite
def problems(draw: st.DrawFn) -> tuple[dict[int, int], list[Factor]]:
    """Cyclic on purpose: tables between any two of up to five variables, rows over any three."""
    domains = {v: draw(st.integers(1, 4)) for v in range(draw(st.integers(2, 5)))}
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    factors: list[Factor] = []
    for _ in range(draw(st.integers(1, 6))):
        scope = tuple(int(v) for v in random.permutation(list(domains))[:2])
        factors.append(Table(scope, (random.integers(0, 9, [domains[v] for v in scope]) * 1.0,)))
    for _ in range(draw(st.integers(0, 2))):
        scope = tuple(int(v) for v in random.permutation(list(domains))[:3])
        count = int(random.integers(1, 20))
        columns = tuple(random.integers(0, domains[v], count) for v in scope)
        factors.append(Rows(scope, columns, (random.integers(0, 9, count) * 1.0,)))
    return domains, [*factors, *(Table((v,), (np.zeros(n),)) for v, n in domains.items())]


def tidy(
    problem: tuple[dict[int, int], list[Factor]], seed: int
) -> tuple[dict[int, int], list[Factor]]:
    """The problem with two more components, by which its ties are settled; few costs, many ties."""
    domains, factors = problem
    random = np.random.default_rng(seed)

    def settled(factor: Factor) -> Factor:
        (first,) = factor.costs
        more = (random.integers(0, 3, first.shape) * 1.0 for _ in range(2))
        return replace(factor, costs=(np.floor(first / 4), *more))

    return domains, list(map(settled, factors))


def value(factor: Factor, values: tuple[int, ...]) -> float:
    at = tuple(values[v] for v in factor.scope)
    if isinstance(factor, Table):
        return float(factor.costs[0][at])
    rows = zip(zip(*factor.columns, strict=True), factor.costs[0], strict=True)
    return min((float(cost) for row, cost in rows if row == at), default=float("inf"))


def passed(domains: dict[int, int], factors: list[Factor]) -> Forest:
    forest = Forest.of(domains, factors)
    forest.passed()
    return forest


def bounds(domains: dict[int, int], factors: list[Factor], rounds: int = 8) -> Bounds:
    """What all passes prove, of the first and of some rounds."""
    forest = passed(domains, factors)
    found, ascent = forest.bounds(), Ascent(forest)
    for _ in range(rounds):
        ascent.round()
        found = found.raised(forest.bounds())
    return found


@given(problems())
def test_no_assignment_is_below_its_bounds(problem: tuple[dict[int, int], list[Factor]]) -> None:
    domains, factors = problem
    found = bounds(domains, factors).values
    for values in product(*(range(n) for n in domains.values())):
        total = sum(value(f, values) for f in factors)
        for variable, at in enumerate(values):
            assert found[variable][at] <= total + 1e-9


@given(problems())
def test_near_the_bounds_is_everywhere(problem: tuple[dict[int, int], list[Factor]]) -> None:
    domains, factors = problem
    try:
        _, costs = minimise(domains, factors)
    except Infeasible:
        with pytest.raises(Infeasible):
            minimise_near(domains, factors)
        return
    values, near = minimise_near(domains, factors)
    assert float(near[0]) == pytest.approx(float(costs[0]))
    total = sum(value(f, tuple(values[v] for v in domains)) for f in factors)
    assert total == pytest.approx(float(costs[0]))
    with pytest.raises(Infeasible):
        minimise_near(domains, factors, ceiling=-1.0)


@given(problems())
def test_a_guess_is_an_assignment(problem: tuple[dict[int, int], list[Factor]]) -> None:
    """It costs what its factors add up to, no less than the least."""
    domains, factors = problem
    try:
        values, costs = guessed(passed(domains, factors))
    except Infeasible:
        return
    total = sum(value(f, tuple(values[v] for v in domains)) for f in factors)
    assert total == pytest.approx(float(costs[0]))
    assert total >= float(minimise(domains, factors)[1][0]) - 1e-9


@given(problems())
def test_a_ceiling_at_the_least_is_no_hindrance(
    problem: tuple[dict[int, int], list[Factor]],
) -> None:
    domains, factors = problem
    try:
        least = float(minimise(domains, factors)[1][0])
    except Infeasible:
        return
    assert float(minimise_near(domains, factors, least + 1e-6)[1][0]) == pytest.approx(least)
    with pytest.raises(Infeasible):
        minimise_near(domains, factors, least - 1e-6)


# Where bounds leave too much to look at, problems are parted.


def parted(domains: dict[int, int], factors: list[Factor], ceiling: float = np.inf) -> Solution:
    """What is found if nothing is easy and bounds are hardly raised, so that all is parted."""
    with patch.object(relax, "EASY", 0.0), patch.object(relax, "ROUNDS", 2):
        return minimise_near(domains, factors, ceiling)


@settings(deadline=None)
@given(problems())
def test_parts_hold_the_least(problem: tuple[dict[int, int], list[Factor]]) -> None:
    domains, factors = problem
    try:
        least = float(minimise(domains, factors)[1][0])
    except Infeasible:
        with pytest.raises(Infeasible):
            parted(domains, factors)
        return
    values, costs = parted(domains, factors)
    assert float(costs[0]) == pytest.approx(least)
    total = sum(value(f, tuple(values[v] for v in domains)) for f in factors)
    assert total == pytest.approx(least)
    assert float(parted(domains, factors, least + 1e-6)[1][0]) == pytest.approx(least)
    with pytest.raises(Infeasible):
        parted(domains, factors, least - 1e-6)


@settings(deadline=None)
@given(problems(), st.integers(0, 2**32 - 1))
def test_ties_are_settled_among_all_parts(
    problem: tuple[dict[int, int], list[Factor]], seed: int
) -> None:
    domains, factors = tidy(problem, seed)
    try:
        _, wanted = minimise(domains, factors)
    except Infeasible:
        return
    for found in (parted, minimise_near):
        values, costs = found(domains, factors)
        assert [float(c) for c in costs] == pytest.approx([float(c) for c in wanted])
        total = sum(value(f, tuple(values[v] for v in domains)) for f in factors)
        assert total == pytest.approx(float(wanted[0]))


def test_a_cycle_that_no_bound_proves_is_parted() -> None:
    """Three that are to differ from one another, with two values for all of them."""
    differ = np.array([[3.0, 0.0], [0.0, 4.0]])
    factors: list[Factor] = [Table(scope, (differ,)) for scope in ((0, 1), (1, 2), (2, 0))]
    parts, part = [], relax._Near._part

    def seen(near: relax._Near, variable: int, value: int, only: bool) -> relax._Near:
        parts.append((variable, value, only))
        return part(near, variable, value, only)

    with patch.object(relax._Near, "_part", seen):
        assert float(parted({0: 2, 1: 2, 2: 2}, factors)[1][0]) == 3.0
    assert {only for _, _, only in parts} == {True, False}


def test_where_the_bound_is_nothing_more_is_looked_at() -> None:
    """Two that are to be alike, and to differ: any share of the bound is nothing, too."""
    alike, differ = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    one, other = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])
    scopes = ((1, 0), (1, 0), (0, 1), (0, 1))
    still = np.zeros((2, 2))
    factors: list[Factor] = [
        Table(scope, (cost, still))
        for scope, cost in zip(scopes, (alike, differ, one, other), strict=True)
    ]
    assert [float(c) for c in minimise_near({0: 2, 1: 2}, factors)[1]] == [2.0, 0.0]


def test_what_costs_nothing_is_found() -> None:
    """Thresholds that are a share of the least are nothing either."""
    random = np.random.default_rng(0)
    at = [random.random((3, 1)) * 7.0 for _ in range(3)]
    at[0][0] = at[1][1] = at[2][2] = 0.3
    scopes = ((0, 1), (1, 2), (2, 0))
    factors: list[Factor] = [Table(s, (np.abs(at[s[0]] - at[s[1]].T),)) for s in scopes]
    values, costs = minimise_near({0: 3, 1: 3, 2: 3}, factors)
    assert (values, float(costs[0])) == ({0: 0, 1: 1, 2: 2}, 0.0)


def test_rounds_of_agreement_raise_the_bound() -> None:
    """Each side of a cycle has its own favourite until the copies have agreed."""
    one = Table((0, 1), (np.array([[0.0, 9.0], [9.0, 9.0]]),))
    other = Table((1, 0), (np.array([[6.0, 0.0], [9.0, 9.0]]),))
    assert bounds({0: 2, 1: 2}, [one, other], rounds=0).least == 0.0
    assert bounds({0: 2, 1: 2}, [one, other]).least == pytest.approx(6.0, rel=0.01)


def test_a_tree_is_bounded_exactly() -> None:
    """Without cycles there is nothing to copy, and bounds are what each value leads to."""
    left = Table((0, 1), (np.array([[1.0, 5.0], [2.0, 0.0]]),))
    right = Table((1, 2), (np.array([[3.0, 9.0], [9.0, 4.0]]),))
    found = bounds({0: 2, 1: 2, 2: 2}, [left, right]).values
    assert [list(found[v]) for v in range(3)] == [[4, 4], [4, 4], [4, 4]]
