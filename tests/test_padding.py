"""Dims that the chips do not divide: the sizes to pad to, and what that costs."""

from __future__ import annotations

import re

import pytest
from texts import read

from layoutc.dsl.program import Program
from layoutc.solver.asked import Asked
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.padding import paddings
from layoutc.solver.solve import padded, solve
from layoutc.solver.unsolvable import Unsolvable

HEADS = """\
dims   B={B}  L=1  E=3584  H={H}  Q=128
mesh   x y
input  x  : BLE
weight wq : {wq}
weight wo : {wo}
q : BLHQ? = x * wq
p         = exp(q)
y : BLE   = p * wo
output y
"""


def heads(h: str = "28", batch: int = 64, wq: str = "EH_{xy}Q", wo: str = "H_{xy}QE") -> Program:
    return read(HEADS.format(H=h, B=batch, wq=wq, wo=wo))


@pytest.mark.parametrize(
    ("size", "chips", "sizes"),
    [
        ("28", 8, [32]),
        ("5", 8, [6, 8]),
        ("7", 12, [8, 9, 12]),
        ("32", 8, []),
        ("28 padded 32", 8, []),
        ("3", 64, [4]),
    ],
)
def test_the_sizes_that_some_of_the_chips_divide(size: str, chips: int, sizes: list[int]) -> None:
    found = [p for p in paddings(heads(size, wq="EHQ", wo="HQE"), chips) if p.dim == "H"]
    assert [p.to for p in found] == sizes
    for padding in found:
        assert padding.program.dims["H"] == padding.to
        assert padding.program.useful == {"H": padding.size}


def test_28_heads_on_8_chips_are_refused_with_the_padding_and_what_it_costs() -> None:
    with pytest.raises(Unsolvable) as refusal:
        solve(heads(), 8, load_machine())
    assert "cuts H=28 into 8; 24 or 32 would do" in refusal.value.message
    hint = refusal.value.hint
    found = re.search(r"or pad H:  dims H=28 padded 32  \(14% more of it, (\S+) µs a pass\)$", hint)
    assert found, hint
    plan = solve(heads("28 padded 32"), 8, load_machine())
    assert f"{1e6 * plan.seconds:.2f}" == found[1]


def test_padding_is_weighed_against_leaving_the_dim_whole() -> None:
    """With layouts free, 128 places of Q are split instead, and nothing need be padded."""
    free = heads(wq="EHQ?", wo="HQE?")
    plan = solve(free, 8, load_machine())
    padding, other = padded(free, 8, load_machine(), Asked())["H"]
    assert padding.to == 32
    assert other.seconds > plan.seconds


def test_padding_can_be_worth_it() -> None:
    """E, H and Q are odd, and so all 8 chips have to do all of it, unless one dim is padded."""
    text = HEADS.format(H=28, B=1, wq="EHQ?", wo="HQE?")
    odd = read(text.replace("E=3584", "E=3585").replace("Q=128", "Q=127").replace("H=28", "H=31"))
    plan = solve(odd, 8, load_machine())
    found = padded(odd, 8, load_machine(), Asked())
    assert set(found) == {"E", "H", "Q"}
    assert all(other.seconds < plan.seconds for _, other in found.values())
    assert found["Q"][1].seconds < plan.seconds / 4


def test_what_memory_is_short_of_is_not_mended_by_padding() -> None:
    from dataclasses import replace

    small = replace(load_machine(), memory_bytes=10**6)
    with pytest.raises(Unsolvable, match="nothing fits in memory"):
        solve(heads("32"), 8, small)
