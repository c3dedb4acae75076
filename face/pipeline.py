"""The way through the house, on one page.

    text ──read──▶ File ──checked──▶ Program ──planned──▶ Plan ──emitted──▶ JAX text
                                                           └─────verified──▶ Verdict

Each stage takes what the one before it gives; what is wrong with a user's file leaves as
`WrongFile`, what is wrong with the command line, or with a call from Python, as `WrongCall`.
Solver and code generator are imported when they are first needed: `check` must feel instant.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from layoutc.dsl.check import Settings, check
from layoutc.dsl.errors import START, Diagnostic, Span, count, render
from layoutc.dsl.header import unknown_settings
from layoutc.dsl.parse import parse
from layoutc.dsl.phases import unknown_phases
from layoutc.dsl.program import Program
from layoutc.dsl.source import decode
from layoutc.dsl.syntax import DeclareLine, DefineLine, File, MeshLine

if TYPE_CHECKING:
    from layoutc.against import Against
    from layoutc.codegen.verify.verdict import Refused, Verdict
    from layoutc.solver.asked import Minimize
    from layoutc.solver.hardware.machine import Machine
    from layoutc.solver.plan import Pass, Plan


class WrongCall(ValueError):
    """The command line is at fault, or a call from Python; the message is a sentence for the
    person who typed it."""


class WrongFile(Exception):
    """A file is at fault: every error of it, and the text that they point into.

    As text it is what the command line prints: each error with its place underlined.
    """

    def __init__(self, source: Source, errors: Sequence[Diagnostic]) -> None:
        super().__init__(source.name)
        self.source, self.errors = source, tuple(errors)

    def __str__(self) -> str:
        return complaint([self]).rstrip("\n")


@dataclass(frozen=True, slots=True)
class Source:
    """A file's name as the user wrote it, its text, and its tree."""

    name: str
    text: str
    tree: File = field(repr=False)

    @classmethod
    def without_tree(cls, name: str, text: str = "") -> Source:
        """Of what is no `.layout` file, or could not be read."""
        return cls(name, text, File(name, (), ()))


def read(path: str) -> Source:
    """The file at `path`, or standard input for "-", as a tree.

    Raises:
        WrongFile: it can't be had, is not text, or is not a `.layout` file.
    """
    name, text = contents(path)
    return Source(name, text, parse(text, "stdin" if path == "-" else path))


def contents(path: str) -> tuple[str, str]:
    """What a file is called in errors, and its text; standard input for "-".

    Raises:
        WrongFile: it can't be had, or is not text.
    """
    name = "<stdin>" if path == "-" else path
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        empty = Source.without_tree(name)
        raise WrongFile(empty, [Diagnostic(f"can't be read: {reason}", START)]) from None
    return name, _decoded(data, name)


def parsed(data: bytes, name: str, path: str) -> Source:
    """The bytes of a file as a tree; `name` stands in errors, the program is called after `path`.

    Raises:
        WrongFile: they are not text, or not a `.layout` file.
    """
    text = _decoded(data, name)
    return Source(name, text, parse(text, path))


def _decoded(data: bytes, name: str) -> str:
    text = decode(data)
    if isinstance(text, Diagnostic):
        raise WrongFile(Source.without_tree(name), [text])
    return text


def checked(source: Source, settings: Settings) -> Program:
    """The program that a file spells. Raises `WrongFile` with every error there is."""
    program = check(source.tree, settings)
    if isinstance(program, Program):
        return program
    raise WrongFile(source, program)


def sound(source: Source, given: Settings) -> Program:
    """The program of a file that is right, under what the command line says of sizes.

    Raises:
        WrongFile: it is wrong.
        WrongCall: what is given a size is not in it.
    """
    program = checked(source, given)
    known(source, given)
    return program


def known(source: Source, given: Settings) -> None:
    """The command line sizes only what the file has. Raises `WrongCall`."""
    unknown = [*unknown_settings(source.tree, given), *unknown_phases(source.tree, given)]
    if unknown:
        raise WrongCall(f"--set and --mesh size what a file declares: {'; '.join(unknown)}")


def chip_count(program: Program, said: int | None) -> int:
    """How many chips: as said, else as many as a mesh without open sizes has.

    Raises:
        WrongCall: it is not said, and some axis has no size.
    """
    if said is not None:
        return said
    open_axes = [axis.name for axis in program.axes if axis.size is None]
    if open_axes:
        raise WrongCall(
            f"how many chips? --chips N, or --mesh {','.join(f'{a}=...' for a in open_axes)}"
        )
    return prod(axis.size or 1 for axis in program.axes)


