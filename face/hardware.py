"""What `hardware` says: the machines there are, and of one of them every figure with its source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from math import prod
from typing import assert_never

from layoutc import reached
from layoutc.document import Document
from layoutc.solver.hardware.machine import Figure, Machine
from layoutc.solver.hardware.shapes import Shapes
from layoutc.solver.hardware.tier import Slice, Tier, Wraparound, most, slices, spelled
from layoutc.solver.units import chips, duration, flops, rate, size
from layoutc.table import Rows, listing, table

EXAMPLES = 4096
"""Slices of up to so many chips are shown."""

LABELS = {"memory_bytes": "memory"}
"""Of figures, where their key does not do."""

# The catalogue.


def listed(machines: Sequence[Machine]) -> str:
    """The catalogue, one machine a line, ending in a newline."""
    rows = [["name", "bf16", "memory", "read at", "network", "chips", "a chip-hour", ""]]
    for machine in machines:
        end = most(machine.tiers)
        rows.append(
            [
                machine.name,
                flops(machine.peak_flops),
                size(machine.memory_bytes),
                rate(machine.memory_bandwidth),
                network(machine.tiers),
                f"up to {end:,}" if end else "any number",
                f"${machine.price:.2f}" if machine.price else "",
                machine.title,
            ]
        )
    return table(rows, right=(1, 2, 3, 5, 6)) + "\n"


def network(tiers: Sequence[Tier]) -> str:
    """The tiers in words, the innermost first."""
    if len(tiers) == 1:
        return _links(tiers[0])
    inner = (f"{tier.name} {_links(tier)} in {tier.shapes.most:,}" for tier in tiers[:-1])
    return ", ".join([*inner, f"{tiers[-1].name} {_links(tiers[-1])}"])


def _links(tier: Tier) -> str:
    """How a tier is linked, and how fast that is."""
    bandwidth, axes = rate(tier.bandwidth), tier.shapes.axes
    match tier.topology:
        case "flat":
            return f"{bandwidth}, whichever axes take part"
        case "switch":
            return bandwidth
        case "torus":
            shape = "ring" if axes == 1 else f"torus of {axes} axes"
            return f"{shape}, {bandwidth} a link {'each' if tier.both_ways else 'one'} way"
        case "line":
            return f"{'line' if axes == 1 else f'mesh of {axes} axes'}, {bandwidth} a link each way"
        case _:
            assert_never(tier.topology)


# One machine.


def report(machine: Machine) -> str:
    """One machine: its figures, its tiers, what can be had of it, and what it comes to."""
    parts = [f"{machine.name}: {machine.title}" if machine.title else machine.name]
    own = [figure for figure in machine.figures if _of(figure) in ("", "peak_flops")]
    parts += ["a chip", listing(_figures(own), 2)]
    for number, tier in enumerate(machine.tiers):
        names = [f"{tier.name}.{key}" for key in ("bandwidth", "hop", "start")]
        own = [figure for figure in machine.figures if figure.name in names]
        parts += [
            _head(machine.tiers, number),
            listing(_rules(tier, number)),
            listing(_figures(own), 2),
        ]
    parts += reached.chapter(machine)
    examples = [] if machine.flat else list(_examples(machine.tiers))
    if examples:
        parts += ["slices", table(_slices(machine.tiers, examples), right=(0,))]
    return "\n\n".join([*parts, "what it comes to", listing(_totals(machine))]) + "\n"


def _of(figure: Figure) -> str:
    """What a figure is of: a tier, the peaks, or "" for the chip."""
    return figure.name.rpartition(".")[0]


def _figures(figures: Iterable[Figure]) -> Iterator[list[str]]:
    """A row each; where all that is said of a figure was said of the one before, that is enough."""
    before: list[str] = []
    for figure in figures:
        label, value, *remarks = _said(figure)
        yield [label, value, "the same"] if remarks == before else [label, value, *remarks]
        before = remarks


def _said(figure: Figure) -> list[str]:
    """What it is, its value, and where that is from."""
    of, _, key = figure.name.rpartition(".")
    label = f"{key} matmuls" if of == "peak_flops" else LABELS.get(key, key.replace("_", " "))
    return [label, _value(figure), figure.source, figure.fitted and f"fitted {figure.fitted}"]


def _value(figure: Figure) -> str:
    """The value in the unit's multiples, and what else the unit says."""
    word = re.split(r"[\s,:]", figure.unit)[0]
    match word:
        case "FLOP/s":
            said = flops(figure.value)
        case "bytes":
            said = size(figure.value)
        case "bytes/s":
            said = rate(figure.value)
        case "seconds":
            said = duration(figure.value)
        case "dollars":
            said = f"${figure.value:.2f}"
        case _:
            said = f"{figure.value:g} {word}"
    return said + figure.unit.removeprefix(word)


def _head(tiers: Sequence[Tier], number: int) -> str:
    """A tier's name, and what it links."""
    inside = prod(tier.shapes.most for tier in tiers[:number])
    between = f"groups of {chips(inside)}" if number else "chips"
    return f"{tiers[number].name}, between {between}"


def _rules(tier: Tier, number: int) -> Iterator[list[str]]:
    """What is linked to what, and what can be had, with where that is from."""
    yield ["topology", _links(tier).split(",")[0] if tier.shaped else tier.topology, ""]
    if tier.topology == "torus":
        yield ["wraparound", _wraps(tier.wraparound), _from(tier.wraparound.source)]
    if tier.shaped:
        said = "may take a part of an axis" if tier.cut else "takes whole axes"
        yield ["mesh axes", f"each {said}", ""]
    said = _shapes(tier.shapes, "groups" if number else "chips")
    yield ["shapes", said, _from(tier.shapes.source)]


