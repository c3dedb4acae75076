"""What a layout is called: the paper's names, recognised from what stays and what moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from layoutc.dsl.operation import Move, MoveKind
from layoutc.dsl.program import Declare, Define, Program
from layoutc.solver.attention import attention, phrase
from layoutc.solver.matmuls import matmul
from layoutc.solver.stored import layers_weights

Axes = frozenset[str]
Dims = tuple[str, ...]

GATHERED: frozenset[MoveKind] = frozenset({"all-gather"})
REARRANGED: frozenset[MoveKind] = frozenset({"all-to-all", "permute"})


def describe(program: Program, mesh: Mapping[str, int]) -> str:
    """The name of an explicit program's layout: what its weights do, and what its attention is
    sharded over where it has any."""
    over = phrase(attention(program, mesh))
    return ", ".join([of_weights(program, mesh), *[over] * bool(over)])


def of_weights(program: Program, mesh: Mapping[str, int]) -> str:
    """The name by what happens to weights (section 3.2 of the paper), else a description.

    Weights that stay where they are make it weight-stationary: 1D if each is split on one side of
    its product, 2D if on both (see `sides`). Weights that are all gathered over the same axes make
    it weight-gathered: over all axes it is the paper's XYZ; over some, if what is left is split on
    the hidden dim alone, it is called by its axes. Axes of one chip are passed over, and axes of
    the same size are interchangeable: gathered over x and z of 4x4x4, it is the paper's XY.
    Weights that are used in another layout than they rest in, without being gathered, are said to
    be rearranged.
    """
    weights = layers_weights(program)
    used = _multiplied(program, weights)
    if not used:
        return "no weight is multiplied"
    moved = _moved_over(program, weights, mesh, GATHERED)
    gathered = {name: moved.get(name, frozenset()) for name in sorted(used)}
    left = [_split(program, use, mesh) for use in used.values()]
    rearranged = _moved_over(program, weights, mesh, REARRANGED).keys() & used.keys()
    name = _named(program, mesh, gathered, left)
    return f"weights rearranged, then {name}" if rearranged else name


def together(names: Mapping[str, str]) -> str:
    """The name of a layout of several phases: one for all, or one for each."""
    if len(set(names.values())) == 1:
        return next(iter(names.values()))
    between = "; " if any(", " in name for name in names.values()) else ", "
    return between.join(f"{phase}: {name}" for phase, name in names.items())


def named(program: Program, gathered: int, sides: int) -> str:
    """What a layout would be called, on axes of different sizes, in which all weights are gathered
    over the first `gathered` axes (-1: over all) and what is left of each is split on `sides`."""
    order = [a.name for a in program.axes]
    if gathered == 0:
        return _stationary([sides])
    if gathered < 0:
        return f"{_capitals(order)}-weight-gathered"
    if sides == 1:
        return f"{_capitals(order[:gathered])}-weight-gathered"
    over, still = " and ".join(order[:gathered]), " and ".join(order[gathered:])
    return f"weights gathered over {over}, {sides}D over {still}"


def _named(
    program: Program,
    mesh: Mapping[str, int],
    gathered: Mapping[str, Axes],
    left: list[Split],
) -> str:
    """The name by the axes that each weight is gathered over, and what splits it when used."""
    if not any(gathered.values()):
        return _stationary([split.sides for split in left])
    if len(set(gathered.values())) > 1:
        return _by_weight(program, gathered)
    return _weight_gathered(program, mesh, next(iter(gathered.values())), left)


def _stationary(split: list[int]) -> str:
    """By how many sides of each weight are split."""
    return f"{max(split)}D weight-stationary" if any(split) else "weights on every chip"


def _weight_gathered(
    program: Program, mesh: Mapping[str, int], axes: Axes, left: list[Split]
) -> str:
    """All weights gathered over `axes`; `left` is what still splits each."""
    order = [a.name for a in program.axes]
    if not any(split.dims for split in left):
        return f"{_capitals(order)}-weight-gathered"
    if all(_hidden(program, dim) for split in left for dim in split.dims):
        return f"{_capitals(_first_alike(order, mesh, axes))}-weight-gathered"
    axes_left = {a for split in left for held in split.dims.values() for a in held}
    still = sorted(axes_left, key=order.index)
    across = max(split.sides for split in left)
    over = " and ".join(a for a in order if a in axes)
    return f"weights gathered over {over}, {across}D over {' and '.join(still)}"


def _capitals(axes: list[str]) -> str:
    return "".join(axes).upper()


def _first_alike(order: list[str], mesh: Mapping[str, int], axes: Axes) -> list[str]:
    """The first axes of the mesh with the sizes of `axes`: x and y for x and z, if Y = Z."""
    sizes = sorted(mesh[a] for a in axes)
    alike = (list(c) for c in combinations(order, len(sizes)))
    return next(c for c in alike if sorted(mesh[a] for a in c) == sizes)


def _hidden(program: Program, dim: str) -> bool:
    """Whether a dim is neither of what comes in nor of what goes out."""
    outputs = {output.name for output in program.outputs}
    return not any(
        dim in item.type.shape
        for item, _ in program.walk()
        if item.name in outputs or (isinstance(item, Declare) and item.kind == "input")
    )


def _by_weight(program: Program, gathered: Mapping[str, Axes]) -> str:
    """What happens to each weight, those that fare alike together."""
    order = [a.name for a in program.axes]
    alike: dict[Axes, list[str]] = {}
    for name, axes in gathered.items():
        alike.setdefault(axes, []).append(name)

    def parts() -> Iterator[str]:
        for axes, names in alike.items():
            over = " and ".join(a for a in order if a in axes)
            stays = "stays" if len(names) == 1 else "stay"
            yield f"{', '.join(names)} {f'gathered over {over}' if axes else stays}"

    return "; ".join(parts())


# What is read off the statements.


@dataclass(frozen=True, slots=True)
class Split:
    """The axes of more than one chip that split each dim of a weight where it is multiplied, and on
    how many sides of the product there are such."""

    dims: dict[str, Axes]
    sides: int


@dataclass(frozen=True, slots=True)
class _Use:
    """A weight in a product: by which name it enters, beside what, and what comes of it."""

    name: str
    beside: str
    result: str


def _split(program: Program, use: _Use, mesh: Mapping[str, int]) -> Split:
    own, beside, result = (program.types[n].shape for n in (use.name, use.beside, use.result))
    split = {d.name: frozenset(a for a in d.axes if mesh[a] > 1) for d in own}
    held = {dim: axes for dim, axes in split.items() if axes}
    by = dict(zip(own.names, sides(own.names, beside.names, result.names), strict=True))
    return Split(held, len({by[dim] for dim in held}))


def sides(own: Dims, beside: Dims, result: Dims) -> tuple[int, ...]:
    """The side of a product on which each dim of a weight stands: those that are summed are one,
    those that go on into the result another, however many there are of either: heads and what is
    in a head together are what F is of a feedforward layer. A dim that also stands in the other
    operand and stays is on a third."""
    return tuple(2 * (dim in beside) + (dim in result) for dim in own)


def _origins(program: Program, weights: frozenset[str]) -> dict[str, str]:
    """The weight that each name is a version of."""
    origin = {name: name for name in weights}
    for item, _ in program.walk():
        if isinstance(item, Define) and isinstance(item.operation, Move):
            source = item.operation.operand
            if source in origin:
                origin[item.name] = origin[source]
    return origin


def _moved_over(
    program: Program, weights: frozenset[str], mesh: Mapping[str, int], kinds: frozenset[MoveKind]
) -> dict[str, Axes]:
    """The axes of more than one chip over which each weight is moved, by moves of these kinds."""
    origin, moved = _origins(program, weights), dict[str, Axes]()
    for item, _ in program.walk():
        if isinstance(item, Define) and isinstance(item.operation, Move):
            move = item.operation
            axes = frozenset(a for a in move.axes if mesh[a] > 1)
            if move.operand in origin and move.kind in kinds and axes:
                name = origin[move.operand]
                moved[name] = moved.get(name, frozenset()) | axes
    return moved


def most_sides(program: Program) -> int:
    """On how many sides of its products a weight can be split; 0 where none is multiplied."""
    types, used = program.types, _multiplied(program, layers_weights(program)).values()
    shapes = ([types[n].shape.names for n in (u.name, u.beside, u.result)] for u in used)
    return max((len({*sides(*names)}) for names in shapes), default=0)


def _multiplied(program: Program, weights: frozenset[str]) -> dict[str, _Use]:
    """The weights that enter a product which sums a dim, each with the use in which it does.

    Biases and scales are left out.
    """
    types, origin = program.types, _origins(program, weights)
    found = dict[str, _Use]()
    for item, _ in program.walk():
        product = matmul(item, types) if isinstance(item, Define) else None
        if product is not None:
            both = ((product.left, product.right), (product.right, product.left))
            found |= {origin[n]: _Use(n, m, item.name) for n, m in both if n in origin}
    return found
