"""The command line: `main` is what `layoutc` runs.

Exit status: 0 done, 1 a file is at fault, 2 the command line is. Errors go to standard error;
with `--json`, standard output is one JSON document and nothing else.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from layoutc import document, files, options
from layoutc.dsl.header import Settings, padded_dims
from layoutc.dsl.program import Program
from layoutc.pipeline import (
    Source,
    WrongCall,
    WrongFile,
    checked,
    chip_count,
    complaint,
    emitted,
    known,
    machine_called,
    partitioned,
    planned,
    read,
    sound,
    verified,
)
from layoutc.progress import waiting
from layoutc.terminal import show

if TYPE_CHECKING:
    from layoutc.codegen.verify.verdict import Refused, Verdict
    from layoutc.solver.hardware.machine import Machine
    from layoutc.solver.plan import Plan


def main(argv: list[str] | None = None) -> int:
    """Runs one command; `argv` is what follows the program's name."""
    chosen = options.parser().parse_args(argv)
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "check": _check,
        "fmt": _fmt,
        "derive": _derive,
        "compare": _compare,
        "compile": _compile,
        "regimes": _regimes,
        "diff": _diff,
        "verify": _verify,
        "hardware": _hardware,
        "calibrate": _calibrate,
    }
    try:
        return commands[chosen.command](chosen)
    except WrongCall as error:
        print(f"layoutc: error: {error}", file=sys.stderr)
        return 2
    except WrongFile as wrong:
        return _complain([wrong], chosen.json)
    except BrokenPipeError:
        # Whoever was reading has stopped; the interpreter must not try to flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


def _complain(wrong: list[WrongFile], as_json: bool) -> int:
    """Every error of every file, to standard error or as the document."""
    if as_json:
        found = [(w.source.name, e) for w in wrong for e in w.errors]
        sys.stdout.write(document.dumped(document.errors(found)))
        return 1
    show(complaint(wrong), sys.stderr)
    return 1


def _each(paths: list[str], work: Callable[[str], object]) -> list[WrongFile]:
    """What is wrong with the files, every file looked at."""
    wrong = []
    for path in paths:
        try:
            work(path)
        except WrongFile as error:
            wrong.append(error)
    return wrong


# Commands.


def _check(chosen: argparse.Namespace) -> int:
    given = options.settings(chosen)
    wrong = _each(chosen.files, lambda path: _sound(path, given))
    if wrong:
        return _complain(wrong, chosen.json)
    if chosen.json:
        sys.stdout.write(document.dumped(document.errors([])))
    return 0


def _fmt(chosen: argparse.Namespace) -> int:
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
            _write(path, text)

    wrong = _each(chosen.files, work)
    if wrong:
        return _complain(wrong, chosen.json)
    for name in changed:
        print(f"{name}: not in the canonical spelling; layoutc fmt {name}", file=sys.stderr)
    if chosen.json:
        sys.stdout.write(document.dumped({"errors": [], "changed": changed}))
    return 1 if changed else 0


def _compile(chosen: argparse.Namespace) -> int:
    from layoutc.solver.contenders import near

    source, program = _sound(chosen.file, options.settings(chosen))
    chips = chip_count(program, chosen.chips)

    def made(program: Program, chips: int, gap: float = chosen.gap) -> Plan:
        machine = _machine(chosen, chips)
        return planned(source, program, chips, machine, chosen.minimize, gap=gap)

    plan = made(program, chips)
    if chosen.output == "-" and not chosen.json:
        sys.stdout.write(emitted(plan))
        return 0
    if chosen.output and chosen.output != "-":
        _write(chosen.output, emitted(plan))
    apart = [made(alone, chips) for alone in program.passes] if len(program.passes) > 1 else []
    _tell(
        chosen,
        program,
        plan,
        apart,
        lambda: made(program, 2 * chips, max(chosen.gap, near(program))),
    )
    return 0


