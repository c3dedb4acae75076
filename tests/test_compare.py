"""`layoutc compare`: where two layouts change places, touch, or never meet."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from formulas import document, example, same
from hypothesis import assume, given
from hypothesis import strategies as st

from layoutc.solver.comparison import number
from layoutc.solver.monomial import Cost
from layoutc.solver.surd import Sum, Surd
from layoutc.solver.switch import Zeros, zeros

ONE_D, TWO_D = example("1d_weight_stationary"), example("2d_weight_stationary")


@pytest.fixture
def compared(capsys: pytest.CaptureFixture[str]) -> Any:
    return lambda *arguments: document(capsys, ["compare", *arguments])


def test_1d_and_2d(compared: Any) -> None:
    """2BLE is 4BL√(EF/n) at n = 4F/E; exactly, the difference is 2BL(√E - √(F/n))²."""
    found = compared(ONE_D, TWO_D)
    assert found["switches"] == [{"in": "n", "at": "4*F/E", "cheaper_beyond": "b"}]
    (touching,) = found["switches_exact"]
    assert touching["in"] == "n"
    assert touching["at"] == "F/E"
    assert touching["touches"]
    assert same(found["difference_exact"], "2*B*L*(sqrt(E) - sqrt(F/n))**2/bandwidth")


def test_the_other_way_round(compared: Any) -> None:
    assert compared(TWO_D, ONE_D)["switches"][0]["cheaper_beyond"] == "a"


def test_a_layout_and_itself_are_the_same_everywhere(compared: Any) -> None:
    found = compared(TWO_D, TWO_D)
    assert found["switches"] == found["switches_exact"] == []
    assert found["cheaper"] == found["cheaper_exact"] == "same"


def test_an_extra_move_is_never_cheaper(compared: Any, tmp_path: Path) -> None:
    """One more gather of g, 3/2 of the second term: √(3/2) times as much, at every n."""
    text = Path(TWO_D).read_text()
    more = text.replace(
        "p  : BLE_x", "g2 : BLF_yzx = slice(x) g1\ng3 : BLF_yz = all-gather(x) g2\np  : BLE_x"
    )
    file = tmp_path / "more.layout"
    file.write_text(more.replace("= g1 * w_out", "= g3 * w_out"))
    found = compared(str(file), TWO_D)
    assert found["switches"] == []
    assert found["cheaper"] == "b"


@pytest.mark.parametrize(
    ("one", "other", "large", "exact"),
    [
        ("2d_weight_stationary", "x_weight_gathered", "E", "E"),
        ("x_weight_gathered", "xy_weight_gathered", "F", "F"),
        ("xy_weight_gathered", "xyz_weight_gathered", "12*F", "16*F"),
    ],
)
def test_in_tokens_on_one_mesh(compared: Any, one: str, other: str, large: str, exact: str) -> None:
    """The points of figure 3, on 4x4x4."""
    found = compared(example(one), example(other), "--mesh", "x=4,y=4,z=4")
    assert found["switches"] == [{"in": "B*L", "at": large, "cheaper_beyond": "b"}]
    assert found["switches_exact"] == [{"in": "B*L", "at": exact, "cheaper_beyond": "b"}]


def test_where_more_chips_change_nothing_tokens_are_what_varies(compared: Any) -> None:
    """4E√(BLF/n) and 4BL√(EF/n) fall alike."""
    found = compared(TWO_D, example("x_weight_gathered"))
    assert found["switches"] == [{"in": "B*L", "at": "E", "cheaper_beyond": "b"}]


def test_on_a_number_of_chips(compared: Any) -> None:
    found = compared(TWO_D, example("x_weight_gathered"), "--chips", "64")
    assert found["switches"] == [{"in": "B*L", "at": "E", "cheaper_beyond": "b"}]
    assert found["switches_exact"] == [{"in": "B*L", "at": "E", "cheaper_beyond": "b"}]


def n(exponent: Fraction | int, coefficient: Fraction | int) -> Surd:
    return Surd.of(coefficient, {"n": Fraction(exponent)})


def places(found: Zeros) -> list[float]:
    values = [number(zero, {}) for zero in found.zeros]
    assert None not in values
    return [value for value in values if value is not None]


@given(st.integers(1, 10**4), st.integers(1, 10**4))
def test_1d_and_2d_for_any_dims(e: int, f: int) -> None:
    """2E - 4√(EF/n) at 4F/E, and 2E + 2F/n - 4√(EF/n) touches 0 at F/E."""
    root = Surd(Fraction(e * f)) ** Fraction(1, 2) * n(Fraction(-1, 2), -4)
    large = zeros(Sum.of(n(0, 2 * e), root), "n", {})
    assert places(large) == [pytest.approx(4 * f / e)]
    assert large.zeros[0].beyond == 1
    exact = zeros(Sum.of(n(0, 2 * e), root, n(-1, 2 * f)), "n", {})
    assert places(exact) == [pytest.approx(f / e)]
    assert exact.zeros[0].touches


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_two_switches(one: int, other: int) -> None:
    """(n - a)(n - b): positive beyond the larger, negative between."""
    assume(one != other)
    found = zeros(Sum.of(n(2, 1), n(1, -one - other), n(0, one * other)), "n", {})
    assert places(found) == [pytest.approx(min(one, other)), pytest.approx(max(one, other))]
    assert [zero.beyond for zero in found.zeros] == [-1, 1]
    assert not any(zero.touches for zero in found.zeros)


def test_no_switch() -> None:
    """n² - n + 1 is positive throughout, and so is n + 1."""
    assert zeros(Sum.of(n(2, 1), n(1, -1), n(0, 1)), "n", {}) == Zeros(sign=1)
    assert zeros(Sum.of(n(1, 1), n(0, 1)), "n", {}) == Zeros(sign=1)


def test_one_switch_of_a_quadratic() -> None:
    found = zeros(Sum.of(n(2, 1), n(1, -1), n(0, -6)), "n", {})
    assert places(found) == [pytest.approx(3)]


def test_more_terms_are_counted() -> None:
    """(n - 1)(n - 2)(n - 4) = n³ - 7n² + 14n - 8."""
    found = zeros(Sum.of(n(3, 1), n(2, -7), n(1, 14), n(0, -8)), "n", {})
    assert places(found) == pytest.approx([1, 2, 4])
    assert [zero.beyond for zero in found.zeros] == [1, -1, 1]


def test_nothing_is_the_same_as_nothing() -> None:
    assert zeros(Sum.from_cost(Cost()), "n", {}).same


def test_signs_that_the_dims_leave_open_are_not_guessed() -> None:
    e, f = (Surd.of(1, {dim: Fraction(1)}) for dim in "EF")
    total = Sum.of(e, f * Surd(Fraction(-1)), n(1, 1))
    assert zeros(total, "n", {}).reason
    (zero,) = zeros(total, "n", {"E": 1.0, "F": 8.0}).zeros
    assert number(zero, {"E": 1.0, "F": 8.0}) == pytest.approx(7)
    assert str(zero.at) == "-E + F"
    assert zeros(total, "n", {"E": 8.0, "F": 1.0}) == Zeros(sign=1)
