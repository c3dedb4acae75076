"""One timing as it was run: its passes in their layouts, for any constants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from layoutc.solver.hardware.reached import Reached
from layoutc.solver.serving.layouts import Layout
from layoutc.solver.serving.passes import Parts
from layoutc.solver.serving.service import Served
from layoutc.solver.serving.stages import Staged, staged
from layoutc.solver.serving.sweep import Run as Found
from layoutc.solver.serving.sweep import Side, padded
from layoutc.solver.serving.timings import Timing


@dataclass(frozen=True, slots=True)
class Piece:
    """A pass of prefill or of decode, in the layout that is run, `times` one after another."""

    times: int
    work: Staged
    decode: bool
    layout: Layout

    def seconds(self, reached: Reached) -> float:
        """All of them."""
        return self.times * float(self.work.at(reached, self.decode).seconds[0])

    def parts(self, reached: Reached) -> Parts:
        """Of one pass."""
        return self.work.at(reached, self.decode).parts


@dataclass(frozen=True, slots=True)
class Run:
    """A timing, and the passes that it is of."""

    timing: Timing
    pieces: tuple[Piece, ...]

    def seconds(self, reached: Reached) -> float:
        """What it takes, with these constants."""
        return sum(piece.seconds(reached) for piece in self.pieces)


def run(timing: Timing, served: Served, point: int) -> Run:
    """A timing in the layouts that a service has at a point."""
    prefill, decode = served.layouts(point)
    number = int(served.decode.layout[point])
    own, beside = served.service.decode, served.service.beside[number]
    pieces = []
    if timing.phase != "decode":
        waves = int(served.prefill.waves[point])
        places = int(served.demand.context[point])
        work = _staged(prefill, beside, served.prefill, point, timing.batch / waves,
                       timing.prompt, places)  # fmt: skip
        pieces.append(Piece(waves, work, False, prefill))
    if timing.phase != "prefill":
        places = int(served.demand.places[point])
        work = _staged(decode, own, served.decode, point, timing.batch, 1, places)
        pieces.append(Piece(timing.generate, work, True, decode))
    return Run(timing, tuple(pieces))


def _staged(
    layout: Layout, side: Side, found: Found, point: int, batch: float, tokens: int, places: int
) -> Staged:
    batches, token, place = (np.array([float(n)]) for n in (np.ceil(batch), tokens, places))
    sizes = padded(layout, batches, token, place)
    return staged(layout.priced, sizes, side.stages, found.micro[point : point + 1].astype(float))