def _tell(
    chosen: argparse.Namespace,
    program: Program,
    plan: Plan,
    apart: list[Plan],
    doubled: Callable[[], Plan],
) -> None:
    """The plan beside what else was possible: as a document, or for a person."""
    from layoutc import alternatives, explain
    from layoutc.report import report
    from layoutc.solver.contenders import contenders

    share = chosen.cache_share
    found, bigger, why = contenders(program, plan, thorough=chosen.explain), None, None
    if chosen.explain or not chosen.json:
        with suppress(WrongFile):
            bigger = doubled()
    if chosen.explain:
        with waiting(f"weighing what else is possible for {program.name}"):
            why = explain.explained(program, plan, found, bigger)
    if chosen.json:
        said = {"explain": explain.document(why)} if why else {}
        sys.stdout.write(document.dumped({**document.plan(plan, apart, found, share), **said}))
        return
    against = alternatives.against(plan, found)
    show(report(plan, bigger, apart, against, share), sys.stdout)
    if why:
        show(f"\n{explain.report(why)}", sys.stdout)
    if chosen.output:
        print(f"\nwrote {chosen.output}; run it: python {chosen.output}")


def _derive(chosen: argparse.Namespace) -> int:
    from layoutc import derive

    source, program = _explicit(chosen.file, chosen)
    chips = _chips_if_known(program, chosen)
    found = derive.derived(source, program, _machine(chosen, chips or 0), chips)
    if chosen.json:
        sys.stdout.write(document.dumped(derive.document(found)))
    elif chosen.latex:
        sys.stdout.write(derive.latex(found))
    else:
        show(derive.report(found, _style(), chips), sys.stdout)
    return 0


def _compare(chosen: argparse.Namespace) -> int:
    first, second = (_explicit(path, chosen) for path in chosen.files)
    chips = _chips_if_known(first[1], chosen)
    machine = _machine(chosen, chips or 0)
    if not (machine.uniform and machine.prompt):
        return _contest(chosen, first, second, chips, machine)
    from layoutc import compare

    found = compare.compared(first, second, chosen.chips)
    if chosen.json:
        sys.stdout.write(document.dumped(compare.document(found)))
    else:
        show(compare.report(found, _style()), sys.stdout)
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
    if chosen.json:
        sys.stdout.write(document.dumped(contest.document(found)))
    else:
        show(contest.report(found, _style()), sys.stdout)
    return 0


def _diff(chosen: argparse.Namespace) -> int:
    from layoutc import diff

    plans = []
    for path in chosen.files:
        source, program = _explicit(path, chosen)
        chips = chip_count(program, chosen.chips)
        plans.append(planned(source, program, chips, _machine(chosen, chips), fit=False))
    if chosen.json:
        sys.stdout.write(document.dumped(diff.document(*plans)))
    else:
        show(diff.report(*plans), sys.stdout)
    return 0


def _regimes(chosen: argparse.Namespace) -> int:
    from layoutc import plot, regimes
    from layoutc.solver.contender import Sweep

    kind = plot.kind(chosen.plot) if chosen.plot else ""
    source = read(chosen.file)
    program = _ranging(source, chosen)
    name, low, high = chosen.over
    chips = _every_count(program, chosen) if name == "n" else chip_count(program, chosen.chips)
    sweep = Sweep(program, name, low, high, chips, _machine(chosen, chips or high))
    found = regimes.swept(source, sweep)
    if chosen.plot:
        _write(chosen.plot, plot.figure(found.large, kind))
    if chosen.json:
        sys.stdout.write(document.dumped(regimes.document(found)))
        return 0
    show(regimes.report(found), sys.stdout)
    if chosen.plot:
        print(f"\nwrote {chosen.plot}")
    return 0


def _verify(chosen: argparse.Namespace) -> int:
    """1 if anything differs from the prediction, which the report names."""
    from layoutc import verify

    source, program = _sound(chosen.file, options.settings(chosen))
    chips = chip_count(program, chosen.chips)
    plan = planned(source, program, chips, _machine(chosen, chips), chosen.minimize)
    with waiting(f"compiling {program.name} for {chips:,} chips"):
        found = verified(plan, run=not chosen.no_run)
    wrong = bool(verify.differences(found))
    if chosen.against:
        return max(wrong, _against(chosen, source, plan, found))
    if chosen.json:
        sys.stdout.write(document.dumped(verify.document(plan, found)))
    else:
        show(verify.report(plan, found), sys.stdout)
    return int(wrong)


