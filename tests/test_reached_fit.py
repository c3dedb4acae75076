"""Constants that are fitted: known ones are found again, noise and outliers do what they should,
and what timings don't tell is left as it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from timed import measured, program, timings

from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.reached import IDEAL, SHARES, Reached
from layoutc.solver.serving.fit import START, Fit, axes_to_try, fitted, fitted_on
from layoutc.solver.serving.prepared import Unrunnable, prepared
from layoutc.solver.serving.runs import Run, on, together

KNOWN = {
    "tpu-v4": Reached(0.7, 0.25, 0.85, 0.6, 12e-6, 2.5, at_once=1),
    "h100": Reached(0.6, 0.3, 0.7, 0.5, 30e-6, 1.5),
}


@pytest.fixture(scope="module", params=KNOWN)
def case(request: pytest.FixtureRequest) -> tuple[list[Run], Reached, Reached]:
    """Runs of a small model on a machine, the constants that are to be found, and a start."""
    known = KNOWN[request.param]
    start = START.with_constants({"at_once": known.at_once})
    runs = prepared(timings(), program, load_machine(request.param), start)
    return on(runs, known), known, start


@pytest.fixture(scope="module")
def noisy(case: tuple[list[Run], Reached, Reached]) -> list[Fit]:
    """Fits on timings that are each off by about 5 %."""
    runs, known, start = case
    return [fitted_on(measured(runs, known, 0.05, seed), start, IDEAL) for seed in range(3)]


@pytest.fixture(scope="module")
def torus() -> list[Run]:
    """Those of the torus alone."""
    known = KNOWN["tpu-v4"]
    return on(prepared(timings(), program, load_machine("tpu-v4"), known), known)


def off(fit: Fit, known: Reached) -> dict[str, float]:
    """How far each constant is from the known one, as a share of that."""
    return {n: abs(v / known.constants[n] - 1) for n, v in fit.reached.constants.items()}


def with_constants(constants: dict[str, float]) -> Reached:
    return KNOWN["tpu-v4"].with_constants(constants)


def fit_of(runs: Sequence[Run], had: Reached = IDEAL) -> Fit:
    return fitted_on(runs, START.with_constants({"at_once": 1}), had)


# What is found.


def test_known_constants_are_found(case: tuple[list[Run], Reached, Reached]) -> None:
    runs, known, start = case
    fit = fitted_on(measured(runs, known), start, IDEAL)
    assert max(off(fit, known).values()) < 0.01
    assert fit.mean_error < 1e-4
    assert all(one.told for one in fit.estimates.values())
    assert fit.reached.low <= 1 <= fit.reached.high
    assert fit.reached.at_once == known.at_once


def test_noise_is_the_error_and_more_where_left_out(noisy: list[Fit]) -> None:
    """Of errors of 5 % the constants take up a part, and a timing that is left out none."""
    assert 0.015 < np.mean([fit.mean_error for fit in noisy]) < 0.05
    assert 0.03 < np.mean([fit.mean_left_out for fit in noisy]) < 0.09
    for fit in noisy:
        assert fit.mean_left_out >= fit.mean_error
        assert abs(fit.left_out_errors[fit.worst]) >= abs(fit.errors[fit.worst])
        assert all(0 < fit.reached.constants[share] <= 1 for share in SHARES)


def test_intervals_hold_the_known_constants(
    case: tuple[list[Run], Reached, Reached], noisy: list[Fit]
) -> None:
    """19 in 20 of them; of those of a few fits nearly all."""
    _, known, _ = case
    held = [
        one.low <= known.constants[name] <= one.high
        for fit in noisy
        for name, one in fit.estimates.items()
    ]
    assert np.mean(held) > 0.8
    widths = [fit.estimates["launch"].high - fit.estimates["launch"].low for fit in noisy]
    assert max(widths) < 2 * known.launch


def test_an_outlier_is_seen_and_moves_little(torus: list[Run]) -> None:
    known = KNOWN["tpu-v4"]
    runs = measured(torus, known, 0.01)
    plain = fit_of(runs)
    slow = replace(runs[3].timing, seconds=3 * runs[3].timing.seconds)
    fit = fit_of([*runs[:3], replace(runs[3], timing=slow), *runs[4:]])
    assert fit.worst == 3
    assert fit.errors[3] == pytest.approx(-2 / 3, abs=0.1)
    kept = np.delete(np.abs(fit.errors), 3)
    assert np.median(kept) < 0.05
    for name in ("matmul", "attention", "network", "launch"):
        assert fit.reached.constants[name] == pytest.approx(plain.reached.constants[name], rel=0.1)


def test_shares_are_at_most_all(torus: list[Run]) -> None:
    """Timings faster than the data sheet allows are off, and no share is more than 1."""
    ideal = with_constants(IDEAL.constants)
    fast = measured(torus, ideal)
    runs = [replace(r, timing=replace(r.timing, seconds=0.8 * r.timing.seconds)) for r in fast]
    fit = fit_of(runs)
    assert all(fit.reached.constants[share] <= 1 for share in SHARES)
    assert fit.reached.launch >= 0
    assert fit.errors.mean() > 0.1


# What isn't told.


def test_what_timings_don_t_tell_stays(torus: list[Run]) -> None:
    """Steps of decode multiply too little for the peak to matter: weights are read meanwhile."""
    known, had = KNOWN["tpu-v4"], with_constants({"matmul": 0.123})
    steps = [r for r in torus if r.timing.phase == "decode" and r.timing.batch < 64]
    fit = fit_of(measured(steps, known), had)
    matmul = fit.estimates["matmul"]
    assert not matmul.told
    assert matmul.value == fit.reached.matmul == 0.123
    assert (matmul.low, matmul.high) == (-inf, inf)
    assert np.all(np.abs(fit.errors) < 0.01)


def test_two_timings_tell_little(torus: list[Run]) -> None:
    """Four constants at least are as they were, and none is given an interval."""
    known = KNOWN["tpu-v4"]
    fit = fit_of(measured(torus, known)[:2], known)
    assert sum(not one.told for one in fit.estimates.values()) >= 4
    assert max(off(fit, known).values()) < 0.2


def test_an_old_value_that_can_t_be_is_not_kept(torus: list[Run]) -> None:
    """Long prefills don't tell the share of the memory, but that it isn't so small as that."""
    known, had = KNOWN["tpu-v4"], with_constants({"memory": 0.02})
    prefills = [r for r in torus if r.timing.phase == "prefill"]
    long = [r for r in prefills if r.timing.batch * r.timing.prompt >= 2048]
    fit = fit_of(measured(long, known), had)
    assert fit.mean_error < 0.01
    assert fit.reached.memory > 0.05


# Layouts.


def test_axes_at_once_are_found_with_the_layouts(torus: list[Run]) -> None:
    """From the timings alone, of layouts that were found at other constants."""
    known, machine = KNOWN["tpu-v4"], load_machine("tpu-v4")
    assert list(axes_to_try(machine)) == [0, 1, 2]
    assert list(axes_to_try(load_machine("h100"))) == [0]
    seen = list[int]()

    def watch(values: list[int]) -> list[int]:
        seen.append(len(values))
        return values

    chosen = [r for r in measured(torus, known) if r.timing.chips == 4]
    fits = fitted([r.timing for r in chosen], program, machine, IDEAL, (0, 1), watch)
    assert [fit.reached.at_once for fit in fits] == [1, 0]
    assert max(off(fits[0], known).values()) < 0.01
    assert fits[0].mean_left_out < fits[1].mean_left_out
    assert seen == [4, 4, 4]


def test_a_run_takes_what_its_passes_take(torus: list[Run]) -> None:
    """Side by side or one by one; with as many steps as were made."""
    known = KNOWN["tpu-v4"]
    found = together(torus).seconds(known)
    for number, one in enumerate(torus):
        alone = sum(
            p.times * float(p.work.at(known, p.decode).seconds[0]) for p in one.pieces
        )  # fmt: skip
        assert found[number] == pytest.approx(alone, rel=1e-12)
    request = next(r for r in torus if r.timing.phase == "request")
    assert [(p.decode, p.times) for p in request.pieces] == [(False, 1), (True, 16)]


def test_stages_side_by_side_with_none(torus: list[Run]) -> None:
    """Pipelines wait for their micro-batches, in one sum with runs that have none."""
    known, machine = KNOWN["tpu-v4"], load_machine("tpu-v4")
    rows = [
        replace(t, chips=8, pipeline=2, micro=4) for t in timings() if t.chips == 4 and t.batch == 8
    ]
    piped = on(prepared(rows, program, machine, known), known)
    both = together([*piped, *torus]).seconds(known)
    for number, one in enumerate(piped):
        (piece,) = one.pieces
        taken = float(piece.work.at(known, piece.decode).seconds[0])
        assert both[number] == pytest.approx(piece.times * taken, rel=1e-12)
        assert float(piece.work.at(known, piece.decode).waiting[0]) > 0
    assert both[len(piped) :] == pytest.approx(together(torus).seconds(known), rel=1e-12)


def test_every_row_that_can_t_be_run_is_named() -> None:
    rows = [
        replace(timings()[0], layout="4D weight-stationary", attention=""),
        timings()[1],
        replace(timings()[2], pipeline=4, layout="5D weight-stationary", attention=""),
        replace(timings()[3], chips=64, pipeline=32),
    ]
    with pytest.raises(Unrunnable) as refused:
        prepared(rows, program, load_machine("tpu-v4"), START)
    said = {(one.row.line, str(why)) for one, why in refused.value.rows}
    assert said == {
        (2, "on 4 chips there is no layout that is 4D weight-stationary"),
        (4, "on 1 chip there is no layout that is 5D weight-stationary"),
        (5, "16 layers can't be divided into 32 stages"),
    }
