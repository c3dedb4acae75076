"""Timings of whole models, on which a machine's constants are fitted: a CSV file, read into
`Timing`s or into every error in it, each with its place.

    model,phase,chips,batch,prompt,generate,context,weights,layout,attention,seconds
    palm-540b,decode,64,512,,64,2048,bf16,2D weight-stationary,batch,6.0

`seconds` is what the whole batch took: a `prefill`, all `generate` steps of a `decode`, or a
`request`, one after the other. Other columns may be left out, and cells left empty: layouts are
then found. `pipeline` are stages, `micro_batches` what fills them, and nobody reads a `note`.
Empty lines and those that begin with # are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar, get_args

from layoutc.dsl.errors import START, Diagnostic, Span, in_order, source_lines
from layoutc.solver.attention_kinds import ALONE
from layoutc.solver.hardware.cells import Cell, cells, meant, number
from layoutc.solver.serving.variants import Weights
from layoutc.solver.units import chips as counted

TimedPhase = Literal["prefill", "decode", "request"]

NEEDED = ("model", "phase", "chips", "batch", "seconds")
FREE = ("prompt", "generate", "context", "weights", "layout", "attention", "pipeline",
        "micro_batches", "note")  # fmt: skip
SIDES: tuple[str, ...] = ALONE
"""What attention may be sharded over, where that is said."""

MOST = 10**7
"""Of a size: beyond it a number is a slip."""

Named = TypeVar("Named", bound=str)


@dataclass(frozen=True, slots=True)
class Timing:
    """One row: what was run, the seconds that it took, and the places of its model's name and of
    all of it.

    `context` is what is in the caches when decoding starts, the prompt included. "" is a layout
    that was not said, and 0 micro-batches are as many as are best.
    """

    model: str
    phase: TimedPhase
    chips: int
    batch: int
    prompt: int
    generate: int
    context: int
    weights: Weights
    layout: str
    attention: str
    pipeline: int
    micro: int
    seconds: float
    note: str
    span: Span
    row: Span

    @property
    def tensor(self) -> int:
        """The chips that share a matmul."""
        return self.chips // self.pipeline


def read_timings(text: str) -> list[Timing] | list[Diagnostic]:
    """The timings of a text, or everything that is wrong with it."""
    reader = _Reader()
    found = reader.timings(source_lines(text))
    return in_order(reader.errors) if reader.errors else found


@dataclass(slots=True)
class _Reader:
    errors: list[Diagnostic] = field(default_factory=list)

    def wrong(self, span: Span, message: str, hint: str = "") -> None:
        self.errors.append(Diagnostic(message, span, hint))

    def timings(self, lines: Sequence[str]) -> list[Timing]:
        rows = [
            list(cells(at, line))
            for at, line in enumerate(lines, 1)
            if line.strip() and not line.startswith("#")
        ]
        names = self._columns(rows[0]) if rows else ()
        found = [t for row in rows[1:] if names for t in self._timing(names, row)]
        if len(rows) < 2:
            hint = f"begin with the line  {','.join((*NEEDED, *FREE))}"
            self.wrong(START, "there are no timings", hint)
        return found

    def _columns(self, row: Sequence[Cell]) -> tuple[str, ...]:
        """The names of the columns, in any order; none if one is wrong or missing."""
        before, names = len(self.errors), tuple(cell.text for cell in row)
        for at, cell in enumerate(row):
            if cell.text not in (*NEEDED, *FREE):
                self.wrong(cell.span, f"there is no column {cell.text!r}",
                           meant(cell.text, (*NEEDED, *FREE)))  # fmt: skip
            elif cell.text in names[:at]:
                self.wrong(cell.span, f"there are two columns {cell.text}")
        for name in NEEDED:
            if name not in names:
                self.wrong(row[0].span.to(row[-1].span), f"there is no column {name}")
        return names if len(self.errors) == before else ()

    def _timing(self, names: Sequence[str], row: Sequence[Cell]) -> Iterator[Timing]:
        if len(row) != len(names):
            whole = row[0].span.to(row[-1].span)
            self.wrong(whole, f"there are {len(row)} cells, and {len(names)} columns")
            return
        before, said = len(self.errors), dict(zip(names, row, strict=True))
        made = self._made(said, row[0].span.to(row[-1].span))
        if len(self.errors) == before and made is not None:
            yield made

    def _made(self, said: Mapping[str, Cell], row: Span) -> Timing | None:
        phase = self._one_of("phase", said["phase"], get_args(TimedPhase))
        weights = self._one_of("weights", said.get("weights"), get_args(Weights), "bf16")
        attention = self._one_of("attention", said.get("attention"), SIDES, "")
        batch = self._size("batch", said["batch"])
        chips, pipeline = self._chips(said)
        if not said["model"].text:
            self.wrong(said["model"].span, "there is no model here", "as in  palm-540b")
        seconds = number(said["seconds"].text)
        if seconds <= 0:
            message = f"seconds is {said['seconds'].text!r}, not a positive number"
            self.wrong(said["seconds"].span, message)
        prompt = self._tokens("prompt", said, phase, ("prefill", "request"))
        generate = self._tokens("generate", said, phase, ("decode", "request"))
        context, micro = self._context(said, prompt), self._size_or(0, "micro_batches", said)
        if phase is None or weights is None or attention is None:
            return None
        return Timing(
            said["model"].text, phase, chips, batch, prompt, generate, context, weights,
            _text(said, "layout"), attention, pipeline, micro, seconds, _text(said, "note"),
            said["model"].span, row,
        )  # fmt: skip

    def _chips(self, said: Mapping[str, Cell]) -> tuple[int, int]:
        """All of them, and the stages that they are divided into."""
        before = len(self.errors)
        chips, pipeline = self._size("chips", said["chips"]), self._size_or(1, "pipeline", said)
        if len(self.errors) == before and chips % pipeline:
            message = f"{counted(chips)} can't be divided into {pipeline:,} stages"
            self.wrong(said["pipeline"].span, message)
        return chips, pipeline

    def _context(self, said: Mapping[str, Cell], prompt: int) -> int:
        """What is in the caches: no less than was put there."""
        before = len(self.errors)
        context = self._size_or(max(1, prompt), "context", said)
        if len(self.errors) == before and context < prompt:
            message = f"context is {context:,}, less than the prompt of {prompt:,} in it"
            self.wrong(said["context"].span, message)
        return context

    def _tokens(
        self, name: str, said: Mapping[str, Cell], phase: str | None, phases: Sequence[str]
    ) -> int:
        """Tokens of a phase, which has to have some."""
        found = self._size_or(0, name, said)
        if phase in phases and not found:
            where = said[name] if name in said else said["phase"]
            self.wrong(where.span, f"a {phase} has no {name}", "so many tokens of each sequence")
        return found

    def _size_or(self, default: int, name: str, said: Mapping[str, Cell]) -> int:
        """A whole number, or what an empty cell, or none, stands for."""
        return self._size(name, said[name]) if _text(said, name) else default

    def _size(self, name: str, cell: Cell) -> int:
        """A whole number; 1 where it is wrong."""
        found = number(cell.text)
        if 1 <= found <= MOST and found == int(found):
            return int(found)
        message = f"{name} is {cell.text!r}, not a whole number from 1 to {MOST:,}"
        self.wrong(cell.span, message)
        return 1

    def _one_of(
        self, name: str, cell: Cell | None, known: Sequence[Named], default: Named | None = None
    ) -> Named | None:
        if default is not None and (cell is None or not cell.text):
            return default
        assert cell is not None, name
        found = next((one for one in known if one == cell.text), None)
        if found is None:
            self.wrong(cell.span, f"there is no {name} {cell.text!r}", meant(cell.text, known))
        return found


def _text(said: Mapping[str, Cell], name: str) -> str:
    return said[name].text if name in said else ""
