"""From a model and what is asked of it to services, each with its layouts.

A service is so many replicas of a pipeline of stages, each of so many chips that share every
matmul. Layouts are found for the chips of one stage, at both ends of what is asked, and serve for
all that lies between (`layoutc.solver.serving.layouts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from layoutc.dsl.program import Program
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reached import Reached
from layoutc.solver.meshes import divisors
from layoutc.solver.serving.demand import Demand, Ints
from layoutc.solver.serving.layouts import Finder, Layout
from layoutc.solver.serving.service import Service
from layoutc.solver.serving.splits import Split
from layoutc.solver.serving.stages import Stages
from layoutc.solver.serving.sweep import Side
from layoutc.solver.serving.variants import Weights, padded, sized, with_weights


@dataclass(frozen=True, slots=True)
class Pinned:
    """What was said of the layouts of a phase: names of what its weights do, and of what attention
    is sharded over; empty for any."""

    weights: frozenset[str] = frozenset()
    attention: frozenset[str] = frozenset()


ANYHOW = Pinned()


@dataclass(slots=True)
class Planner:
    """Finds services for a model at the points of a `demand`. `micro` are the micro-batches of a
    pipeline, 0 for whatever is best. What was found is remembered."""

    program: Program
    machine: Machine
    reached: Reached
    demand: Demand
    prefill: Pinned = ANYHOW
    decode: Pinned = ANYHOW
    micro: int = 0
    known: dict[object, list[Layout]] = field(default_factory=dict)

    def service(self, weights: Weights, split: Split, apart: Split | None = None) -> Service:
        """The service, prefill `apart` on chips of its own if that is said.

        Raises:
            Unsolvable: there are no layouts on so many chips.
        """
        numbered = [
            (home, layout)
            for home in self.homes(weights, split.tensor)
            for layout in self.decoding(weights, split.tensor, home)
        ]
        decode = self._side(split, [layout for _, layout in numbered])
        if apart is None:
            sides = [
                self._side(split, self.prefilling(weights, split.tensor, home))
                for home, _ in numbered
            ]
            return Service(weights, split.replicas, decode, dict(enumerate(sides)))
        layouts = [
            layout
            for home in self.homes(weights, apart.tensor)
            for layout in self.prefilling(weights, apart.tensor, home)
        ]
        beside = dict.fromkeys(range(len(numbered)), self._side(apart, layouts))
        return Service(weights, split.replicas, decode, beside, same=False)

    def _side(self, split: Split, layouts: list[Layout]) -> Side:
        return Side(split.tensor, Stages(split.pipeline), tuple(layouts), self.micro)

    # Layouts.

    def homes(self, weights: Weights, chips: int) -> list[Layout]:
        """Where weights may be stored, for decode at both ends of what is asked."""
        program, finder = self._program(weights, chips), self._finder(chips, ANYHOW)
        found = list[Layout]()
        for sizes in self._decoding(chips):
            key = "homes", weights, chips, *sizes.items()
            if key not in self.known:
                self.known[key] = finder.homes(sized(program, **sizes))
            found += self.known[key]
        return _distinct(found, lambda home: home.home)

    def decoding(self, weights: Weights, chips: int, home: Layout) -> list[Layout]:
        """The layouts of decode beside a home."""
        return self._beside("decode", weights, chips, home)

    def prefilling(self, weights: Weights, chips: int, home: Layout) -> list[Layout]:
        """The layouts of prefill beside a home."""
        return self._beside("prefill", weights, chips, home)

    def _beside(self, phase: str, weights: Weights, chips: int, home: Layout) -> list[Layout]:
        probes = self._decoding(chips) if phase == "decode" else self._prefilling(chips)
        finder = self._finder(chips, self.decode if phase == "decode" else self.prefill)
        program, found = self._program(weights, chips), list[Layout]()
        for sizes in probes:
            key = phase, weights, chips, home.home, *sizes.items()
            if key not in self.known:
                self.known[key] = finder.beside(sized(program, **sizes), home)
            found += self.known[key]
        return _distinct(found, lambda layout: layout.key)

    def _program(self, weights: Weights, chips: int) -> Program:
        return padded(with_weights(self.program, weights), chips)

    def _finder(self, chips: int, pinned: Pinned) -> Finder:
        return Finder(chips, self.machine, self.reached, pinned.weights, pinned.attention)

    # The sizes at which layouts are found.

    def _decoding(self, chips: int) -> Iterator[dict[str, int]]:
        places = divided(int(self.demand.places.max()), chips)
        for batch in _ends(self.demand.batch, chips):
            yield {"B": batch, "L": 1, "M": places}

    def _prefilling(self, chips: int) -> Iterator[dict[str, int]]:
        tokens = divided(int(self.demand.prompt.max()), chips)
        places = divided(int(self.demand.context.max()), chips)
        for batch in _ends(self.demand.prefill_batch, chips):
            yield {"B": batch, "L": tokens, "M": max(places, tokens)}


def _ends(sizes: Ints, chips: int) -> list[int]:
    """The least and the most, as chips divide them."""
    return sorted({divided(int(sizes.min()), chips), divided(int(sizes.max()), chips)})


def divided(size: int, chips: int) -> int:
    """The next size up that all chips divide; below their number, one that divides them."""
    if size >= chips:
        return -(-size // chips) * chips
    return min(part for part in divisors(chips) if part >= size)


def _distinct(layouts: list[Layout], key: Callable[[Layout], object]) -> list[Layout]:
    return list({key(layout): layout for layout in reversed(layouts)}.values())[::-1]
