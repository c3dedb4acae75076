"""Links that carry blocks, one at a time and hop by hop: what a collective takes is counted.

A `Flow` is a block that goes from chip to chip, copied to several or summed up from several. A link
carries a byte in a second, and sends what waits for it, what has farthest to go first; a chip sends
a block on once all of it that it waits for has come. Nothing here knows of the solver's formulas.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

Chip = tuple[int, ...]
"""A chip by its coordinates, one for each physical axis."""
Link = tuple[int, Chip, str]
"""Of a physical axis and at a chip, the link that leads on or back, or a port of a switch."""

TOGETHER = 1 + 1e-12
"""Times so near to each other are one: they differ by rounding."""


@dataclass(frozen=True, slots=True)
class Hop:
    """From a chip to the next along a physical axis, forwards (1) or backwards (-1), or to any
    through a switch (0)."""

    source: Chip
    target: Chip
    axis: int
    step: int

    @property
    def links(self) -> tuple[Link, ...]:
        """What is busy meanwhile: a link, or the way out of one chip and the way into another."""
        if self.step:
            return ((self.axis, self.source, "on" if self.step > 0 else "back"),)
        return (self.axis, self.source, "out"), (self.axis, self.target, "in")

    @property
    def back(self) -> Hop:
        """The other direction of the same link."""
        return Hop(self.target, self.source, self.axis, -self.step)


@dataclass(frozen=True, slots=True)
class Flow:
    """A block of `size` bytes and the hops that it makes, none before one that it waits for.

    `held` says whose data each chip has of it at first: of a block that is copied one chip has its
    own, of one that is summed each chip has its own term.
    """

    size: float
    held: Mapping[Chip, frozenset[Chip]]
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`busiest`: seconds that the busiest link of each axis works; `finished`: when all has come;
    `hops`: how many followed one another; `held`: for each flow, whose data each chip has of it."""

    busiest: Mapping[int, float]
    finished: float
    hops: int
    held: Sequence[Mapping[Chip, frozenset[Chip]]]

    @property
    def bound(self) -> float:
        """Seconds that the busiest of all links works: what chunks small enough come down to."""
        return max(self.busiest.values())


At = tuple[int, Chip]
"""A flow by its number, at a chip."""
Entry = tuple[float, int, int, Hop]
"""What a link or the clock has next: when, who came first, which flow, which hop."""


@dataclass(slots=True)
class _Network:
    flows: Sequence[Flow]
    held: list[dict[Chip, frozenset[Chip]]] = field(default_factory=list)
    awaited: Counter[At] = field(default_factory=Counter)
    leaving: dict[At, list[Hop]] = field(default_factory=lambda: defaultdict(list))
    farther: dict[At, int] = field(default_factory=lambda: defaultdict(int))
    deep: dict[At, int] = field(default_factory=lambda: defaultdict(int))
    queues: dict[Link, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    busy: set[Link] = field(default_factory=set)
    loads: dict[Link, float] = field(default_factory=lambda: defaultdict(float))
    arrivals: list[Entry] = field(default_factory=list)
    numbers: count[int] = field(default_factory=count)
    now: float = 0.0

    def load(self) -> None:
        """Everything at its place, what waits for nothing in the queues."""
        for number, flow in enumerate(self.flows):
            self.held.append(dict(flow.held))
            for hop in reversed(flow.hops):
                here, there = (number, hop.source), (number, hop.target)
                self.awaited[there] += 1
                self.leaving[here].append(hop)
                self.farther[here] = max(self.farther[here], 1 + self.farther[there])
        for at in list(self.leaving):
            if not self.awaited[at]:
                self.queue(at)

    def queue(self, at: At) -> None:
        number, _ = at
        for hop in self.leaving[at]:
            entry = (-self.farther[number, hop.target], next(self.numbers), number, hop)
            heappush(self.queues[hop.links[0]], entry)

    def send(self) -> None:
        """Every idle link takes the first that waits for it."""
        for queue in self.queues.values():
            if queue and self.busy.isdisjoint(queue[0][3].links):
                _, _, number, hop = heappop(queue)
                self.busy.update(hop.links)
                for link in hop.links:
                    self.loads[link] += self.flows[number].size
                due = self.now + self.flows[number].size
                heappush(self.arrivals, (due, next(self.numbers), number, hop))

    def receive(self) -> None:
        """What comes next, and all that comes with it."""
        self.now = self.arrivals[0][0]
        while self.arrivals and self.arrivals[0][0] <= self.now * TOGETHER:
            _, _, number, hop = heappop(self.arrivals)
            self.busy.difference_update(hop.links)
            self.bring(number, hop)

    def bring(self, number: int, hop: Hop) -> None:
        held, here, there = self.held[number], (number, hop.source), (number, hop.target)
        brought, had = held[hop.source], held.get(hop.target, frozenset())
        assert brought, f"{hop.source} has nothing to send"
        assert not brought & had, f"{hop.target} has it already"
        held[hop.target] = had | brought
        self.deep[there] = max(self.deep[there], 1 + self.deep[here])
        self.awaited[there] -= 1
        if not self.awaited[there]:
            self.queue(there)


def run(flows: Sequence[Flow]) -> Outcome:
    """Everything carried to its end."""
    network = _Network(flows)
    network.load()
    network.send()
    while network.arrivals:
        network.receive()
        network.send()
    assert not any(network.queues.values()), "something waits for ever"
    busiest: dict[int, float] = defaultdict(float)
    for (axis, _, _), load in network.loads.items():
        busiest[axis] = max(busiest[axis], load)
    return Outcome(busiest, network.now, max(network.deep.values(), default=0), network.held)
