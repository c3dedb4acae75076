"""What a collective takes on one stretch of links, by counting what each link carries.

Everything is seconds for a byte of D, the larger side of the collective on one chip (what it gives
of an all-gather, what it takes of a reduce-scatter; what a chip holds, of an all-to-all and a
permute), and a number of hops. A run is K chips in a row along one physical axis, closed to a ring
or not. The rules:

- all-gather and reduce-scatter bring D·(K-1)/K. On a ring that runs both ways each direction brings
  half of it, in ⌊K/2⌋ hops; on a line the chips at its ends have one link, so that it takes twice
  as long, in K-1 hops, and so does a ring that runs one way. Over several runs at once the
  bandwidths add, and so do the hops: each part of the data goes along them in another order.
  Through a switch, log2 K rounds, each to a chip twice as far, do (Bruck et al. 1997; Thakur et al.
  2005).
- an all-to-all takes as long as its busiest link: on a ring of even K, K·D/8 bytes, of odd K
  (K²-1)·D/8K, on a line twice as much. Over several runs the slowest of them counts.
- where a torus is said to be used along fewer axes at once, a gather's runs follow one another.
- a permute brings D. On a torus it takes what two all-to-alls take, which can do any permute, by
  way of chips in between (Valiant 1982). Halfway round a ring, and across the middle of a line,
  shortest paths take exactly that; elsewhere they may take less, or more.

Chips that are `stride` apart share their links with as many other groups that do the same at the
same time: everything takes `stride` times as long, and so many times as many hops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from layoutc.dsl.operation import MoveKind
from layoutc.solver.hardware.tier import Tier


@dataclass(frozen=True, slots=True)
class Run:
    """`size` chips in a row, `stride` apart, on one physical axis."""

    size: int
    stride: int = 1
    ring: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """What a collective uses of one tier at once: runs, on several physical axes of a torus."""

    tier: Tier
    runs: tuple[Run, ...]

    @property
    def chips(self) -> int:
        """How many chips take part."""
        return prod(run.size for run in self.runs)

    def bandwidth(self, run: Run) -> float:
        """What the chips of a run receive each, in bytes/s."""
        if not self.tier.shaped:
            return self.tier.bandwidth
        ways = 2 if run.ring and self.tier.both_ways else 1
        return ways * self.tier.bandwidth / run.stride

    @property
    def received(self) -> float:
        """What a chip receives over all runs at once, in bytes/s."""
        if not self.tier.shaped:
            return self.tier.bandwidth
        return sum(map(self.bandwidth, self.runs))

    def hops(self, kind: MoveKind) -> int:
        """How many hops follow one another."""
        if not self.tier.shaped:
            return 1 if kind in ("all-to-all", "permute") else (self.chips - 1).bit_length()
        return sum(run.stride * self._steps(run) for run in self.runs)

    def _steps(self, run: Run) -> int:
        return run.size // 2 if run.ring and self.tier.both_ways else run.size - 1

    def crossing(self) -> float:
        """Seconds a byte of an all-to-all."""
        if not self.tier.shaped:
            return (1 - 1 / self.chips) / self.tier.bandwidth
        return max(map(self._busiest, self.runs))

    def _busiest(self, run: Run) -> float:
        """What the busiest link of a run carries for a byte of D, in seconds."""
        size = run.size
        if run.ring and not self.tier.both_ways:
            return (size - 1) / 2 * run.stride / self.tier.bandwidth
        # On a ring each link carries the blocks of a quarter of the pairs, in each direction.
        carried = (size - size % 2 / size) / 8
        return (1 if run.ring else 2) * carried * run.stride / self.tier.bandwidth


def in_turn(stages: Sequence[Stage]) -> Iterator[Stage]:
    """Stages with no more runs than are used at once: the others follow, the fastest first."""
    for stage in stages:
        most = stage.tier.at_once or len(stage.runs)
        runs = sorted(stage.runs, key=stage.bandwidth, reverse=True)
        for first in range(0, len(runs), most):
            yield Stage(stage.tier, tuple(runs[first : first + most]))


def gathered(stages: Sequence[Stage], large: bool) -> float:
    """Seconds a byte of an all-gather or a reduce-scatter: what is inside, as a rule the fastest,
    has the largest part, and each stage outside only its chips' shares of the data."""
    seconds, share = 0.0, 1.0
    for stage in in_turn(stages):
        own = share if large else share * (1 - 1 / stage.chips)
        seconds += own / stage.received
        share /= stage.chips
    return seconds


def exchanged(stages: Sequence[Stage]) -> float:
    """Seconds a byte of an all-to-all: what goes to chips of the same group stays in it."""
    seconds, share = 0.0, 1.0
    for stage in reversed(stages):
        seconds += share * stage.crossing()
        share /= stage.chips
    return seconds


def permuted(stages: Sequence[Stage]) -> float:
    """Seconds a byte of a permute, through the slowest of what it goes through."""
    return max(2 * s.crossing() if s.tier.shaped else 1 / s.received for s in stages)


def rate(kind: MoveKind, stages: Sequence[Stage], large: bool = False) -> float:
    """Seconds a byte of D; `large` leaves the (K-1)/K of gathers away."""
    match kind:
        case "all-gather" | "reduce-scatter":
            return gathered(stages, large)
        case "all-reduce":
            return 2 * gathered(stages, large)
        case "all-to-all":
            return gathered(stages, True) if large and _unshaped(stages) else exchanged(stages)
        case "permute":
            return permuted(stages)
        case "slice":
            return 0.0


def _unshaped(stages: Sequence[Stage]) -> bool:
    return len(stages) == 1 and not stages[0].tier.shaped


def latency(kind: MoveKind, stages: Sequence[Stage]) -> float:
    """Seconds before the first byte is used: the start, and hop after hop."""
    if kind == "slice":
        return 0.0
    rounds = 2 if kind == "all-reduce" else 1
    return sum(s.tier.start + rounds * s.hops(kind) * s.tier.hop for s in turns(kind, stages))


def turns(kind: MoveKind, stages: Sequence[Stage]) -> Sequence[Stage]:
    """What a collective goes through one after another, each with a start of its own."""
    return stages if kind in ("all-to-all", "permute") else list(in_turn(stages))
