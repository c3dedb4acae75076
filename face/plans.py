"""Commands that place a program on chips: `compile`, `diff` and `verify`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from layoutc import asked, document, options
from layoutc.dsl.program import Program
from layoutc.pipeline import (
    Source,
    WrongFile,
    chip_count,
    emitted,
    partitioned,
    planned,
    verified,
)
from layoutc.progress import waiting
from layoutc.terminal import show

if TYPE_CHECKING:
    from layoutc.codegen.verify.verdict import Refused, Verdict
    from layoutc.solver.plan import Plan


def run_compile(chosen: argparse.Namespace) -> int:
    from layoutc.solver.contenders import near

    source, program = asked.sound_file(chosen.file, options.settings(chosen))
    chips = chip_count(program, chosen.chips)

    def made(program: Program, chips: int, gap: float = chosen.gap) -> Plan:
        machine = asked.machine(chosen, chips)
        return planned(source, program, chips, machine, chosen.minimize, gap=gap)

    plan = made(program, chips)
    if chosen.output == "-" and not chosen.json:
        sys.stdout.write(emitted(plan))
        return 0
    if chosen.output and chosen.output != "-":
        asked.write(chosen.output, emitted(plan))
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


def run_diff(chosen: argparse.Namespace) -> int:
    from layoutc import diff

    plans = []
    for path in chosen.files:
        source, program = asked.explicit_file(path, chosen)
        chips = chip_count(program, chosen.chips)
        plans.append(planned(source, program, chips, asked.machine(chosen, chips), fit=False))
    asked.answer(chosen.json, lambda: diff.document(*plans), lambda: diff.report(*plans))
    return 0


def run_verify(chosen: argparse.Namespace) -> int:
    """1 if anything differs from the prediction, which the report names."""
    from layoutc import verify

    source, program = asked.sound_file(chosen.file, options.settings(chosen))
    chips = chip_count(program, chosen.chips)
    plan = planned(source, program, chips, asked.machine(chosen, chips), chosen.minimize)
    with waiting(f"compiling {program.name} for {chips:,} chips"):
        found = verified(plan, run=not chosen.no_run)
    wrong = bool(verify.differences(found))
    if chosen.against:
        return max(wrong, _against(chosen, source, plan, found))
    asked.answer(
        chosen.json, lambda: verify.document(plan, found), lambda: verify.report(plan, found)
    )
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
