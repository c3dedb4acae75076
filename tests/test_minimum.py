"""Closed-form minima, against a numerical minimiser that shares nothing with them.

LAYOUTC_LONG=1 takes ten times as many.
"""

from __future__ import annotations

import os
import random
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from layoutc.solver.convex import lowest
from layoutc.solver.minimum import Least, NoClosedForm, holds, minimum
from layoutc.solver.monomial import Cost, Monomial
from layoutc.solver.surd import Surd

SEEDS = range(1000 if os.environ.get("LAYOUTC_LONG") else 100)


def random_cost(seed: int) -> tuple[Cost, list[str]]:
    """A sum of terms over dims E and F and two to four mesh sizes."""
    draw = random.Random(seed)
    axes = list("XYZW"[: draw.randint(2, 4)])
    terms = []
    for _ in range(draw.randint(1, 4)):
        under = [axis for axis in axes if draw.random() < 0.5]
        over = draw.choices("EF", k=draw.randint(1, 2))
        terms.append(Monomial.of(over, under, draw.randint(1, 1000)))
    return Cost.of(*terms), axes


def numerically(cost: Cost, axes: list[str], values: dict[str, float]) -> tuple[float, float]:
    """The least of the sum over positive sizes with product n, by SciPy, and its largest slope."""
    rates = np.array([[dict(t.powers).get(axis, 0) for axis in axes] for t in cost.terms])
    offsets = np.array(
        [
            log(float(t.coefficient)) + sum(e * log(values[s]) for s, e in t.powers if s in values)
            for t in cost.terms
        ]
    )
    even = np.full(len(axes), log(values["n"]) / len(axes))
    # The last axis has what the others leave of n.
    across = np.vstack([np.eye(len(axes) - 1), -np.ones(len(axes) - 1)])

    def log_sum(free: np.ndarray) -> tuple[float, np.ndarray]:
        logs = rates @ (even + across @ free) + offsets
        shares = np.exp(logs - logs.max())
        slope = shares @ rates @ across / shares.sum()
        return float(logs.max() + log(shares.sum())), slope

    start = np.zeros(len(axes) - 1)
    found = minimize(log_sum, start, jac=True, method="BFGS", options={"gtol": 1e-12})
    return exp(found.fun), float(np.abs(found.jac).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_closed_forms_are_what_a_minimiser_finds(seed: int) -> None:
    cost, axes = random_cost(seed)
    found = minimum(lambda ones: cost, dict.fromkeys(axes))
    inside = isinstance(found, Least) and all(size.value.factors for size in found.sizes)
    if not inside:
        return
    assert isinstance(found, Least)
    draw = random.Random(seed)
    values = {"E": draw.uniform(1, 1e5), "F": draw.uniform(1, 1e5), "n": draw.uniform(2, 5000)}
    value, slope = numerically(cost, axes, values)
    assert slope < 1e-5
    assert found.value.value(values) == pytest.approx(value, rel=1e-9)
    there = dict(values)
    for size in found.sizes:
        if all(power == 1 for _, power in size.powers):
            for axis, _ in size.powers:
                there[axis] = size.value.value(values) ** (1 / len(size.powers))
    if set(axes) <= set(there):
        at = sum(Surd.from_monomial(term).value(there) for term in cost.terms)
        assert at == pytest.approx(value, rel=1e-9)


def test_enough_of_the_random_cases_have_a_closed_form() -> None:
    found = [
        minimum(lambda ones, cost=cost: cost, dict.fromkeys(axes))  # type: ignore[misc]
        for cost, axes in map(random_cost, range(100))
    ]
    balanced = [f for f in found if isinstance(f, Least) and any(s.value.factors for s in f.sizes)]
    assert len(balanced) > 25


@pytest.mark.parametrize("seed", SEEDS)
def test_the_numerical_minimum_is_proven(seed: int) -> None:
    cost, axes = random_cost(seed)
    draw = random.Random(seed)
    dims, chips = (
        {"E": draw.randint(1, 10**5), "F": draw.randint(1, 10**5)},
        draw.choice([2, 60, 4096]),
    )
    found = lowest(cost, dims, axes, chips)
    assert found.bound <= found.value * (1 + 1e-12)
    assert found.value == pytest.approx(found.bound, rel=1e-9)
    at = sum(Surd.from_monomial(t).value({**dims, **found.sizes}) for t in cost.terms)
    assert at == pytest.approx(found.value, rel=1e-9)


def test_three_terms_in_two_free_variables() -> None:
    """a/X + b/Y + c/Z: all three equal, so that the sum is 3 (abc/n)**(1/3)."""
    cost = Cost.of(Monomial.of("A", "X"), Monomial.of("B", "Y"), Monomial.of("C", "Z"))
    found = minimum(lambda ones: cost, {"X": None, "Y": None, "Z": None})
    assert isinstance(found, Least)
    values = {"A": 5.0, "B": 7.0, "C": 11.0, "n": 64.0}
    assert found.value.value(values) == pytest.approx(3 * (5 * 7 * 11 / 64) ** (1 / 3))
    x = next(size.value for size in found.sizes if size.powers == (("X", 1),))
    assert x.value(values) == pytest.approx(5 * (64 / (5 * 7 * 11)) ** (1 / 3))


def test_what_only_falls_ends_at_the_edge() -> None:
    """E/X alone: all chips go to x."""
    cost = Cost.of(Monomial.of("E", "X"))
    found = minimum(lambda ones: cost, {"X": None, "Y": None})
    assert isinstance(found, Least)
    sizes = {size.powers: size.value for size in found.sizes}
    assert sizes == {(("X", 1),): Surd.of(1, {"n": Fraction(1)}), (("Y", 1),): Surd(Fraction(1))}


def test_at_the_edge_an_axis_of_one_chip_costs_nothing() -> None:
    gathered = Cost.of(Monomial.of("E", "X"))
    found = minimum(lambda ones: Cost() if "y" in ones else gathered, {"X": None, "Y": None})
    assert isinstance(found, Least)
    assert found.value.terms == ()


def test_four_terms_that_hang_together_have_no_closed_form() -> None:
    """In two free variables: a/X + b/Y + c/(XY) + d/Z has a dependence more than it may."""
    under = ["X", "Y", "XY", "Z"]
    cost = Cost.of(*(Monomial.of(dim, axes) for dim, axes in zip("ABCD", under, strict=True)))
    assert isinstance(minimum(lambda ones: cost, dict.fromkeys("XYZ")), NoClosedForm)


def test_a_pinned_size_is_a_number() -> None:
    cost = Cost.of(Monomial.of("E", "X"), Monomial.of("F", "Y"), Monomial.of("G", "Z"))
    found = minimum(lambda ones: cost, {"X": 4, "Y": None, "Z": None})
    assert isinstance(found, Least)
    values = {"E": 3.0, "F": 5.0, "G": 7.0, "n": 64.0}
    # Y·Z = 16: E/4 + 2 sqrt(F·G/16).
    assert found.value.value(values) == pytest.approx(3 / 4 + 2 * (35 / 16) ** 0.5)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 10**6))
def test_two_terms_balance(a: int, b: int, chips: int) -> None:
    """a/X + b/Y with X·Y = n is 2 sqrt(ab/n), from n = max(a/b, b/a) on with sizes of 1 or more."""
    cost = Cost.of(Monomial.of("", "X", a), Monomial.of("", "Y", b))
    found = minimum(lambda ones: cost, {"X": None, "Y": None})
    assert isinstance(found, Least)
    assert found.value.value({"n": chips}) == pytest.approx(2 * (a * b / chips) ** 0.5)
    from_where = max(value.value({}) for name, value in holds(found) if name == "n")
    assert from_where == pytest.approx(max(a / b, b / a))
