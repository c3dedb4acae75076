"""The stages of `plan`: from a query to services, and to what each takes at every point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from layoutc.pipeline import WrongCall
from layoutc.progress import watched
from layoutc.serving.query import Query
from layoutc.solver.serving.planner import Planner
from layoutc.solver.serving.service import serve
from layoutc.solver.serving.splits import Fixed, Split, splits
from layoutc.solver.serving.stages import layers_of
from layoutc.solver.serving.study import Group, Study
from layoutc.solver.serving.variants import Weights
from layoutc.solver.unsolvable import Unsolvable


@dataclass(frozen=True, slots=True)
class Refused:
    """Chips on which nothing can be had, and why."""

    chips: int
    weights: Weights
    why: Unsolvable


@dataclass(frozen=True, slots=True)
class Studied:
    """What was asked, what was found, and what could not be had."""

    query: Query
    study: Study
    refused: Sequence[Refused]


def studied(query: Query) -> Studied:
    """Every point of a query.

    Raises:
        Unsolvable: nothing can be had on any of the chips.
        WrongCall: the chips can't be divided as it was said.
    """
    planner = Planner(
        query.program, query.machine, query.reached, query.demand,
        query.prefill, query.decode, query.micro,
    )  # fmt: skip
    settings = [(chips, weights) for chips in query.chips for weights in query.weights]
    groups, refused = list[Group](), list[Refused]()
    what = f"finding layouts for {query.model}"
    for at in watched(what)(list(range(len(settings)))):
        chips, weights = settings[at]
        try:
            groups.append(_group(query, planner, chips, weights))
        except Unsolvable as why:
            refused.append(Refused(chips, weights, why))
    if not groups:
        raise refused[0].why
    return Studied(query, Study(groups, query.program.parameters, query.machine), refused)


def _group(query: Query, planner: Planner, chips: int, weights: Weights) -> Group:
    """All ways to divide so many chips. Raises `Unsolvable` where none can be had."""
    layers = layers_of(query.program)
    apart = _apart(query, layers)
    ways, why = [], None
    for split in _splits(query, chips, layers):
        try:
            service = planner.service(weights, split, apart)
        except Unsolvable as error:
            why = error
        else:
            ways.append(serve(service, query.demand, query.machine))
    if not ways and why is not None:
        raise why
    return Group(tuple(ways))


def _splits(query: Query, chips: int, layers: int) -> list[Split]:
    found = splits(chips, query.machine, layers, query.fixed)
    if not found:
        raise WrongCall(f"{chips:,} chips can't be divided into {_said(query.fixed, layers)}")
    return found


def _said(fixed: Fixed, layers: int) -> str:
    parts: Iterator[str] = (
        f"--{name} {number}"
        for name, number in (
            ("tensor", fixed.tensor), ("pipeline", fixed.pipeline), ("replicas", fixed.replicas),
        )
        if number
    )  # fmt: skip
    return f"{' '.join(parts)}; there are {layers} layers"


def _apart(query: Query, layers: int) -> Split | None:
    """The chips that prefill has for itself."""
    if not query.prefill_chips:
        return None
    return splits(query.prefill_chips, query.machine, layers, Fixed())[0]
