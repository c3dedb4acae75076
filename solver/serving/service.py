"""A way to serve: which chips prefill and which decode, and what every point of a sweep takes so.

Prefill and decode on the same chips have one mesh and store the weights alike, so that layouts are
chosen in pairs: one for decode, and one for prefill beside it. Of the pairs that fit, that one
counts in which a request takes the least.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutc.solver.hardware.machine import Machine
from layoutc.solver.serving.demand import Demand
from layoutc.solver.serving.layouts import Layout
from layoutc.solver.serving.stages import fitting
from layoutc.solver.serving.sweep import Run, Side, better, decoded, padded, prefilled, together
from layoutc.solver.serving.terms import Floats
from layoutc.solver.serving.variants import Weights

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Service:
    """`replicas` of the same, each with its part of the batch. `beside` maps the number of a layout
    of decode to where prefill runs with it; they are the `same` chips, or prefill has its own."""

    weights: Weights
    replicas: int
    decode: Side
    beside: Mapping[int, Side]
    same: bool = True

    @property
    def decode_chips(self) -> int:
        """All replicas' chips that decode."""
        return self.replicas * self.decode.chips

    @property
    def prefill_chips(self) -> int:
        """All replicas' chips that prefill; those that decode, where they are the same."""
        return self.replicas * next(iter(self.beside.values())).chips

    @property
    def chips(self) -> int:
        """All of them."""
        return self.decode_chips if self.same else self.decode_chips + self.prefill_chips


@dataclass(frozen=True, slots=True)
class Served:
    """What a service takes at every point of a demand.

    `decode` is one step, `prefill` a prefill batch. `memory` is the most that a chip holds, in
    bytes, `caches` what caches take of that; `longest` the longest context for which there is room
    in decode, in tokens.
    """

    service: Service
    demand: Demand
    decode: Run
    prefill: Run
    memory: Floats
    caches: Floats
    fits: Flags
    longest: Floats

    @property
    def decode_seconds(self) -> Floats:
        """All steps of a request."""
        return self.demand.generate * self.decode.seconds

    @property
    def request_seconds(self) -> Floats:
        """From the first token in to the last token out."""
        return self.prefill.seconds + self.decode_seconds

    @property
    def chip_seconds(self) -> Floats:
        """Of one request, all chips that work for it."""
        demand, service = self.demand, self.service
        prefill = service.prefill_chips * self.prefill.seconds / demand.prefill_batch
        return prefill + service.decode_chips * self.decode_seconds / demand.batch

    def layouts(self, point: int) -> tuple[Layout, Layout]:
        """Of prefill and of decode, at one point."""
        number = int(self.decode.layout[point])
        side = self.service.beside[number]
        return side.layouts[int(self.prefill.layout[point])], self.service.decode.layouts[number]


ALIKE = 0.05
"""Times that differ by less are told apart by what moves between chips: the model is not more exact
than that, and what moves less loses least where it is wrong."""

AT_ONCE = 1 << 14
"""So many points are weighed together: their arrays stay near the processor."""

COLUMNS = ("memory", "caches", "fits", "longest")
"""What `Served` holds of a point beside its two runs, in its order."""


def serve(service: Service, whole: Demand, machine: Machine) -> Served:
    """What a service takes: at each point the pair of layouts that fits and is best. Where none
    fits it is the one that takes the least memory."""
    starts = range(0, len(whole), AT_ONCE)
    some = (whole.at(np.arange(at, min(at + AT_ONCE, len(whole)))) for at in starts)
    return joined([_served(service, demand, machine) for demand in some], whole)


def _served(service: Service, whole: Demand, machine: Machine) -> Served:
    """Pairs are gone through twice, that no more than two are kept at a time."""
    demand = _of_one(whole, service.replicas)
    takes = [
        np.where(pair.fits, pair.request_seconds, np.inf)
        for pair in _pairs(service, whole, demand, machine)
    ]
    limit = (1 + ALIKE) * np.min(takes, axis=0)
    nowhere = ~np.isfinite(limit).all()
    near = [bool(nowhere or (seconds <= limit).any()) for seconds in takes]
    pairs = _pairs(service, whole, demand, machine, near)
    found = next(pairs)
    for pair in pairs:
        found = _better(found, pair, limit)
    return found


