"""Commands on the text of files: `check` and `fmt`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from layoutc import asked, document, options
from layoutc.pipeline import (
    WrongFile,
    read,
)

if TYPE_CHECKING:
    pass


def run_check(chosen: argparse.Namespace) -> int:
    given = options.settings(chosen)
    wrong = _each(chosen.files, lambda path: asked.sound_file(path, given))
    if wrong:
        return asked.complain(wrong, chosen.json)
    if chosen.json:
        sys.stdout.write(document.dumped(document.errors([])))
    return 0


def run_fmt(chosen: argparse.Namespace) -> int:
    """Formats what can be read; a file with errors of spelling is left as it is."""
    from layoutc.dsl.formatter import format_file

    changed: list[str] = []

    def work(path: str) -> None:
        source = read(path)
        if source.tree.errors:
            raise WrongFile(source, source.tree.errors)
        text = format_file(source.tree)
        if chosen.check:
            if text != source.text:
                changed.append(source.name)
        elif path == "-":
            sys.stdout.write(text)
        elif text != source.text:
            asked.write(path, text)

    wrong = _each(chosen.files, work)
    if wrong:
        return asked.complain(wrong, chosen.json)
    for name in changed:
        print(f"{name}: not in the canonical spelling; layoutc fmt {name}", file=sys.stderr)
    if chosen.json:
        sys.stdout.write(document.dumped({"errors": [], "changed": changed}))
    return 1 if changed else 0


def _each(paths: list[str], work: Callable[[str], object]) -> list[WrongFile]:
    """What is wrong with the files, every file looked at."""
    wrong = []
    for path in paths:
        try:
            work(path)
        except WrongFile as error:
            wrong.append(error)
    return wrong
