"""Commands on closed forms and where they change places: `derive`, `compare`, `regimes`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from layoutc import asked, options
from layoutc.dsl.header import padded_dims
from layoutc.dsl.program import Program
from layoutc.pipeline import (
    Source,
    WrongCall,
    checked,
    chip_count,
    known,
    read,
)

if TYPE_CHECKING:
    from layoutc.solver.hardware.machine import Machine


def run_derive(chosen: argparse.Namespace) -> int:
    from layoutc import derive

    source, program = asked.explicit_file(chosen.file, chosen)
    chips = asked.chips_if_known(program, chosen)
    found = derive.derived(source, program, asked.machine(chosen, chips or 0), chips)
    if chosen.latex and not chosen.json:
        sys.stdout.write(derive.latex(found))
        return 0
    style = asked.style()
    asked.answer(
        chosen.json, lambda: derive.document(found), lambda: derive.report(found, style, chips)
    )
    return 0


def run_compare(chosen: argparse.Namespace) -> int:
    first, second = (asked.explicit_file(path, chosen) for path in chosen.files)
    chips = asked.chips_if_known(first[1], chosen)
    machine = asked.machine(chosen, chips or 0)
    if not (machine.uniform and machine.prompt):
        return _contest(chosen, first, second, chips, machine)
    from layoutc import compare

    found = compare.compared(first, second, chosen.chips)
    style = asked.style()
    asked.answer(chosen.json, lambda: compare.document(found), lambda: compare.report(found, style))
    return 0


def _contest(
    chosen: argparse.Namespace,
    first: tuple[Source, Program],
    second: tuple[Source, Program],
    chips: int | None,
    machine: Machine,
) -> int:
    """The two programs where they lie best on the machine."""
    from layoutc import contest

    found = contest.contested(first, second, chips, machine)
    style = asked.style()
    asked.answer(chosen.json, lambda: contest.document(found), lambda: contest.report(found, style))
    return 0


def run_regimes(chosen: argparse.Namespace) -> int:
    from layoutc import regimes
    from layoutc.figures import drawing, race
    from layoutc.solver.contender import Sweep

    kind = drawing.kind(chosen.plot) if chosen.plot else ""
    source = read(chosen.file)
    program = _ranging(source, chosen)
    name, low, high = chosen.over
    chips = _every_count(program, chosen) if name == "n" else chip_count(program, chosen.chips)
    sweep = Sweep(program, name, low, high, chips, asked.machine(chosen, chips or high))
    found = regimes.swept(source, sweep)
    if chosen.plot:
        asked.write(chosen.plot, race.figure(found.large, kind))
    asked.answer(chosen.json, lambda: regimes.document(found), lambda: regimes.report(found))
    if chosen.plot and not chosen.json:
        print(f"\nwrote {chosen.plot}")
    return 0


def _ranging(source: Source, chosen: argparse.Namespace) -> Program:
    """The program, the dim that grows at a power of two of its range: the file's may not divide."""
    given, (name, low, high) = options.settings(chosen), chosen.over
    if name in padded_dims(source.tree):
        raise WrongCall(f"--over {name}: {name} is padded, and a dim that grows is not")
    if name != "n":
        size = max(low, 1 << (high.bit_length() - 1))
        given = replace(given, dims={**given.dims, name: size})
    program = replace(checked(source, given), phases=())
    if name != "n" and name not in program.dims:
        raise WrongCall(f"--over {name}: {program.name} has no dim {name}")
    known(source, given)
    return program


def _every_count(program: Program, chosen: argparse.Namespace) -> int:
    """Where the number of chips is what grows, it is not given: 0. Raises `WrongCall` if it is."""
    if chosen.chips is not None:
        raise WrongCall("--over n goes through numbers of chips; --chips does not go with it")
    if all(axis.size is not None for axis in program.axes):
        raise WrongCall(f"--over n: the sizes of all mesh axes of {program.name} are given")
    return 0
