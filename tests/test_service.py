"""Services at every point of a demand, against pairs of layouts that are priced one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from services import (
    CHIPS,
    WAYS,
    Point,
    demand,
    drawn_points,
    holding,
    layouts,
    machine,
    passing,
    service,
    up,
)

from layoutc.solver.serving.layouts import Layout
from layoutc.solver.serving.service import ALIKE, Served, longest_context, serve
from layoutc.solver.serving.sweep import WAVES

few = settings(max_examples=25, deadline=None)


points = st.lists(drawn_points, min_size=1, max_size=3)
memories = st.integers(1_000, 400_000)


# One pair at one point, in whole numbers.


@dataclass(frozen=True)
class Alone:
    """What a pair takes at a point."""

    decode: float
    prefill: float
    waves: int
    memory: int
    moving: float

    def request(self, point: Point) -> float:
        return self.prefill + point.generate * self.decode


def alone(pair: tuple[Layout, Layout], point: Point, memory: int, same: bool = True) -> Alone:
    decode, prefill = pair
    places = point.context + point.generate
    step = up(decode, point.batch, 1, places)
    if same:
        most = max(point.batch, point.prefill_batch)
        caches = holding(decode, up(decode, most, 1, places))[1]
    else:
        caches = holding(prefill, up(prefill, point.prefill_batch, 1, point.context))[1]
    most_waves = min(WAVES, point.prefill_batch)
    for waves in range(1, most_waves + 1):
        sizes = up(prefill, -(-point.prefill_batch // waves), point.prompt, point.context)
        taken, own = holding(prefill, sizes)
        if taken - own + caches <= memory:
            break
    once, moved = passing(prefill, sizes)
    each, between = passing(decode, step)
    held = max(holding(decode, step)[0], taken - own + caches)
    return Alone(each, waves * once, waves, held, point.generate * between + waves * moved)


def pairs() -> Iterator[tuple[tuple[int, int], tuple[Layout, Layout]]]:
    for number, decode in enumerate(layouts()):
        for own, prefill in enumerate(layouts()):
            yield (number, own), (decode, prefill)


@few
@given(points, memories, st.booleans())
def test_what_is_picked_fits_and_is_as_good_as_the_best(
    asked: list[Point], memory: int, same: bool
) -> None:
    found = serve(service(same=same), demand(*asked), machine(memory))
    for number, point in enumerate(asked):
        by = {at: alone(pair, point, memory, same) for at, pair in pairs()}
        own = by[int(found.decode.layout[number]), int(found.prefill.layout[number])]
        agrees(found, number, point, own, memory)
        fitting = [each for each in by.values() if each.memory <= memory]
        assert bool(found.fits[number]) == bool(fitting)
        if fitting:
            moves_least(own, fitting, point)
        else:
            assert own.memory == min(each.memory for each in by.values())


def moves_least(own: Alone, fitting: list[Alone], point: Point) -> bool:
    """Whether something is faster: not by more than what is alike, of which this moves least."""
    best = min(each.request(point) for each in fitting)
    alike = [e.moving for e in fitting if e.request(point) <= (1 + ALIKE) * best * (1 - 1e-9)]
    assert own.request(point) <= (1 + ALIKE) * best * (1 + 1e-9)
    assert own.moving <= min(alike) * (1 + 1e-9)
    return own.request(point) > best * (1 + 1e-9)


def test_what_moves_less_is_picked_where_times_are_alike() -> None:
    """One sequence over the batch is on one chip, and nothing moves. In parts its context is read
    faster; the longer it is, the more that gains, until it is worth the moves."""
    asked = [Point(1, 1, 4, 8, context) for context in range(4, 400, 4)]
    found = serve(service(), demand(*asked), machine(1 << 30))
    slower = []
    for number, point in enumerate(asked):
        by = {at: alone(pair, point, 1 << 30) for at, pair in pairs()}
        own = by[int(found.decode.layout[number]), int(found.prefill.layout[number])]
        slower.append(moves_least(own, list(by.values()), point))
    assert any(slower)
    assert not all(slower)


def agrees(found: Served, number: int, point: Point, own: Alone, memory: int) -> None:
    """What a service says of a point is what the pair takes."""
    assert found.decode.seconds[number] == pytest.approx(own.decode)
    assert found.prefill.seconds[number] == pytest.approx(own.prefill)
    assert found.request_seconds[number] == pytest.approx(own.request(point))
    assert found.memory[number] == own.memory
    assert found.fits[number] == (own.memory <= memory)
    assert found.prefill.waves[number] == own.waves


def test_no_layout_is_the_best_everywhere() -> None:
    """Or there would be nothing to pick."""
    asked = [
        Point(b, p, 16, g, context)
        for b in (1, 32) for p in (1, 16) for g in (1, 64) for context in (16, 4096)
    ]  # fmt: skip
    picked = set[tuple[int, int]]()
    for memory in (*range(10_000, 100_000, 4_000), 1 << 30):
        found = serve(service(), demand(*asked), machine(memory))
        pairs = zip(found.decode.layout, found.prefill.layout, found.fits, strict=True)
        picked |= {(int(one), int(other)) for one, other, fits in pairs if fits}
    assert {decode for decode, _ in picked} >= {1, 2}
    assert {prefill for _, prefill in picked} == {0, 1, 2}


def test_the_names_of_what_was_picked() -> None:
    found = serve(service(), demand(Point(8, 4, 16, 4, 16)), machine(1 << 30))
    prefill, decode = found.layouts(0)
    assert decode is layouts()[int(found.decode.layout[0])]
    assert prefill is layouts()[int(found.prefill.layout[0])]


# Replicas, chips and seconds.


@few
@given(points, st.integers(1, 4), memories)
def test_replicas_share_the_batch(asked: list[Point], replicas: int, memory: int) -> None:
    """Each has its part, rounded up, and the chips of all work for a request."""
    each = [
        replace(p, batch=-(-p.batch // replicas), prefill_batch=-(-p.prefill_batch // replicas))
        for p in asked
    ]
    found = serve(service(replicas), demand(*asked), machine(memory))
    one = serve(service(), demand(*each), machine(memory))
    assert list(found.request_seconds) == list(one.request_seconds)
    assert list(found.memory) == list(one.memory)
    assert list(found.longest) == list(one.longest)
    for number, point in enumerate(asked):
        prefill = CHIPS * replicas * found.prefill.seconds[number] / point.prefill_batch
        decode = CHIPS * replicas * point.generate * found.decode.seconds[number] / point.batch
        assert found.chip_seconds[number] == pytest.approx(prefill + decode)


def test_chips_of_a_service() -> None:
    assert service(replicas=3, stages=2).chips == 3 * 2 * CHIPS
    apart = service(replicas=3, stages=2, same=False)
    assert (apart.chips, apart.decode_chips, apart.prefill_chips) == (48, 24, 24)


# The longest context.


@few
@given(drawn_points, memories, st.sampled_from(range(len(WAYS))), st.integers(1, 4))
def test_the_longest_context_for_which_there_is_room(
    point: Point, memory: int, number: int, stages: int
) -> None:
    one, side = layouts()[number], service(stages=stages).decode
    found = float(longest_context(one, side, demand(point), memory)[0])
    if stages > 1:
        assert found >= longest_context(one, service().decode, demand(point), memory)
        return
    part = one.priced.terms.parts["M"]

    def taken(places: int) -> int:
        return holding(one, up(one, point.batch, 1, places))[0]

    most = int(found) + point.generate
    if found:
        assert most % part == 0
        assert taken(most) <= memory
    assert taken((max(most, point.generate) // part + 1) * part) > memory