def _from(source: str) -> str:
    return source and f"({source})"


def _wraps(rule: Wraparound) -> str:
    """Which axes are closed to rings."""
    if rule.multiple == 0:
        return "no axis is a ring"
    if rule.multiple == 1:
        return "every axis is a ring"
    if rule.together:
        return f"all axes are rings where all sizes are multiples of {rule.multiple}, else none is"
    return f"an axis is a ring where its size is a multiple of {rule.multiple}"


def _shapes(shapes: Shapes, what: str) -> str:
    """The shapes that exist, of what is counted."""
    listed = ["x".join(map(str, shape)) for shape in shapes.listed]
    if not shapes.multiple:
        return ", ".join(listed)
    several, step = shapes.axes > 1, shapes.multiple
    if several:
        every = "any shape" if step == 1 else f"any shape whose sizes are multiples of {step}"
    else:
        every = f"any number of {what}" if step == 1 else f"any multiple of {step} {what}"
    of = f" {what}" if several else ""
    ends = [f"up to {shapes.chips:,}{of}"] if shapes.chips else []
    if shapes.longest:
        ends.append(f"within {'x'.join(map(str, shapes.longest))}")
    return ", ".join([*listed, f"and {every}" if listed else every, *ends])


# Slices.


def _examples(tiers: Sequence[Tier]) -> Iterator[tuple[int, list[Slice]]]:
    """Numbers of chips, powers of two times what an inner tier has, and their slices."""
    end, whole = most(tiers), prod(tier.shapes.most for tier in tiers[:-1])
    counts = {factor << power for factor in (1, whole) for power in range(20)}
    for count in sorted({n for n in counts if n <= EXAMPLES} | ({end} - {0})):
        if found := list(slices(tiers, count)):
            yield count, found


def _slices(tiers: Sequence[Tier], examples: Iterable[tuple[int, list[Slice]]]) -> Rows:
    """A line for each number of chips: the most even slice, its rings, and others."""
    head = "·".join(tier.name for tier in tiers) if len(tiers) > 1 else "slice"
    rows = [["chips", head, "rings", "also"]]
    for count, (first, *rest) in examples:
        others = ", ".join(map(spelled, rest[:3])) + (", ..." if len(rest) > 3 else "")
        rows.append([f"{count:,}", spelled(first), _rings(tiers, first), others])
    kept = [column for column in range(4) if any(row[column] for row in rows[1:])]
    return [[row[column] for column in kept] for row in rows]


def _rings(tiers: Sequence[Tier], one: Slice) -> str:
    """Which axes of the tori in a slice are closed."""
    said = []
    for tier, shape in zip(tiers, one, strict=True):
        if tier.topology == "torus" and prod(shape) > 1:
            used = [axis for axis, number in enumerate(shape) if number > 1]
            closed = [axis for axis in used if tier.rings(shape)[axis]]
            some = f"axis {','.join(map(str, closed))}" if closed else "none"
            said.append("all axes" if closed == used else some)
    return "; ".join(said)


def _totals(machine: Machine) -> Iterator[list[str]]:
    """Ratios that decide what a pass waits for, at the efficiencies that the file gives."""
    peak, read = machine.peak_flops, machine.memory_bandwidth
    if machine.efficiencies != (1.0, 1.0):
        yield ["reached", f"{flops(peak)} in bf16 and {rate(read)} of memory", ""]
    tokens = f"{peak / read:,.0f}"
    waits = f"{tokens} bf16 FLOPs for each byte read: fewer tokens than that wait for bf16 weights"
    yield ["memory", f"{duration(machine.memory_bytes / read)} to read all of it once", waits]
    for tier in machine.tiers:
        links = {"torus": "all its links", "line": "all its links, half at an end"}
        least = (tier.start + tier.hop) * tier.received
        yield [
            tier.name,
            f"{rate(tier.received)} received by a chip over {links.get(tier.topology, 'it')}",
            f"{peak / tier.received:,.0f} bf16 FLOPs for each byte received",
            f"a collective that brings less than {size(least)} is mostly start-up" if least else "",
        ]


# For programs.


def document(machine: Machine) -> Document:
    """One machine as `--json` holds it; rates are what is reached, figures what the file says."""
    compute, memory = machine.efficiencies
    return {
        "name": machine.name,
        "title": machine.title,
        "peak_flops": dict(machine.peaks),
        "memory_bytes": machine.memory_bytes,
        "memory_bandwidth": machine.memory_bandwidth,
        "matmul_efficiency": compute,
        "memory_efficiency": memory,
        "price": machine.price,
        "network": [_network(tier) for tier in machine.tiers],
        "most_chips": most(machine.tiers) or None,
        "slices": [
            {"chips": count, "slice": spelled(one), "rings": _closed(machine.tiers, one)}
            for count, found in ([] if machine.flat else _examples(machine.tiers))
            for one in found
        ],
        "reached": reached.document(machine),
        "flops_per_byte_read": machine.peak_flops / machine.memory_bandwidth,
        "figures": [asdict(figure) for figure in machine.figures],
    }


def _network(tier: Tier) -> Document:
    return {
        **asdict(tier),
        "wraparound": asdict(tier.wraparound) if tier.topology == "torus" else None,
        "received": tier.received,
    }


def _closed(tiers: Sequence[Tier], one: Slice) -> list[list[bool]]:
    return [list(tier.rings(shape)) for tier, shape in zip(tiers, one, strict=True)]


def documents(machines: Iterable[Machine]) -> Document:
    """The catalogue, likewise."""
    return {"machines": [document(machine) for machine in machines]}
