"""Why nothing that was asked for fits in memory, and what would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from layoutc.dsl.errors import START, Diagnostic
from layoutc.serving.query import Query
from layoutc.serving.studied import Studied, studied
from layoutc.solver.hardware.tier import most, nearest, slices
from layoutc.solver.serving.demand import Demand
from layoutc.solver.serving.variants import Weights
from layoutc.solver.units import chips as counted
from layoutc.solver.units import size
from layoutc.solver.unsolvable import Unsolvable

TRIES = 4
"""So many numbers of chips are looked at, from the least that may do."""


def refusal(found: Studied) -> Diagnostic:
    """What the smallest point takes, and what would make it fit: the smallest numbers of chips, or
    a shorter context."""
    query, columns = found.query, found.study.columns
    row = int(np.argmin(columns.memory))
    served, at = found.study.served(row)
    need, have = size(float(columns.memory[row])), size(query.machine.memory_bytes)
    weights, caches = size(float(served.decode.weights[at])), size(float(served.caches[at]))
    where = f"{counted(served.service.chips)} of {query.machine.name}"
    message = (
        f"{query.model} does not fit on {where}: at batch {int(columns.batch[row]):,} a chip would "
        f"hold {need}, of which {weights} are weights and {caches} caches, and there are {have}"
    )
    hints = [*_chips(found, row), *_context(found, row)]
    return Diagnostic(message, START, ", or ".join(hints))


def _context(found: Studied, row: int) -> Iterator[str]:
    longest = int(found.study.columns.longest[row])
    if longest >= int(found.study.columns.prompt[row]):
        yield f"a context of {longest:,} would fit"


def _chips(found: Studied, row: int) -> Iterator[str]:
    """For each way to store weights the least chips that would do."""
    query = found.query
    served, at = found.study.served(row)
    kinds: tuple[Weights, ...] = ("bf16", "int8")
    for weights in kinds:
        halved = float(served.decode.weights[at]) / 2
        saved = halved if weights == "int8" and served.service.weights == "bf16" else 0.0
        taken = (float(found.study.columns.memory[row]) - saved) * served.service.chips
        enough = _enough(query, weights, taken) if weights in (*query.weights, "int8") else 0
        if enough:
            beside = "" if weights in query.weights else f" with --weights {weights}"
            yield f"{counted(enough)} would do{beside}"


def _enough(query: Query, weights: Weights, taken: float) -> int:
    """The smallest number of chips that the machine has and on which the least that was asked for
    fits, if all together would hold about the bytes `taken`; 0 if it is not found."""
    least, number = _least(query), max(1, int(taken // query.machine.memory_bytes))
    for _ in range(TRIES):
        number = _had(query, number)
        if not number:
            return 0
        try:
            found = studied(replace(query, chips=[number], weights=[weights], demand=least))
        except Unsolvable:
            number += 1
        else:
            if found.study.columns.fits.any():
                return number
            number += 1
    return 0


def _least(query: Query) -> Demand:
    """The point that asks for the least."""
    demand = query.demand
    order = np.lexsort((demand.prefill_batch, demand.batch, demand.places))
    return demand.at(order[:1])


def _had(query: Query, chips: int) -> int:
    """The next number of chips that the machine has; 0 if there are no more."""
    tiers = query.machine.tiers
    end = most(tiers)
    if end and chips > end:
        return 0
    return chips if any(slices(tiers, chips)) else nearest(tiers, chips)[1]
