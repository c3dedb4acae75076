"""From a machine's TOML text to a `Machine`, or to every error in it, each with its place."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any, get_args

from layoutc.dsl.errors import START, Diagnostic, Span, in_order, source_lines
from layoutc.dsl.program import Dtype
from layoutc.solver.hardware.machine import Figure, Machine
from layoutc.solver.hardware.places import Path, Places
from layoutc.solver.hardware.reached_reading import Judge, read_reached
from layoutc.solver.hardware.shapes import Shape, Shapes
from layoutc.solver.hardware.tier import TOPOLOGIES, Tier, Topology, Wraparound, most_axes
from layoutc.solver.hardware.values import SOURCE, UNITS, Table, Values, shown

CHIP = ("memory_bytes", "memory_bandwidth")
EFFICIENCIES = ("matmul_efficiency", "memory_efficiency")
TOP = ("name", "title", "peak_flops", *CHIP, *EFFICIENCIES, "price", "reached", "network")
TIER = ("name", "topology", "axes", "bandwidth", "hop", "start", "both_ways", "cut", "shapes",
        "wraparound")  # fmt: skip
SHAPES = ("listed", "multiple", "chips", "longest", "source")
WRAPAROUND = ("multiple", "together", "source")
ANYWAY: dict[str, tuple[object, tuple[Topology, ...], str]] = {
    "axes": (1, ("torus", "line"), "has no axes"),
    "both_ways": (True, ("torus",), "has no links that run one way"),
    "cut": (True, ("torus", "line"), "can be cut anywhere"),
    "wraparound": (None, ("torus",), "does not wrap around"),
}
"""What other topologies have anyway, for which it is said, and why not of the others."""

MOST_AXES = 6
MOST_CHIPS = 2**20
"""Of one tier: a hundred times the largest."""


def read_machine(text: str, judge: Judge = lambda name: None) -> Machine | list[Diagnostic]:
    """The machine that a text describes, or everything that is wrong with it.

    What the text says it is like is another text: `judge` is asked whether that will do.
    """
    try:
        table = tomllib.loads(text)
        reader = _Reader(Places(text))
    except tomllib.TOMLDecodeError as error:
        return [_not_toml(error, text)]
    except RecursionError:
        return [Diagnostic("this is nested too deeply for a machine", START)]
    except ValueError:
        # What Python says of a number of thousands of digits, which is TOML.
        return [Diagnostic("a number has too many digits", _digits(text), "as in  1.2e12")]
    machine = reader.machine(table, judge)
    return in_order(reader.errors) if reader.errors else machine


def _not_toml(error: tomllib.TOMLDecodeError, text: str) -> Diagnostic:
    """The reader's words at its place; "at end of document" is the last character there is."""
    said, _, where = str(error).partition(" (at ")
    found = re.match(r"line (\d+), column (\d+)", where)
    lines = source_lines(text.rstrip())
    line, column = map(int, found.groups()) if found else (len(lines), max(1, len(lines[-1])))
    message = f"this is not TOML: {said[:1].lower()}{said[1:]}"
    return Diagnostic(message, Span(line, column, column + 1))


def _digits(text: str) -> Span:
    """The first line with so many digits that Python does not make a number of them."""
    for number, line in enumerate(source_lines(text), 1):
        found = re.search(r"[0-9_]{4300,}", line)
        if found:
            return Span(number, found.start() + 1, found.end() + 1)
    return START


