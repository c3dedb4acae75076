"""The table of a sweep: fronts, and the best within limits, against looking at every row."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import plain

from layoutc.solver.hardware.machine import Machine
from layoutc.solver.serving.demand import Demand
from layoutc.solver.serving.passes import NAMES, Parts
from layoutc.solver.serving.service import Served, Service
from layoutc.solver.serving.stages import Stages
from layoutc.solver.serving.study import Columns, Group, Study, columns, dollars, front
from layoutc.solver.serving.sweep import Run, Side

MACHINE = plain("flat", 100.0, 1 << 30, 1.0, 1.0)
PARAMETERS = 7

Row = tuple[float, float, bool]
rows = st.lists(
    st.tuples(st.integers(0, 6).map(float), st.integers(0, 6).map(float), st.booleans()),
    min_size=1, max_size=12,
)  # fmt: skip


@given(rows)
def test_the_front_is_where_nothing_is_better(found: list[Row]) -> None:
    latency, cost, among = (np.array(column) for column in zip(*found, strict=True))
    flags = front(latency, cost, among)
    for number, (slow, dear, there) in enumerate(found):
        others = [(s, d) for s, d, fits in found if fits]
        beaten = any((s <= slow and d < dear) or (s < slow and d <= dear) for s, d in others)
        assert flags[number] == (there and not beaten)


# Ways to serve, without layouts.


def run(seconds: list[float]) -> Run:
    """A phase that takes so long at each point."""
    zeros, ones = np.zeros(len(seconds)), np.ones(len(seconds), dtype=int)
    parts = Parts(*(zeros for _ in NAMES))
    return Run(0 * ones, np.array(seconds), parts, zeros, ones, ones, zeros, zeros)


def way(
    demand: Demand, decode: list[float], prefill: list[float], memory: list[float],
    fits: list[bool], chips: int = 4, replicas: int = 1,
) -> Served:  # fmt: skip
    side = Side(chips, Stages(), ())
    return Served(
        Service("bf16", replicas, side, {0: side}), demand,
        run(decode), run(prefill), np.array(memory), np.zeros(len(demand)), np.array(fits),
        np.zeros(len(demand)),
    )  # fmt: skip


def demand(*points: tuple[int, int, int, int]) -> Demand:
    """Batches of decode and prefill, tokens in and out."""
    batch, prefill, prompt, generate = (np.array(column) for column in zip(*points, strict=True))
    return Demand(batch, prefill, prompt, generate, prompt)


seconds = st.integers(1, 5).map(float)


@st.composite
def ways(draw: st.DrawFn, asked: Demand) -> Served:
    """A way to serve a demand."""
    size = len(asked)
    decode, prefill, memory = (
        draw(st.lists(seconds, min_size=size, max_size=size)) for _ in range(3)
    )
    fits = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    chips, replicas = draw(st.sampled_from((1, 2, 8))), draw(st.integers(1, 3))
    return way(asked, decode, prefill, memory, fits, chips, replicas)


@st.composite
def studies(draw: st.DrawFn) -> Study:
    """A few groups of ways."""
    point = st.tuples(*[st.integers(1, 9)] * 3, st.integers(0, 9))
    groups = []
    for _ in range(draw(st.integers(1, 3))):
        asked = demand(*draw(st.lists(point, min_size=1, max_size=4)))
        groups.append(Group(tuple(draw(st.lists(ways(asked), min_size=1, max_size=3)))))
    return Study(groups, PARAMETERS, MACHINE)


@given(studies())
def test_a_row_has_the_best_way_of_its_group(study: Study) -> None:
    """What fits, and of that the soonest; where nothing does, the smallest."""
    row = 0
    for group in study.groups:
        for point in range(len(group.ways[0].demand)):
            found, at = study.served(row)
            assert at == point
            assert any(found is each for each in group.ways)
            fitting = [w for w in group.ways if w.fits[point]]
            if fitting:
                assert found.fits[point]
                least = min(w.request_seconds[point] for w in fitting)
                assert found.request_seconds[point] == least
            else:
                assert found.memory[point] == min(w.memory[point] for w in group.ways)
            alone = columns(found, PARAMETERS, MACHINE)
            for each in fields(Columns):
                ours = getattr(study.columns, each.name)[row]
                assert ours == getattr(alone, each.name)[point]
            row += 1
    assert len(study) == row


@given(studies(), st.integers(0, 60).map(float))
def test_the_best_within_a_limit(study: Study, limit: float) -> None:
    found = study.columns
    every = range(len(study))
    soon = [r for r in every if found.fits[r] and found.request_seconds[r] <= limit]
    cheapest = study.cheapest(found.request_seconds, limit)
    assert (cheapest is None) == (not soon)
    if cheapest is not None:
        assert cheapest in soon
        assert found.per_token[cheapest] == min(found.per_token[r] for r in soon)
    cheap = [r for r in every if found.fits[r] and found.per_token[r] <= limit]
    fastest = study.fastest(found.step_seconds, limit)
    assert (fastest is None) == (not cheap)
    if fastest is not None:
        assert fastest in cheap
        assert found.step_seconds[fastest] == min(found.step_seconds[r] for r in cheap)


@given(studies())
def test_the_front_of_a_study_is_had_in_order(study: Study) -> None:
    found = study.columns
    listed = list(study.rows(study.front))
    assert sorted(listed) == list(np.flatnonzero(study.front))
    assert all(found.fits[row] for row in listed)
    times = [found.request_seconds[row] for row in listed]
    costs = [found.per_token[row] for row in listed]
    assert times == sorted(times)
    assert costs == sorted(costs, reverse=True)


# By hand.


def test_the_columns_of_a_row() -> None:
    """8 chips (2 replicas of 4) of 100 FLOP/s. Prefill: 6 prompts of 10 tokens, 14 operations each
    for 7 parameters, are 840, of 8 · 100 · 3 s. A step: 4 · 14 of 8 · 100 · 0.5 s. A request has
    8 · 3 / 6 chip-seconds of prefill and 20 · 8 · 0.5 / 4 of decode, in all 24, for 20 tokens."""
    asked = demand((4, 6, 10, 20))
    found = columns(way(asked, [0.5], [3.0], [9.0], [True], replicas=2), PARAMETERS, MACHINE)
    assert found.decode_seconds == 10.0
    assert found.request_seconds == 13.0
    assert found.prefill_mfu == pytest.approx(840 / 2400)
    assert found.decode_mfu == pytest.approx(56 / 400)
    assert found.per_token == pytest.approx(24 / 20)
    assert found.tokens_per_second == 8.0


def test_without_an_answer_tokens_of_the_prompt_count() -> None:
    """4 · 3 / 6 chip-seconds for 10 tokens."""
    found = columns(way(demand((4, 6, 10, 0)), [1.0], [3.0], [9.0], [True]), PARAMETERS, MACHINE)
    assert found.per_token == pytest.approx(0.2)


def test_shares_are_of_the_data_sheet() -> None:
    """A machine's peak has its efficiency taken in: of 200 FLOP/s, half is had."""
    halved = Machine("h", {"bf16": 100.0}, 1, 1.0, MACHINE.tiers, efficiencies=(0.5, 1.0))
    served = way(demand((4, 6, 10, 20)), [0.5], [3.0], [9.0], [True])
    whole, half = (columns(served, PARAMETERS, machine) for machine in (MACHINE, halved))
    assert half.prefill_mfu == pytest.approx(whole.prefill_mfu / 2)
    assert half.decode_mfu == pytest.approx(whole.decode_mfu / 2)


def test_more_operations_than_an_integer_has_room_for() -> None:
    """2 · 540e9 · 512 · 131,072 are 7.2e19."""
    served = way(demand((1, 512, 131_072, 1)), [1.0], [1.0], [1.0], [True])
    found = columns(served, 540 * 10**9, MACHINE)
    assert found.prefill_mfu == pytest.approx(2 * 540e9 * 512 * 131_072 / 400)


def test_dollars_for_a_million_tokens() -> None:
    """36 ms of a chip that costs 3 dollars an hour: a hundredth of 3 dollars a thousand."""
    assert dollars(0.036, 3.0) == pytest.approx(30.0)
