"""Collectives where a torus is used along fewer axes at once, and machines of which shares are
reached."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fabrics import tiers
from hypothesis import given
from hypothesis import strategies as st

from layoutc.dsl.operation import MoveKind
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.reached import IDEAL, Reached
from layoutc.solver.hardware.reaching import paced, reaching
from layoutc.solver.hardware.tier import Tier
from layoutc.solver.hardware.timing import Run, Stage, in_turn, latency, rate

GATHERS: tuple[MoveKind, ...] = ("all-gather", "reduce-scatter", "all-reduce")
OTHERS: tuple[MoveKind, ...] = ("all-to-all", "permute", "slice")

shaped = tiers(("torus", "line"))
runs = st.lists(st.builds(Run, st.integers(2, 8), st.integers(1, 3)), min_size=1, max_size=3)


@st.composite
def stages(draw: st.DrawFn) -> Stage:
    """Of a torus some runs are rings."""
    tier, found = draw(shaped), draw(runs)
    rings = [draw(st.booleans()) and tier.topology == "torus" for _ in found]
    closed = (replace(run, ring=ring) for run, ring in zip(found, rings, strict=True))
    return Stage(tier, tuple(closed))


def at_once(stage: Stage, most: int) -> Stage:
    return Stage(replace(stage.tier, at_once=most), stage.runs)


@given(stages(), st.sampled_from(GATHERS))
def test_axes_one_after_another_are_gathers_one_after_another(stage: Stage, kind: MoveKind) -> None:
    """Of one byte: the last brings (K-1)/K of it, the one before that share of 1/K, and so on; the
    fastest comes last, when there is most."""
    fastest = sorted(stage.runs, key=stage.bandwidth, reverse=True)
    seconds, there = 0.0, 1.0
    for run in fastest:
        seconds += there * rate(kind, [Stage(stage.tier, (run,))])
        there /= run.size
    assert rate(kind, [at_once(stage, 1)]) == pytest.approx(seconds)


@given(stages(), st.integers(0, 3), st.sampled_from((*GATHERS, *OTHERS)))
def test_as_many_as_there_are_is_all(stage: Stage, more: int, kind: MoveKind) -> None:
    every = at_once(stage, len(stage.runs) + more)
    assert rate(kind, [every]) == rate(kind, [at_once(stage, 0)])
    assert rate(kind, [every], large=True) == rate(kind, [at_once(stage, 0)], large=True)


@given(stages(), st.integers(1, 3), st.sampled_from((*GATHERS, *OTHERS)))
def test_more_at_once_is_no_slower(stage: Stage, most: int, kind: MoveKind) -> None:
    """Nothing but gathers has turns. Each turn starts; hops follow one another as ever."""
    fewer, more = at_once(stage, most), at_once(stage, most + 1)
    if kind in OTHERS:
        assert rate(kind, [fewer]) == rate(kind, [more])
    elif most == 1 or len(stage.runs) <= most:
        assert rate(kind, [more]) <= rate(kind, [fewer]) * (1 + 1e-12)
    if kind in OTHERS:
        assert latency(kind, [fewer]) == latency(kind, [more])
    else:
        starts = [len(list(in_turn([one]))) for one in (fewer, more)]
        less = (starts[0] - starts[1]) * stage.tier.start
        assert latency(kind, [fewer]) - latency(kind, [more]) == pytest.approx(less)


@given(stages(), st.integers(0, 3))
def test_turns_have_every_run_once(stage: Stage, most: int) -> None:
    turns = list(in_turn([at_once(stage, most)]))
    assert sorted(map(str, stage.runs)) == sorted(str(r) for turn in turns for r in turn.runs)
    assert all(len(turn.runs) <= (most or len(stage.runs)) for turn in turns)


def test_two_rings_of_four_in_turn() -> None:
    """Links of 1 byte/s: over both, 15/16 of a byte at 4 bytes/s. In turn, 3/4 · 1/4 of it and then
    3/4, at 2 bytes/s: twice as long."""
    both = Stage(Tier("ICI", "torus", 1.0), (Run(4, ring=True), Run(4, ring=True)))
    assert rate("all-gather", [both]) == 15 / 64
    assert rate("all-gather", [at_once(both, 1)]) == 15 / 32


# What is reached.


REACHED = Reached(0.5, 0.4, 0.8, 0.25, launch=2e-6, latency=3.0, at_once=1)


@pytest.mark.parametrize("name", ["tpu-v4", "h100"])
def test_a_machine_of_which_shares_are_reached(name: str) -> None:
    machine = load_machine(name)
    used = reaching(machine, REACHED)
    assert used.peak_flops == 0.5 * machine.peak_flops
    assert used.memory_bandwidth == 0.8 * machine.memory_bandwidth
    for tier, slower in zip(machine.tiers, used.tiers, strict=True):
        assert slower.bandwidth == 0.25 * tier.bandwidth
        assert slower.start == 3 * tier.start + 2e-6
        assert slower.hop == 3 * tier.hop
        assert slower.at_once == (1 if tier.shaped else 0)


def test_all_that_is_reached_leaves_a_machine_as_it_is() -> None:
    for name in ("tpu-v4", "tpu-v4-flat", "h100"):
        machine = load_machine(name)
        assert paced(machine, IDEAL) == machine
        assert reaching(machine, IDEAL) == machine


def test_a_flat_network_has_nothing_to_start() -> None:
    machine = reaching(load_machine("tpu-v4-flat"), REACHED)
    assert machine.flat
    assert machine.prompt


def test_constants_by_name() -> None:
    assert IDEAL.with_constants(REACHED.constants) == replace(REACHED, at_once=0)
