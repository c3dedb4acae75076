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
    """What the smallest point takes, and the smallest numbers of chips on which it would fit."""
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
    return Diagnostic(message, START, ", or ".join(_hints(query, served.service.chips)))


def _hints(query: Query, chips: int) -> Iterator[str]:
    """For each way to store weights the least chips that would do."""
    kinds: tuple[Weights, ...] = ("bf16", "int8")
    for weights in kinds:
        enough = _enough(query, weights, chips)
        if enough and (weights in query.weights or weights == "int8"):
            beside = "" if weights in query.weights else f" with --weights {weights}"
            yield f"{counted(enough)} would do{beside}"


def _enough(query: Query, weights: Weights, chips: int) -> int:
    """The smallest number of chips that the machine has and on which the least that was asked for
    fits; 0 if it is not found."""
    least = _least(query)
    number = chips if weights not in query.weights else chips + 1
    for _ in range(TRIES):
        number = _had(query, max(number, _bound(query, weights)))
        if not number:
            return 0
        try:
            found = studied(replace(query, chips=[number], weights=[weights], demand=least))
        except Unsolvable:
            pass
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


def _bound(query: Query, weights: Weights) -> int:
    """No fewer chips hold the weights."""
    each = 1 if weights == "int8" else 2
    return -(-query.program.parameters * each // query.machine.memory_bytes)


def _had(query: Query, chips: int) -> int:
    """The next number of chips that the machine has; 0 if there are no more."""
    tiers = query.machine.tiers
    end = most(tiers)
    if end and chips > end:
        return 0
    return chips if any(slices(tiers, chips)) else nearest(tiers, chips)[1]
