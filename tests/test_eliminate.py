"""Elimination against trying everything."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutc.solver.eliminate import Factor, Infeasible, Rows, Table, minimise


@st.composite
def problems(draw: st.DrawFn) -> tuple[dict[int, int], list[Factor]]:
    """Up to five variables, dense and sparse factors over one to three, two components."""
    domains = {v: draw(st.integers(1, 4)) for v in range(draw(st.integers(1, 5)))}
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    factors: list[Factor] = [Table((v,), _costs(random, (n,))) for v, n in domains.items()]
    for _ in range(draw(st.integers(0, 4))):
        scope = tuple(sorted(random.permutation(list(domains))[: random.integers(1, 4)]))
        shape = tuple(domains[v] for v in scope)
        if draw(st.booleans()):
            factors.append(Table(scope, _costs(random, shape)))
        else:
            count = int(random.integers(1, 8))
            columns = tuple(random.integers(0, n, count) for n in shape)
            factors.append(Rows(scope, columns, _costs(random, (count,))))
    return domains, factors


def _costs(random: np.random.Generator, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Small whole numbers, so that the first component ties often."""
    return random.integers(0, 4, shape).astype(float), random.integers(0, 9, shape).astype(float)


def _value(factor: Factor, values: dict[int, int]) -> tuple[float, float]:
    at = tuple(values[v] for v in factor.scope)
    if isinstance(factor, Table):
        return float(factor.costs[0][at]), float(factor.costs[1][at])
    rows = [i for i in range(len(factor.columns[0])) if tuple(c[i] for c in factor.columns) == at]
    found = [(float(factor.costs[0][i]), float(factor.costs[1][i])) for i in rows]
    return min(found, default=(float("inf"), float("inf")))


@given(problems())
def test_the_least_of_all_assignments(problem: tuple[dict[int, int], list[Factor]]) -> None:
    domains, factors = problem

    def total(values: dict[int, int]) -> tuple[float, float]:
        parts = [_value(f, values) for f in factors]
        return sum(p[0] for p in parts), sum(p[1] for p in parts)

    everything = product(*(range(n) for n in domains.values()))
    best = min(total(dict(zip(domains, values, strict=True))) for values in everything)
    if best[0] == float("inf"):
        with pytest.raises(Infeasible):
            minimise(domains, factors)
        return
    values, costs = minimise(domains, factors)
    assert total(values) == best == tuple(map(float, costs))


def test_slabs_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """A joint table taken in slabs gives what it gives as a whole."""
    random = np.random.default_rng(1)
    domains = {0: 9, 1: 8, 2: 7}
    factors = [Table((0, 2), _costs(random, (9, 7))), Table((1, 2), _costs(random, (8, 7)))]
    whole = minimise(domains, factors)
    monkeypatch.setattr("layoutc.solver.eliminate.CHUNK", 100)
    assert minimise(domains, factors) == whole
