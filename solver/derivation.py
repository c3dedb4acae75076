"""All that algebra says of an explicit program: its formulas, their minimum, the best mesh."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from layoutc.dsl.program import Program
from layoutc.solver.algebra import Ones, communication, moved
from layoutc.solver.convex import Lowest, lowest
from layoutc.solver.formula import Moved
from layoutc.solver.minimum import Minimum, grouped, minimum
from layoutc.solver.monomial import Cost
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
    """Formulas in elements of the program's dtype; over `bandwidth` they are times.

    `least` and `exact_least` are over mesh sizes, for large K and exactly. `on_chips` is there
    if a number of chips was asked for and every dim has a size.
    """

    program: Program
    statements: tuple[Moved, ...]
    large: Cost
    exact: Cost
    least: Minimum
    exact_least: Minimum
    on_chips: OnChips | None = None


def derive(program: Program, chips: int | None = None) -> Derivation:
    """Raises `Unsolvable` if `chips` is no number of chips that the program's mesh can have."""
    return Derivation(
        program,
        moved(program),
        communication(program),
        communication(program, exact=True),
        best(program, exact=False),
        best(program, exact=True),
        None if chips is None or unsized(program) else on_chips(program, chips),
    )


def best(program: Program, exact: bool) -> Minimum:
    """The least of a program's communication over the open sizes of its mesh."""

    def costing(ones: Ones) -> Cost:
        return communication(program, exact, ones)

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
