"""Pipeline stages, against a simulation in which micro-batches go through them one by one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import plain
from served import arrays, multiples, numbered, places, solved, some

from layoutc.dsl.program import Program, Repeat
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reached import IDEAL, Reached
from layoutc.solver.hardware.shapes import Shapes
from layoutc.solver.hardware.tier import Tier
from layoutc.solver.serving.passes import NAMES, Priced
from layoutc.solver.serving.stages import (
    Staged,
    Stages,
    between,
    boundary,
    fitting,
    layers_of,
    multiple,
    staged,
)

few = settings(max_examples=40, deadline=None)
FLAT = plain("flat", 4.0, 1 << 30, 1.0, 2.0)
SLOW = Reached(matmul=0.5, memory=0.25, network=0.5)
"""Nothing launches: what stages hand over takes no time then, if it has no bytes."""


def priced(layers: int, reached: Reached = SLOW) -> Priced:
    """A stack of so many layers, and nothing outside of it."""
    program = solved("stack", False, "bf16")
    items = tuple(replace(i, count=layers) if isinstance(i, Repeat) else i for i in program.items)
    program = replace(program, items=items)
    return Priced(program, places(program, FLAT)[0], FLAT, reached)


def piped(own: Priced, stages: int, micro: int, batch: int) -> Staged:
    """A batch in micro-batches, where handing over takes nothing."""
    sizes = arrays([{"B": batch, "L": 1, "M": 1}])
    found = staged(own, sizes, Stages(stages), np.array([float(micro)]))
    return replace(found, begun=0.0, handed=np.zeros(1))


@few
@given(some, st.booleans(), st.data())
def test_one_stage_is_the_pass(program: Program, decode: bool, data: st.DataObject) -> None:
    own = Priced(program, places(program, FLAT)[0], FLAT, SLOW)
    sizes = arrays([data.draw(multiples(own.terms.parts))])
    found = staged(own, sizes, Stages(1), np.ones(1)).at(SLOW, decode)
    assert found.seconds == own.parts(sizes).seconds
    assert not found.waiting.any()


@few
@given(st.integers(2, 6), st.integers(1, 24), st.integers(1, 3), st.integers(1, 3))
def test_stages_that_are_alike_fill_up(p: int, m: int, each: int, rows: int) -> None:
    """(m - 1 + p)/p times a pass of one of m micro-batches."""
    own = priced(layers=p * each)
    batch = m * rows * own.terms.parts["B"]
    once = own.parts(arrays([{"B": batch // m, "L": 1, "M": 1}])).seconds
    found = piped(own, p, m, batch).at(SLOW, decode=False)
    assert found.seconds == pytest.approx(once * (m - 1 + p) / p)


# Against a simulation.


def simulated(stages: list[float], micro: int, steps: int) -> list[float]:
    """When each step is over of `micro` micro-batches that go through stages in turn. A stage has
    one of them at a time, and the next step of one begins when its last is over."""
    free, done = [0.0] * len(stages), [0.0] * micro
    over = []
    for _ in range(steps):
        for one in range(micro):
            at = done[one]
            for number, seconds in enumerate(stages):
                free[number] = at = max(at, free[number]) + seconds
            done[one] = at
        over.append(max(done))
    return over


def divided(own: Priced, p: int, micro_batch: int) -> list[float]:
    """Seconds of a micro-batch in each of p stages, among which layers are divided evenly, as far
    as they can be."""
    layers = layers_of(own.program)
    work = own.work(arrays([{"B": micro_batch, "L": 1, "M": 1}]))
    counts = [layers // p + (number < layers % p) for number in range(p)]
    return [float(work.parts(SLOW, count / layers).seconds[0]) for count in counts]


sweeping = st.tuples(st.integers(2, 6), st.integers(0, 7)).flatmap(
    lambda drawn: st.tuples(st.just(drawn[0]), st.integers(1, 4 * drawn[0]), st.just(sum(drawn)))
)
"""Stages, up to four times as many micro-batches, and at least as many layers as stages."""


@few
@given(sweeping)
def test_prefill_is_what_is_simulated(drawn: tuple[int, int, int]) -> None:
    """Also of layers that the stages don't divide: the fullest stage is the slowest."""
    p, m, layers = drawn
    own = priced(layers)
    part = own.terms.parts["B"]
    (over,) = simulated(divided(own, p, part), m, steps=1)
    assert piped(own, p, m, m * part).at(SLOW, decode=False).seconds == pytest.approx(over)


@few
@given(sweeping)
def test_steps_of_decode_are_what_is_simulated(drawn: tuple[int, int, int]) -> None:
    """Each takes so long once the stages are full, after as many steps as there are stages."""
    p, m, layers = drawn
    own = priced(layers)
    part, steps = own.terms.parts["B"], 8
    over = simulated(divided(own, p, part), m, 2 * steps)
    each = (over[-1] - over[steps - 1]) / steps
    assert piped(own, p, m, m * part).at(SLOW, decode=True).seconds == pytest.approx(each)


