"""The best mesh of a number of chips for an explicit program: by counting, not by formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from layoutc.dsl.program import Program
from layoutc.solver.algebra import Ones, communication, pinned_to_one
from layoutc.solver.meshes import Mesh, meshes, uneven
from layoutc.solver.monomial import Cost, Monomial


@dataclass(frozen=True, slots=True)
class Whole:
    """The mesh on which a chip receives the fewest `elements`, the (K-1)/K kept.

    `formula` is what the large-K formula, as it is written for all meshes, comes to there.
    `ties` are all meshes that are as good, `mesh` the most even of them. `undivided` names the
    tensors' dims that its sizes do not divide.
    """

    mesh: Mesh
    elements: Fraction
    formula: Fraction
    ties: tuple[Mesh, ...]
    undivided: tuple[str, ...]


def best_mesh(program: Program, chips: int) -> Whole | None:
    """The best of all meshes of `chips` chips; None if there is none. Every dim has a size.

    A mesh counts whether or not its axes divide the dims: padding is another question.
    """
    dims = program.sizes
    costs = _exact(program)

    def elements(mesh: Mesh) -> Fraction:
        ones = frozenset(a for a, size in mesh.items() if size == 1)
        return costs(ones).exact({**dims, **capitals(mesh)})

    priced = [(elements(mesh), mesh) for mesh in meshes(program.axes, chips)]
    if not priced:
        return None
    least = min(cost for cost, _ in priced)
    ties = sorted((mesh for cost, mesh in priced if cost == least), key=uneven)
    formula = communication(program).exact({**dims, **capitals(ties[0])})
    return Whole(ties[0], least, formula, tuple(ties), undivided(program, dims, ties[0]))


def capitals(mesh: Mapping[str, int]) -> Mesh:
    """Sizes by the symbols that formulas have for them."""
    return {axis.upper(): size for axis, size in mesh.items()}


def _exact(program: Program) -> Callable[[Ones], Cost]:
    """Costs by which axes have one chip: a permute of those alone moves nothing."""

    @cache
    def costs(ones: Ones) -> Cost:
        return communication(program, exact=True, ones=ones | pinned_to_one(program))

    return costs


def undivided(program: Program, dims: Mapping[str, int], mesh: Mesh) -> tuple[str, ...]:
    """The dims, as they are split somewhere, that their axes' sizes do not divide on a mesh."""
    found = {
        str(dim): None
        for held in program.types.values()
        for dim in held.shape
        if Monomial.of(dim.name, dim.axes).exact({**dims, **mesh}).denominator > 1
    }
    return tuple(found)
