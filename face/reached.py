"""What `hardware` says of what whole models reach of a machine."""

from __future__ import annotations

from collections.abc import Iterator

from layoutc.document import Document
from layoutc.solver.hardware.catalogue import load_machine, reached_of
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reached import TIMES, UNITS, Like, Reached
from layoutc.solver.units import duration
from layoutc.table import listing

HEAD = "what whole models reach of it"

MEANINGS = {
    "matmul": "in matmuls with weights",
    "attention": "in the two matmuls of attention and between them",
    "memory": "reading weights and caches",
    "network": "in collectives, and between pipeline stages",
    "launch": "that waits for the one before it",
    "latency": "that the file gives for its links",
    "at_once": "of a torus, that one collective goes along at a time",
    "low": "nine timings in ten lie between this",
    "high": "and this",
}
"""What is said of each constant, behind its value and what that is of."""


def chapter(machine: Machine) -> list[str]:
    """A head, each constant with what it means, and where they are from; nothing where the
    machine's file says nothing of them."""
    if machine.reached is None:
        return []
    constants, _ = reached_of(machine)
    rows = ([key.replace("_", " "), _value(key, constants), MEANINGS[key]] for key in UNITS)
    return [HEAD, listing(rows, 2), listing(_origin(machine))]


def _value(key: str, reached: Reached) -> str:
    """A constant with its unit."""
    value, unit = getattr(reached, key), UNITS[key]
    if key in TIMES:
        return duration(value) + unit.removeprefix("seconds")
    if key == "at_once":
        return {0: "all axes", 1: "1 axis"}.get(value, f"{value} {unit}")
    return f"{value:g} {unit}"


def _origin(machine: Machine) -> Iterator[list[str]]:
    """Whose the constants are, where that is from, and how well they were fitted."""
    like, source, fitted = _said(machine)
    if like:
        yield ["like", like]
    yield ["source", source]
    if fitted:
        yield ["fitted there" if like else "fitted", fitted]


def _said(machine: Machine) -> tuple[str, str, str]:
    """The machine that this one is like, "" for none; the source; and what was fitted, and how
    well."""
    if isinstance(machine.reached, Like):
        _, _, fitted = _said(load_machine(machine.reached.machine))
        return machine.reached.machine, machine.reached.source, fitted
    figure = next(one for one in machine.figures if one.name.startswith("reached."))
    return "", figure.source, figure.fitted


def document(machine: Machine) -> Document | None:
    """The same as `--json` holds it; None where the machine's file says nothing."""
    if machine.reached is None:
        return None
    found, _ = reached_of(machine)
    like, source, fitted = _said(machine)
    return {
        "constants": found.constants,
        "at_once": found.at_once,
        "low": found.low,
        "high": found.high,
        "source": source,
        "fitted": fitted,
        "like": like or None,
    }
