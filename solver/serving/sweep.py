"""A sweep: each layout priced at every point at once, and at each point the best that fits.

Layouts are tried one by one, each at all points together; what is kept at a point is chosen by a
mask. Sizes that a layout's axes don't divide are padded, and what is added is paid for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from layoutc.solver.serving.demand import Demand, Ints
from layoutc.solver.serving.layouts import Layout
from layoutc.solver.serving.passes import NAMES, Parts
from layoutc.solver.serving.stages import Piped, Stages, fitting, multiple, staged
from layoutc.solver.serving.terms import Floats, Sizes

WAVES = 16
"""A prefill batch that does not fit is run in so many parts at most, one after the other."""


@dataclass(frozen=True, slots=True)
class Side:
    """Where a phase runs: its chips, pipeline stages of so many each, and its layouts; `micro` are
    the micro-batches, 0 for whatever is best."""

    tensor: int
    stages: Stages
    layouts: tuple[Layout, ...]
    micro: int = 0

    @property
    def chips(self) -> int:
        """All of them."""
        return self.tensor * self.stages.count


@dataclass(frozen=True, slots=True)
class Run:
    """A phase at every point, in the layout and in as many micro-batches and waves as are best.

    `seconds` is the pass of the whole batch; `parts` are of one wave, of one micro-batch, and
    `waiting` is what comes on top until the batch is through. `held` is in bytes of a chip, and so
    are the `weights` in it; of a step of decode it has the caches, of a prefill it has not.
    """

    layout: Ints
    seconds: Floats
    parts: Parts
    waiting: Floats
    micro: Ints
    waves: Ints
    held: Floats
    weights: Floats


OWN = tuple(f.name for f in fields(Run) if f.name != "parts")


def better(one: Run, other: Run, chosen: np.ndarray) -> Run:
    """The other where it is `chosen`, else the one."""
    own = {n: np.where(chosen, getattr(other, n), getattr(one, n)) for n in OWN}
    return Run(parts=one.parts.where(chosen, other.parts), **own)


def together(runs: Sequence[Run]) -> Run:
    """Runs at one stretch of points after another."""

    def of(values: Iterable[np.ndarray]) -> np.ndarray:
        return np.concatenate(list(values))

    parts = Parts(*(of(getattr(run.parts, n) for run in runs) for n in NAMES))
    return Run(parts=parts, **{n: of(getattr(run, n) for run in runs) for n in OWN})


def decoded(side: Side, demand: Demand, number: int) -> Run:
    """Steps of decode in one of a side's layouts."""
    layout = side.layouts[number]
    sizes = padded(layout, demand.batch, np.ones_like(demand.batch), demand.places)
    found, micro = _filled(layout, sizes, side, decode=True)
    terms, share = layout.priced.terms, side.stages.share(layout.program)
    held, weights = terms.held(sizes, share), terms.stored("weights", sizes, share)
    once, where = np.ones_like(micro), np.full(len(demand), number)
    return Run(where, found.seconds, found.parts, found.waiting, micro, once, held, weights)


def prefilled(side: Side, demand: Demand, number: int, room: Floats) -> Run:
    """Prefills in one of a side's layouts, in the fewest waves for which there is `room`.

    `room` is bytes for weights and activations: what the caches leave.
    """
    layout, share = side.layouts[number], side.stages.share(side.layouts[number].program)
    waves = _waves(layout, demand, room, share)
    sizes = padded(layout, np.ceil(demand.prefill_batch / waves), demand.prompt, demand.context)
    found, micro = _filled(layout, sizes, side, decode=False)
    waiting = found.waiting + (waves - 1) * found.seconds
    terms = layout.priced.terms
    weights, where = terms.stored("weights", sizes, share), np.full(len(demand), number)
    held = weights + terms.alive(sizes)
    return Run(where, waves * found.seconds, found.parts, waiting, micro, waves, held, weights)


def _waves(layout: Layout, demand: Demand, room: Floats, share: float) -> Ints:
    """The fewest waves that fit, or the most that are tried."""
    terms = layout.priced.terms
    sizes = padded(layout, demand.prefill_batch, demand.prompt, demand.context)
    most, part = np.minimum(WAVES, demand.prefill_batch), terms.parts["B"]
    wide = np.minimum(fitting(terms.widest(sizes, room, share), part), sizes["B"])
    fewest = np.ceil(demand.prefill_batch / np.maximum(wide, 1))
    return np.asarray(np.minimum(fewest, most).astype(np.int64))


def padded(layout: Layout, batch: np.ndarray, tokens: np.ndarray, places: np.ndarray) -> Sizes:
    """Sizes that the layout's axes divide: what is added is padding, and paid for."""
    parts = layout.priced.terms.parts
    found = {"B": batch, "L": tokens, "M": places}
    return {dim: multiple(sizes.astype(float), parts[dim]) for dim, sizes in found.items()}


def _filled(layout: Layout, sizes: Sizes, side: Side, decode: bool) -> tuple[Piped, Ints]:
    """In the best number of micro-batches: powers of two, up to four for each stage."""
    if side.stages.count == 1:
        once = np.ones_like(sizes["B"])
        found = staged(layout.priced, sizes, side.stages, once)
        return found.at(layout.priced.reached, decode), once.astype(np.int64)
    tries = [side.micro] if side.micro else _powers(4 * side.stages.count)
    best: tuple[Piped, Ints] | None = None
    for number in tries:
        micro = np.minimum(number, sizes["B"])
        found = staged(layout.priced, sizes, side.stages, micro)
        own = found.at(layout.priced.reached, decode), micro
        best = own if best is None else _faster(best, own)
    assert best is not None
    return best[0], best[1].astype(np.int64)


def _powers(most: int) -> list[int]:
    return [1 << k for k in range(most.bit_length()) if 1 << k <= most]


def _faster(one: tuple[Piped, Ints], other: tuple[Piped, Ints]) -> tuple[Piped, Ints]:
    chosen = other[0].seconds < one[0].seconds
    parts = one[0].parts.where(chosen, other[0].parts)
    waiting = np.where(chosen, other[0].waiting, one[0].waiting)
    return Piped(parts, waiting), np.where(chosen, other[1], one[1])
