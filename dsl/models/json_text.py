"""A JSON text as its values and the places where they stand, which its reader forgets."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

from layoutc.dsl.errors import START, Diagnostic, Span

Path = tuple[str | int, ...]
"""The keys from the top of a document to a value; numbers count what is in an array."""

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[\[\]{}:,]|[^\s\[\]{}:,"]+')

DEEPEST = 100
"""How many brackets may stand in each other."""

MISTAKES = {
    "Expecting ',' delimiter": ("a comma or a closing bracket is missing here", ""),
    "Expecting ':' delimiter": ("a colon is missing here, between a key and its value", ""),
    "Expecting value": ("a value is missing here", "text stands in double quotes"),
    "Expecting property name enclosed in double quotes": (
        "a key is missing here, in double quotes",
        "after the last value stands no comma",
    ),
    "Illegal trailing comma before end of object": ("there is a comma after the last value", ""),
    "Illegal trailing comma before end of array": ("there is a comma after the last value", ""),
    "Unterminated string starting at": ("this text does not end on its line", ""),
    "Invalid control character at": ("a text has a line break or another control character", ""),
    "Extra data": ("something stands after the end", ""),
}
"""What Python's reader says, in plain words, and the fix."""


@dataclass(frozen=True, slots=True)
class Document:
    """The object that a text holds, and the spans of its keys and values; of a value on several
    lines, its first character."""

    values: Mapping[str, object]
    keys: Mapping[Path, Span]
    places: Mapping[Path, Span]

    def of(self, path: Path) -> Span:
        """The place of a value, or of the nearest object around it."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, START)


def read_json(text: str) -> Document | Diagnostic:
    """The document, or the first error in it."""
    text = text.replace("\r\n", "\n")
    tokens = list(TOKEN.finditer(text))
    deep = _too_deep(text, tokens)
    if deep:
        return Diagnostic(f"brackets stand more than {DEEPEST} deep in each other", deep)
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        return _mistake(text, error)
    except ValueError:
        return Diagnostic("a number has more digits than any size", START)
    finder = _Finder(text, tokens)
    finder.value(())
    if not isinstance(values, dict):
        message = "a configuration is an object"
        return Diagnostic(message, finder.places[()], 'as in  { "model_type": "llama", ... }')
    return Document(values, finder.keys, finder.places)


def _mistake(text: str, error: json.JSONDecodeError) -> Diagnostic:
    message, hint = MISTAKES.get(error.msg, (f"this is not JSON: {error.msg.lower()}", ""))
    if not text.strip():
        return Diagnostic("the file is empty", START)
    token = TOKEN.match(text, error.pos)
    end = token.end() if token else error.pos + 1
    return Diagnostic(message, _Lines(text).span(error.pos, end), hint)


def _too_deep(text: str, tokens: list[re.Match[str]]) -> Span | None:
    """The bracket that is one too many."""
    depth = 0
    for token in tokens:
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > DEEPEST:
            return _Lines(text).span(*token.span())
    return None


class _Lines:
    """Offsets of a text as lines and columns."""

    def __init__(self, text: str) -> None:
        self._starts = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))

    def span(self, start: int, end: int) -> Span:
        line = bisect_right(self._starts, start) - 1
        last = min(end, self._starts[line + 1] - 1) if line + 1 < len(self._starts) else end
        first = self._starts[line]
        return Span(line + 1, start - first + 1, max(last, start) - first + 1)


class _Finder:
    """Finds its way through tokens of what has been read, so that it is JSON."""

    def __init__(self, text: str, tokens: list[re.Match[str]]) -> None:
        self.keys: dict[Path, Span] = {}
        self.places: dict[Path, Span] = {}
        self._lines, self._tokens, self._next = _Lines(text), tokens, 0

    def value(self, path: Path) -> None:
        token = self._take()
        self.places[path] = self._lines.span(*token.span())
        match token[0]:
            case "{":
                self._object(path)
            case "[":
                self._array(path)

    def _object(self, path: Path) -> None:
        while (token := self._take())[0] != "}":
            if token[0] != ",":
                key = (*path, str(json.loads(token[0])))
                self.keys[key] = self._lines.span(*token.span())
                self._take()
                self.value(key)

    def _array(self, path: Path) -> None:
        number = 0
        while self._tokens[self._next][0] != "]":
            if self._tokens[self._next][0] == ",":
                self._take()
            else:
                self.value((*path, number))
                number += 1
        self._take()

    def _take(self) -> re.Match[str]:
        self._next += 1
        return self._tokens[self._next - 1]
