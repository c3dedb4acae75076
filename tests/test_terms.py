"""Prices as sums over B, L and M: at every size what `price` says of the program at that size."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import UNIT, plain
from served import (
    MESH,
    NUMBERS,
    arrays,
    example,
    gathers_of_weights,
    multiples,
    numbered,
    placed,
    places,
    sized,
    some,
    with_context,
)
from texts import read

from layoutc.dsl.operation import Move
from layoutc.dsl.program import Program
from layoutc.solver.hardware.fabric import Fabric, uniform
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.shapes import Shapes
from layoutc.solver.hardware.tier import Tier
from layoutc.solver.monomial import Cost, Monomial
from layoutc.solver.price import Prices, StatementPrice, held_in, price
from layoutc.solver.serving.terms import VARYING, Amounts, Terms, at, undominated

few = settings(max_examples=40, deadline=None)


def together(terms: Terms, points: list[dict[str, int]]) -> Amounts:
    """What is repeated and what is not."""
    inside, outside = terms.amounts(arrays(points))
    return inside + outside


@few
@given(placed(), st.data())
def test_at_every_size_it_is_the_price(drawn: tuple[Program, Fabric], data: st.DataObject) -> None:
    program, fabric = drawn
    terms = Terms(program, fabric)
    points = data.draw(st.lists(multiples(terms.parts), min_size=1, max_size=3))
    found, held = together(terms, points), terms.held(arrays(points))
    for number, point in enumerate(points):
        prices = price(sized(program, point), fabric)
        computed = found.matmul[number] + found.attention[number]
        read_ = found.weights[number] + found.caches[number]
        assert computed == pytest.approx(prices.compute.seconds)
        assert read_ == pytest.approx(prices.memory.seconds)
        gathered, moved = moving(program, fabric, prices)
        assert found.gathered[number] == pytest.approx(gathered, rel=1e-9, abs=1e-9)
        assert found.moved[number] == pytest.approx(moved, rel=1e-9, abs=1e-9)
        assert round(held[number]) == prices.memory.bytes


def moving(program: Program, fabric: Fabric, prices: Prices) -> tuple[float, float]:
    """Seconds of gathering weights and of all other moves, without starts and hops."""
    weights = gathers_of_weights(program)
    each = {s.define.name: s for s in prices.collectives}
    gathered = sum(gathering(s, fabric) for name, s in each.items() if name in weights)
    return gathered, sum(s.seconds - s.latency for n, s in each.items() if n not in weights)


def gathering(gather: StatementPrice, fabric: Fabric) -> float:
    """A weight comes over one link in one direction where there are links, else as all does."""
    move = gather.define.operation
    stages = fabric.stages(move.axes) if isinstance(move, Move) else []
    if all(stage.tier.shaped for stage in stages):
        return gather.bytes / min(stage.tier.bandwidth for stage in stages)
    return gather.seconds - gather.latency


def test_programs_have_everything_that_is_told_apart() -> None:
    """Or the test above would hold of nothing."""
    seen = dict.fromkeys(("matmul", "attention", "weights", "caches", "gathered", "moved"), 0.0)
    for program in map(numbered, NUMBERS):
        terms = Terms(program, uniform(MESH, UNIT))
        for part in (terms.block, terms.outside):
            for term in part:
                seen[term.kind] += float(term.cost.exact({"B": 1, "L": 1, "M": 1}))
    assert all(seen.values()), seen


def test_a_weight_on_a_ring_of_four_comes_one_way() -> None:
    """[8, 4] in bf16, 64 bytes; 3/4 of it is new. Over both directions 24 s, over one 48 s."""
    text = """\
