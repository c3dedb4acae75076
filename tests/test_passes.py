"""What a pass takes, of its parts: which overlap, which add up, and what is reached of each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import plain
from served import arrays, example, fabrics, multiples, placed, places, sized, some

from layoutc.dsl.program import Program
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.reached import IDEAL, SHARES, Reached
from layoutc.solver.price import price
from layoutc.solver.serving.chain import Chain
from layoutc.solver.serving.passes import NAMES, Parts, Priced, Work, parts
from layoutc.solver.serving.terms import KINDS, VARYING, Amounts

few = settings(max_examples=40, deadline=None)
seconds = st.floats(0.0, 10.0)
two = st.lists(seconds, min_size=2, max_size=2).map(np.array)
amounts = st.builds(Amounts, *(two for _ in KINDS))
chains = st.builds(Chain, *[st.integers(0, 9).map(float)] * 2)
share = st.sampled_from((0.25, 0.5, 1.0))
reached = st.builds(Reached, share, share, share, share, seconds, seconds)


@given(amounts, chains, reached)
def test_what_overlaps_and_what_adds_up(taken: Amounts, chain: Chain, own: Reached) -> None:
    found = parts(taken, chain, own).seconds
    for number in range(2):
        matmul, attention, weights, caches, gathered, moved = (
            getattr(taken, kind)[number] for kind in KINDS
        )
        busy = max(matmul / own.matmul, weights / own.memory, gathered / own.network)
        attending = max(attention / own.attention, caches / own.memory)
        waiting = chain.launches * own.launch + chain.latency * own.latency
        assert found[number] == pytest.approx(busy + attending + moved / own.network + waiting)


BY = {
    "matmul": (("matmul", "compute"),),
    "attention": (("attention", "attention"),),
    "memory": (("weights", "memory"), ("caches", "attention")),
    "network": (("gathered", "gathered"), ("moved", "communication")),
}
"""By share, what it is a share for, and the part in which that is."""


@given(reached, st.sampled_from(SHARES), st.floats(1.0, 10.0))
def test_half_a_share_takes_twice_as_long(own: Reached, name: str, taken: float) -> None:
    """Each part of which it is a share, where nothing else is in it."""
    halved = replace(own, **{name: getattr(own, name) / 2})
    for kind, part in BY[name]:
        alone = Amounts(*(np.array([taken * (each == kind)]) for each in KINDS))
        once, twice = (parts(alone, Chain(), each) for each in (own, halved))
        assert getattr(twice, part) == pytest.approx(2 * getattr(once, part))
        assert twice.seconds == pytest.approx(2 * once.seconds)
        for other in set(NAMES) - {part}:
            assert not getattr(twice, other).any()


@given(amounts, amounts, chains, chains, reached)
def test_a_share_of_the_block_and_all_that_is_outside(
    block: Amounts, outside: Amounts, own: Chain, beside: Chain, with_: Reached
) -> None:
    work = Work(block, outside, (own, beside))
    whole, none = work.parts(with_), work.parts(with_, share=0.0)
    assert whole.seconds == pytest.approx(parts(block + outside, own + beside, with_).seconds)
    assert none.seconds == pytest.approx(parts(outside, beside, with_).seconds)
    half = work.parts(with_, share=0.5)
    for name in set(NAMES) - {"attention"}:  # which is a longer of two
        middle = (getattr(whole, name) + getattr(none, name)) / 2
        assert getattr(half, name) == pytest.approx(middle)


@given(st.lists(st.lists(seconds, min_size=6, max_size=6), min_size=2, max_size=2))
def test_parts_add_up(both: list[list[float]]) -> None:
    one, other = (Parts(*(np.array([each]) for each in values)) for values in both)
    for name in NAMES:
        assert getattr(one + other, name) == getattr(one, name) + getattr(other, name)


# Programs.


@few
@given(placed(), reached, st.data())
def test_more_is_never_faster(
    drawn: tuple[Program, Fabric], own: Reached, data: st.DataObject
) -> None:
    """More sequences, more tokens, a longer context, in whatever place."""
    program, fabric = drawn
    priced = Priced(program, fabric, fabric.machine, own)
    small = data.draw(multiples(priced.terms.parts))
    more = {dim: data.draw(st.integers(0, 3)) * priced.terms.parts[dim] for dim in VARYING}
    found = priced.parts(arrays([small, {dim: small[dim] + more[dim] for dim in VARYING}]))
    for name in NAMES:
        less, greater = getattr(found, name)
        assert greater >= less * (1 - 1e-12)


@few
@given(some, st.data())
def test_with_all_reached_at_once_it_is_the_price(program: Program, data: st.DataObject) -> None:
    """Where nothing starts. Without gathers of weights and attention, to the digit; with them, what
    overlaps is another thing, and is between the parts of the price."""
    machine = plain("flat", 4.0, 1 << 30, 1.0, 2.0)
    fabric = data.draw(st.sampled_from(places(program, machine)))
    priced = Priced(program, fabric, machine, IDEAL)
    point = data.draw(multiples(priced.terms.parts))
    found, prices = priced.parts(arrays([point])), price(sized(program, point), fabric)
    assert found.latency == 0
    plainly = not found.gathered.any() and not found.attention.any()
    if plainly:
        assert found.seconds == pytest.approx(prices.seconds)
    longest = max(prices.compute.seconds, prices.memory.seconds, prices.communication.seconds)
    each = prices.compute.seconds + prices.memory.seconds + prices.communication.seconds
    assert longest * (1 - 1e-9) <= found.seconds[0] <= each * (1 + 1e-9)


@pytest.mark.parametrize("stem", ["ffn_1d_weight_stationary", "ffn_2d_weight_stationary"])
def test_a_feedforward_layer_is_its_price(stem: str) -> None:
    """Nothing is gathered there, and nothing attends."""
    program, machine = example(stem), load_machine()
    for fabric in places(program, machine):
        priced = Priced(program, fabric, machine, IDEAL)
        point = {"B": 64, "L": 2, "M": 1}
        found = priced.parts(arrays([point])).seconds
        assert found == pytest.approx(price(sized(program, point), fabric).seconds)


@few
@given(st.data())
def test_starts_are_those_of_a_chain_that_launches(data: st.DataObject) -> None:
    """A feedforward layer has two matmuls and four collectives, one after the other."""
    program = example("ffn_2d_weight_stationary")
    fabric = data.draw(fabrics(program))
    priced = Priced(program, fabric, fabric.machine, Reached(launch=3.0))
    found = priced.parts(arrays([priced.terms.parts]))
    starts = price(sized(program, priced.terms.parts), fabric).communication.latency
    tiers = (len(fabric.stages(axes)) for axes in ("yz", "x", "x", "yz"))
    assert found.latency == pytest.approx(3.0 * (2 + sum(tiers)) + starts)


def test_axes_one_after_another_move_no_faster() -> None:
    program = example("ffn_2d_weight_stationary")
    (fabric, *_) = places(program, load_machine("tpu-v4"))
    point = arrays([{"B": 64, "L": 2, "M": 1}])
    at_once, in_turn = (
        Priced(program, fabric, fabric.machine, Reached(at_once=most)).parts(point)
        for most in (0, 1)
    )
    assert in_turn.communication > at_once.communication
    assert in_turn.compute == at_once.compute
