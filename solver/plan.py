"""What the solver answers: for each phase an explicit program on a mesh, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutc.dsl.handing import HandOver
from layoutc.dsl.program import Program
from layoutc.solver.asked import Minimize
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.meshes import Mesh
from layoutc.solver.price import Prices, price

ROUNDING = 1e-9
"""A gap no larger is one of rounding: bounds and values are sums of many numbers."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another mesh, and the least that was found there (seconds, of what was minimised)."""

    mesh: Mesh
    seconds: float


@dataclass(frozen=True, slots=True)
class Pass:
    """One phase of a plan: its explicit program, priced where the plan's mesh lies."""

    program: Program
    fabric: Fabric
    prices: Prices

    @property
    def mesh(self) -> Mesh:
        """The size of each axis."""
        return dict(self.fabric.mesh)

    @property
    def machine(self) -> Machine:
        """What it was priced on."""
        return self.fabric.machine

    @property
    def chips(self) -> int:
        """How many chips the mesh has."""
        return self.fabric.chips

    @property
    def phase(self) -> str:
        """Its name; "main" where the file names none."""
        return self.program.phase.name

    @property
    def weight(self) -> float:
        """How often it runs."""
        return self.program.phase.weight


@dataclass(frozen=True, slots=True)
class Plan:
    """What the solver answers: a mesh in its place on a machine, and for each phase an explicit
    program and its prices.

    `bound` is the proven lower bound of what was minimised, in seconds: of all passes, or of their
    communication. `runner_up` is the best mesh that is worse, if there is one; `ties` are those
    that are as good, but for axes renamed. `stood` says that the program was explicit: its layouts
    stood, and only the mesh was sought. `hand_overs` bring caches from each phase to the next that
    holds them otherwise.
    """

    passes: tuple[Pass, ...]
    chips: int
    fabric: Fabric
    minimize: Minimize
    bound: float
    runner_up: Alternative | None = None
    stood: bool = False
    ties: tuple[Mesh, ...] = ()
    hand_overs: tuple[HandOver, ...] = ()

    @property
    def mesh(self) -> Mesh:
        """The size of each axis."""
        return dict(self.fabric.mesh)

    @property
    def machine(self) -> Machine:
        """What it was priced on."""
        return self.fabric.machine

    @property
    def name(self) -> str:
        """The program's."""
        return self.passes[0].program.name

    def on(self, fabric: Fabric) -> Plan:
        """The same programs, priced in another place, or with other figures."""
        passes = tuple(Pass(p.program, fabric, price(p.program, fabric)) for p in self.passes)
        return replace(self, fabric=fabric, passes=passes)

    @property
    def handed(self) -> tuple[tuple[HandOver, Pass], ...]:
        """What hands caches over, each with its moves as a pass, which runs as often as its source
        does."""
        fabric = self.fabric
        passes = (Pass(one.program, fabric, price(one.program, fabric)) for one in self.hand_overs)
        return tuple(zip(self.hand_overs, passes, strict=True))

    @property
    def handing_seconds(self) -> float:
        """What all of that takes, as often as it is done."""
        return sum(one.weight * one.prices.communication.seconds for _, one in self.handed)

    @property
    def seconds(self) -> float:
        """All passes and what hands caches over, each as often as its phase runs."""
        passes = sum(one.weight * one.prices.seconds for one in self.passes)
        return passes + self.handing_seconds

    @property
    def value(self) -> float:
        """What was minimised, in seconds."""
        if self.minimize == "time":
            return self.seconds
        passes = sum(one.weight * one.prices.communication.seconds for one in self.passes)
        return passes + self.handing_seconds

    @property
    def gap(self) -> float:
        """By what share something might be better than this plan; 0 where it is proven."""
        gap = 1 - self.bound / self.value if self.value else 0.0
        return gap if gap > ROUNDING else 0.0

    @property
    def only(self) -> Pass:
        """The one pass of a plan for a program of one phase."""
        (one,) = self.passes
        return one