def planned(
    source: Source,
    program: Program,
    chips: int,
    machine: Machine,
    minimize: Minimize = "time",
    *,
    fit: bool = True,
    gap: float = 0.0,
) -> Plan:
    """The best mesh and layouts.

    Raises:
        WrongFile: no mesh of so many chips satisfies the file.
    """
    from layoutc.solver.solve import solve

    with refusals(source):
        return solve(program, chips, machine, minimize, fit=fit, gap=gap)


def machine_called(
    name: str,
    chips: int = 0,
    network: str | None = None,
    slice: tuple[int, ...] | None = None,
    overlap: bool = False,
) -> Machine:
    """The machine of that name or file; on a "flat" `network`, in slices of one shape, or with
    collectives inside matmuls, if so asked. `chips` is how many are used.

    Raises:
        WrongCall: there is none of that name, no such file, or no such slice of it.
        WrongFile: the file does not describe a machine.
    """
    from layoutc.solver.hardware.catalogue import BrokenMachine, UnknownMachine, load_machine

    try:
        machine = replace(load_machine(name), overlap=overlap)
        if network == "flat":
            return machine.flattened(chips)
        return machine.only(slice) if slice else machine
    except (UnknownMachine, ValueError) as error:
        raise WrongCall(str(error)) from None
    except BrokenMachine as broken:
        source = Source.without_tree(broken.name, broken.text)
        raise WrongFile(source, broken.errors) from None


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
    """The plan as the text of a Python module. Raises `WrongCall` if there is no mesh to run on."""
    from layoutc.codegen.emit import emit
    from layoutc.codegen.places import Places

    if not plan.mesh:
        raise WrongCall(f"{plan.name} has no mesh to run on; give it one:  mesh x")
    programs, places = [one.program for one in plan.passes], Places.of(plan.fabric)
    return emit(programs, plan.mesh, plan.hand_overs, places)


def verified(plan: Plan, run: bool = True) -> dict[str, Verdict | Refused]:
    """For each phase, and each hand-over ("prefill -> decode"), the emitted program held against
    the plan, or what JAX does not take in it.

    Raises:
        WrongCall: there are too many chips to simulate.
    """
    from layoutc.codegen.names import function_name
    from layoutc.codegen.places import Places
    from layoutc.codegen.verify.handing import Module, verify_hand_over
    from layoutc.codegen.verify.verdict import MOST_DEVICES, Refused, TooManyChips, verify

    def found(verdict: Callable[[], Verdict]) -> Verdict | Refused:
        try:
            return verdict()
        except Refused as refused:
            return refused

    def phase(part: Pass) -> Verdict:
        return verify(part, source, function_name(part.program, programs), run)

    source, programs = emitted(plan), tuple(part.program for part in plan.passes)
    made = Module(programs, plan.mesh, plan.hand_overs, Places.of(plan.fabric))
    try:
        return {part.phase: found(partial(phase, part)) for part in plan.passes} | {
            str(one): found(partial(verify_hand_over, made, number, source, run))
            for number, one in enumerate(plan.hand_overs)
        }
    except TooManyChips:
        raise WrongCall(
            f"--chips {plan.chips:,}: there are fewer devices, and more than {MOST_DEVICES:,} "
            "can't be simulated"
        ) from None


def partitioned(source: Source, plan: Plan, called: str) -> dict[str, Against]:
    """What XLA's partitioner makes of the function "module:function" under the plan's layouts,
    in each phase.

    Raises:
        WrongCall: there is no such function, or it is not one of the program's arguments.
    """
    from layoutc.against import against
    from layoutc.codegen.against.function import WrongFunction

    try:
        return {part.phase: against(source.name, part, called) for part in plan.passes}
    except WrongFunction as error:
        raise WrongCall(f"--against: {error}") from None


def place(tree: File, name: str) -> Span:
    """Where a name is defined; for "", the mesh."""
    for statement in tree.statements:
        match statement:
            case DeclareLine() | DefineLine() if statement.name.text == name:
                return statement.name.span
            case MeshLine() if not name:
                return statement.span
    return START


def complaint(wrong: Sequence[WrongFile]) -> str:
    """Every error of every file as a person reads them, and how many there are if more than one."""
    text = "".join(render(one.errors, one.source.text, one.source.name) for one in wrong)
    total = sum(len(one.errors) for one in wrong)
    return f"{text}{count(total)}\n" if total > 1 else text
