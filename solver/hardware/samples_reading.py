"""From the text of a file of samples to `Samples`, or to every error in it, each with its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeVar

from layoutc.dsl.errors import START, Diagnostic, Span, in_order, source_lines
from layoutc.dsl.program import DTYPES
from layoutc.solver.hardware import samples
from layoutc.solver.hardware.cells import Cell, cells, meant, number
from layoutc.solver.hardware.samples import (
    COLUMNS,
    KINDS,
    MOVES,
    Group,
    Sample,
    Samples,
    Seen,
    Setting,
)
from layoutc.solver.hardware.tier import TOPOLOGIES, Wraparound

KEYS = ("device", "platform", "devices", "jax", "date", "memory_bytes", "tier")
KEY = re.compile(r"#\s*(?P<key>[A-Za-z_]\w*)\s*:\s*(?P<value>.*?)\s*")
TIER = "# tier: NVLink, switch, 8"

Named = TypeVar("Named", bound=str)


def read_samples(text: str) -> Samples | list[Diagnostic]:
    """The samples that a text holds, or everything that is wrong with it."""
    reader = _Reader()
    found = reader.samples(source_lines(text))
    return in_order(reader.errors) if reader.errors else found


@dataclass(slots=True)
class _Reader:
    errors: list[Diagnostic] = field(default_factory=list)
    said: dict[str, Cell] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)

    def wrong(self, span: Span, message: str, hint: str = "") -> None:
        self.errors.append(Diagnostic(message, span, hint))

    def samples(self, lines: Sequence[str]) -> Samples:
        rows = []
        for at, line in enumerate(lines, 1):
            if line.startswith("#"):
                self.comment(at, line)
            elif line.strip():
                rows.append(list(cells(at, line)))
        names = self.columns(rows[0]) if rows else ()
        if not rows:
            self.wrong(START, "there are no samples", f"begin with the line  {','.join(COLUMNS)}")
        found = [s for s in (self.sample(names, row) for row in rows[1:] if names) if s]
        return Samples(self.setting([sample for sample, _ in found]), self.placed(found))

    # What is said of the machine.

    def comment(self, at: int, line: str) -> None:
        """A line "# key: value"; any other comment is left alone."""
        found = KEY.fullmatch(line)
        if not found:
            return
        cell = Cell(found["value"], Span(at, found.start("value") + 1, len(line) + 1))
        if found["key"] == "tier":
            self.tier(cell)
        elif found["key"] in KEYS:
            self.said[found["key"]] = cell
        else:
            span = Span(at, found.start("key") + 1, found.end("key") + 1)
            self.wrong(span, f"a machine has no {found['key']}", meant(found["key"], KEYS))

    def tier(self, cell: Cell) -> None:
        parts = [part.strip() for part in cell.text.split(",")]
        wraps = re.fullmatch(r"wraps ([1-9]\d{0,6})( together)?", parts[3]) if parts[3:] else None
        topology = next((t for t in TOPOLOGIES if t in parts[1:2] and t != "flat"), None)
        extents = re.fullmatch(r"[1-9]\d{0,6}(x[1-9]\d{0,6})*", parts[2]) if parts[2:] else None
        good = len(parts) == 3 or (len(parts) == 4 and wraps and topology == "torus")
        if not (good and topology and extents and parts[0]):
            self.wrong(cell.span, "this is no tier", f"name, topology, chips, as in  {TIER}")
            return
        shape = tuple(map(int, parts[2].split("x")))
        if topology == "switch" and len(shape) > 1:
            self.wrong(cell.span, "a switch has no axes", TIER)
        if parts[0] in (one.name for one in self.seen):
            self.wrong(cell.span, f"two tiers are called {parts[0]}")
        closed = Wraparound(int(wraps[1]), bool(wraps[2])) if wraps else samples.OPEN
        self.seen.append(Seen(parts[0], topology, shape, closed))

    def setting(self, found: Sequence[Sample]) -> Setting:
        """The machine. Where no tier is said, there is a switch as large as the largest group."""
        if not self.seen:
            chips = max((_size(s.group) for s in found), default=1)
            self.seen.append(Seen("network", "switch", (max(chips, self.whole("devices", 1)),)))
        chips = prod(size for one in self.seen for size in one.extents)
        memory = self.whole("memory_bytes", 0)
        if not memory:
            self.wrong(START, "the memory of a chip is not said", "# memory_bytes: 80e9")
        device, platform, jax, date = (self.text(k) for k in ("device", "platform", "jax", "date"))
        devices = self.whole("devices", chips)
        if devices != chips:
            span = self.said["devices"].span
            self.wrong(span, f"there are {devices} devices, and tiers for {chips}", TIER)
        return Setting(
            device or "unnamed chips", platform, devices, jax, date, memory, tuple(self.seen)
        )

    def text(self, key: str) -> str:
        cell = self.said.get(key)
        if cell and not cell.text.isprintable():
            self.wrong(cell.span, f"{key} is not a line of text")
        return cell.text if cell else ""

    def whole(self, key: str, default: int) -> int:
        cell = self.said.get(key)
        value = number(cell.text) if cell else float(default)
        if cell and not (1 <= value < 2**62 and value == int(value)):
            self.wrong(cell.span, f"{key} is {cell.text!r}, not a whole number of at least 1")
            return default or 1
        return int(value)

    # The samples.

    def columns(self, row: Sequence[Cell]) -> tuple[str, ...]:
        """The names of the columns, in any order; none if they aren't those."""
        names = tuple(cell.text for cell in row)
        if sorted(names) == sorted(COLUMNS):
            return names
        listed = ",".join(COLUMNS)
        self.wrong(row[0].span.to(row[-1].span), f"the columns are {listed}, in any order", listed)
        return ()

    def sample(self, names: Sequence[str], row: Sequence[Cell]) -> tuple[Sample, Span] | None:
        """A sample, and the place of its group."""
        if len(row) != len(names):
            whole = row[0].span.to(row[-1].span)
            self.wrong(whole, f"there are {len(row)} cells, and {len(names)} columns")
            return None
        found = dict(zip(names, row, strict=True))
        before = len(self.errors)
        kind = self.one_of("kind", found["kind"], KINDS)
        dtype = self.one_of("dtype", found["dtype"], tuple(DTYPES))
        work, seconds = (self.positive(key, found[key]) for key in ("work", "seconds"))
        where = self.group(found["group"], kind in MOVES) if kind else ()
        if len(self.errors) > before or not kind or not dtype:
            return None
        return Sample(kind, where, dtype, work, seconds), found["group"].span

    def group(self, cell: Cell, moves: bool) -> Group:
        if not moves:
            if cell.text:
                self.wrong(cell.span, "only a move has a group of chips", "leave it empty")
            return ()
        found = samples.group(cell.text)
        if not found:
            hint = "as in  8, 2@4 (four apart), 4x1x1 (along a torus), 8*2 (of two tiers)"
            self.wrong(cell.span, f"{cell.text!r} is no group of chips", hint)
        return found or ()

    def placed(self, found: Sequence[tuple[Sample, Span]]) -> tuple[Sample, ...]:
        """The samples, those of moves held against the machine's tiers."""
        for sample, span in found:
            why = samples.misplaced(sample.group, self.seen) if sample.group else ""
            if why:
                said = samples.spelled(sample.group)
                self.wrong(span, f"{said} is no group of this machine: {why}")
        return tuple(sample for sample, _ in found)

    def one_of(self, key: str, cell: Cell, known: Sequence[Named]) -> Named | None:
        found = next((one for one in known if one == cell.text), None)
        if found is None:
            self.wrong(cell.span, f"there is no {key} {cell.text!r}", meant(cell.text, known))
        return found

    def positive(self, key: str, cell: Cell) -> float:
        found = number(cell.text)
        if found <= 0:
            self.wrong(cell.span, f"{key} is {cell.text!r}, not a positive number")
        return found


def _size(where: Group) -> int:
    return prod(run.size * run.stride for runs in where for run in runs)
