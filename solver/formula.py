"""The cost of an explicit program as a formula: for large K, as in the paper, or exact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from layoutc.dsl.operation import Move
from layoutc.dsl.program import DTYPES, Define, Program
from layoutc.solver.collectives import RULES, moves_nothing, sending
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.monomial import Cost, Monomial
from layoutc.solver.network import FLAT, Network
from layoutc.solver.spelling import Speller
from layoutc.solver.surd import Sum


@dataclass(frozen=True, slots=True)
class Moved:
    """What one statement brings a chip, all its repetitions together: elements, or where axes
    differ, times."""

    define: Define
    large: Cost
    exact: Cost


def moved(program: Program, mesh: Mapping[str, int], network: Network = FLAT) -> Iterator[Moved]:
    """Every move, in elements of the program's dtype, or in times of a `network` whose axes differ:
    another dtype counts by its size.

    Those that bring nothing on this mesh (slices, axes of one chip) are among them, with 0.
    """
    types, ones = program.types, frozenset(axis for axis, size in mesh.items() if size == 1)
    for item, times in program.walk():
        if isinstance(item, Define) and isinstance(item.operation, Move):
            move, before, after = (
                item.operation,
                types[item.operation.operand].shape,
                item.type.shape,
            )
            size = Monomial(Fraction(DTYPES[item.type.dtype], DTYPES[program.dtype]) * times)
            if moves_nothing(move, before, after, mesh):
                yield Moved(item, Cost(), Cost())
            else:
                large, exact = network.takes(move, before, after, ones)
                yield Moved(item, large * size, exact * size)


def communication(
    program: Program, mesh: Mapping[str, int], exact: bool = False, network: Network = FLAT
) -> Cost:
    """Elements of the program's dtype that a chip receives, for large K unless `exact`; times, of a
    `network` whose axes differ."""
    total = Cost()
    for one in moved(program, mesh, network):
        total += one.exact if exact else one.large
    return total


def moving(program: Program, fabric: Fabric, large: bool = False) -> Cost:
    """Seconds that moving takes in a pass, over its dims, in the place where its mesh lies."""
    total, types, mesh = Cost(), program.types, fabric.mesh
    for item, times in program.walk():
        if not isinstance(item, Define) or not isinstance(item.operation, Move):
            continue
        move, after = item.operation, item.type.shape
        before = types[move.operand].shape
        if moves_nothing(move, before, after, mesh):
            continue
        side = before if RULES[move.kind].side == "before" else after
        rate = fabric.rate(move.kind, sending(move, before, after))
        cut = prod(mesh[a] for a in side.axes)
        per_byte = rate.large if large else rate.per_byte
        seconds = Fraction(per_byte) * DTYPES[item.type.dtype] / cut * times
        start = Monomial(Fraction(rate.start) * times)
        total += Cost.of(start, Monomial(seconds, Monomial.of(side.names).powers))
    return total


def spelled(cost: Cost, order: Sequence[str] = ()) -> str:
    """A cost with its common factor in front: `2·B·L·(E/X + F/(Y·Z))`, symbols in `order`."""
    return Speller("unicode", [s.upper() for s in order]).sum(Sum.from_cost(in_capitals(cost)))


def in_capitals(cost: Cost) -> Cost:
    """The size of axis x as X, as formulas have it."""
    return Cost.of(
        *(
            Monomial(term.coefficient, tuple(sorted((_capital(s), e) for s, e in term.powers)))
            for term in cost.terms
        )
    )


def _capital(symbol: str) -> str:
    """The symbols of dims and axes are letters, others words."""
    return symbol.upper() if len(symbol) == 1 else symbol
