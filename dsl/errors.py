"""Errors as values, and the one place where they become text.

A `Diagnostic` says what is wrong and where; carets are made here, late, from the source. Long
lines are shown in part, tabs as a space, and wide characters count as the two columns they take.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

WINDOW = 100
"""How much of a line is shown, in characters, around the place in question."""


@dataclass(frozen=True, slots=True)
class Span:
    """A place in one line: columns `start` up to, not including, `end`; all count from 1."""

    line: int
    start: int
    end: int

    def to(self, other: Span) -> Span:
        """From the start of this to the end of `other`, on the same line."""
        return Span(self.line, self.start, other.end)


START = Span(1, 1, 1)
"""The place of what is wrong with a file as a whole."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error: a sentence, its place, the fix if there is one, and further places."""

    message: str
    span: Span
    hint: str = ""
    notes: tuple[tuple[Span, str], ...] = ()


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """As a reader meets them, each once."""
    unique = dict.fromkeys(diagnostics)
    return sorted(unique, key=lambda d: (d.span.line, d.span.start))


def source_lines(source: str) -> list[str]:
    """The lines of a file, whichever way it ends them."""
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def render(diagnostics: Iterable[Diagnostic], source: str, filename: str) -> str:
    """The errors as a person reads them, each ending in a newline; "" if there are none."""
    lines = source_lines(source)
    return "".join(_render_one(d, lines, filename) for d in in_order(diagnostics))


def count(number: int) -> str:
    """ "1 error", "2 errors"."""
    return f"{number} error" if number == 1 else f"{number} errors"


def to_json(diagnostic: Diagnostic, filename: str) -> dict[str, str | int]:
    """The error as `--json` holds it."""
    return {
        "file": filename,
        "line": diagnostic.span.line,
        "column": diagnostic.span.start,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
    }


def _render_one(diagnostic: Diagnostic, lines: list[str], filename: str) -> str:
    span = diagnostic.span
    text = [f"{filename}:{span.line}:{span.start}: error: {diagnostic.message}"]
    places = [(span, ""), *diagnostic.notes]
    gutter = max(len(str(place.line)) for place, _ in places)
    for place, note in places:
        text += _excerpt(place, note, lines, gutter)
    text += [f"  {line}" for line in diagnostic.hint.splitlines()]
    return "\n".join(text) + "\n"


def _excerpt(span: Span, note: str, lines: list[str], gutter: int) -> list[str]:
    """The source line with the place underlined; nothing where the file is empty."""
    source = lines[span.line - 1] if span.line <= len(lines) else ""
    if not source.strip():
        return []
    before, marked, shown = _window(source, span)
    carets = " " * _width(before) + "^" * max(1, _width(marked))
    under = f"{carets} {note}".rstrip()
    return [f"  {span.line:>{gutter}} | {shown}", f"  {'':>{gutter}} | {under}"]


def _window(source: str, span: Span) -> tuple[str, str, str]:
    """What stands before the place, in the place, and all that is shown."""
    start, end = span.start - 1, min(span.end - 1, span.start - 1 + WINDOW)
    first = max(0, start - WINDOW // 2) if len(source) > WINDOW else 0
    last = first + max(WINDOW, end - first)
    head, tail = "…" if first else "", "…" if len(source) > last else ""
    before, marked = head + _visible(source[first:start]), _visible(source[start:end])
    return before, marked, head + _visible(source[first:last]).rstrip() + tail


def _visible(text: str) -> str:
    """With a space for each character that would move the cursor otherwise."""
    return "".join(c if c.isprintable() else " " for c in text)


def _width(text: str) -> int:
    """How many columns a terminal gives to `text`."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 1 + (east_asian_width(c) in "WF") for c in text)