dims B=4 L=1 E=8 F=4
mesh x
input  a : B_xLE
weight w : EF_x
u : EF     = all-gather(x) w
y : B_xLF  = a * u
z : BLF    = all-gather(x) y
output z
"""
    tier = Tier("ICI", "torus", 1.0, shapes=Shapes(1))
    machine = Machine("ring", {"bf16": 1.0}, 1 << 30, 1.0, (tier,))
    program = read(text)
    (fabric,) = places(program, machine, {"x": 4})
    found = together(Terms(program, fabric), [{"B": 4, "L": 1, "M": 1}])
    assert found.gathered == pytest.approx([48.0])
    # z is 4 · 4 · 2 bytes, 24 of them new, 12 from each side.
    assert found.moved == pytest.approx([12.0])


ATTENDING = """\
dims B=2 L=4 M=8 E=6 Q=4 H=3
mesh x
input  q : B_xLHQ
input  k : B_xLHQ
cache  c : B_xMHQ
weight w : HQE
repeat 5 {
  weight u : HQE int8
  cache  d : B_xMHQ
  s  : B_xLHM = q * d
  o  : B_xLHQ = s * d
  y  : B_xLE  = o * u
  q1 : B_xLHQ = o + q
  next q = q1
}
s0 : B_xLHM = q * c
o0 : B_xLHQ = s0 * c
y0 : B_xLE  = o0 * w
output y0
"""


def test_what_is_told_apart_by_hand() -> None:
    """On each of 2 chips one sequence. Scores and values take 2 · 4·3·8·4 operations each, a
    matmul with a weight 2 · 4·3·4·6; weights are 72 elements, of int8 with 6 scales of 4 bytes."""
    terms = Terms(read(ATTENDING), uniform({"x": 2}, plain("counts", 1.0, 1 << 30, 1.0, 1.0)))
    point = arrays([{"B": 2, "L": 4, "M": 8}])
    inside, outside = terms.amounts(point)
    assert inside.attention == 5 * 2 * (2 * 4 * 3 * 8 * 4)
    assert outside.attention == 2 * (2 * 4 * 3 * 8 * 4)
    assert inside.matmul == 5 * 2 * 4 * 3 * 4 * 6
    assert outside.matmul == 2 * 4 * 3 * 4 * 6
    assert inside.caches == 5 * 8 * 3 * 4 * 2
    assert outside.caches == 8 * 3 * 4 * 2
    assert inside.weights == 5 * (72 + 6 * 4)
    assert outside.weights == 72 * 2
    assert terms.stored("weights", point, share=0.2) == 72 + 6 * 4 + 72 * 2
    assert terms.stored("caches", point, share=0.6) == 4 * 8 * 3 * 4 * 2
    assert terms.held(point) - terms.alive(point) == 5 * (72 + 24) + 144 + 6 * 192


# Sizes.


@pytest.mark.parametrize("number", NUMBERS)
def test_parts_are_what_axes_divide(number: int) -> None:
    program, fabric = numbered(number), uniform(MESH, UNIT)
    parts = Terms(program, fabric).parts
    for dim in VARYING:
        if dim not in program.dims:
            assert parts[dim] == 1
            continue
        for size in range(1, 13):
            at_size = sized(program, {**parts, dim: size})
            if size % parts[dim] == 0:
                price(at_size, fabric)
            else:
                with pytest.raises(ValueError, match="not divided evenly"):
                    price(at_size, fabric)


@few
@given(with_context, st.integers(0, 40), st.floats(0.0, 0.999), st.data())
def test_the_longest_context_that_fits(
    program: Program, times: int, more: float, data: st.DataObject
) -> None:
    """Memory for so many parts of M and a bit: one more does not fit."""
    terms = Terms(program, uniform(MESH, UNIT))
    point, part = data.draw(multiples(terms.parts)), terms.parts["M"]

    def taken(parts: int) -> int:
        return held_in(sized(program, {**point, "M": parts * part}), MESH, UNIT).bytes

    memory = taken(times) + int(more * (taken(times + 1) - taken(times)))
    assert taken(times) <= memory < taken(times + 1)
    found = terms.longest(arrays([point]), memory)
    assert times * part - 1e-6 <= found[0] < (times + 1) * part
    assert terms.longest(arrays([point]), taken(0) - 1) == 0


def test_without_a_context_it_is_endless() -> None:
    """Also where everything fits to the byte."""
    terms = Terms(example("ffn_2d_weight_stationary"), uniform(MESH, UNIT))
    sizes = arrays([terms.parts])
    exactly = float(terms.held(sizes)[0])
    assert terms.longest(sizes, exactly) == inf
    assert terms.longest(sizes, exactly - 1) == 0
    assert terms.longest_cached(sizes, 0.0) == inf


def test_the_longest_context_of_a_share_of_memory() -> None:
    """A place is 6 caches of 3 · 4 · 2 bytes: 144 of a sequence, one on a chip."""
    terms = Terms(read(ATTENDING), uniform({"x": 2}, UNIT))
    sizes = arrays([{"B": 2, "L": 4, "M": 1}, {"B": 4, "L": 4, "M": 1}])
    assert terms.longest_cached(sizes, 1440.0) == pytest.approx([10.0, 5.0])
    assert terms.longest_cached(sizes, 1440.0, share=0.2) == pytest.approx([30.0, 15.0])


@few
@given(some, st.integers(1, 12), st.data())
def test_the_most_sequences_for_which_there_is_room(
    program: Program, times: int, data: st.DataObject
) -> None:
    terms = Terms(program, uniform(MESH, UNIT))
    point = data.draw(multiples(terms.parts))
    wide = arrays([{**point, "B": times * terms.parts["B"]}])
    room = terms.stored("weights", wide) + terms.alive(wide)
    assert terms.widest(wide, room) == pytest.approx(times * terms.parts["B"])


# Sets of activations.

sums = st.lists(
    st.builds(
        lambda dims, coefficient: Monomial.of(sorted(dims), (), coefficient),
        st.sets(st.sampled_from("BLM")),
        st.integers(1, 6),
    ),
    max_size=4,
).map(lambda terms: Cost.of(*terms))


@given(st.lists(sums, min_size=1, max_size=8), st.data())
def test_what_is_left_out_is_never_the_most(costs: list[Cost], data: st.DataObject) -> None:
    kept = list(undominated(costs))
    sizes = data.draw(st.fixed_dictionaries({d: st.integers(1, 1000) for d in VARYING}))
    exact: dict[str, int | Fraction] = {**sizes}
    assert max(c.exact(exact) for c in kept) == max(c.exact(exact) for c in costs)
    for cost in kept:
        others = [other for other in kept if other is not cost]
        assert not any(below(cost, other) for other in others)


def below(one: Cost, other: Cost) -> bool:
    """Whether each term of the one is no more than that of the other."""
    known = {term.powers: term.coefficient for term in other.terms}
    return all(term.coefficient <= known.get(term.powers, 0) for term in one.terms)


def test_a_sum_at_arrays_of_sizes() -> None:
    cost = Cost.of(Monomial.of("BL", (), 2), Monomial.of("M"), Monomial.of(()))
    sizes = arrays([{"B": 1, "L": 2, "M": 3}, {"B": 4, "L": 5, "M": 6}])
    assert list(at(cost, sizes)) == [2 * 2 + 3 + 1, 2 * 20 + 6 + 1]
    assert np.shape(at(Cost(), sizes)) == (2,)
