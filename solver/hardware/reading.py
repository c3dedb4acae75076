"""From a machine's TOML text to a `Machine`, or to every error in it, each with its place."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import pairwise
from math import isfinite
from typing import Any, get_args

from layoutc.dsl.errors import START, Diagnostic, Span, in_order
from layoutc.dsl.program import Dtype
from layoutc.solver.hardware.machine import Figure, Machine
from layoutc.solver.hardware.places import Path, Places
from layoutc.solver.hardware.shapes import Shape, Shapes
from layoutc.solver.hardware.tier import TOPOLOGIES, Tier, Topology, Wraparound

CHIP = ("memory_bytes", "memory_bandwidth")
EFFICIENCIES = ("matmul_efficiency", "memory_efficiency")
TOP = ("name", "title", "peak_flops", *CHIP, *EFFICIENCIES, "price", "network")
FIGURE = ("value", "unit", "source", "fitted")
TIER = ("name", "topology", "axes", "bandwidth", "hop", "start", "both_ways", "cut", "shapes",
        "wraparound")  # fmt: skip
SHAPES = ("listed", "multiple", "chips", "longest", "source")
WRAPAROUND = ("multiple", "together", "source")
UNITS = {
    "memory_bytes": "bytes",
    "memory_bandwidth": "bytes/s",
    "price": "dollars a chip-hour",
    "bandwidth": "bytes/s",
    "hop": "seconds a hop",
    "start": "seconds a collective",
}
"""What a figure is in where its file does not say more."""

LARGEST = 1e30


def read_machine(text: str) -> Machine | list[Diagnostic]:
    """The machine that a text describes, or everything that is wrong with it."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return [_not_toml(error)]
    reader = _Reader(Places(text))
    machine = reader.machine(table)
    return in_order(reader.errors) if reader.errors else machine


def _not_toml(error: tomllib.TOMLDecodeError) -> Diagnostic:
    """The reader's words, its place taken out of them."""
    said, _, where = str(error).partition(" (at ")
    found = re.match(r"line (\d+), column (\d+)", where)
    line, column = (int(found[1]), int(found[2])) if found else (1, 1)
    return Diagnostic(f"this is not TOML: {said[:1].lower()}{said[1:]}", Span(line, column, column))