def _against(
    chosen: argparse.Namespace, source: Source, plan: Plan, own: dict[str, Verdict | Refused]
) -> int:
    """A user's function beside the plan, whose own verdict is told with it; 1 if it computes
    something else."""
    from layoutc import against, verify

    with waiting(f"compiling {chosen.against} for {plan.chips:,} chips"):
        found = partitioned(source, plan, chosen.against)
    if chosen.json:
        both = {**verify.document(plan, own), "against": against.documents(found)}
        sys.stdout.write(document.dumped(both))
    else:
        show("\n".join(map(against.report, found.values())), sys.stdout)
        for said in verify.differences(own):
            show(f"layoutc's own program differs: {said}\n", sys.stdout)
    return int(not all(one.automatic.same for one in found.values()))


def _hardware(chosen: argparse.Namespace) -> int:
    """The catalogue, or one machine of it or of a file."""
    from layoutc import hardware
    from layoutc.solver.hardware.catalogue import catalogue

    if chosen.check:
        return _check_machine(chosen)
    names = [chosen.name] if chosen.name else catalogue()
    machines = [machine_called(name) for name in names]
    if chosen.json:
        made = hardware.document(machines[0]) if chosen.name else hardware.documents(machines)
        sys.stdout.write(document.dumped(made))
    else:
        # Not by `show`, which would colour TPU and ICI as if they were layouts.
        sys.stdout.write(hardware.report(machines[0]) if chosen.name else hardware.listed(machines))
    return 0


def _check_machine(chosen: argparse.Namespace) -> int:
    """How far a machine's file is off on the devices at hand."""
    from layoutc import checking

    if not chosen.name:
        raise WrongCall("--check: of which machine? layoutc hardware NAME --check")
    found = checking.check(machine_called(chosen.name))
    if chosen.json:
        sys.stdout.write(document.dumped(checking.document(found)))
    else:
        show(checking.report(found), sys.stdout)
    return 0


def _calibrate(chosen: argparse.Namespace) -> int:
    """Writes a machine's file; 130 where somebody stopped it, and how to go on."""
    from layoutc import calibrate
    from layoutc.codegen.measure.record import Stopped

    if not chosen.output.endswith(".toml"):
        raise WrongCall(f"-o {chosen.output}: a machine's file ends in .toml")
    try:
        if chosen.timings:
            found = calibrate.read(chosen.timings, chosen.output)
        else:
            found = calibrate.measured(chosen.output, chosen.samples, chosen.most)
    except Stopped as stopped:
        kept = f"{stopped.done} of {stopped.total} points are kept"
        print(f"\nstopped: {kept}; the same command goes on from there", file=sys.stderr)
        return 130
    _write(chosen.output, found.machine)
    if chosen.json:
        sys.stdout.write(document.dumped(calibrate.document(found, chosen.output)))
        return 0
    show(calibrate.report(found), sys.stdout)
    print(f"\nwrote {chosen.output}; use it: --hardware {chosen.output}")
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


# What the commands share.


def _sound(path: str, given: Settings) -> tuple[Source, Program]:
    """A file that was read and found right, under what the command line says of sizes."""
    source = read(path)
    return source, sound(source, given)


def _explicit(path: str, chosen: argparse.Namespace) -> tuple[Source, Program]:
    """A program without holes. Raises `WrongFile` for one that has some."""
    from layoutc.explicit import explicit

    source, program = _sound(path, options.settings(chosen))
    return source, explicit(source, program, chosen.command)


def _machine(chosen: argparse.Namespace, chips: int) -> Machine:
    """What the command line says of the machine."""
    machine = machine_called(chosen.hardware, chips, chosen.network, chosen.slice)
    return replace(machine, overlap=getattr(chosen, "overlap", False))


def _style() -> Literal["unicode", "python"]:
    """How formulas are spelled: for a terminal, or so that they can be pasted."""
    return "unicode" if sys.stdout.isatty() else "python"


def _chips_if_known(program: Program, chosen: argparse.Namespace) -> int | None:
    """How many chips, where that is said or follows from a mesh without open sizes."""
    if chosen.chips is None and any(axis.size is None for axis in program.axes):
        return None
    return chip_count(program, chosen.chips)


def _write(path: str, content: str | bytes) -> None:
    try:
        files.write(path, content)
    except OSError as error:
        raise WrongCall(f"can't write {path}: {(error.strerror or str(error)).lower()}") from None
