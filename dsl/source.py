"""From a file's bytes to its text: what is wrong with a file before a line of it is read."""

from __future__ import annotations

from layoutc.dsl.errors import START, Diagnostic

LARGEST_FILE = 2**20
"""In bytes. The longest program that a person writes is a hundredth of this."""


def decode(data: bytes) -> str | Diagnostic:
    """The text of a file, or why it is none. A byte order mark is dropped."""
    if len(data) > LARGEST_FILE:
        return Diagnostic("the file is too large: at most 1 MiB is read", START)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Diagnostic(f"this is not text: byte {error.start + 1} is not UTF-8", START)
    if "\0" in text:
        return Diagnostic("this is not text: it has NUL characters", START)
    return text
