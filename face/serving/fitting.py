"""From a file of timings to a machine with constants fitted on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layoutc.dsl.errors import Diagnostic
from layoutc.dsl.header import Settings
from layoutc.pipeline import Source, WrongCall, WrongFile, contents, machine_called, sound
from layoutc.progress import watched
from layoutc.serving.asking import model_source, servable
from layoutc.solver.hardware.catalogue import reached_of
from layoutc.solver.hardware.machine import Figure, Machine
from layoutc.solver.hardware.reached import UNITS, Reached
from layoutc.solver.serving import fit
from layoutc.solver.serving.fit import Fit, axes_to_try
from layoutc.solver.serving.prepared import Unrunnable
from layoutc.solver.serving.timings import Timing, read_timings

if TYPE_CHECKING:
    from layoutc.dsl.program import Program

DIGITS = 4
"""Of what is written: more would say more than was measured."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A machine with its constants, the file of timings and the models in them, and the fits: the
    best, whose constants those are, and then with other numbers of axes at once."""

    machine: Machine
    path: str
    models: Sequence[str]
    fits: Sequence[Fit]

    @property
    def best(self) -> Fit:
        """The one that counts."""
        return self.fits[0]


def fitted(name: str, path: str, at_once: int | None) -> Fitted:
    """The machine `name`, its constants fitted on the timings at `path`; collectives go along so
    many axes of a torus `at_once`, or along as many as fit best.

    Raises:
        WrongCall: there is no such machine, or it has no such axes.
        WrongFile: the timings are wrong, or of what can't be run.
    """
    machine = machine_called(name)
    had, _ = reached_of(machine)
    axes = _axes(machine, at_once)
    source = Source.without_tree(*contents(path))
    timings = _timings(source)
    programs = _programs(source, timings)
    bar = watched(f"finding layouts for {len(timings)} timings")
    try:
        fits = fit.fitted(timings, programs.__getitem__, machine, had, axes, bar)
    except Unrunnable as wrong:
        errors = [Diagnostic(why.message, one.row, why.hint) for one, why in wrong.rows]
        raise WrongFile(source, errors) from None
    models = sorted({program.name for program in programs.values()})
    found = _with(machine, fits[0], f"fitted: layoutc hardware {name} --fit {path}", models)
    return Fitted(found, path, models, fits)


def _axes(machine: Machine, said: int | None) -> Sequence[int]:
    """How many axes at once are tried."""
    tried = axes_to_try(machine)
    most = len(tried) if any(tier.shaped for tier in machine.tiers) else 0
    if said is None:
        return tried
    if said > most:
        has = f"has {most} axes" if most else "is no torus"
        raise WrongCall(f"--at-once {said}: the network of {machine.name} {has}")
    return [said]


def _timings(source: Source) -> list[Timing]:
    """Two at least. Raises `WrongFile` with all that is wrong."""
    found = read_timings(source.text)
    timings = [one for one in found if isinstance(one, Timing)]
    wrong = [one for one in found if isinstance(one, Diagnostic)]
    if len(timings) == 1:
        hint = "time another batch: without the one, what is left tells nothing"
        wrong = [Diagnostic("there is one timing only", timings[0].row, hint)]
    if wrong:
        raise WrongFile(source, wrong)
    return timings


# Models.


def _programs(source: Source, timings: Sequence[Timing]) -> Mapping[str, Program]:
    """The program of each model that is named. Raises `WrongFile` with each name that can't be."""
    found: dict[str, Program] = {}
    why: dict[str, Diagnostic] = {}
    for one in timings:
        if one.model not in found and one.model not in why:
            made = _program(one)
            if isinstance(made, Diagnostic):
                why[one.model] = made
            else:
                found[one.model] = made
    if why:
        wrong = [replace(why[t.model], span=t.span) for t in timings if t.model in why]
        raise WrongFile(source, wrong)
    return found


def _program(timing: Timing) -> Program | Diagnostic:
    """What a model's name stands for, or what is wrong with it."""
    name = timing.model
    if name == "-":
        return Diagnostic("- is no model here", timing.span, "as in  palm-540b")
    try:
        source = model_source(name)
        program = sound(source, Settings())
        servable(source, program)
    except WrongCall as unknown:
        return Diagnostic(str(unknown), timing.span)
    except WrongFile as wrong:
        first, more = wrong.errors[0], len(wrong.errors) - 1
        others = f", and {more} more" * (more > 0)
        message = f"{wrong.source.name}:{first.span.line}: {first.message}{others}"
        return Diagnostic(message, timing.span, first.hint)
    return program


# The machine.


def _with(machine: Machine, best: Fit, source: str, models: Sequence[str]) -> Machine:
    """The machine that reaches what was fitted, with the figures that its file will say."""
    reached, said = _rounded(best.reached), _said(best, models)
    kept = [figure for figure in machine.figures if not figure.name.startswith("reached.")]
    new = [
        Figure(f"reached.{key}", getattr(reached, key), unit, source, said)
        for key, unit in UNITS.items()
    ]
    return replace(machine, reached=reached, figures=(*kept, *new))


def _rounded(reached: Reached) -> Reached:
    values = {key: getattr(reached, key) for key in UNITS if key != "at_once"}
    return reached.with_constants({key: float(f"{v:.{DIGITS}g}") for key, v in values.items()})


def _said(best: Fit, models: Sequence[str]) -> str:
    """On what, and how well; and what is not of it."""
    errors = f"mean error {percent(best.mean_error)}"
    left_out = f"{percent(best.mean_left_out)} with each left out"
    said = f"{len(best.runs)} timings of {listed(models)}, {errors}, {left_out}"
    untold = [name for name, one in best.estimates.items() if not one.told]
    return said + (f"; they don't tell {listed(untold)}" if untold else "")


def percent(share: float) -> str:
    """4.8 %."""
    return f"{100 * share:.1f} %"


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
