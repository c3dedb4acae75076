"""Text to a stream, in colour where a person looks at it and did not say NO_COLOR."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.theme import Theme

STYLES = (
    r"(?m)^[^:\n]+:\d+:\d+: (?P<error>error:) (?P<what>.*)$",
    r"(?m)^\s*\|\s*(?P<caret>\^+)",
    r"(?m)(?<= )(?![MGT]B(?: |$))(?P<layout>(?:[A-Z](?:_[a-z]+)?){2,}"
    r"(?:\(partial(?:sum|max)-[a-z]+\))?)(?= |$)",
)
"""What is coloured, by the names of the groups; MB is bytes and no layout."""


def show(text: str, stream: TextIO) -> None:
    """Writes `text` to `stream`; Rich is imported only for a terminal with colours."""
    if not stream.isatty() or os.environ.get("NO_COLOR"):
        stream.write(text)
        return
    from rich.console import Console
    from rich.text import Text

    styled = Text(text)
    for pattern in STYLES:
        styled.highlight_regex(pattern, style_prefix="layoutc.")
    Console(file=stream, highlight=False, soft_wrap=True, theme=_theme()).print(styled, end="")


def _theme() -> Theme:
    from rich.theme import Theme

    return Theme(
        {
            "layoutc.error": "bold red",
            "layoutc.what": "bold",
            "layoutc.caret": "bold red",
            "layoutc.layout": "cyan",
        }
    )
