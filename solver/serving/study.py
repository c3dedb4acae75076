"""Every point of a sweep on every service: what it costs, which are best, and which are on the
front where nothing is both faster and cheaper. Columns are arrays: a point is a row of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from layoutc.solver.hardware.machine import Machine
from layoutc.solver.serving.demand import Ints
from layoutc.solver.serving.layouts import Layout
from layoutc.solver.serving.service import Flags, Served
from layoutc.solver.serving.terms import Floats

HOUR = 3600.0
MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Columns:
    """What a row's service takes. Shares of the peak are of the data sheet's in bf16, and count 2
    operations for each weight and token: padding and attention are no use.

    `per_token` is chip-seconds for each token that is generated, prefill included; where nothing
    is generated, for each token of the prompt.
    """

    batch: Ints
    prefill_batch: Ints
    prompt: Ints
    generate: Ints
    context: Ints
    prefill_seconds: Floats
    step_seconds: Floats
    decode_seconds: Floats
    request_seconds: Floats
    prefill_mfu: Floats
    decode_mfu: Floats
    per_token: Floats
    tokens_per_second: Floats
    memory: Floats
    longest: Floats
    fits: Flags


def columns(served: Served, parameters: int, machine: Machine) -> Columns:
    """What a service takes at each point of its demand."""
    demand, service = served.demand, served.service
    peak = machine.peak_flops / machine.efficiencies[0]
    useful = 2.0 * parameters * demand.prefill_batch * demand.prompt
    made = np.where(demand.generate > 0, demand.generate, demand.prompt)
    return Columns(
        demand.batch, demand.prefill_batch, demand.prompt, demand.generate, demand.context,
        served.prefill.seconds, served.decode.seconds,
        served.decode_seconds, served.request_seconds,
        useful / (service.prefill_chips * peak * served.prefill.seconds),
        2.0 * parameters * demand.batch / (service.decode_chips * peak * served.decode.seconds),
        served.chip_seconds / made,
        demand.batch / served.decode.seconds,
        served.memory, served.longest, served.fits,
    )  # fmt: skip


def dollars(per_token: float, price: float) -> float:
    """Dollars for a million tokens of so many chip-seconds each, at `price` a chip-hour."""
    return per_token * price / HOUR * MILLION


@dataclass(frozen=True, slots=True)
class Group:
    """Ways to divide the same chips, under the same demand and with the same weights."""

    ways: tuple[Served, ...]


@dataclass(frozen=True, eq=False)
class Study:
    """A row for each point of each group: of its ways one that fits, and then the one in which a
    request takes the least."""

    groups: Sequence[Group]
    parameters: int
    machine: Machine

    @cached_property
    def _chosen(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], Columns]:
        """For each row its group, the way in it, the point of that way, and its columns."""
        groups, ways, points, parts = [], [], [], []
        for number, group in enumerate(self.groups):
            each = [columns(way, self.parameters, self.machine) for way in group.ways]
            best = _best(each)
            here = np.arange(len(best))
            groups.append(np.full(len(best), number))
            ways.append(best)
            points.append(here)
            parts.append(_picked(each, best))
        return (
            np.concatenate(groups), np.concatenate(ways), np.concatenate(points), _joined(parts)
        )  # fmt: skip

    @property
    def columns(self) -> Columns:
        """All rows."""
        return self._chosen[-1]

    def __len__(self) -> int:
        return len(self._chosen[0])

    def served(self, row: int) -> tuple[Served, int]:
        """What a row is of: a way to serve, and the point of its demand."""
        groups, ways, points, _ = self._chosen
        return self.groups[int(groups[row])].ways[int(ways[row])], int(points[row])

    def layouts(self, row: int) -> tuple[Layout, Layout]:
        """Of prefill and of decode."""
        served, point = self.served(row)
        return served.layouts(point)

    @cached_property
    def front(self) -> Flags:
        """Which rows are on it: of those that fit, none is at once faster and cheaper a token."""
        found = self.columns
        return front(found.request_seconds, found.per_token, found.fits)

    def rows(self, flags: Flags) -> Iterator[int]:
        """The numbers of some rows, the fastest first."""
        numbers = np.flatnonzero(flags)
        order = np.argsort(self.columns.request_seconds[numbers], kind="stable")
        yield from map(int, numbers[order])

    def cheapest(self, latency: Floats, limit: float) -> int | None:
        """Of the rows that fit, and whose `latency` is within a limit, the one with the least
        chip-seconds a token; None if there is none."""
        return _least(self.columns.per_token, self.columns.fits & (latency <= limit))

    def fastest(self, latency: Floats, per_token: float) -> int | None:
        """Of the rows that fit, and cost no more chip-seconds a token, the one with the least
        `latency`; None if there is none."""
        found = self.columns
        return _least(latency, found.fits & (found.per_token <= per_token))


def front(latency: Floats, cost: Floats, among: Flags) -> Flags:
    """Where nothing `among` the points is as fast and cheaper, or as cheap and faster. Points that
    are alike in both are all on it, or none is."""
    flags = np.zeros(len(latency), dtype=bool)
    numbers = np.flatnonzero(among)
    order = numbers[np.lexsort((cost[numbers], latency[numbers]))]
    least = np.append(np.inf, np.minimum.accumulate(cost[order]))
    # The first of those that take as long: before it are the faster ones.
    first = np.searchsorted(latency[order], latency[order])
    best = (cost[order] == cost[order][first]) & (cost[order] < least[first])
    flags[order[best]] = True
    return flags


def _least(values: Floats, among: Flags) -> int | None:
    numbers = np.flatnonzero(among)
    return int(numbers[np.argmin(values[numbers])]) if len(numbers) else None


def _best(ways: Sequence[Columns]) -> NDArray[np.int64]:
    """The number of the best way at each point: what fits, then the soonest; else the smallest."""
    fits = np.stack([way.fits for way in ways])
    seconds = np.stack([way.request_seconds for way in ways])
    memory = np.stack([way.memory for way in ways])
    soonest = np.where(fits, seconds, np.inf).argmin(axis=0)
    return np.asarray(np.where(fits.any(axis=0), soonest, memory.argmin(axis=0)))


def _picked(ways: Sequence[Columns], best: NDArray[np.int64]) -> Columns:
    here = np.arange(len(best))
    stacked = ([getattr(way, f.name) for way in ways] for f in fields(Columns))
    return Columns(*(np.stack(arrays)[best, here] for arrays in stacked))


def _joined(parts: Sequence[Columns]) -> Columns:
    return Columns(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Columns)))
