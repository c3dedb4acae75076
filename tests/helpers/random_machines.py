"""Small random machines with a network: what a small program is placed on.

Figures are small too, so that computing, reading and moving take about as long, and a start now
and then as long as all that it starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Literal

from layoutc.dsl.program import Dtype
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.shapes import Shapes
from layoutc.solver.hardware.tier import Tier, Wraparound, slices

Shaped = Literal["torus", "line"]

SHAPED: tuple[Shaped, ...] = ("torus", "line")
STARTS = (0.0, 0.0, 1.0, 16.0, 128.0)
HOPS = (0.0, 0.5, 4.0, 32.0)
SPEEDS = (0.5, 1.0, 2.0, 4.0)


def random_machine(random: Random, chips: int) -> Machine:
    """A machine that has a slice of so many chips."""
    kinds = (_torus, _torus, _line, _switch, _nodes, _nodes, _pods)
    tiers = random.choice(kinds)(random, chips)
    assert any(True for _ in slices(tiers, chips))
    peak = random.choice((2.0, 4.0, 8.0))
    peaks: dict[Dtype, float] = {"bf16": peak}
    if random.random() < 0.5:
        peaks |= {"f32": peak / 2, "int8": 2 * peak}
    return Machine("small", peaks, 1 << 30, 1.0, tiers)


def _torus(random: Random, chips: int) -> tuple[Tier, ...]:
    axes = random.choice((2, 2, 3))
    ring = Wraparound(random.choice((0, 1, 1, 2, 4)), together=random.random() < 0.3)
    return (_shaped(random, "torus", axes, ring, random.random() < 0.7),)


def _line(random: Random, chips: int) -> tuple[Tier, ...]:
    return (_shaped(random, "line", random.choice((1, 2)), Wraparound(), True),)


def _shaped(random: Random, topology: Shaped, axes: int, ring: Wraparound, both: bool) -> Tier:
    return Tier(
        "ICI", topology, random.choice(SPEEDS) / 2, random.choice(HOPS), random.choice(STARTS),
        both, axes == 1 or random.random() < 0.5, Shapes(axes), ring,
    )  # fmt: skip


def _switch(random: Random, chips: int) -> tuple[Tier, ...]:
    return (_through(random, "switch", 1.0),)


def _through(random: Random, name: str, times: float, most: int = 0) -> Tier:
    """A switch, of so many times the usual bandwidth."""
    bandwidth = times * random.choice(SPEEDS)
    start, hop = random.choice(STARTS), random.choice(HOPS)
    return Tier(name, "switch", bandwidth, hop, start, shapes=Shapes(chips=most))


def _nodes(random: Random, chips: int) -> tuple[Tier, ...]:
    """Nodes by one switch, and what is in a node by another."""
    inner = random.choice(list(_within(chips)))
    return _through(random, "within", 8.0, inner), _through(random, "across", 1.0)


def _pods(random: Random, chips: int) -> tuple[Tier, ...]:
    """A torus or a line in a node."""
    inner = random.choice(list(_within(chips)))
    topology = random.choice(SHAPED)
    bandwidth, hop = random.choice(SPEEDS), random.choice(HOPS)
    shapes = Shapes(1, chips=inner)
    within = Tier("within", topology, bandwidth, hop, cut=random.random() < 0.7, shapes=shapes)
    return within, _through(random, "across", 0.5)


def _within(chips: int) -> Iterator[int]:
    """Sizes of nodes of which so many chips are some."""
    return (n for n in range(2, chips + 1) if chips % n == 0)
