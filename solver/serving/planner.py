"""From a model and what is asked of it to services, each with its layouts.

A service is so many replicas of a pipeline of stages, each of so many chips that share every
matmul. Layouts are found for the chips of one stage, at both ends of what is asked and at a few
sizes between, and serve for all of it (`layoutc.solver.serving.layouts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from layoutc.dsl.program import Program
from layoutc.solver import units
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
from layoutc.solver.unsolvable import Unsolvable

Served = Literal["prefill", "decode"]

PHASES: tuple[Served, ...] = ("prefill", "decode")


@dataclass(frozen=True, slots=True)
class Pinned:
    """What was said of the layouts of a phase: names of what its weights do, and of what attention
    is sharded over; empty for any."""

    weights: frozenset[str] = frozenset()
    attention: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        """What was said, in words."""
        over = (f"with attention over {side}" for side in sorted(self.attention))
        return [*sorted(self.weights), *over]


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
        phases: Sequence[Served] = PHASES if apart is None else ("decode",)
        apart_layouts = [] if apart is None else self._apart(weights, apart)
        found = list[tuple[Layout, list[Layout]]]()
        for home in self.homes(weights, split.tensor, phases):
            beside = apart_layouts or self.prefilling(weights, split.tensor, home)
            decoding = self.decoding(weights, split.tensor, home) if beside else []
            found += [(layout, beside) for layout in decoding]
        if not found:
            raise self._none(split.tensor)
        decode = self._side(split, [layout for layout, _ in found])
        sides = [self._side(apart or split, beside) for _, beside in found]
        own = dict(enumerate(sides))
        return Service(weights, split.replicas, decode, own, same=apart is None)

    def alone(self, phase: Served, weights: Weights, split: Split) -> Service:
        """The service where one phase is all that counts: the other runs in the same layouts.

        Raises:
            Unsolvable: there are no layouts on so many chips.
        """
        find = self.decoding if phase == "decode" else self.prefilling
        homes = self.homes(weights, split.tensor, (phase,))
        found = [layout for home in homes for layout in find(weights, split.tensor, home)]
        if not found:
            raise self._none(split.tensor)
        own = {number: self._side(split, [layout]) for number, layout in enumerate(found)}
        return Service(weights, split.replicas, self._side(split, found), own)

    def _apart(self, weights: Weights, split: Split) -> list[Layout]:
        """The layouts of prefill on chips of its own. Raises `Unsolvable` where there is none."""
        found = [
            layout
            for home in self.homes(weights, split.tensor, ("prefill",))
            for layout in self.prefilling(weights, split.tensor, home)
        ]
        if not found:
            raise self._none(split.tensor)
        return found

    def _none(self, chips: int) -> Unsolvable:
        """Nothing goes by the names that were given."""
        said = [*self.prefill.names, *self.decode.names]
        message = f"on {units.chips(chips)} there is no layout that is {' or '.join(said)}"
        return Unsolvable(message, "leave the layout away: the planner finds one")

    def _side(self, split: Split, layouts: list[Layout]) -> Side:
        return Side(split.tensor, Stages(split.pipeline), tuple(layouts), self.micro)

    # Layouts.

    def homes(self, weights: Weights, chips: int, phases: Sequence[Served]) -> list[Layout]:
        """Where weights may be stored: best for decode at either end of what is asked, or for
        prefill at the lower one; for one of them alone where it has chips of its own."""
        pinned = Pinned(self.decode.weights | self.prefill.weights)
        program, finder = self._program(weights, chips), self._finder(chips, pinned)
        found = list[Layout]()
        for sizes in self._homely(chips, phases):
            key = "homes", weights, chips, *sizes.items()
            if key not in self.known:
                self.known[key] = finder.homes(sized(program, **sizes))
            found += self.known[key]
        return _distinct(found, lambda home: home.home)

    def _homely(self, chips: int, phases: Sequence[Served]) -> Iterator[dict[str, int]]:
        """The sizes at which homes are found. Where nothing is generated, decode has no say; large
        prefills gather their weights, and it matters little to them how those are stored."""
        decodes = "decode" in phases and self.demand.generate.any()
        if decodes:
            yield from _ends(list(self._decoding(chips)))
        if "prefill" in phases or not decodes:
            prefilling = list(self._prefilling(chips))
            yield from prefilling[:1] if decodes else _ends(prefilling)

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
        for batch in probes(self.demand.batch, chips):
            yield {"B": batch, "L": 1, "M": places}

    def _prefilling(self, chips: int) -> Iterator[dict[str, int]]:
        tokens = divided(int(self.demand.prompt.max()), chips)
        places = divided(int(self.demand.context.max()), chips)
        for batch in probes(self.demand.prefill_batch, chips):
            yield {"B": batch, "L": tokens, "M": max(places, tokens)}


def probes(sizes: Ints, chips: int) -> list[int]:
    """The least and the most, as chips divide them; between them every fourth size up to the number
    of chips: below it, layouts hang on how many parts a batch can be cut into."""
    least, most = (divided(int(size), chips) for size in (sizes.min(), sizes.max()))
    found = {least, most}
    while least < min(most, chips):
        found.add(least)
        least = min(divided(4 * least, chips), chips)
        found.add(min(least, most))
    return sorted(found)


def divided(size: int, chips: int) -> int:
    """The next size up that all chips divide; below their number, one that divides them."""
    if size >= chips:
        return -(-size // chips) * chips
    return min(part for part in divisors(chips) if part >= size)


def _distinct(layouts: list[Layout], key: Callable[[Layout], object]) -> list[Layout]:
    return list({key(layout): layout for layout in reversed(layouts)}.values())[::-1]


def _ends(sizes: list[dict[str, int]]) -> list[dict[str, int]]:
    """The first and the last, or the one there is."""
    return [sizes[0], *sizes[1:][-1:]]
