"""What the figure of `plan` shows, as numbers: of each phase its fronts and all that fits.

A front is of one phase alone: of the points with the same weights and the same lengths, those that
no other beats both in the phase's own latency and in what it costs. MFU is the inverse of that
cost, in other units, so that the same points are its front too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from layoutc.serving.studied import Studied
from layoutc.solver.serving.demand import Ints
from layoutc.solver.serving.service import Flags, Service
from layoutc.solver.serving.study import front
from layoutc.solver.serving.terms import Floats
from layoutc.solver.serving.variants import Weights

PhaseName = Literal["decode", "prefill"]


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a front: what is written beside it, and the layout in which it runs."""

    label: str
    layout: str


@dataclass(frozen=True, slots=True)
class Front:
    """The points with the same weights and lengths that nothing beats, the fastest first.

    `rows` are theirs in the columns of the phase.
    """

    weights: Weights
    lengths: Mapping[str, int]
    rows: Ints
    points: Sequence[Point]

    @property
    def name(self) -> str:
        """What sets it apart: the weights, and the lengths of which there are several."""
        lengths = (f"{name} {value:,}" for name, value in self.lengths.items())
        return ", ".join([f"{self.weights} weights", *lengths])

    @property
    def switches(self) -> list[int]:
        """The points whose layout is another than that of the one before."""
        pairs = pairwise(self.points)
        return [i for i, (before, after) in enumerate(pairs, 1) if before.layout != after.layout]


@dataclass(frozen=True, eq=False)
class Phase:
    """All that was studied of a phase: `seconds` of a step or a prefill, `cost` in chip-seconds for
    each of its tokens, `mfu` as a share of the peak. A row for each row of the study."""

    name: PhaseName
    seconds: Floats
    cost: Floats
    mfu: Floats
    fits: Flags
    fronts: Sequence[Front]

    @cached_property
    def layouts(self) -> list[str]:
        """Of all points on fronts, each once."""
        return list(dict.fromkeys(p.layout for f in self.fronts for p in f.points))


def decode(found: Studied) -> Phase:
    """Steps of decode. Points are labelled by chips and sequences; lengths are the context, and
    the tokens to make."""
    columns = found.study.columns
    chips = np.array([s.decode_chips for s in _services(found)])
    cost = chips * columns.step_seconds / columns.batch
    lengths = {"context": columns.context, "making": columns.generate}
    labels = {"C": chips, "B": columns.batch}
    fronts = _fronts(found, "decode", columns.step_seconds, cost, lengths, labels)
    return Phase(
        "decode", columns.step_seconds, cost, columns.decode_mfu, columns.fits, tuple(fronts)
    )


def prefill(found: Studied) -> Phase:
    """Prefills. Points are labelled by chips and sequences; where prompts alone vary, by them, as
    in the paper's figure B.1."""
    columns = found.study.columns
    chips = np.array([s.prefill_chips for s in _services(found)])
    cost = chips * columns.prefill_seconds / (columns.prefill_batch * columns.prompt)
    along = _several(columns.prompt) and not _several(columns.prefill_batch)
    labels = {"C": chips} | ({"S": columns.prompt} if along else {"B": columns.prefill_batch})
    lengths = {} if along else {"prompt": columns.prompt}
    if (columns.context != columns.prompt).any():
        lengths["context"] = columns.context
    fronts = _fronts(found, "prefill", columns.prefill_seconds, cost, lengths, labels)
    return Phase(
        "prefill", columns.prefill_seconds, cost, columns.prefill_mfu, columns.fits, tuple(fronts)
    )


def _services(found: Studied) -> Iterator[Service]:
    """Of each row."""
    return (found.study.served(row)[0].service for row in range(len(found.study)))


def _several(values: Ints) -> bool:
    return bool((values != values[0]).any())


def _fronts(
    found: Studied,
    phase: PhaseName,
    seconds: Floats,
    cost: Floats,
    lengths: Mapping[str, Ints],
    labels: Mapping[str, Ints],
) -> Iterator[Front]:
    """One for each kind of weights and each combination of lengths of which something fits."""
    fits = found.study.columns.fits
    stored = np.array([s.weights for s in _services(found)])
    varying = {name: values for name, values in lengths.items() if _several(values)}
    kinds = np.stack([np.zeros(len(fits), dtype=np.int64), *varying.values()], axis=1)
    for weights in found.query.weights:
        for kind in np.unique(kinds, axis=0):
            here = fits & (stored == weights) & (kinds == kind).all(axis=1)
            rows = np.flatnonzero(front(seconds, cost, here))
            rows = rows[np.argsort(seconds[rows])]
            points = [_point(found, phase, int(row), labels) for row in rows]
            if points:
                named = dict(zip(varying, map(int, kind[1:]), strict=True))
                yield Front(weights, named, rows, points)


def _point(found: Studied, phase: PhaseName, row: int, labels: Mapping[str, Ints]) -> Point:
    served, at = found.study.served(row)
    of_prefill, of_decode = served.layouts(at)
    if phase == "decode":
        layout, side = of_decode, served.service.decode
    else:
        layout, side = of_prefill, served.service.beside[int(served.decode.layout[at])]
    stages = ", in stages" if side.stages.count > 1 else ""
    label = ", ".join(f"{name}:{int(values[row])}" for name, values in labels.items())
    return Point(label, layout.name + stages)
