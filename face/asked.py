"""What all commands ask of the command line, files and machines, and how they answer."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from layoutc import document, files, options
from layoutc.dsl.header import Settings
from layoutc.dsl.program import Program
from layoutc.pipeline import (
    Source,
    WrongCall,
    WrongFile,
    chip_count,
    complaint,
    machine_called,
    read,
    sound,
)
from layoutc.terminal import show

if TYPE_CHECKING:
    from layoutc.document import Document
    from layoutc.solver.hardware.machine import Machine


def sound_file(path: str, given: Settings) -> tuple[Source, Program]:
    """A file that was read and found right, under what the command line says of sizes."""
    source = read(path)
    return source, sound(source, given)


def explicit_file(path: str, chosen: argparse.Namespace) -> tuple[Source, Program]:
    """A program without holes. Raises `WrongFile` for one that has some."""
    from layoutc.explicit import explicit

    source, program = sound_file(path, options.settings(chosen))
    return source, explicit(source, program, chosen.command)


def machine(chosen: argparse.Namespace, chips: int) -> Machine:
    """What the command line says of the machine."""
    overlap = getattr(chosen, "overlap", False)
    return machine_called(chosen.hardware, chips, chosen.network, chosen.slice, overlap)


def style() -> Literal["unicode", "python"]:
    """How formulas are spelled: for a terminal, or so that they can be pasted."""
    return "unicode" if sys.stdout.isatty() else "python"


def chips_if_known(program: Program, chosen: argparse.Namespace) -> int | None:
    """How many chips, where that is said or follows from a mesh without open sizes."""
    if chosen.chips is None and any(axis.size is None for axis in program.axes):
        return None
    return chip_count(program, chosen.chips)


def write(path: str, content: str | bytes) -> None:
    """Writes a file aside, and then in its place. Raises `WrongCall` where that can't be."""
    try:
        files.write(path, content)
    except OSError as error:
        raise WrongCall(f"can't write {path}: {(error.strerror or str(error)).lower()}") from None


def answer(as_json: bool, made: Callable[[], Document], report: Callable[[], str]) -> None:
    """What a command found: the document, or the report for a person."""
    if as_json:
        sys.stdout.write(document.dumped(made()))
    else:
        show(report(), sys.stdout)


def complain(wrong: list[WrongFile], as_json: bool) -> int:
    """Every error of every file, to standard error or as the document."""
    if as_json:
        found = [(w.source.name, e) for w in wrong for e in w.errors]
        sys.stdout.write(document.dumped(document.errors(found)))
        return 1
    show(complaint(wrong), sys.stderr)
    return 1
