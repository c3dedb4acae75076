"""All that algebra says of an explicit program: its formulas, their minimum, the best mesh.

On a flat network the best mesh is counted in elements. On others it has a place, starting and hops
take time too, and it is the one on which moving takes least.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from layoutc.dsl.program import Program
from layoutc.solver.algebra import Ones, communication, moved
from layoutc.solver.convex import Lowest, lowest
from layoutc.solver.formula import Moved
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.minimum import Minimum, NoClosedForm, grouped, minimum
from layoutc.solver.monomial import Cost
from layoutc.solver.network import FLAT, Network, network, speeds
from layoutc.solver.placed import Placed, best_place
from layoutc.solver.surd import Sum
from layoutc.solver.unsolvable import explain
from layoutc.solver.whole import Whole, best_mesh


@dataclass(frozen=True, slots=True)
class OnChips:
    """The best mesh of a number of chips, beside sizes that need not be whole."""

    chips: int
    whole: Whole
    lowest: Lowest

    @property
    def gap(self) -> float:
        """By what part the formula is more on the whole-number mesh: 0.01 is one per cent."""
        if not self.lowest.value:
            return 0.0
        return max(0.0, float(self.whole.formula) / self.lowest.value - 1)


@dataclass(frozen=True, slots=True)
class Derivation:
    """Formulas in elements of the program's dtype, which over `network.over` are times.

    `least` and `exact_least` are over mesh sizes, for large K and exactly. `on_chips` is there
    if a number of chips was asked for and every dim has a size.
    """

    program: Program
    machine: Machine
    network: Network
    statements: tuple[Moved, ...]
    large: Cost
    exact: Cost
    least: Minimum
    exact_least: Minimum
    on_chips: OnChips | Placed | None = None

    @property
    def speeds(self) -> tuple[str, ...]:
        """The symbols of the bandwidths in it, where axes differ."""
        costs = [self.large, self.exact]
        return speeds(symbol for cost in costs for symbol in Sum.from_cost(cost).symbols())


def derive(program: Program, machine: Machine, chips: int | None = None) -> Derivation:
    """Formulas over the bandwidths of a machine. Raises `Unsolvable` if `chips` is no number of
    chips that the program's mesh can have there."""
    counted = None if chips is None or unsized(program) else counting(program, machine, chips)
    net = network(program, machine, counted.fabric if isinstance(counted, Placed) else None)
    return Derivation(
        program,
        machine,
        net,
        moved(program, network=net),
        communication(program, network=net),
        communication(program, exact=True, network=net),
        best(program, exact=False, network=net),
        best(program, exact=True, network=net),
        counted,
    )


def counting(program: Program, machine: Machine, chips: int) -> OnChips | Placed:
    """The best mesh of so many chips. Raises `Unsolvable` if there is none."""
    return on_chips(program, chips) if machine.flat else best_place(program, chips, machine)


def best(program: Program, exact: bool, network: Network = FLAT) -> Minimum:
    """The least of a program's communication over the open sizes of its mesh."""
    if network.tiered and None in sizes(program).values():
        return NoClosedForm("chips do not go from an axis in one tier to one in another")

    def costing(ones: Ones) -> Cost:
        return communication(program, exact, ones, network)

    return minimum(costing, sizes(program))


def on_chips(program: Program, chips: int) -> OnChips:
    """Every dim of `program` has a size. Raises `Unsolvable` if no mesh has so many chips."""
    whole = best_mesh(program, chips)
    if whole is None:
        raise explain(program, chips)
    dims = program.sizes
    known = {a: size for a, size in sizes(program).items() if size is not None}
    formula = communication(program)
    groups = grouped(formula, [a for a in sizes(program) if a not in known])
    # Of a group one axis stands for the product, so the others have one chip.
    alone = {a: 1 for group in groups for a in group[1:]}
    free, share = [group[0] for group in groups], chips // prod(known.values())
    found = lowest(formula, {**dims, **known, **alone}, free, share)
    named = {"*".join(group): found.sizes[group[0]] for group in groups}
    return OnChips(chips, whole, replace(found, sizes=named))


def sizes(program: Program) -> dict[str, int | None]:
    """The mesh's sizes by their symbols, None for those that are open."""
    return {axis.name.upper(): axis.size for axis in program.axes}


def unsized(program: Program) -> tuple[str, ...]:
    """The dims without a size."""
    return tuple(dim for dim, size in program.dims.items() if size is None)
