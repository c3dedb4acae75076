"""Figures fitted to timings of machines whose figures are known, and their files."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timings import PEAK, READ, Known, seconds, timings

from layoutc.solver.hardware.catalogue import catalogue, load_machine
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.fit import Calibration, calibrated
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.placement import Part, Placement
from layoutc.solver.hardware.reading import read_machine
from layoutc.solver.hardware.robust import Design, fitted
from layoutc.solver.hardware.samples import MOVES, Samples, Seen, group
from layoutc.solver.hardware.tier import Wraparound
from layoutc.solver.hardware.writing import write_machine

SWITCH = [Known(Seen("NVLink", "switch", (8,)), 4e11, 2e-6, 9e-6)]
ON_SWITCH = ["8", "4", "4@2", "2", "2@4"]
TORUS = [Known(Seen("ICI", "torus", (4, 4, 8), Wraparound(4, together=True)), 45e9, 5e-7, 2e-6)]
ON_TORUS = ["4x1x1", "1x4x1", "1x1x8", "4x4x1", "4x4x8"]
TIERS = [
    Known(Seen("NVLink", "switch", (8,)), 4e11, 1e-6, 5e-6),
    Known(Seen("InfiniBand", "switch", (4,)), 5e10, 3e-6, 2e-5),
]
ON_TIERS = ["8*1", "4*1", "2*1", "1*4", "1*2", "8*4", "8*2"]


def fit(samples: Samples) -> Calibration:
    found = calibrated(samples, "mine")
    assert isinstance(found, Calibration), found
    return found


def holds(found: Machine, tiers: Sequence[Known], within: float, of_hops: float) -> None:
    for tier, known in zip(found.tiers, tiers, strict=True):
        assert tier.bandwidth == pytest.approx(known.bandwidth, rel=within)
        assert tier.start == pytest.approx(known.start, rel=of_hops)
        assert tier.hop == pytest.approx(known.hop, rel=of_hops)


@pytest.mark.parametrize(
    ("tiers", "groups"),
    [(SWITCH, ON_SWITCH), (TORUS, ON_TORUS), (TIERS, ON_TIERS)],
    ids=["switch", "torus", "two tiers"],
)
def test_without_noise_figures_are_found_exactly(
    tiers: Sequence[Known], groups: Sequence[str]
) -> None:
    samples, _ = timings(tiers, groups)
    found = fit(samples).machine
    holds(found, tiers, 1e-3, 1e-3)
    assert found.peaks == {"bf16": pytest.approx(PEAK, rel=1e-3)}
    assert found.memory_bandwidth == pytest.approx(READ, rel=1e-3)


@settings(max_examples=25, deadline=None)
@given(
    bandwidth=st.floats(1e8, 1e12),
    hop=st.floats(2e-7, 2e-5),
    start=st.floats(2e-7, 1e-4),
    seed=st.integers(0, 2**16),
)
def test_noise_and_outliers_leave_a_switch_known(
    bandwidth: float, hop: float, start: float, seed: int
) -> None:
    """Bandwidth and start-up are only as well known as some message shows them."""
    tiers = [Known(Seen("NVLink", "switch", (8,)), bandwidth, hop, start)]
    samples, wrong = timings(tiers, ON_SWITCH, noise=0.05, seed=seed, wrong=8)
    found = fit(samples)
    (tier,) = found.machine.tiers
    where = group("8")
    assert where
    # Each message as it was is predicted, however its time is made up.
    for bytes_ in (4.0**5, 4.0**9, 4.0**13):
        predicted = tier.start + 3 * tier.hop + 7 / 8 * bytes_ / tier.bandwidth
        assert predicted == pytest.approx(seconds(tiers, "all-gather", where, bytes_), rel=0.1)
    assert {one.sample.point for one in found.outliers} == wrong


@pytest.mark.parametrize(
    ("tiers", "groups"), [(TORUS, ON_TORUS), (TIERS, ON_TIERS)], ids=["torus", "two tiers"]
)
def test_noise_and_outliers_leave_shaped_networks_known(
    tiers: Sequence[Known], groups: Sequence[str]
) -> None:
    samples, wrong = timings(tiers, groups, noise=0.05, seed=1, wrong=10)
    found = fit(samples)
    holds(found.machine, tiers, 0.1, 0.25)
    assert {one.sample.point for one in found.outliers} == wrong


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """95% intervals, of 30 draws of three figures each: 90% of them, or more."""
    (known,) = SWITCH
    truth = {"bandwidth": known.bandwidth, "hop": known.hop, "start": known.start}
    held = []
    for seed in range(30):
        samples, _ = timings(SWITCH, ON_SWITCH, noise=0.05, seed=seed)
        intervals = fit(samples).intervals
        ends = {key: intervals[f"NVLink.{key}"] for key in truth}
        held += [low <= truth[key] <= high for key, (low, high) in ends.items()]
    assert np.mean(held) >= 0.9


def test_what_is_fitted_is_what_is_priced() -> None:
    """The prediction for a sample is what a fabric of the fitted machine says."""
    samples, _ = timings(TIERS, ON_TIERS, noise=0.2, seed=3)
    found = fit(samples)
    parts = (Part(1, 0, 4, 1, 4, False), Part(0, 0, 8, 1, 8, False))
    fabric = Fabric(found.machine, {"x": 32}, Placement(((8,), (4,)), {"x": parts}))
    for one in found.judged:
        kind = one.sample.kind
        if kind in MOVES and one.sample.group == group("8*4"):
            priced = fabric.rate(kind, "x").seconds(one.sample.work)
            assert one.predicted == pytest.approx(priced, rel=1e-3)


def test_a_kind_that_the_model_misses_is_no_outlier() -> None:
    """All-to-alls take three times as long as they should: they count, and the errors show it."""
    samples, _ = timings(SWITCH, ON_SWITCH, noise=0.03)
    slower = tuple(
        type(s)(s.kind, s.group, s.dtype, s.work, 3 * s.seconds) if s.kind == "all-to-all" else s
        for s in samples.samples
    )
    found = fit(Samples(samples.setting, slower))
    assert not any(one.sample.kind == "all-to-all" for one in found.outliers)
    assert max(one.factor for one in found.judged) > 2


def test_rivals_count_by_the_slowest() -> None:
    columns = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    rivals = np.array([[False] * 2] * 3 + [[True] * 2])
    found = fitted(Design(columns, rivals), np.array([2.0, 5.0, 7.0, 5.0]), ["a", "b", "c", "d"])
    assert [e.value for e in found.estimates] == pytest.approx([2.0, 5.0], rel=1e-6)


def test_figures_say_what_they_were_fitted_on() -> None:
    samples, _ = timings(SWITCH, ON_SWITCH, noise=0.05, wrong=2)
    figures = {figure.name: figure for figure in fit(samples).machine.figures}
    hop = figures["NVLink.hop"]
    assert hop.source == "measured with layoutc calibrate on 8 × chip (none), JAX 1.2, 2030-01-31"
    assert hop.fitted.startswith("on 223 points from 1.02 kB to 67.1 MB: median error 3%, worst ")
    assert "95% interval 1." in hop.fitted


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (("matmul", *MOVES), "reading memory was not timed at two sizes"),
        (("memory", *MOVES), "there are no matmuls in bf16"),
        (("matmul", "memory"), "moves through NVLink were not timed at two sizes"),
    ],
)
def test_what_is_missing_is_named(kept: Sequence[str], said: str) -> None:
    samples, _ = timings(SWITCH, ON_SWITCH)
    few = tuple(sample for sample in samples.samples if sample.kind in kept)
    found = calibrated(Samples(samples.setting, few), "mine")
    assert isinstance(found, list)
    assert [diagnostic.message for diagnostic in found] == [said]


def test_what_takes_as_long_whatever_its_size_has_no_rate() -> None:
    samples, _ = timings(SWITCH, ON_SWITCH)
    flat = tuple(
        type(s)(s.kind, s.group, s.dtype, s.work, 1e-3) if s.kind in MOVES else s
        for s in samples.samples
    )
    found = calibrated(Samples(samples.setting, flat), "mine")
    assert isinstance(found, list)
    assert found[0].message == "moves through NVLink take as long whatever their size"


def test_one_chip_has_no_network() -> None:
    alone = [Known(Seen("NVLink", "switch", (1,)), 1.0, 0.0, 0.0)]
    found = fit(timings(alone, [])[0]).machine
    assert found.flat
    assert read_machine(write_machine(found)) == found


# Files.


@pytest.mark.parametrize("name", catalogue())
def test_a_machine_is_read_back_as_it_was_written(name: str) -> None:
    machine = load_machine(name)
    again = read_machine(write_machine(machine))
    assert isinstance(again, Machine)
    assert again == machine
    assert again.figures == machine.figures


@pytest.mark.parametrize(("tiers", "groups"), [(TORUS, ON_TORUS), (TIERS, ON_TIERS)])
def test_a_fitted_machine_too(tiers: Sequence[Known], groups: Sequence[str]) -> None:
    machine = fit(timings(tiers, groups, noise=0.1)[0]).machine
    again = read_machine(write_machine(machine))
    assert isinstance(again, Machine)
    assert again == machine
    assert again.figures == machine.figures
