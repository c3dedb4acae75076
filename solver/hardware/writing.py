"""A `Machine` as the text of its file, such that reading the text gives the machine again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import assert_never

from layoutc.solver.hardware.machine import Figure, Machine
from layoutc.solver.hardware.reached import UNITS as REACHED
from layoutc.solver.hardware.reached import Like, Reached
from layoutc.solver.hardware.reading import EFFICIENCIES
from layoutc.solver.hardware.shapes import Shape, Shapes
from layoutc.solver.hardware.tier import Tier, Wraparound
from layoutc.solver.hardware.values import UNITS

UNKNOWN = "not said"
"""The source of what was not read from a file."""

Value = str | float | bool | list[str]


def write_machine(machine: Machine) -> str:
    """The text of a machine's file. Each number is taken from the machine's `figures`."""
    figures = {figure.name: figure for figure in machine.figures}
    return "\n".join("\n".join(part) + "\n" for part in _parts(machine, figures))


def _parts(machine: Machine, figures: Mapping[str, Figure]) -> Iterator[list[str]]:
    title = [_pair("title", machine.title)] if machine.title else []
    yield [_pair("name", machine.name), *title]
    yield list(_peaks(machine, figures))
    for key in ("memory_bytes", "memory_bandwidth", *EFFICIENCIES, "price"):
        if key in figures:
            yield [f"[{key}]", *_figure(figures[key], UNITS.get(key, ""))]
    if machine.reached:
        yield ["[reached]", *_reached(machine.reached, figures)]
    for tier in machine.tiers:
        yield list(_tier(tier))
        for key in ("bandwidth", "hop", "start"):
            found = figures.get(f"{tier.name}.{key}")
            if found:
                yield [f"[network.{key}]", *_figure(found, UNITS[key])]
        yield from _shape(tier)


def _peaks(machine: Machine, figures: Mapping[str, Figure]) -> Iterator[str]:
    yield "[peak_flops]"
    peaks = [figures[f"peak_flops.{dtype}"] for dtype in machine.peaks]
    for dtype, peak in zip(machine.peaks, peaks, strict=True):
        yield _pair(dtype, peak.value)
    yield from _said(peaks[0], "FLOP/s")


def _figure(figure: Figure, usual: str) -> Iterator[str]:
    yield _pair("value", figure.value)
    yield from _said(figure, usual)


def _said(figure: Figure, usual: str) -> Iterator[str]:
    """What a figure says of itself: its unit where it is not the usual one, and its source."""
    if figure.unit != usual:
        yield _pair("unit", figure.unit)
    yield _pair("source", figure.source)
    if figure.fitted:
        yield _pair("fitted", figure.fitted)


def _reached(reached: Reached | Like, figures: Mapping[str, Figure]) -> Iterator[str]:
    match reached:
        case Like():
            yield _pair("like", reached.machine)
            yield _pair("source", reached.source)
        case Reached():
            keys = [key for key in REACHED if f"reached.{key}" in figures]
            for key in keys:
                yield _pair(key, figures[f"reached.{key}"].value)
            yield from _said(figures[f"reached.{keys[0]}"], REACHED[keys[0]])
        case _:
            assert_never(reached)


def _tier(tier: Tier) -> Iterator[str]:
    yield "[[network]]"
    yield _pair("name", tier.name)
    yield _pair("topology", tier.topology)
    if tier.shapes.axes != 1:
        yield _pair("axes", tier.shapes.axes)
    if not tier.both_ways:
        yield _pair("both_ways", False)
    if tier.cut == tier.shaped:
        yield _pair("cut", tier.cut)


def _shape(tier: Tier) -> Iterator[list[str]]:
    shapes, wraps = tier.shapes, tier.wraparound
    if shapes != Shapes(shapes.axes):
        yield ["[network.shapes]", *_shapes(shapes)]
    if wraps != Wraparound():
        yield [
            "[network.wraparound]",
            _pair("multiple", wraps.multiple),
            _pair("together", wraps.together),
            _pair("source", wraps.source or UNKNOWN),
        ]


def _shapes(shapes: Shapes) -> Iterator[str]:
    if shapes.listed:
        yield _pair("listed", [_by(shape) for shape in shapes.listed])
    if shapes.multiple != (0 if shapes.listed else 1):
        yield _pair("multiple", shapes.multiple)
    if shapes.chips:
        yield _pair("chips", shapes.chips)
    if shapes.longest:
        yield _pair("longest", _by(shapes.longest))
    yield _pair("source", shapes.source or UNKNOWN)


def _by(shape: Shape) -> str:
    return "x".join(map(str, shape))


def _pair(key: str, value: Value) -> str:
    return f"{key} = {_value(value)}"


def _value(value: Value) -> str:
    """As TOML has it; its strings are those of JSON."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            whole = value == int(value) and abs(value) < 1e12
            return f"{int(value):_}" if whole else repr(float(value))
        case str() | list():
            return json.dumps(value, ensure_ascii=False)