class _Reader(Values):
    """Reads what a machine's file has, table by table."""

    # The whole.

    def machine(self, table: Table, judge: Judge) -> Machine:
        self.known((), table, TOP, "a machine")
        name = self.text(("name",), table, "a machine", 'name = "my-machine"')
        peaks = self.peaks(table)
        size, rate = (self.figure((f,), table) for f in CHIP)
        if size < 1:
            message = f"memory_bytes is {size:g}, not even one byte"
            self.wrong(("memory_bytes", "value"), message, "value = ...  in bytes")
        compute, memory = (self.efficiency((f,), table) for f in EFFICIENCIES)
        price = self.figure(("price",), table) if "price" in table else None
        before = len(self.errors)
        tiers = self.tiers(table)
        axes = most_axes(tiers) if len(self.errors) == before else MOST_AXES
        reached = read_reached(self, table, axes, judge)
        return Machine(
            name,
            {dtype: compute * peak for dtype, peak in peaks.items()},
            int(size),
            memory * rate,
            tiers,
            price,
            (compute, memory),
            tuple(self.figures),
            self.text(("title",), table, "a machine"),
            reached=reached,
        )

    def peaks(self, table: Table) -> dict[Dtype, float]:
        path: Path = ("peak_flops",)
        hint = f"[peak_flops]  with  bf16 = 275e12  and  {SOURCE}"
        found = self.table(path, table, hint)
        if "peak_flops" in table and not found:
            self.wrong(path, "peak_flops is empty", hint)
        if not found:
            return {"bf16": 1.0}
        dtypes: tuple[Dtype, ...] = get_args(Dtype)
        self.known(path, found, (*dtypes, "unit", "source", "fitted"), "peak_flops")
        peaks = {
            d: self.number((*path, d), found[d], f"peak_flops.{d}", UNITS["peak_flops"])
            for d in dtypes
            if d in found
        }
        if "bf16" not in peaks:
            self.wrong(path, "peak_flops has no bf16", "bf16 = ...  in FLOP/s")
        said = self.said(path, found)
        for dtype, peak in peaks.items():
            self.figures.append(Figure(f"peak_flops.{dtype}", peak, *said))
        return peaks

    def efficiency(self, path: Path, table: Table) -> float:
        """A share of the peak; 1 where nothing is said."""
        if path[-1] not in table:
            return 1.0
        share = self.figure(path, table)
        if share > 1:
            message = f"{path[-1]} is {share:g}, more than all"
            self.wrong((*path, "value"), message, "a share from 0 to 1, as in  0.9")
        return share

    # The network.

    def tiers(self, table: Table) -> tuple[Tier, ...]:
        found = table.get("network")
        if not isinstance(found, list) or not all(isinstance(t, dict) for t in found) or not found:
            what = "has no network" if found is None else "has a network that is no list of tiers"
            hint = "begin each tier, the innermost first, with  [[network]]"
            self.wrong(("network",), f"a machine {what}", hint)
            return (Tier("", "flat", 1.0),)
        tiers, right = [], []
        for number, entry in enumerate(found):
            before = len(self.errors)
            tiers.append(self.tier(("network", number), entry))
            right.append(len(self.errors) == before)
        self.together(tiers, right)
        return tuple(tiers)

    def together(self, tiers: Sequence[Tier], right: Sequence[bool]) -> None:
        """What is wrong between tiers that are `right` each by itself."""
        names: set[str] = set()
        for number, tier in enumerate(tiers):
            path: Path = ("network", number)
            if right[number] and tier.name in names:
                self.wrong((*path, "name"), f"two tiers are called {tier.name}", "rename one")
            names.add(tier.name)
            if right[number] and tier.topology == "flat" and len(tiers) > 1:
                message = "a flat network is all there is: it has one tier"
                self.wrong((*path, "topology"), message, 'topology = "switch"')
            elif right[number] and number < len(tiers) - 1:
                self.filled((*path, "shapes"), tier, tiers[number + 1].name)

    def filled(self, path: Path, inner: Tier, outer: str) -> None:
        """An inner tier has an end, and can be had whole: the outer one links such groups."""
        said, hint = inner.shapes.chips, "shapes = { chips = 8 }"
        if not inner.shapes.most:
            message = f"{inner.name} has no end, and so there is nothing outside it"
            self.wrong(path, message, f"{hint}  says from where on {outer} is needed")
        elif said and not inner.shapes.of(said):
            message = f"no shape of {inner.name} has all its {said:,} chips, which {outer} links"
            self.wrong(path, message, f"{hint}  counts chips that some shape has")

    def tier(self, path: Path, table: Table) -> Tier:
        self.known(path, table, TIER, "a tier")
        name = self.text((*path, "name"), table, "a tier", 'name = "NVLink"')
        topology = self.topology((*path, "topology"), table)
        before = len(self.errors)
        axes = self.whole((*path, "axes"), table.get("axes", 1), 1, MOST_AXES)
        counted = len(self.errors) == before
        shaped = topology in ("torus", "line")
        bandwidth = self.figure((*path, "bandwidth"), table, name)
        hop, start = (
            self.figure((*path, key), table, name, zero=True) if key in table else 0.0
            for key in ("hop", "start")
        )
        if topology == "flat" and (hop or start):
            key = "hop" if hop else "start"
            message = "a flat network has no hops and no start-up"
            self.misplaced((*path, key), message, 'topology = "switch"')
        return Tier(
            name, topology, bandwidth, hop, start,
            self.flag((*path, "both_ways"), table, True),
            self.flag((*path, "cut"), table, not shaped),
            self.shapes((*path, "shapes"), table, axes) if counted else Shapes(),
            self.wraparound((*path, "wraparound"), table),
        )  # fmt: skip

    def topology(self, path: Path, table: Table) -> Topology:
        """The topology, of which everything else in the table can be said."""
        found = table.get("topology")
        for topology in TOPOLOGIES:
            if found == topology:
                for key, (anyway, others, why) in ANYWAY.items():
                    if topology not in others and table.get(key, anyway) != anyway:
                        message = f"a {topology} {why}"
                        self.misplaced((*path[:-1], key), message, f"leave {key} away")
                return topology
        what = "a tier has no topology" if found is None else f"{shown(found)} is no topology"
        self.wrong(path, what, f"there are {', '.join(TOPOLOGIES)}")
        return "torus"

    def shapes(self, path: Path, table: Table, axes: int) -> Shapes:
        if "shapes" not in table:
            return Shapes(axes)
        before, found = (
            len(self.errors),
            self.table(path, table, f"shapes = {{ chips = 8, {SOURCE} }}"),
        )
        self.known(path, found, SHAPES, "shapes")
        listed = found.get("listed", [])
        if not isinstance(listed, list):
            self.wrong(
                (*path, "listed"), f"listed is {shown(listed)}, not an array", 'as in  ["4x4"]'
            )
            listed = []
        shapes = [self.shape((*path, "listed", i), s, axes) for i, s in enumerate(listed)]
        longest = found.get("longest")
        made = Shapes(
            axes,
            tuple(sorted(shapes)),
            self.whole(
                (*path, "multiple"), found.get("multiple", 0 if listed else 1), 0, MOST_CHIPS
            ),
            self.whole((*path, "chips"), found["chips"], 1, MOST_CHIPS) if "chips" in found else 0,
            () if longest is None else self.shape((*path, "longest"), longest, axes),
            self.source(path, found, "shapes"),
        )
        if len(self.errors) == before:
            self.some(path, made)
        return made

    def some(self, path: Path, shapes: Shapes) -> None:
        """There are shapes, and not too many."""
        least = (shapes.multiple,) * shapes.axes
        if not shapes.listed and not (shapes.multiple and shapes.has(least)):
            said = "x".join(map(str, least))
            why = (
                f"the least, {said}, is more than there is" if shapes.multiple else "none is listed"
            )
            self.wrong(path, f"there are no shapes: {why}", 'listed = ["4x4"]  or  multiple = 4')
        if shapes.most > MOST_CHIPS:
            message = f"these are {shapes.most:,} chips, more than {MOST_CHIPS:,}"
            self.wrong(path, message, "chips = 4096  is an end")

    def shape(self, path: Path, value: Any, axes: int) -> Shape:
        """ "4x4x8" as its sizes in ascending order."""
        good = isinstance(value, str) and re.fullmatch(r"[1-9][0-9]{0,6}(x[1-9][0-9]{0,6})*", value)
        sizes = tuple(sorted(map(int, value.split("x")))) if good else ()
        if len(sizes) != axes:
            of = "one axis" if axes == 1 else f"{axes} axes"
            self.wrong(
                path, f"{shown(value)} is no shape of {of}", f'as in  "{"x".join("4" * axes)}"'
            )
            return (1,) * axes
        return sizes

    def wraparound(self, path: Path, table: Table) -> Wraparound:
        if "wraparound" not in table:
            return Wraparound()
        found = self.table(path, table, f"wraparound = {{ multiple = 4, {SOURCE} }}")
        self.known(path, found, WRAPAROUND, "wraparound")
        return Wraparound(
            self.whole((*path, "multiple"), found.get("multiple", 1), 0, MOST_CHIPS),
            self.flag((*path, "together"), found, False),
            self.source(path, found, "wraparound"),
        )
