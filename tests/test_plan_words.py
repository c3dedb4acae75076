"""What can be typed of ranges, limits, prices and layouts."""

from argparse import ArgumentTypeError
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutc.serving import words


def test_ranges_double_and_include_both_ends() -> None:
    assert words.sizes("4..64") == [4, 8, 16, 32, 64]
    assert words.sizes("3..20") == [3, 6, 12, 20]
    assert words.sizes("1,8..32,5") == [1, 5, 8, 16, 32]
    assert words.sizes("7") == [7]


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_a_range_is_ascending_and_ends_where_it_says(low: int, more: int) -> None:
    found = words.sizes(f"{low}..{low + more}")
    assert found[0] == low
    assert found[-1] == low + more
    assert found == sorted(set(found))
    assert all(b <= 2 * a for a, b in pairwise(found))


@pytest.mark.parametrize(
    "text", ["", "0", "4..2", "x", "1,", "-1", "1..", "..8", "2**40", "9" * 14]
)
def test_other_ranges_are_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="write it like"):
        words.sizes(text)


def test_latencies() -> None:
    assert words.latency("50ms") == words.Latency("step", 0.05, "50ms")
    assert words.latency("request=2.5s") == words.Latency("request", 2.5, "2.5s")
    assert words.latency("prefill=900us").seconds == pytest.approx(9e-4)


@pytest.mark.parametrize("text", ["50", "ms", "0ms", "token=5ms", "-5ms", "1e3s", "nan"])
def test_other_latencies_are_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="50ms"):
        words.latency(text)


def test_budgets_and_prices() -> None:
    assert words.budget("10/Mtok") == 10
    assert words.budget("$0.25/Mtok") == 0.25
    assert words.price("3.22") == 3.22
    for text in ("10", "0/Mtok", "x/Mtok", "10/tok"):
        with pytest.raises(ArgumentTypeError, match="10/Mtok"):
            words.budget(text)
    for text in ("0", "-1", "nan", "1e9"):
        with pytest.raises(ArgumentTypeError, match="dollars"):
            words.price(text)


def test_layouts_by_phase() -> None:
    both = dict.fromkeys(("prefill", "decode"), "2D weight-stationary")
    for spelled in ("2d", "2D", "2d-ws", "2D weight-stationary"):
        assert words.layout(spelled) == both
    assert words.layout("prefill=xyz-wg,decode=1d") == {
        "prefill": "XYZ-weight-gathered", "decode": "1D weight-stationary",
    }  # fmt: skip
    for text in ("3d", "train=2d", ""):
        with pytest.raises(ArgumentTypeError, match="xyz-wg"):
            words.layout(text)


def test_attention_by_phase() -> None:
    assert words.attention("batch") == {"prefill": "batch", "decode": "batch"}
    assert words.attention("prefill=heads") == {"prefill": "heads"}
    with pytest.raises(ArgumentTypeError, match="heads or context"):
        words.attention("prefill=all")


def test_weights() -> None:
    assert words.weights("int8,bf16,int8") == ["int8", "bf16"]
    with pytest.raises(ArgumentTypeError, match="bf16, int8"):
        words.weights("fp4")
