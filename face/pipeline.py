"""The way through the house, on one page.

    text ──read──▶ File ──checked──▶ Program ──planned──▶ Plan ──emitted──▶ JAX text

Each stage takes what the one before it gives; what is wrong with a user's file leaves as
`WrongFile`, what is wrong with the command line as `WrongCall`. Solver and code generator are
imported when they are first needed: `check` must feel instant.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from layoutc.dsl.check import Settings, check
from layoutc.dsl.errors import START, Diagnostic, Span
from layoutc.dsl.parse import parse
from layoutc.dsl.program import Program
from layoutc.dsl.source import decode
from layoutc.dsl.syntax import DeclareLine, DefineLine, File, MeshLine

if TYPE_CHECKING:
    from layoutc.solver.machine import Machine
    from layoutc.solver.search import Minimize
    from layoutc.solver.solve import Plan


class WrongCall(Exception):
    """The command line is at fault; the message is a sentence for the person who typed it."""


class WrongFile(Exception):
    """A file is at fault: every error of it, and the text that they point into."""

    def __init__(self, source: Source, errors: Sequence[Diagnostic]) -> None:
        super().__init__(f"{source.name}: {len(errors)} errors")
        self.source, self.errors = source, tuple(errors)


@dataclass(frozen=True, slots=True)
class Source:
    """A file's name as the user wrote it, its text, and its tree."""

    name: str
    text: str
    tree: File = field(repr=False)


def read(path: str) -> Source:
    """The file at `path`, or standard input for "-", as a tree.

    Raises:
        WrongFile: it can't be had, is not text, or is not a `.layout` file.
    """
    name = "<stdin>" if path == "-" else path
    empty = Source(name, "", File(name, (), ()))
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise WrongFile(empty, [Diagnostic(f"can't be read: {reason}", START)]) from None
    text = decode(data)
    if isinstance(text, Diagnostic):
        raise WrongFile(empty, [text])
    return Source(name, text, parse(text, "stdin" if path == "-" else path))


def checked(source: Source, settings: Settings) -> Program:
    """The program that a file spells. Raises `WrongFile` with every error there is."""
    program = check(source.tree, settings)
    if isinstance(program, Program):
        return program
    raise WrongFile(source, program)


def planned(
    source: Source, program: Program, chips: int, hardware: str, minimize: Minimize
) -> Plan:
    """The best mesh and layouts.

    Raises:
        WrongCall: there is no such machine.
        WrongFile: no mesh of so many chips satisfies the file.
    """
    from layoutc.solver.solve import solve

    machine = machine_called(hardware)
    with refusals(source):
        return solve(program, chips, machine, minimize)


def machine_called(name: str) -> Machine:
    """The machine of that name or file. Raises `WrongCall` if there is none."""
    from layoutc.solver.machine import MachineError, load_machine

    try:
        return load_machine(name)
    except MachineError as error:
        raise WrongCall(str(error)) from None


@contextmanager
def refusals(source: Source) -> Iterator[None]:
    """What can't be solved leaves as `WrongFile`, at its place in the file."""
    from layoutc.solver.unsolvable import Unsolvable

    try:
        yield
    except Unsolvable as error:
        span = place(source.tree, error.name)
        raise WrongFile(source, [Diagnostic(error.message, span, error.hint)]) from None


def emitted(plan: Plan) -> str:
    """The plan as the text of a Python module."""
    from layoutc.codegen.emit import emit

    return emit(plan.program, plan.mesh)


def place(tree: File, name: str) -> Span:
    """Where a name is defined; for "", the mesh."""
    for statement in tree.statements:
        match statement:
            case DeclareLine() | DefineLine() if statement.name.text == name:
                return statement.name.span
            case MeshLine() if not name:
                return statement.span
    return START
