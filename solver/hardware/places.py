"""Where the keys of a TOML text stand, for errors: the standard library's reader forgets it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutc.dsl.errors import START, Span, source_lines

Path = tuple[str | int, ...]
"""The keys from the top of a document to a value; numbers count tables of one name."""

HEADER = re.compile(r"\s*(\[{1,2})\s*([\w.\-\" ]+?)\s*\]{1,2}")
KEY = re.compile(r"\s*([A-Za-z0-9_\-.]+)\s*=\s*")
INNER = re.compile(r"[{,]\s*([A-Za-z0-9_\-]+)\s*=\s*")
TRIPLE = re.compile(r'"""|\'\'\'')


class Places:
    """The span of each key's value, or of what stands around it if it isn't known."""

    def __init__(self, text: str) -> None:
        self.spans: dict[Path, Span] = {}
        self.counts: dict[str, int] = {}
        at: Path = ()
        for number, line in _single_lines(text):
            header = HEADER.match(line)
            if header:
                at = self._header(header)
                self.spans.setdefault(at, _span(number, line, header.start(1), header.end()))
                continue
            key = KEY.match(line)
            if key:
                self._key(number, line, (*at, *key[1].split(".")), key)

    def _header(self, found: re.Match[str]) -> Path:
        """`[[network]]` begins another table of that name; `[network.hop]` is of the last one."""
        names = [name.strip().strip('"') for name in found[2].split(".")]
        if found[1] == "[[":
            self.counts[names[0]] = self.counts.get(names[0], -1) + 1
        number = self.counts.get(names[0])
        return tuple(names) if number is None else (names[0], number, *names[1:])

    def _key(self, number: int, line: str, path: Path, found: re.Match[str]) -> None:
        end = len(_bare(line))
        self.spans[path] = _span(number, line, found.end(), end)
        for inner in INNER.finditer(line, found.end()):
            stop = min((i for i in (line.find(c, inner.end()) for c in ",}") if i > 0), default=end)
            self.spans[(*path, inner[1])] = _span(number, line, inner.end(), stop)

    def of(self, path: Path) -> Span:
        """The place of a value, or of the nearest table around it."""
        while path and path not in self.spans:
            path = path[:-1]
        return self.spans.get(path, START)


def _single_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that don't stand inside a string of several, with their numbers."""
    inside = False
    for number, line in enumerate(source_lines(text), 1):
        if not inside:
            yield number, line
        inside ^= len(TRIPLE.findall(line)) % 2 == 1


def _bare(line: str) -> str:
    """Without a comment that no string is near."""
    head, _, tail = line.partition(" #")
    return (line if '"' in tail or "'" in tail else head).rstrip()


def _span(number: int, line: str, start: int, end: int) -> Span:
    start = start + len(line[start:end]) - len(line[start:end].lstrip())
    return Span(number, start + 1, max(start + 1, len(line[:end].rstrip())) + 1)
