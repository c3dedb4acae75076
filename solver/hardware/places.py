"""Where the keys and values of a TOML text stand, for errors, which its reader forgets.

The text has been read, so it is TOML, and this only has to find its way through it.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from itertools import accumulate

from layoutc.dsl.errors import START, Span

Path = tuple[str | int, ...]
"""The keys from the top of a document to a value; numbers count what is in an array."""

TOKEN = re.compile(
    r'''
    [ \t]+ | \#[^\n]*                        # nothing
    | (?P<token>
        """ (?:\\.|[^\\])*? """ "{0,2}       # strings of several lines, which may end in quotes
        | \'\'\' .*? \'\'\' '{0,2}
        | " (?:\\.|[^"\\\n])* " | ' [^'\n]* '
        | [^\s\[\]{}=,.\#"']+                # a bare key, or a piece of a number or a date
        | .                                  # \n [ ] { } = , .
    )''',
    re.VERBOSE | re.DOTALL,
)
ENDS = ("\n", ",", "]", "}", "")
"""What a value that is neither an array nor a table ends before; "" is the end of the text."""


class Places:
    """The spans of all keys and values; of a value on several lines, its first line."""

    def __init__(self, text: str) -> None:
        self.keys: dict[Path, Span] = {}
        self.values: dict[Path, Span] = {}
        self._counts: dict[Path, int] = {}
        self._text = text.replace("\r\n", "\n")
        lengths = (len(line) + 1 for line in self._text.split("\n"))
        self._lines = list(accumulate(lengths, initial=0))
        self._tokens = [m for m in TOKEN.finditer(self._text) if m["token"]]
        self._next = 0
        self._document()

    def of(self, path: Path) -> Span:
        """The place of a value, or of the nearest table around it."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, START)

    def of_key(self, path: Path) -> Span:
        """The place of a key; of a table that has a line of its own, that line."""
        return self.keys.get(path) or self.of(path)

    def written(self, path: Path) -> str:
        """What stands at the place of a value."""
        span = self.of(path)
        start = self._lines[span.line - 1]
        return self._text[start + span.start - 1 : start + span.end - 1]

    # Finding the way.

    def _document(self) -> None:
        table: Path = ()
        while self._peek():
            match self._peek():
                case "\n":
                    self._take()
                case "[":
                    table = self._header()
                case _:
                    self._pair(table)

    def _header(self) -> Path:
        """`[[network]]` begins another table of that name; `[network.hop]` is of the last one."""
        start = self._take().start()
        array = self._peek() == "["
        if array:
            self._take()
        names = self._names()
        end = self._take().end()
        if array:
            end = self._take().end()
        path: Path = ()
        for number, (name, _) in enumerate(names, 1):
            path = (*path, name)
            if array and number == len(names):
                self._counts[path] = self._counts.get(path, -1) + 1
            self.values.setdefault(path, self._span(start, end))
            if path in self._counts:
                path = (*path, self._counts[path])
        self.values[path] = self._span(start, end)
        return path

    def _pair(self, path: Path) -> None:
        """A key and its value."""
        for name, span in self._names():
            path = (*path, name)
            self.keys.setdefault(path, span)
            self.values.setdefault(path, span)
        self._take()
        self._value(path)

    def _names(self) -> list[tuple[str, Span]]:
        """The names of a dotted key, each with its place."""
        names = []
        while self._peek() not in ("=", "]"):
            token = self._take()
            if token["token"] != ".":
                names.append((_plain(token["token"]), self._span(*token.span())))
        return names

    def _value(self, path: Path) -> None:
        first = last = self._take()
        match first["token"]:
            case "[":
                last = self._array(path)
            case "{":
                last = self._inline(path)
            case _:
                while self._peek() not in ENDS:
                    last = self._take()
        self.values[path] = self._span(first.start(), last.end())

    def _array(self, path: Path) -> re.Match[str]:
        """What is left of an array; its last bracket."""
        number = 0
        while (token := self._peek()) != "]":
            if token in ("\n", ","):
                number += token == ","
                self._take()
            else:
                self._value((*path, number))
        return self._take()

    def _inline(self, path: Path) -> re.Match[str]:
        """What is left of an inline table; its last brace."""
        while (token := self._peek()) != "}":
            if token in ("\n", ","):
                self._take()
            else:
                self._pair(path)
        return self._take()

    def _peek(self) -> str:
        """The token that comes next; "" at the end."""
        return self._tokens[self._next]["token"] if self._next < len(self._tokens) else ""

    def _take(self) -> re.Match[str]:
        self._next += 1
        return self._tokens[self._next - 1]

    def _span(self, start: int, end: int) -> Span:
        line = bisect_right(self._lines, start) - 1
        last = self._text.find("\n", start, end)
        first = self._lines[line]
        return Span(line + 1, start - first + 1, (end if last < 0 else last) - first + 1)


def _plain(name: str) -> str:
    """A key without its quotes."""
    if name[0] == '"':
        return str(tomllib.loads(f"key = {name}")["key"])
    return name.strip("'")
