"""What `hardware --fit` says: the constants, how well they are told, and every timing beside what
they predict."""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf

import numpy as np

from layoutc.document import Document
from layoutc.reached import MEANINGS
from layoutc.serving.fitting import Fitted, listed, percent
from layoutc.solver.hardware.reached import TIMES, UNITS
from layoutc.solver.serving.constants import Estimate
from layoutc.solver.serving.fit import Fit
from layoutc.solver.serving.runs import Run
from layoutc.solver.serving.timings import Timing
from layoutc.solver.units import chips, duration
from layoutc.table import Rows, listing, table

UNTOLD = "not told by these timings"

# For a person.


def report(found: Fitted) -> str:
    """The whole report, ending in a newline."""
    best = found.best
    head = f"{found.machine.name}: {len(best.runs)} timings of {listed(found.models)}, {found.path}"
    constants = listing(_constants(found), 3)
    return "\n\n".join([head, constants, listing(_errors(found)), _timings(best)]) + "\n"


def _constants(found: Fitted) -> Iterator[list[str]]:
    """Each with its interval and its meaning."""
    best = found.best
    yield ["constant", "", "95 % interval", ""]
    for name, one in best.estimates.items():
        said = _between(name, one) if one.told else UNTOLD
        yield [name, _told(name, one.value), said, _meaning(name)]
    if any(tier.shaped for tier in found.machine.tiers):
        at_once = best.reached.at_once
        yield ["at_once", str(at_once) if at_once else "all", "", _meaning("at_once")]


def _between(name: str, one: Estimate) -> str:
    if isinf(one.high):
        return "not bounded by them"
    return f"{_told(name, one.low)} to {_told(name, one.high)}"


def _told(name: str, value: float) -> str:
    return duration(value) if name in TIMES else f"{value:.3g}"


def _meaning(name: str) -> str:
    return f"{UNITS[name].removeprefix('seconds ')} {MEANINGS[name]}"


def _errors(found: Fitted) -> Iterator[list[str]]:
    best, reached = found.best, found.best.reached
    left_out = f"{percent(best.mean_left_out)} with each timing left out"
    yield ["mean error", f"{percent(best.mean_error)}; {left_out}"]
    at = best.worst
    where = f"line {best.runs[at].timing.row.line}, {_what(best.runs[at].timing)}"
    yield ["worst", f"{_off(best.errors[at])}: {where}"]
    said = f"measured {reached.low:.3g} to {reached.high:.3g} times what is predicted of them"
    yield ["nine in ten", f"{said}, where each is left out"]
    others = [
        f"at_once = {one.reached.at_once}: {percent(one.mean_error)}; {percent(one.mean_left_out)}"
        for one in found.fits[1:]
    ]
    yield from [["also tried", one] for one in others]


def _timings(best: Fit) -> str:
    """Every timing beside what is predicted."""
    rows: Rows = [["line", "timing", "measured", "predicted", "off", "left out"]]
    for at, one in enumerate(best.runs):
        rows.append([
            str(one.timing.row.line), _what(one.timing), duration(one.timing.seconds),
            duration(float(best.predicted[at])), _off(best.errors[at]),
            _off(best.left_out_errors[at]),
        ])  # fmt: skip
    return table(rows, right=(0, 2, 3, 4, 5))


def _what(timing: Timing) -> str:
    """What was timed, in short."""
    tokens = {
        "prefill": f"{timing.prompt:,} in",
        "decode": f"{timing.generate:,} out after {timing.context:,}",
        "request": f"{timing.prompt:,} in, {timing.generate:,} out",
    }[timing.phase]
    stages = f"{timing.pipeline} x " * (timing.pipeline > 1)
    where = f"{stages}{chips(timing.tensor)}{', int8' * (timing.weights == 'int8')}"
    return f"{timing.model}, {where}, {timing.phase} of {timing.batch:,}: {tokens}"


def _off(error: float) -> str:
    return f"{100 * error:+.1f} %"


# For programs.


def document(found: Fitted, output: str | None) -> Document:
    """The same as `--json` holds it."""
    best = found.best
    return {
        "hardware": found.machine.name,
        "timings_file": found.path,
        "output": output,
        "models": list(found.models),
        "constants": [_constant(name, one) for name, one in best.estimates.items()],
        **_summed(best),
        "worst": _timing(best, best.worst),
        "tried": [
            {"constants": one.reached.constants, **_summed(one)} for one in found.fits
        ],
        "timings": [_timing(best, at) for at in range(len(best.runs))],
    }  # fmt: skip


def _constant(name: str, one: Estimate) -> Document:
    """Null for an end of its interval that nothing bounds."""
    bounded = not isinf(one.high)
    return {
        "name": name,
        "value": one.value,
        "unit": UNITS[name],
        "meaning": MEANINGS[name],
        "low": one.low if bounded else None,
        "high": one.high if bounded else None,
        "told": one.told,
    }


def _summed(one: Fit) -> Document:
    """How well a fit does. Errors are shares of what was measured."""
    return {
        "at_once": one.reached.at_once,
        "low": one.reached.low,
        "high": one.reached.high,
        "mean_error": one.mean_error,
        "mean_error_left_out": one.mean_left_out,
        "worst_error": float(one.errors[one.worst]),
        "worst_error_left_out": float(np.abs(one.left_out_errors).max()),
    }


def _timing(best: Fit, at: int) -> Document:
    timing, run = best.runs[at].timing, best.runs[at]
    return {
        "line": timing.row.line,
        "model": timing.model,
        "phase": timing.phase,
        "chips": timing.chips,
        "pipeline": timing.pipeline,
        "batch": timing.batch,
        "prompt": timing.prompt,
        "generate": timing.generate,
        "context": timing.context,
        "weights": timing.weights,
        "note": timing.note,
        "passes": _passes(run),
        "measured_seconds": timing.seconds,
        "predicted_seconds": float(best.predicted[at]),
        "error": float(best.errors[at]),
        "error_left_out": float(best.left_out_errors[at]),
    }


def _passes(run: Run) -> list[Document]:
    """The layouts in which it is taken to have been run."""
    return [
        {
            "phase": "decode" if piece.decode else "prefill",
            "times": piece.times,
            "layout": piece.layout.name,
            "attention": piece.layout.attention or None,
            "mesh": dict(piece.layout.plan.mesh),
            "micro_batches": int(piece.micro[0]),
        }
        for piece in run.pieces
    ]
