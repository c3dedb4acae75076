"""Commands on machines: `hardware` and `calibrate`."""

from __future__ import annotations

import argparse
import sys

from layoutc import asked, document
from layoutc.pipeline import WrongCall, machine_called


def run_hardware(chosen: argparse.Namespace) -> int:
    """The catalogue, or one machine of it or of a file; or its constants, fitted."""
    from layoutc import hardware
    from layoutc.solver.hardware.catalogue import catalogue

    _fitting_alone(chosen)
    if chosen.fit:
        return _fit(chosen)
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


def _fitting_alone(chosen: argparse.Namespace) -> None:
    """Raises `WrongCall` for what makes no sense beside, or without, timings to fit."""
    if chosen.fit is None and (chosen.output or chosen.at_once is not None):
        option = "-o" if chosen.output else "--at-once"
        raise WrongCall(f"{option} goes with  --fit FILE.csv")
    if chosen.fit is not None and chosen.check:
        raise WrongCall("--check and --fit are two commands: one at a time")
    if chosen.fit is not None and not chosen.name:
        raise WrongCall("--fit: of which machine? layoutc hardware NAME --fit FILE.csv")
    if chosen.output and not chosen.output.endswith(".toml"):
        raise WrongCall(f"-o {chosen.output}: a machine's file ends in .toml")


def _fit(chosen: argparse.Namespace) -> int:
    """The machine's constants, fitted on timings of whole models; its file, if that is wanted."""
    from layoutc.serving import fit_report
    from layoutc.serving.fitting import fitted
    from layoutc.solver.hardware.writing import write_machine

    found = fitted(chosen.name, chosen.fit, chosen.at_once)
    if chosen.output:
        asked.write(chosen.output, write_machine(found.machine))
    if chosen.json:
        sys.stdout.write(document.dumped(fit_report.document(found, chosen.output)))
        return 0
    sys.stdout.write(fit_report.report(found))
    if chosen.output:
        print(f"\nwrote {chosen.output}; use it: --hardware {chosen.output}")
    return 0


def _check_machine(chosen: argparse.Namespace) -> int:
    """How far a machine's file is off on the devices at hand."""
    from layoutc import checking

    if not chosen.name:
        raise WrongCall("--check: of which machine? layoutc hardware NAME --check")
    found = checking.check(machine_called(chosen.name))
    asked.answer(chosen.json, lambda: checking.document(found), lambda: checking.report(found))
    return 0


def run_calibrate(chosen: argparse.Namespace) -> int:
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
    asked.write(chosen.output, found.machine)
    asked.answer(
        chosen.json,
        lambda: calibrate.document(found, chosen.output),
        lambda: calibrate.report(found),
    )
    if not chosen.json:
        print(f"\nwrote {chosen.output}; use it: --hardware {chosen.output}")
    return 0