@dataclass(slots=True)
class _Reader:
    places: Places
    errors: list[Diagnostic] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    def wrong(self, path: Path, message: str, hint: str = "") -> None:
        self.errors.append(Diagnostic(message, self.places.of(path) if path else START, hint))

    # The whole.

    def machine(self, table: Mapping[str, Any]) -> Machine:
        self.known((), table, TOP, "a machine")
        name = self.text(("name",), table, required='name = "my-machine"')
        peaks = self.peaks(table)
        size, rate = (self.figure((f,), table) for f in CHIP)
        compute, memory = (self.efficiency((f,), table) for f in EFFICIENCIES)
        price = self.figure(("price",), table) if "price" in table else None
        tiers = self.tiers(table)
        return Machine(
            name,
            {dtype: compute * peak for dtype, peak in peaks.items()},
            int(size),
            memory * rate,
            tiers,
            price,
            (compute, memory),
            tuple(self.figures),
            self.text(("title",), table),
        )

    def peaks(self, table: Mapping[str, Any]) -> dict[Dtype, float]:
        path: Path = ("peak_flops",)
        found = self.table(path, table, 'bf16 = 275e12  source = "..."')
        dtypes: tuple[Dtype, ...] = get_args(Dtype)
        self.known(path, found, (*dtypes, "unit", "source", "fitted"), "the peaks")
        peaks = {d: self.positive((*path, d), found[d]) for d in dtypes if d in found}
        if found and "bf16" not in peaks:
            self.wrong(path, "peak_flops says nothing of bf16", "bf16 = ...  in FLOP/s")
        for dtype, peak in peaks.items():
            self.record(f"peak_flops.{dtype}", peak, path, found, "FLOP/s")
        return peaks or {"bf16": 1.0}

    def tiers(self, table: Mapping[str, Any]) -> tuple[Tier, ...]:
        found = table.get("network")
        if not isinstance(found, list) or not all(isinstance(t, dict) for t in found) or not found:
            hint = "begin each tier, the innermost first, with  [[network]]"
            self.wrong(("network",), "the network is not a list of tiers", hint)
            return (Tier("", "flat", 1.0),)
        tiers = tuple(self.tier(("network", i), entry) for i, entry in enumerate(found))
        for number, (inner, outer) in enumerate(pairwise(tiers)):
            if not inner.shapes.most:
                path: Path = ("network", number)
                hint = f"shapes = {{ chips = 8 }}  says when {outer.name} is needed"
                self.wrong(path, f"{inner.name} has no end, and so nothing is outside it", hint)
        if len(tiers) > 1 and any(tier.topology == "flat" for tier in tiers):
            self.wrong(("network",), "a flat network has one tier", 'topology = "switch"')
        return tiers

    def tier(self, path: Path, table: Mapping[str, Any]) -> Tier:
        self.known(path, table, TIER, "a tier")
        topology = self.topology((*path, "topology"), table.get("topology"))
        name = self.text((*path, "name"), table, required='name = "NVLink"')
        axes = self.whole((*path, "axes"), table.get("axes", 1), 1)
        shaped = topology in ("torus", "line")
        if not shaped and axes != 1:
            self.wrong((*path, "axes"), f"a {topology} has no axes")
        bandwidth = self.figure((*path, "bandwidth"), table, name)
        hop, start = (
            self.figure((*path, key), table, name, zero=True) if key in table else 0.0
            for key in ("hop", "start")
        )
        if topology == "flat" and (hop or start):
            self.wrong(path, "a flat network has no hops and no start-up", 'topology = "switch"')
        return Tier(
            name, topology, bandwidth, hop, start,
            self.flag((*path, "both_ways"), table, True),
            self.flag((*path, "cut"), table, not shaped),
            self.shapes((*path, "shapes"), table, axes),
            self.wraparound((*path, "wraparound"), table),
        )  # fmt: skip

    def topology(self, path: Path, value: Any) -> Topology:
        found = next((topology for topology in TOPOLOGIES if topology == value), None)
        if found is None:
            listed = ", ".join(TOPOLOGIES)
            self.wrong(path, f"the topologies are {listed}", 'topology = "torus"')
        return found or "flat"

    def shapes(self, path: Path, table: Mapping[str, Any], axes: int) -> Shapes:
        if "shapes" not in table:
            return Shapes(axes)
        found = self.table(path, table)
        self.known(path, found, SHAPES, "shapes")
        listed = [self.shape((*path, "listed"), one, axes) for one in found.get("listed", ())]
        longest = found.get("longest")
        ends = {} if longest is None else {"longest": self.shape((*path, "longest"), longest, axes)}
        multiple = found.get("multiple", 0 if listed else 1)
        return Shapes(
            axes,
            tuple(sorted(listed)),
            self.whole((*path, "multiple"), multiple, 0),
            self.whole((*path, "chips"), found.get("chips", 0), 0),
            **ends,
        )

    def shape(self, path: Path, value: Any, axes: int) -> Shape:
        """ "4x4x8" as its sizes in ascending order."""
        good = isinstance(value, str) and re.fullmatch(r"[1-9]\d{0,6}(x[1-9]\d{0,6})*", value)
        sizes = tuple(sorted(map(int, value.split("x")))) if good else ()
        if len(sizes) != axes:
            example = "x".join("4" * axes)
            self.wrong(path, f"{value!r} is no shape of {axes} axes", f'as in  "{example}"')
            return (1,) * axes
        return sizes

    def wraparound(self, path: Path, table: Mapping[str, Any]) -> Wraparound:
        if "wraparound" not in table:
            return Wraparound()
        found = self.table(path, table)
        self.known(path, found, WRAPAROUND, "wraparound")
        if table.get("topology") != "torus":
            self.wrong(path, "only a torus wraps around")
        return Wraparound(
            self.whole((*path, "multiple"), found.get("multiple", 1), 0),
            self.flag((*path, "together"), found, False),
        )

    # Figures.

    def figure(
        self, path: Path, table: Mapping[str, Any], of: str = "", zero: bool = False
    ) -> float:
        """A number with its source, which is put on record."""
        key = str(path[-1])
        found = self.table(path, table, 'value = ...  source = "..."')
        self.known(path, found, FIGURE, key)
        if not found:
            return 1.0
        value = found.get("value")
        number = self.positive((*path, "value"), value, zero)
        self.record(f"{of}.{key}".lstrip("."), number, path, found, UNITS.get(key, ""))
        return number

    def efficiency(self, path: Path, table: Mapping[str, Any]) -> float:
        """A share of the peak; 1 where nothing is said."""
        if path[-1] not in table:
            return 1.0
        share = self.figure(path, table)
        if share > 1:
            self.wrong((*path, "value"), f"{path[-1]} is {share:g}: it is at most 1")
        return share

    def record(
        self, name: str, value: float, path: Path, table: Mapping[str, Any], unit: str
    ) -> None:
        """Keeps what a figure says of itself; one without a source is wrong."""
        source = self.text((*path, "source"), table, required='source = "the data sheet, page 2"')
        said, fitted = (self.text((*path, key), table) for key in ("unit", "fitted"))
        self.figures.append(Figure(name, value, said or unit, source, fitted))

    # Values.

    def known(self, path: Path, table: Mapping[str, Any], keys: Iterable[str], of: str) -> None:
        """No key is there that nobody reads: it may be one that was misspelled."""
        keys = list(keys)
        for key in table:
            if key not in keys:
                near = get_close_matches(key, keys, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(keys)}"
                self.wrong((*path, key), f"{of} has no {key}", hint)

    def table(self, path: Path, table: Mapping[str, Any], needs: str = "") -> Mapping[str, Any]:
        found = table.get(str(path[-1]))
        if isinstance(found, dict):
            return found
        what = "is missing" if found is None else "is no table"
        hint = f"write  [{'.'.join(str(p) for p in path if isinstance(p, str))}]  {needs}".rstrip()
        self.wrong(path, f"{path[-1]} {what}", hint)
        return {}

    def text(self, path: Path, table: Mapping[str, Any], required: str = "") -> str:
        key = path[-1]
        found = table.get(str(key), "")
        if not isinstance(found, str) or not found.isprintable():
            self.wrong(path, f"{key} is not a line of text")
            return ""
        if required and not found.strip():
            self.wrong(path, f"{key} is missing", required)
        return found

    def positive(self, path: Path, value: Any, zero: bool = False) -> float:
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if good and isfinite(value) and (0 < value < LARGEST or (zero and value == 0)):
            return float(value)
        said = "is missing" if value is None else f"is {value!r}, not a positive number"
        self.wrong(path, f"{path[-1]} {said}")
        return 1.0

    def whole(self, path: Path, value: Any, least: int) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**31:
            return value
        self.wrong(path, f"{path[-1]} is {value!r}, not a whole number of at least {least}")
        return least

    def flag(self, path: Path, table: Mapping[str, Any], default: bool) -> bool:
        found = table.get(str(path[-1]), default)
        if not isinstance(found, bool):
            self.wrong(path, f"{path[-1]} is {found!r}: it is true or false")
            return default
        return found
