"""XLA's textual programs (HLO) as values: computations of instructions, and places in sources.

Reads what `compiled.as_text()` prints in JAX 0.10 to 0.12, optimised or not, on any backend. It
knows the grammar of a line and nothing of what operations mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

BYTES = {
    "pred": 1, "s8": 1, "u8": 1, "f8e4m3fn": 1, "f8e5m2": 1, "s16": 2, "u16": 2, "f16": 2,
    "bf16": 2, "s32": 4, "u32": 4, "f32": 4, "s64": 8, "u64": 8, "f64": 8, "c64": 8,
}  # fmt: skip
"""XLA's dtypes and their sizes in bytes."""


class Array(NamedTuple):
    """The type of an array: XLA's name of the dtype, and the extents on one device."""

    dtype: str
    extents: tuple[int, ...]

    @property
    def elements(self) -> int:
        count = 1
        for extent in self.extents:
            count *= extent
        return count


class Place(NamedTuple):
    """A line of a Python source."""

    file: str
    line: int


@dataclass(frozen=True)
class Instruction:
    """`name = types opcode(operands), attributes`. A tuple has several `types`.

    `text` is what stands between the operation's parentheses, for the few whose operands are
    not names: a constant's value, a parameter's number. `layouts` say how each of `types` lies in
    memory: its dims, those that vary fastest first.
    """

    name: str
    types: tuple[Array, ...]
    opcode: str
    operands: tuple[str, ...]
    attributes: Mapping[str, str]
    text: str = ""
    root: bool = False
    layouts: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def _metadata(self) -> str:
        return self.attributes.get("metadata", "")

    @property
    def path(self) -> str:
        """JAX's path to the operation that this comes from, its primitive last; "" if unknown."""
        found = re.search(r'op_name="((?:[^"\\]|\\.)*)"', self._metadata)
        return found[1] if found else ""

    @property
    def primitive(self) -> str:
        """The last part of the path: "reduce_scatter", "dot_general"."""
        return self.path.rpartition("/")[2]

    def called(self, *keys: str) -> tuple[str, ...]:
        """The computations that the given attributes name."""
        texts = (self.attributes.get(key, "") for key in keys)
        return tuple(name for text in texts for name in re.findall(r"[\w.\-]+", text))


@dataclass(frozen=True)
class Computation:
    """Instructions in the order of the text: of an optimised program, that of execution."""

    name: str
    instructions: tuple[Instruction, ...]

    @cached_property
    def named(self) -> dict[str, Instruction]:
        return {i.name: i for i in self.instructions}

    @property
    def result(self) -> Instruction:
        """The instruction whose value the computation returns."""
        return next((i for i in self.instructions if i.root), self.instructions[-1])


@dataclass(frozen=True)
class Module:
    """A whole program. `entry` is the name of the computation that one device runs; `scheduled`
    says that the text's order is that of execution, as XLA's last passes leave it."""

    computations: Mapping[str, Computation]
    entry: str
    frames: Mapping[int, tuple[Place, ...]]
    """For each number of a stack frame, its places, innermost first."""
    scheduled: bool = True

    def places(self, instruction: Instruction) -> tuple[Place, ...]:
        """Where an instruction comes from in the Python sources, innermost first."""
        metadata = instruction.attributes.get("metadata", "")
        frame = re.search(r"stack_frame_id=(\d+)", metadata)
        if frame:
            return self.frames.get(int(frame[1]), ())
        line = re.search(r'source_file="([^"]*)" source_line=(\d+)', metadata)
        return (Place(line[1], int(line[2])),) if line else ()


def parse(text: str) -> Module:
    """The program that a text spells.

    Raises:
        ValueError: it has no entry computation, so that it is no HLO program.
    """
    computations: dict[str, Computation] = {}
    entry = ""
    for name, is_entry, lines in _blocks(text):
        computations[name] = Computation(name, tuple(map(_instruction, lines)))
        entry = name if is_entry else entry
    if not entry:
        raise ValueError("no ENTRY computation: this is not an HLO program")
    scheduled = "is_scheduled=true" in text.partition("\n")[0]
    return Module(computations, entry, _frames(text), scheduled)


# Blocks and lines.

HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+) (?:\(.*\) -> .* )?\{$")
NUMBERING = re.compile(r"/\*index=\d+\*/")
"""What XLA writes before every fifth of many operands."""
START = re.compile(r"^\s+(ROOT )?%?([\w.\-]+) = ")


def _blocks(text: str) -> Iterator[tuple[str, bool, list[str]]]:
    """Each computation: its name, whether it is the entry, a string for each instruction."""
    name, is_entry = "", False
    lines: list[str] = []
    for line in NUMBERING.sub("", text).splitlines():
        head = HEAD.match(line)
        if head:
            name, is_entry, lines = head[2], bool(head[1]), []
        elif line.startswith("}") and name:
            yield name, is_entry, lines
            name = ""
        elif name and START.match(line):
            lines.append(line)
        elif name and lines:
            lines[-1] += line  # a constant goes over several lines


ARRAY = re.compile(r"([a-z][a-z0-9]*)\[([0-9, <=]*)\]")


def _instruction(line: str) -> Instruction:
    start = START.match(line)
    assert start is not None
    end = _type_end(line, start.end())
    opcode, _, _ = line[end:].lstrip().partition("(")
    opening = line.index("(", end)
    closing = _closing(line, opening)
    inside = line[opening + 1 : closing]
    # The one comma that does not part attributes stands inside a mesh of devices.
    rest = line[closing + 1 :].replace("], device_ids=", "] device_ids=")
    attributes = dict(part.split("=", 1) for part in _split(rest) if "=" in part)
    return Instruction(
        name=start[2],
        types=_arrays(line[start.end() : end]),
        opcode=opcode,
        operands=tuple(_last_name(part) for part in _split(inside)),
        attributes=attributes,
        text=inside,
        root=bool(start[1]),
        layouts=_layouts(line[start.end() : end]),
    )


def _arrays(text: str) -> tuple[Array, ...]:
    return tuple(
        Array(dtype, tuple(int(e.strip(" <=")) for e in extents.split(",") if e.strip()))
        for dtype, extents in ARRAY.findall(text)
    )


LAYOUT = re.compile(r"[a-z][a-z0-9]*\[([0-9, <=]*)\](?:\{([\d,]*))?")


def _layouts(text: str) -> tuple[tuple[int, ...], ...]:
    """Where none is printed, an array lies row by row."""
    return tuple(
        tuple(map(int, order.split(",")))
        if order
        else tuple(reversed(range(len(extents.split(",")) if extents else 0)))
        for extents, order in LAYOUT.findall(text)
    )


def _type_end(line: str, start: int) -> int:
    """Where the type that begins at `start` ends: it holds no blank but inside brackets."""
    if line[start] == "(":
        return _closing(line, start) + 1
    at = start
    while line[at] != " ":
        at = _closing(line, at) + 1 if line[at] in "[{(" else at + 1
    return at


def _closing(line: str, opening: int) -> int:
    """The place of the bracket that closes the one at `opening`; strings are passed over."""
    depth, at = 0, opening
    while at < len(line):
        match line[at]:
            case '"':
                at = _string_end(line, at)
            case "(" | "[" | "{":
                depth += 1
            case ")" | "]" | "}":
                depth -= 1
                if not depth:
                    return at
        at += 1
    return len(line) - 1


def _string_end(line: str, quote: int) -> int:
    at = quote + 1
    while at < len(line) and line[at] != '"':
        at += 2 if line[at] == "\\" else 1
    return at


def _split(text: str) -> list[str]:
    """The parts between the commas that stand in no bracket and no string, stripped."""
    parts, start, at = [], 0, 0
    while at < len(text):
        match text[at]:
            case '"':
                at = _string_end(text, at)
            case "(" | "[" | "{":
                at = _closing(text, at)
            case ",":
                parts.append(text[start:at])
                start = at + 1
        at += 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _last_name(operand: str) -> str:
    """The name of an operand, which may have its type before it."""
    return operand.split(" ")[-1].lstrip("%")


# Places in sources.


def _frames(text: str) -> dict[int, tuple[Place, ...]]:
    """The tables at the head of the text: files, places in them, and frames that chain places."""
    files = dict(re.findall(r'(?m)^(\d+) "(.*)"$', _table(text, "FileNames")))
    lines = {
        n: Place(files.get(file, ""), int(line))
        for n, file, line in re.findall(r"(?m)^(\d+) \{file_name_id=(\d+) .*?line=(\d+)", text)
    }
    rows = re.findall(r"(?m)^(\d+) \{file_location_id=(\d+)(?: parent_frame_id=(\d+))?", text)
    parents = {int(n): int(parent or 0) for n, _, parent in rows}
    # Some versions of XLA print a parent's number one too high, so that a root is its own.
    shift = int(any(n == parent for n, parent in parents.items()))
    places = {int(n): lines.get(location, Place("", 0)) for n, location, _ in rows}
    return {n: tuple(_chain(n, places, parents, shift)) for n in places}


def _table(text: str, name: str) -> str:
    _, _, after = text.partition(f"\n{name}\n")
    return after.partition("\n\n")[0]


def _chain(
    frame: int, places: Mapping[int, Place], parents: Mapping[int, int], shift: int
) -> Iterator[Place]:
    while frame in places:
        yield places[frame]
        above = parents[frame] - shift
        frame = above if above < frame else 0
