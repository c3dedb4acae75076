"""From the command line's words to a query: the model's program, the machine, the points."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from layoutc import asked, options
from layoutc.dsl.errors import START, Diagnostic
from layoutc.pipeline import Source, WrongCall, WrongFile, contents, parsed, sound
from layoutc.serving.query import Query, demand, usual
from layoutc.solver.serving.planner import Pinned
from layoutc.solver.serving.splits import Fixed

if TYPE_CHECKING:
    from layoutc.dsl.program import Program

DIMS = {"B": "sequences", "L": "tokens of a pass"}
"""The dims that a program has to have, so that batches and prompts can be asked for."""


def query(chosen: argparse.Namespace) -> tuple[Source, Query]:
    """What is asked, and the file that errors of the program point into.

    Raises:
        WrongFile: the model's file is wrong, or can't be served.
        WrongCall: what is asked for makes no sense.
    """
    from layoutc.solver.hardware.catalogue import reached_of

    source = model_source(chosen.model)
    program = sound(source, options.settings(chosen))
    servable(source, program)
    known = usual(program)
    chips = chosen.chips or [_chips(program)]
    machine = asked.machine(chosen, max(chips))
    reached, whose = reached_of(machine)
    price = chosen.price or machine.price or 0.0
    if chosen.budget and not price:
        raise WrongCall(f"--budget: {machine.name} has no price; give one:  --price 2.5")
    return source, Query(
        program.name, program, machine, reached, whose, chips, chosen.weights,
        demand(
            chosen.batch or [known["batch"]], chosen.prefill_batch or [],
            chosen.prompt or [known["prompt"]], chosen.generate or [known["generate"]],
            chosen.context or [],
        ),
        Fixed(chosen.tensor, chosen.pipeline, chosen.replicas),
        _pinned(chosen, "prefill"), _pinned(chosen, "decode"),
        chosen.prefill_chips, chosen.micro_batches, chosen.latency, chosen.budget or 0.0, price,
    )  # fmt: skip


def model_source(name: str) -> Source:
    """The program of a `.layout` file, of a published model, or of a `config.json`.

    Standard input, "-", may be either file: a configuration begins with a brace. Raises
    `WrongFile` and `WrongCall`.
    """
    from layoutc.dsl.models.layout import spelled
    from layoutc.models import configured, model_called

    if name.endswith(".layout") or name == "-":
        called, text = contents(name)
        if not (name == "-" and text.lstrip().startswith("{")):
            path = "stdin" if name == "-" else name
            return parsed(text.encode(), called, path)
        model = configured(called, text, "stdin")
    else:
        model = model_called(name)
    file = f"{model.name}.layout"
    return parsed(spelled(model).text.encode(), file, file)


def servable(source: Source, program: Program) -> None:
    """Raises `WrongFile` with everything that keeps a program from being served."""
    wrong = [
        Diagnostic(f"{program.name} has no dim {dim}, which counts {what}", START,
                   f"dims {dim}=1  and inputs that have it")
        for dim, what in DIMS.items()
        if dim not in program.dims
    ]  # fmt: skip
    varying = {*DIMS, "M"}
    unsized = [d for d, size in program.dims.items() if size is None and d not in varying]
    if unsized:
        settings = " ".join(f"--set {d}=..." for d in unsized)
        message = f"{', '.join(unsized)} has no size"
        wrong.append(Diagnostic(message, START, f"give it one: {settings}"))
    if wrong:
        raise WrongFile(source, wrong)


def _chips(program: Program) -> int:
    from layoutc.pipeline import chip_count

    return chip_count(program, None)


def _pinned(chosen: argparse.Namespace, phase: str) -> Pinned:
    def named(names: Mapping[str, str]) -> frozenset[str]:
        return frozenset([names[phase]] if phase in names else [])

    return Pinned(named(chosen.layout), named(chosen.attention))
