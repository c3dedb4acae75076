"""A machine as it prices: figures of one chip, and the tiers of its network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from layoutc.dsl.program import DTYPES, Dtype
from layoutc.solver.hardware.reached import Like, Reached
from layoutc.solver.hardware.shapes import Shape, Shapes
from layoutc.solver.hardware.tier import Tier, nearest, spelled

DEFAULT = "tpu-v4-flat"
"""The machine that is meant where none is named: the paper's."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a machine's file: what it is of ("ICI.bandwidth"), its unit, where it is
    from, and what it was fitted on and how well, "" for what was read or measured."""

    name: str
    value: float
    unit: str
    source: str
    fitted: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a pass is priced with. Rates are what is reached, efficiencies taken in.

    `peaks` are FLOP/s of matmuls by the dtype of their operands, `memory_bytes` is a chip's memory
    in bytes, `memory_bandwidth` in bytes/s; `tiers` are the network, the innermost first. `price`
    is dollars for a chip-hour, None where none is known. `efficiencies` are those of matmuls and of
    memory. `figures` are what the file says. With `overlap`, what can be moved inside a matmul is.
    `reached` is what whole models reach of all this, or the machine of which that is known; it is
    in none of the rates.
    """

    name: str
    peaks: Mapping[Dtype, float]
    memory_bytes: int
    memory_bandwidth: float
    tiers: tuple[Tier, ...]
    price: float | None = None
    efficiencies: tuple[float, float] = (1.0, 1.0)
    figures: tuple[Figure, ...] = field(default=(), repr=False)
    title: str = ""
    overlap: bool = False
    reached: Reached | Like | None = None

    def peak(self, *dtypes: Dtype) -> float:
        """FLOP/s of a matmul of operands of these dtypes: the wider one decides, and where the
        machine says nothing of it, bf16."""
        found: tuple[Dtype, ...] = dtypes or ("bf16",)
        wider = max(found, key=lambda dtype: (DTYPES[dtype], dtype != "int8"))
        return self.peaks[wider] if wider in self.peaks else self.peaks["bf16"]

    @property
    def peak_flops(self) -> float:
        """FLOP/s of matmuls in bf16."""
        return self.peak("bf16")

    @property
    def flat(self) -> bool:
        """Whether all chips receive the same over whichever axes, at once."""
        return len(self.tiers) == 1 and self.tiers[0].topology == "flat"

    @property
    def uniform(self) -> bool:
        """Whether a chip receives as much in a second over whichever axes."""
        return len(self.tiers) == 1 and not self.tiers[0].shaped

    @property
    def prompt(self) -> bool:
        """Whether collectives take no time to start, and none for hops."""
        return not any(tier.start or tier.hop for tier in self.tiers)

    def flattened(self, chips: int) -> Machine:
        """The same chips on the paper's network: any mesh, no start-up, no hops, efficiencies 1,
        and one bandwidth, that of the slowest tier over which so many chips reach each other."""
        if self.flat:
            return self
        slowest = min(self._reached(chips), key=lambda tier: tier.received)
        compute, memory = self.efficiencies
        return replace(
            self,
            peaks={dtype: peak / compute for dtype, peak in self.peaks.items()},
            memory_bandwidth=self.memory_bandwidth / memory,
            tiers=(Tier("network", "flat", slowest.received, shapes=Shapes()),),
            efficiencies=(1.0, 1.0),
        )

    def _reached(self, chips: int) -> Iterator[Tier]:
        """The tiers that so many chips use."""
        for tier in self.tiers:
            yield tier
            if not tier.shapes.most or chips <= tier.shapes.most:
                return
            chips //= tier.shapes.most

    def only(self, shape: Shape) -> Machine:
        """The same machine where the innermost tier can be had in one shape alone.

        Raises:
            ValueError: it can't be had in that shape; the message says in which it can.
        """
        inner, *outer = self.tiers
        wanted, chips = tuple(sorted(shape)), prod(shape)
        if len(shape) != inner.shapes.axes or not inner.shapes.has(wanted):
            found = [spelled((one,)) for one in inner.shapes.of(chips)]
            had = f"of {chips:,} chips it has {', '.join(found)}" if found else ""
            had = had or "take " + " or ".join(f"{n:,}" for n in nearest(self.tiers, chips) if n)
            raise ValueError(f"{self.name} has no slice {spelled((shape,))}: {had}")
        shapes = Shapes(inner.shapes.axes, (wanted,), multiple=0)
        return replace(self, tiers=(replace(inner, shapes=shapes), *outer))

    def faster(self, *, peak: float = 1.0, memory: float = 1.0, network: float = 1.0) -> Machine:
        """The same with so many times the FLOP/s, memory bandwidth and network bandwidth."""
        return replace(
            self,
            peaks={dtype: peak * each for dtype, each in self.peaks.items()},
            memory_bandwidth=memory * self.memory_bandwidth,
            tiers=tuple(tier.faster(network) for tier in self.tiers),
        )

    @property
    def network_bandwidth(self) -> float:
        """What a chip receives over all links of the innermost tier, in bytes/s."""
        return self.tiers[0].received
