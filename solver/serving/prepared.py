"""Timings of whole models in the layouts in which they were run, or are best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from layoutc.dsl.program import Program
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reached import Reached
from layoutc.solver.serving.demand import Demand
from layoutc.solver.serving.planner import ANYHOW, Pinned, Planner
from layoutc.solver.serving.runs import Run, run
from layoutc.solver.serving.service import Service, serve
from layoutc.solver.serving.splits import Split
from layoutc.solver.serving.stages import layers_of
from layoutc.solver.serving.timings import Timing
from layoutc.solver.unsolvable import Unsolvable

Watch = Callable[[list[int]], Iterable[int]]

Programs = Callable[[str], Program]
"""The program of a model, by its name in the timings."""


class Unrunnable(Exception):
    """There are timings of layouts that can't be had: each of those, and why."""

    def __init__(self, rows: Sequence[tuple[Timing, Unsolvable]]) -> None:
        super().__init__("; ".join(str(why) for _, why in rows))
        self.rows = tuple(rows)


def prepared(
    timings: Sequence[Timing],
    program_of: Programs,
    machine: Machine,
    reached: Reached,
    watch: Watch = iter,
) -> list[Run]:
    """Each timing in its layouts. `watch` shows how far it is.

    Raises:
        Unrunnable: some can't have been run as it is said.
    """
    alike: dict[tuple[object, ...], list[int]] = {}
    for number, timing in enumerate(timings):
        alike.setdefault(_key(timing), []).append(number)
    found: dict[int, Run] = {}
    refused: list[tuple[Timing, Unsolvable]] = []
    groups = list(alike.values())
    for at in watch(list(range(len(groups)))):
        rows = [timings[number] for number in groups[at]]
        try:
            runs = _together(rows, program_of(rows[0].model), machine, reached)
        except Unsolvable as why:
            refused += [(row, why) for row in rows]
        else:
            found.update(zip(groups[at], runs, strict=True))
    if refused:
        raise Unrunnable(refused)
    return [found[number] for number in range(len(timings))]


def _key(timing: Timing) -> tuple[object, ...]:
    """What is the same for timings whose layouts are found together."""
    return (
        timing.model, timing.phase, timing.chips, timing.pipeline, timing.micro, timing.weights,
        timing.layout, timing.attention, timing.context,
    )  # fmt: skip


def _together(
    rows: Sequence[Timing], program: Program, machine: Machine, reached: Reached
) -> list[Run]:
    first, demand = rows[0], _demand(rows)
    layers = layers_of(program)
    if first.pipeline > layers:
        message = f"{layers:,} layers can't be divided into {first.pipeline:,} stages"
        raise Unsolvable(message)
    pinned = Pinned(
        frozenset([first.layout] if first.layout else []),
        frozenset([first.attention] if first.attention else []),
    )
    prefill = pinned if first.phase != "decode" else ANYHOW
    decode = pinned if first.phase != "prefill" else ANYHOW
    planner = Planner(program, machine, reached, demand, prefill, decode, first.micro)
    served = serve(_service(planner, first), demand, machine)
    return [run(timing, served, at) for at, timing in enumerate(rows)]


def _service(planner: Planner, first: Timing) -> Service:
    split = Split(first.tensor, first.pipeline)
    if first.phase == "request":
        return planner.service(first.weights, split)
    return planner.alone(first.phase, first.weights, split)


def _demand(rows: Sequence[Timing]) -> Demand:
    """What the rows ask: a prefill makes nothing, and beside steps of decode a prompt is one token,
    which is prefilled like a step, so that the same layout is the best of both."""
    columns = [
        (t.batch, t.batch, 1 if t.phase == "decode" else t.prompt,
         0 if t.phase == "prefill" else t.generate, t.context)
        for t in rows
    ]  # fmt: skip
    return Demand(*(np.array(column, dtype=np.int64) for column in zip(*columns, strict=True)))
