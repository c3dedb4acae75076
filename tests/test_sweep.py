"""Phases at every point of a sweep: waves of prefill, and micro-batches of stages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from services import (
    REACHED,
    WAYS,
    Point,
    demand,
    drawn_points,
    holding,
    layouts,
    passing,
    service,
    up,
)

from layoutc.solver.serving.stages import staged
from layoutc.solver.serving.sweep import WAVES, decoded, prefilled

few = settings(max_examples=25, deadline=None)


# Waves.


@few
@given(drawn_points, st.floats(0.0, 1.2), st.sampled_from(range(len(WAYS))))
def test_the_fewest_waves_for_which_there_is_room(point: Point, share: float, number: int) -> None:
    one, side = layouts()[number], service().decode

    def besides(waves: int) -> int:
        sizes = up(one, -(-point.prefill_batch // waves), point.prompt, point.context)
        taken, caches = holding(one, sizes)
        return taken - caches

    room = int(share * besides(1))
    found = prefilled(side, demand(point), number, np.array([float(room)]))
    most = min(WAVES, point.prefill_batch)
    enough = [waves for waves in range(1, most + 1) if besides(waves) <= room]
    assert found.waves == (min(enough) if enough else most)
    assert found.held == besides(int(found.waves[0]))
    sizes = up(one, -(-point.prefill_batch // int(found.waves[0])), point.prompt, point.context)
    once, _ = passing(one, sizes)
    assert found.seconds == pytest.approx(found.waves * once)
    assert found.seconds == pytest.approx(found.parts.seconds + found.waiting)


def test_three_prompts_take_three_waves_at_most() -> None:
    found = prefilled(service().decode, demand(Point(3, 3, 8, 1, 8)), 1, np.zeros(1))
    assert found.waves == 3


# Stages.


@few
@given(drawn_points, st.integers(2, 4), st.sampled_from(range(len(WAYS))), st.booleans())
def test_the_best_number_of_micro_batches(
    point: Point, stages: int, number: int, decode: bool
) -> None:
    """Of powers of two, up to four for each stage, and no more than there are sequences."""
    one, side = layouts()[number], service(stages=stages).decode
    held = up(one, point.batch, 1, point.context + point.generate)
    prompts = up(one, point.prefill_batch, point.prompt, point.context)
    sizes = {d: np.array([float(n)]) for d, n in (held if decode else prompts).items()}
    tries = [float(min(n, sizes["B"][0])) for n in (1, 2, 4, 8, 16) if n <= 4 * stages]
    by = {
        micro: staged(one.priced, sizes, side.stages, np.array([micro])).at(REACHED, decode)
        for micro in tries
    }
    found = (
        decoded(side, demand(point), number)
        if decode
        else prefilled(side, demand(point), number, np.array([np.inf]))
    )
    assert found.seconds == min(float(each.seconds[0]) for each in by.values())
    assert found.seconds == by[float(found.micro[0])].seconds
    fixed = replace(side, micro=2)
    assert decoded(fixed, demand(point), number).micro == min(2, up(one, point.batch, 1, 1)["B"])