@few
@given(sweeping, st.booleans())
def test_what_is_outside_is_at_most_paid_by_every_stage(
    drawn: tuple[int, int, int], decode: bool
) -> None:
    """A table and logits are the last stage's; the fullest is priced as if it had them."""
    p, m, layers = drawn
    stages = [float(layers // p + (number < layers % p)) for number in range(p)]
    outside = 0.5
    stages[-1] += outside
    steps = 16 if decode else 1
    over = simulated(stages, m, steps)
    each = (over[-1] - over[steps // 2 - 1]) / (steps // 2) if decode else over[0]
    full = -(-layers // p) + outside
    through = layers + outside
    model = max(through, m * full) if decode else through + (m - 1) * full
    assert each - 1e-9 <= model <= each + m * outside + 1e-9
    assert counted(p, m, layers, outside, decode) == pytest.approx(model)


def counted(p: int, m: int, layers: int, outside: float, decode: bool) -> float:
    """What is said of a program of so many layers of a second, and so much outside of them."""
    own = priced(layers, IDEAL)
    found = piped(own, p, m, m * own.terms.parts["B"])
    zero = found.work.block.scaled(0.0)
    work = replace(
        found.work,
        block=replace(zero, matmul=np.array([float(layers)])),
        outside=replace(zero, matmul=np.array([outside])),
    )
    return float(replace(found, work=work).at(IDEAL, decode).seconds[0])


# What is handed over.


def test_what_goes_from_stage_to_stage() -> None:
    """16 sequences in 4 micro-batches: 4 · 64 elements of bf16, 64 bytes from each of 8 chips. Over
    2 bytes/s that is 32 s, of which half is reached, and each hand-over is launched, too."""
    own = priced(6)
    (cost,) = boundary(own).terms
    assert cost.exact({"B": 4, "L": 1}) == 4 * 64 * 2
    sizes = arrays([{"B": 16, "L": 1, "M": 1}])
    reached = Reached(network=0.5, launch=5.0)
    found = staged(own, sizes, Stages(3), np.array([4.0]))
    assert found.handed == 32.0
    with_ = found.at(reached, decode=False)
    without = replace(found, handed=np.zeros(1)).at(replace(reached, launch=0.0), decode=False)
    launches = own.chains[0].launches
    assert with_.parts.communication - without.parts.communication == pytest.approx(2 * (5 + 64))
    assert with_.parts.latency - without.parts.latency == pytest.approx(5 * launches)
    whole = staged(own, sizes, Stages(1), np.array([1.0])).at(reached, decode=False)
    assert whole.parts.communication == own.work(sizes).parts(reached).communication


def test_stages_are_linked_by_what_is_outside_of_them() -> None:
    node = Tier("NVLink", "switch", 100.0, start=1.0, shapes=Shapes(chips=8))
    outer = Tier("IB", "switch", 10.0, start=2.0)
    nodes = Machine("nodes", {"bf16": 1.0}, 1 << 30, 1.0, (node, outer))
    assert between(nodes, 4) == node
    assert between(nodes, 8) == between(nodes, 16) == outer
    assert between(load_machine("tpu-v4"), 64).name == "ICI"


# Shares and sizes.


@given(st.integers(1, 9), st.integers(1, 40))
def test_the_fullest_stage(stages: int, layers: int) -> None:
    program = stack_of(layers)
    assert layers_of(program) == layers
    share = Stages(stages).share(program)
    assert round(share * layers) == -(-layers // stages)


@cache
def stack_of(layers: int) -> Program:
    return priced(layers).program


def test_a_layer_alone_is_one_layer() -> None:
    assert layers_of(numbered(0)) == 1


@given(st.integers(0, 10**6), st.integers(1, 512))
def test_sizes_that_axes_divide(size: int, of: int) -> None:
    up, down = (rounded(np.array([float(size)]), of)[0] for rounded in (multiple, fitting))
    assert (up, down) == (-(-size // of) * of, size // of * of)
    assert fitting(np.array([size * of * (1 - 1e-15)]), of) == size * of


@few
@given(st.integers(1, 6), st.integers(1, 8), st.booleans())
def test_where_time_goes_adds_up(p: int, m: int, decode: bool) -> None:
    own = priced(12)
    found = piped(own, p, m, 64).at(SLOW, decode)
    assert found.seconds == pytest.approx(found.parts.seconds + found.waiting)
    assert (found.waiting >= 0).all()
    assert all((getattr(found.parts, name) >= 0).all() for name in NAMES)
