"""The values and figures of a TOML table, each of its kind, or an error at its place.

What is wrong is kept, and something harmless given in its stead, so that all errors are found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from layoutc.dsl.errors import Diagnostic
from layoutc.solver.hardware.machine import Figure
from layoutc.solver.hardware.places import Path, Places

Table = Mapping[str, Any]

SMALLEST, LARGEST = 1e-30, 1e30
"""Figures beyond these are slips, and their products may not be numbers any more."""

FIGURE = ("value", "unit", "source", "fitted")
SOURCE = 'source = "the data sheet, page 2"'
UNITS = {
    "peak_flops": "FLOP/s",
    "memory_bytes": "bytes",
    "memory_bandwidth": "bytes/s",
    "matmul_efficiency": "of the peak",
    "memory_efficiency": "of the bandwidth",
    "price": "dollars a chip-hour",
    "bandwidth": "bytes/s",
    "hop": "seconds a hop",
    "start": "seconds a collective",
}
"""What a figure is in. Where its file says more, that begins with the same word."""

SHOWN = 40
"""How much of a text is shown in a message, in characters."""


def shown(value: object) -> str:
    """A value as a message shows it: on one line, and short whatever it is."""
    match value:
        case dict():
            return "a table"
        case list():
            return "an array"
        case bool():
            return str(value).lower()
        case str():
            return repr(value) if len(value) <= SHOWN else f"{value[:SHOWN]!r}…"
        case int() if value.bit_length() > 128:
            return "a huge number"
        case float() if float(f"{value:g}") == value:
            return f"{value:g}"
        case _:
            return str(value)


@dataclass(slots=True)
class Values:
    """Reads values; `path` is always that of the value itself, whose last part is its key."""

    places: Places
    errors: list[Diagnostic] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    def wrong(self, path: Path, message: str, hint: str = "") -> None:
        """Keeps an error at a value, or at the table where it should be."""
        self.errors.append(Diagnostic(message, self.places.of(path), hint))

    def misplaced(self, path: Path, message: str, hint: str = "") -> None:
        """Keeps an error at a key."""
        self.errors.append(Diagnostic(message, self.places.of_key(path), hint))

    def known(self, path: Path, table: Table, keys: Iterable[str], of: str) -> None:
        """No key is there that nobody reads: it may be one that was misspelled."""
        keys = list(keys)
        for key in table:
            if key not in keys:
                near = get_close_matches(key[:SHOWN], keys, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(keys)}"
                name = key if key.isprintable() and 0 < len(key) <= SHOWN else shown(key)
                self.misplaced((*path, key), f"{of} has no {name}", hint)

    def table(self, path: Path, table: Table, hint: str) -> Table:
        """A table; `hint` says how to write it."""
        key = str(path[-1])
        found = table.get(key)
        if isinstance(found, dict):
            return found
        what = "is missing" if found is None else f"is {shown(found)}, not a table"
        self.wrong(path, f"{key} {what}", hint)
        return {}

    def text(self, path: Path, table: Table, of: str, required: str = "") -> str:
        """A line of text, "" where there is none; it is `required` if that says how to write it."""
        key = str(path[-1])
        found = table.get(key, "")
        if not isinstance(found, str) or not found.isprintable():
            hint = required or f'{key} = "..."'
            self.wrong(path, f"the {key} of {of} is {shown(found)}, not one line of text", hint)
            return ""
        if required and not found.strip():
            self.wrong(path, f"{of} has no {key}", required)
        return found.strip()

    def number(self, path: Path, value: Any, of: str, unit: str, zero: bool = False) -> float:
        """A positive number, or zero where that will do."""
        hint = f"{path[-1]} = ...  {unit if unit.startswith('of ') else f'in {unit}'}"
        if value is None:
            self.wrong(path, f"{of} has no {path[-1]}", hint)
            return 1.0
        real = isinstance(value, int | float) and not isinstance(value, bool)
        if real and (SMALLEST <= value <= LARGEST or (zero and value == 0)):
            return float(value)
        what = "not a number from 0 up" if zero else "not a positive number"
        if real and 0 < value < float("inf"):
            what = "beyond any machine"
        self.wrong(path, f"{of} is {shown(value)}, {what}", hint)
        return 1.0

    def whole(self, path: Path, value: object, least: int, most: int) -> int:
        """A whole number within bounds."""
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        said = f"{path[-1]} is {shown(value)}, not a whole number from {least} to {most:,}"
        self.wrong(path, said)
        return least

    def flag(self, path: Path, table: Table, default: bool) -> bool:
        """True or false."""
        found = table.get(str(path[-1]), default)
        if not isinstance(found, bool):
            hint = f"{path[-1]} = {shown(default)}"
            self.wrong(path, f"{path[-1]} is {shown(found)}, not true or false", hint)
            return default
        return found

    # Figures.

    def figure(self, path: Path, table: Table, of: str = "", zero: bool = False) -> float:
        """A number with its source, which is put on record."""
        key = str(path[-1])
        name, found = f"{of}.{key}".lstrip("."), table.get(key)
        if not isinstance(found, dict):
            self._bare(path, found)
            return 1.0
        self.known(path, found, FIGURE, key)
        number = self.number((*path, "value"), found.get("value"), key, UNITS[key], zero)
        self.figures.append(Figure(name, number, *self.said(path, found)))
        return number

    def _bare(self, path: Path, value: object) -> None:
        """A figure is missing, or no table."""
        key = path[-1]
        if value is None:
            table = f"[{key}]  with  value = ...  and  {SOURCE}"
            inline = f"{key} = {{ value = ..., {SOURCE} }}"
            self.wrong(path, f"{key} is missing", table if len(path) == 1 else inline)
            return
        plain = isinstance(value, int | float) and shown(value)[0].isdigit()
        hint = f"{key} = {{ value = {self.places.written(path) if plain else '...'}, {SOURCE} }}"
        what = "has no source" if plain else f"is {shown(value)}, not a value and its source"
        self.wrong(path, f"{key} {what}", hint)

    def said(self, path: Path, table: Table) -> tuple[str, str, str]:
        """The unit of a figure, its source, and what it was fitted on."""
        key = str(path[-1])
        unit, base = self.text((*path, "unit"), table, key), UNITS[key]
        if unit and re.split(r"[\s,:]", unit)[0] != base.split()[0]:
            message = f"{key} is in {base}, and this says {shown(unit)}"
            self.wrong((*path, "unit"), message, f'unit = "{base}, ..."  and the value to match')
        fitted = self.text((*path, "fitted"), table, key)
        return unit or base, self.source(path, table, key), fitted

    def source(self, path: Path, table: Table, of: str) -> str:
        """Where something is from; without that it is wrong."""
        return self.text((*path, "source"), table, of, SOURCE)
