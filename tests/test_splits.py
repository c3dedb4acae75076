"""How chips are divided, and at which sizes layouts are looked for."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.serving.planner import divided, probes
from layoutc.solver.serving.splits import Fixed, Split, splits

chips = st.integers(1, 512)


def test_one_domain_shares_every_matmul() -> None:
    assert splits(64, load_machine("tpu-v4"), 118, Fixed()) == [Split(64)]
    assert splits(8, load_machine("h100"), 80, Fixed()) == [Split(8)]


def test_several_nodes_may_be_stages_or_copies() -> None:
    assert splits(24, load_machine("a100-80gb"), 105, Fixed()) == [
        Split(24), Split(8, pipeline=3), Split(8, replicas=3),
    ]  # fmt: skip


def test_no_more_stages_than_layers() -> None:
    found = splits(24, load_machine("a100-80gb"), 2, Fixed())
    assert found == [Split(24), Split(8, replicas=3)]


@pytest.mark.parametrize(
    ("fixed", "found"),
    [
        (Fixed(tensor=8), [Split(8, 1, 3), Split(8, 3, 1)]),
        (Fixed(tensor=8, pipeline=3), [Split(8, 3, 1)]),
        (Fixed(tensor=4, replicas=2), [Split(4, 3, 2)]),
        (Fixed(pipeline=3), [Split(8, 3, 1)]),
        (Fixed(replicas=3), [Split(8, 1, 3)]),
        (Fixed(tensor=5), []),
        (Fixed(pipeline=5), []),
    ],
)
def test_what_is_said_stays(fixed: Fixed, found: list[Split]) -> None:
    assert splits(24, load_machine("a100-80gb"), 105, fixed) == found


@given(chips, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_all_chips_are_used(number: int, tensor: int, pipeline: int, replicas: int) -> None:
    fixed = Fixed(tensor, pipeline, replicas)
    for split in splits(number, load_machine("h100"), 80, fixed):
        assert split.chips == number
        assert tensor in (0, split.tensor)
        assert pipeline in (0, split.pipeline)
        assert replicas in (0, split.replicas)


@given(st.integers(1, 5000), chips)
def test_a_size_goes_up_to_one_that_divides(size: int, number: int) -> None:
    found = divided(size, number)
    assert found >= size
    assert found % number == 0 or number % found == 0
    assert not any(n % number == 0 or number % n == 0 for n in range(size, found))


@given(st.integers(1, 4096), st.integers(1, 4096), st.sampled_from([1, 4, 8, 12, 64, 256]))
def test_both_ends_are_looked_at_and_below_the_chips_every_fourth(
    one: int, other: int, number: int
) -> None:
    found = probes(np.array([one, other]), number)
    assert found[0] == divided(min(one, other), number)
    assert found[-1] == divided(max(one, other), number)
    assert found == sorted(set(found))
    for size, following in pairwise(found):
        assert following <= max(divided(4 * size, number), number) or size >= number
