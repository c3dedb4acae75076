"""`hardware --check`: a machine's file beside what the devices at hand take."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from layoutc.document import Document
from layoutc.solver.units import duration, operations, size
from layoutc.table import Rows, table

if TYPE_CHECKING:
    from layoutc.codegen.measure.checking import Checked, Held
    from layoutc.solver.hardware.machine import Machine

NEAR = 1.5
"""A file is right to within this factor, or it is off."""


def check(machine: Machine) -> Checked:
    """A handful of timings on the devices that JAX sees, held against `machine`."""
    from layoutc.codegen.measure.checking import checked
    from layoutc.progress import waiting

    with waiting(f"timing the devices at hand for {machine.name}"):
        return checked(machine)


def report(found: Checked) -> str:
    """The whole report, ending in a newline."""
    setting = found.setting
    where = f"{setting.devices} × {setting.device} ({setting.platform})"
    rows: Rows = [["", "predicted", "measured", "ratio"]]
    for one in found.held:
        times = [duration(one.predicted), duration(one.measured), f"{one.ratio:,.2f}"]
        rows.append([_what(one), *times])
    last = [["not timed", said] for said in found.left_out]
    last.append(["verdict", verdict(found)])
    parts = [f"{found.machine.name} on {where}", table(rows, right=(1, 2, 3)), table(last)]
    return "\n\n".join(parts) + "\n"


def verdict(found: Checked) -> str:
    """One sentence: how far the file is off."""
    if not found.held:
        return "nothing could be timed"
    worst = max(found.held, key=_off)
    said = (
        f"{_off(worst):,.1f} times, {_what(worst)}; the median {median(map(_off, found.held)):,.1f}"
    )
    if _off(worst) <= NEAR:
        return f"the file holds here: at most {said}"
    return f"the file is off by up to {said}; layoutc calibrate -o FILE.toml writes one that fits"


def _off(one: Held) -> float:
    """How many times too long or too short."""
    return max(one.ratio, 1 / one.ratio)


def _what(one: Held) -> str:
    point = one.point
    work = operations(point.work) if point.kind == "matmul" else size(point.work)
    return f"{point.kind} of {work} in {point.dtype}"


def document(found: Checked) -> Document:
    """The same for a machine."""
    return {
        "machine": found.machine.name,
        "device": found.setting.device,
        "platform": found.setting.platform,
        "devices": found.setting.devices,
        "checks": [
            {
                "kind": one.point.kind,
                "dtype": one.point.dtype,
                "work": one.point.work,
                "predicted_seconds": one.predicted,
                "measured_seconds": one.measured,
                "ratio": one.ratio,
            }
            for one in found.held
        ],
        "not_timed": list(found.left_out),
        "verdict": verdict(found),
    }