def _of_one(demand: Demand, replicas: int) -> Demand:
    """The part of a demand that one of several replicas has."""
    batch, prefill = (-(-b // replicas) for b in (demand.batch, demand.prefill_batch))
    return Demand(batch, prefill, demand.prompt, demand.generate, demand.context)


def _pairs(
    service: Service, whole: Demand, demand: Demand, machine: Machine, wanted: Sequence[bool] = ()
) -> Iterator[Served]:
    """Each pair of layouts; or those that are wanted, by their numbers in that order."""
    order = iter(wanted)
    for number, layout in enumerate(service.decode.layouts):
        side = service.beside[number]
        own = [n for n in range(len(side.layouts)) if next(order, True)]
        if not own:
            continue
        run = decoded(service.decode, demand, number)
        longest = longest_context(layout, service.decode, demand, machine.memory_bytes)
        caches = _caches(layout, service.decode, demand)
        for n in own:
            there = caches if service.same else _caches(side.layouts[n], side, demand, True)
            prefill = prefilled(side, demand, n, machine.memory_bytes - there)
            memory = np.maximum(run.held, prefill.held + there)
            fits = memory <= machine.memory_bytes
            yield Served(service, whole, run, prefill, memory, caches, fits, longest)


def _caches(layout: Layout, side: Side, demand: Demand, prefill: bool = False) -> Floats:
    """The bytes of a chip that caches take: all sequences', or those of a prefill batch."""
    batch = demand.prefill_batch if prefill else np.maximum(demand.batch, demand.prefill_batch)
    places = demand.context if prefill else demand.places
    sizes = padded(layout, batch, np.ones_like(batch), places)
    return layout.priced.terms.stored("caches", sizes, side.stages.share(layout.program))


def longest_context(layout: Layout, side: Side, demand: Demand, memory: float) -> Floats:
    """The most tokens that may be in the caches when decoding starts."""
    sizes = padded(layout, demand.batch, np.ones_like(demand.batch), demand.places)
    terms, share = layout.priced.terms, side.stages.share(layout.program)
    places = fitting(terms.longest(sizes, memory, share), terms.parts["M"])
    return np.maximum(0.0, places - demand.generate)


def _better(one: Served, other: Served, limit: Floats) -> Served:
    """At each point what takes no longer than a limit, and of such what moves less; of two that
    don't fit, the smaller."""
    good, better_ = (s.fits & (s.request_seconds <= limit) for s in (one, other))
    moves, smaller = _moving(other) < _moving(one), other.memory < one.memory
    either = np.where(one.fits | other.fits, other.fits & ~one.fits, smaller)
    chosen = np.where(good & better_, moves, np.where(good | better_, better_, either))
    kept = (np.where(chosen, getattr(other, n), getattr(one, n)) for n in COLUMNS)
    return Served(
        one.service, one.demand,
        better(one.decode, other.decode, chosen), better(one.prefill, other.prefill, chosen),
        *kept,
    )  # fmt: skip


def _moving(served: Served) -> Floats:
    """Seconds of a request in which links are busy."""
    decode, prefill = served.decode.parts, served.prefill.parts
    each = served.demand.generate * (decode.communication + decode.gathered)
    return each + served.prefill.waves * (prefill.communication + prefill.gathered)


def joined(parts: Sequence[Served], whole: Demand) -> Served:
    """What a service takes at several stretches of a demand, one after another."""
    if len(parts) == 1:
        return parts[0]
    decode, prefill = (together([getattr(p, n) for p in parts]) for n in ("decode", "prefill"))
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS)
    return Served(parts[0].service, whole, decode, prefill, *columns)
