"""Timings as they were run: each with its passes in their layouts, for any constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from layoutc.solver.hardware.reached import Reached
from layoutc.solver.serving.chain import Chain
from layoutc.solver.serving.demand import Ints
from layoutc.solver.serving.layouts import Layout
from layoutc.solver.serving.passes import Parts, Work
from layoutc.solver.serving.service import Served
from layoutc.solver.serving.stages import Staged, Stages, staged
from layoutc.solver.serving.sweep import Run as Found
from layoutc.solver.serving.sweep import Side, padded
from layoutc.solver.serving.terms import KINDS, Amounts, Floats, Sizes
from layoutc.solver.serving.timings import Timing


@dataclass(frozen=True, slots=True)
class Piece:
    """A pass of prefill or of decode, in the layout that is run, `times` one after another: its
    sizes, and the stages and micro-batches in which it goes through them."""

    times: int
    decode: bool
    layout: Layout
    sizes: Sizes
    stages: Stages
    micro: Floats

    @property
    def work(self) -> Staged:
        """What one pass takes of the machine."""
        return staged(self.layout.priced, self.sizes, self.stages, self.micro)

    def parts(self, reached: Reached) -> Parts:
        """Where the seconds of one pass go."""
        return self.work.at(reached, self.decode).parts


@dataclass(frozen=True, slots=True)
class Run:
    """A timing, and the passes that it is of."""

    timing: Timing
    pieces: tuple[Piece, ...]


def run(timing: Timing, served: Served, point: int) -> Run:
    """A timing in the layouts that a service has at a point."""
    prefill, decode = served.layouts(point)
    number = int(served.decode.layout[point])
    own, beside = served.service.decode, served.service.beside[number]
    pieces = []
    if timing.phase != "decode":
        waves = int(served.prefill.waves[point])
        batch, places = timing.batch / waves, int(served.demand.context[point])
        sizes = _sizes(prefill, batch, timing.prompt, places)
        pieces.append(_piece(waves, prefill, sizes, beside, served.prefill, point))
    if timing.phase != "prefill":
        sizes = _sizes(decode, timing.batch, 1, int(served.demand.places[point]))
        steps = _piece(timing.generate, decode, sizes, own, served.decode, point)
        pieces.append(replace(steps, decode=True))
    return Run(timing, tuple(pieces))


def _piece(times: int, layout: Layout, sizes: Sizes, side: Side, found: Found, at: int) -> Piece:
    micro = found.micro[at : at + 1].astype(float)
    return Piece(times, False, layout, sizes, side.stages, micro)


def _sizes(layout: Layout, batch: float, tokens: int, places: int) -> Sizes:
    return padded(layout, *(np.array([float(n)]) for n in (np.ceil(batch), tokens, places)))


def on(runs: Sequence[Run], reached: Reached) -> list[Run]:
    """The same runs where so much of the machine is reached. Layouts stay; along how many axes of a
    torus collectives go at a time, and which chain of statements is the longest, hang on it."""
    known: dict[int, Layout] = {}

    def moved(piece: Piece) -> Piece:
        layout = piece.layout
        if id(layout) not in known:
            known[id(layout)] = layout.on(reached)
        return replace(piece, layout=known[id(layout)])

    return [Run(one.timing, tuple(map(moved, one.pieces))) for one in runs]


# All at once.


@dataclass(frozen=True, slots=True)
class Together:
    """The passes of many runs side by side, so that one call tells what all of them take. An entry
    of each array is a pass: `of` which run, how many `times`, and whether it is of `decode`."""

    of: Ints
    times: Floats
    decode: NDArray[np.bool_]
    work: Staged
    runs: int

    def seconds(self, reached: Reached) -> Floats:
        """What each run takes, with these constants."""
        each = self.times * self.work.at(reached, self.decode).seconds
        return np.bincount(self.of, each, self.runs).astype(np.float64)


def together(runs: Sequence[Run]) -> Together:
    """Runs, at least one, side by side."""
    pieces = [piece for one in runs for piece in one.pieces]
    return Together(
        np.repeat(np.arange(len(runs)), [len(one.pieces) for one in runs]),
        np.array([float(piece.times) for piece in pieces]),
        np.array([piece.decode for piece in pieces]),
        _joined([piece.work for piece in pieces]),
        len(runs),
    )


def _joined(passes: Sequence[Staged]) -> Staged:
    """Passes of one size each as one of many."""
    work = Work(
        _amounts([one.work.block for one in passes]),
        _amounts([one.work.outside for one in passes]),
        (_chain([one.work.chains[0] for one in passes]),
         _chain([one.work.chains[1] for one in passes])),
    )  # fmt: skip
    count, share, begun = (
        np.array([getattr(one, name) for one in passes], dtype=float)
        for name in ("count", "share", "begun")
    )
    micro, handed = (
        np.concatenate([getattr(one, name) for one in passes]) for name in ("micro", "handed")
    )
    return Staged(work, count, share, micro, begun, handed)


def _amounts(found: Sequence[Amounts]) -> Amounts:
    return Amounts(*(np.concatenate([getattr(one, kind) for one in found]) for kind in KINDS))


def _chain(found: Sequence[Chain]) -> Chain:
    columns = zip(*((one.launches, one.latency) for one in found), strict=True)
    return Chain(*(np.array(column, dtype=float) for column in columns))
