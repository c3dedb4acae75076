"""What `plan` is asked, with everything that was not said filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from layoutc.dsl.program import Program
from layoutc.serving.words import Latency
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reached import Reached
from layoutc.solver.serving.demand import Demand
from layoutc.solver.serving.planner import Pinned
from layoutc.solver.serving.splits import Fixed
from layoutc.solver.serving.variants import Weights


@dataclass(frozen=True, slots=True)
class Query:
    """A model, a machine, and the points that are asked for.

    `prefill_chips` is 0 where prefill runs on the chips that decode. `limit` and `budget` are what
    an answer has to keep to, where there are such; `price` is dollars a chip-hour, 0 if unknown.
    """

    model: str
    program: Program
    machine: Machine
    reached: Reached
    whose: str
    chips: Sequence[int]
    weights: Sequence[Weights]
    demand: Demand
    fixed: Fixed
    prefill: Pinned
    decode: Pinned
    prefill_chips: int = 0
    micro: int = 0
    limit: Latency | None = None
    budget: float = 0.0
    price: float = 0.0


def demand(
    batch: Sequence[int],
    prefill_batch: Sequence[int],
    prompt: Sequence[int],
    generate: Sequence[int],
    context: Sequence[int],
) -> Demand:
    """All combinations. Where no batch of prefill is given it is that of decode, and where no
    context is, the prompt; a context has room for its prompt."""
    rows = [
        (b, p or b, t, g, max(c or t, t))
        for b, p, t, g, c in product(batch, prefill_batch or [0], prompt, generate, context or [0])
    ]
    return Demand(*(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


def usual(program: Program) -> Mapping[str, int]:
    """Batch, prompt and tokens to make as a file's phases have them; else 1, 512 and 64."""
    phases = {phase.name: phase for phase in program.phases}
    prefill, decode = phases.get("prefill"), phases.get("decode")
    sizes = program.sizes
    return {
        "batch": (decode.sizes if decode else {}).get("B", sizes.get("B", 1)),
        "prompt": (prefill.sizes if prefill else {}).get("L", 512),
        "generate": max(1, round(decode.weight)) if decode else 64,
    }
