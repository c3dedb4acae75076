"""The command line: `main` is what `layoutc` runs.

Exit status: 0 done, 1 a file is at fault, 2 the command line is. Errors go to standard error;
with `--json`, standard output is one JSON document and nothing else.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from math import prod

from layoutc import document, files, options
from layoutc.dsl.errors import count, render
from layoutc.dsl.program import Program
from layoutc.pipeline import WrongCall, WrongFile, checked, emitted, planned, read
from layoutc.terminal import show


def main(argv: list[str] | None = None) -> int:
    """Runs one command; `argv` is what follows the program's name."""
    chosen = options.parser().parse_args(argv)
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "check": _check,
        "fmt": _fmt,
        "compile": _compile,
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
    for one in wrong:
        show(render(one.errors, one.source.text, one.source.name), sys.stderr)
    total = sum(len(one.errors) for one in wrong)
    if total > 1:
        show(f"{count(total)}\n", sys.stderr)
    return 1


def _each(paths: list[str], work: Callable[[str], None]) -> list[WrongFile]:
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

    def work(path: str) -> None:
        source = read(path)
        _known(checked(source, given), chosen)

    wrong = _each(chosen.files, work)
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
    source = read(chosen.file)
    program = checked(source, options.settings(chosen))
    _known(program, chosen)
    chips = _chips(program, chosen)
    plan = planned(source, program, chips, chosen.hardware, chosen.minimize)
    if chosen.output == "-" and not chosen.json:
        sys.stdout.write(emitted(plan))
        return 0
    if chosen.output and chosen.output != "-":
        _write(chosen.output, emitted(plan))
    if chosen.json:
        sys.stdout.write(document.dumped(document.plan(plan)))
        return 0
    from layoutc.report import report

    try:
        bigger = planned(source, program, 2 * chips, chosen.hardware, chosen.minimize)
    except WrongFile:
        bigger = None
    show(report(plan, bigger), sys.stdout)
    if chosen.output:
        print(f"\nwrote {chosen.output}; run it: python {chosen.output}")
    return 0


# What the commands share.


def _known(program: Program, chosen: argparse.Namespace) -> None:
    """The command line sizes only what the file has. Raises `WrongCall`."""
    given = options.settings(chosen)
    for name in options.strangers(given.dims, set(program.dims)):
        raise WrongCall(f"--set {name}: {program.name} has no dim {name}")
    for name in options.strangers(given.mesh, {axis.name for axis in program.axes}):
        raise WrongCall(f"--mesh {name}: {program.name} has no mesh axis {name}")


def _chips(program: Program, chosen: argparse.Namespace) -> int:
    """How many chips: as said, else as many as a mesh without open sizes has."""
    if chosen.chips is not None:
        return int(chosen.chips)
    open_axes = [axis.name for axis in program.axes if axis.size is None]
    if open_axes:
        raise WrongCall(
            f"how many chips? --chips N, or --mesh {','.join(f'{a}=...' for a in open_axes)}"
        )
    return prod(axis.size or 1 for axis in program.axes)


def _write(path: str, text: str) -> None:
    try:
        files.write(path, text)
    except OSError as error:
        raise WrongCall(f"can't write {path}: {(error.strerror or str(error)).lower()}") from None
