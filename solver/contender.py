"""Layouts in a race over one size: each is an explicit program, and can be weighed at any value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from layoutc.dsl.program import DTYPES, Program
from layoutc.solver.chips import Curve, curve
from layoutc.solver.describe import describe
from layoutc.solver.formula import communication, moving
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.meshes import Mesh, uneven
from layoutc.solver.monomial import Cost, Monomial
from layoutc.solver.price import price
from layoutc.solver.sites import sites
from layoutc.solver.solve import solve

CHIPS = "n"
"""What the number of chips is called where it is what varies; dims are capitals."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """`program` while the dim `over` (or the number of chips, "n") goes from `low` to `high`.

    `chips` is how many there are where a dim varies. Moves are weighed for large K, or exactly.
    """

    program: Program
    over: str
    low: int
    high: int
    chips: int
    machine: Machine
    large: bool = True

    def sized(self, program: Program, value: int) -> Program:
        """`program` where the size that varies is `value`."""
        if self.over == CHIPS:
            return program
        return replace(program, dims={**program.dims, self.over: value})


@dataclass(frozen=True, slots=True)
class Measure:
    """What counts at one value, on one chip: work first, then what is `moved`, elements received
    on a flat network, else seconds; and the elements, and the place."""

    work: int
    moved: Fraction
    elements: Fraction
    fabric: Fabric

    @property
    def mesh(self) -> Mesh:
        """The size of each axis."""
        return dict(self.fabric.mesh)

    @property
    def rank(self) -> tuple[int, Fraction]:
        """Less is better."""
        return self.work, self.moved


@dataclass(frozen=True, eq=False)
class Contender:
    """A layout that is best somewhere: its name, its explicit program, the place it was found in.

    `sweep` is the race that it runs in; each is the same as itself alone.
    """

    name: str
    program: Program
    fabric: Fabric
    sweep: Sweep

    @property
    def mesh(self) -> Mesh:
        """The size of each axis."""
        return dict(self.fabric.mesh)

    @classmethod
    def best(cls, sweep: Sweep, value: int) -> Contender:
        """The winner at `value`. Raises `Unsolvable` if nothing satisfies the program there."""
        chips = value if sweep.over == CHIPS else sweep.chips
        sized = sweep.sized(sweep.program, value)
        plan = solve(sized, chips, sweep.machine, "communication", large=sweep.large, fit=False)
        filled = plan.only.program
        return cls(describe(filled, plan.mesh), filled, plan.fabric, sweep)

    @cached_property
    def large(self) -> Cost:
        """What moving takes for large K, over dims that are not 1; mesh sizes are numbers.

        In elements received on a flat network, in seconds on another.
        """
        return self._cost(exact=False)

    @cached_property
    def exact(self) -> Cost:
        """The same with every (K-1)/K kept."""
        return self._cost(exact=True)

    def moved(self, value: Fraction) -> Fraction:
        """What is `moved` for large K at any real value, divided evenly or not."""
        return self.large.exact({**self.sweep.program.sizes, self.sweep.over: value})

    def _cost(self, exact: bool) -> Cost:
        if self.sweep.machine.flat:
            return at_sizes(self._symbolic(exact), self.mesh)
        dims = self.program.dims.items()
        ones = {d: 1 for d, n in dims if n == 1 and d != self.sweep.over}
        return at_sizes(moving(self.program, self.fabric, large=not exact), ones)

    def _symbolic(self, exact: bool) -> Cost:
        """Over mesh sizes too; what is 1 is left out."""
        dims = self.program.dims.items()
        ones = {d: 1 for d, n in dims if n == 1 and d != self.sweep.over}
        idle = {axis: 1 for axis, n in self.mesh.items() if n == 1}
        return at_sizes(communication(self.program, self.mesh, exact), {**ones, **idle})

    def curve(self, exact: bool) -> Curve | None:
        """The least over all real meshes of n chips, if no axis has a given size, or a place."""
        sized = any(axis.size is not None for axis in self.sweep.program.axes)
        if sized or not self.sweep.machine.flat:
            return None
        used = tuple(axis for axis, n in self.mesh.items() if n > 1)
        return curve(self._symbolic(exact), used)

    def measure(self, value: int) -> Measure | None:
        """What it takes at `value`; None if it does not divide there.

        Where chips vary, so does the mesh: the best one on which the layout keeps its name.
        """
        if self.sweep.over != CHIPS:
            return self._on(self.fabric, value)
        places = sites(self.sweep.program.axes, value, self.sweep.machine)
        named = (place for place in places if self._called(dict(place.mesh)))
        found = [m for m in (self._on(place, value) for place in named) if m is not None]
        return min(found, key=lambda m: (m.rank, uneven(m.mesh))) if found else None

    def _called(self, mesh: Mesh) -> bool:
        return describe(self.program, mesh) == self.name

    def _on(self, fabric: Fabric, value: int) -> Measure | None:
        program, mesh, large = self.sweep.sized(self.program, value), fabric.mesh, self.sweep.large
        try:
            work = price(program, fabric).compute.flops
        except ValueError:
            return None
        cost = communication(program, mesh, exact=not large)
        elements = moved = cost.exact({**program.sizes, **mesh})
        if not self.sweep.machine.flat:
            moved = _rounded(moving(program, fabric, large).exact(program.sizes))
        return Measure(work, moved, elements, fabric)


def _rounded(seconds: Fraction) -> Fraction:
    """To twelve digits: places that are alike differ in the last bit of a float."""
    return Fraction(f"{float(seconds):.12e}")


def at_sizes(cost: Cost, sizes: Mesh) -> Cost:
    """A cost with numbers in place of some of its symbols."""
    terms = []
    for term in cost.terms:
        left = tuple((s, e) for s, e in term.powers if s not in sizes)
        known = Monomial(term.coefficient, tuple(p for p in term.powers if p[0] in sizes))
        terms.append(Monomial(known.exact(sizes), left))
    return Cost.of(*terms)


def itemsize(program: Program) -> int:
    """The bytes of an element as costs count them."""
    return DTYPES[program.dtype]
