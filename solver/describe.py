"""What a layout is called: the paper's names, recognised from what stays and what moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from layoutc.dsl.operation import Move, MoveKind, Product
from layoutc.dsl.program import Declare, Define, Program

Axes = frozenset[str]

GATHERED: frozenset[MoveKind] = frozenset({"all-gather"})
REARRANGED: frozenset[MoveKind] = frozenset({"all-to-all", "permute"})


def describe(program: Program, mesh: Mapping[str, int]) -> str:
    """The name of an explicit program's layout (section 3.2 of the paper), else a description.

    Weights that stay where they are make it weight-stationary: 1D if each is split on one dim,
    2D if on two. Weights that are all gathered over the same axes make it weight-gathered: over
    all axes it is the paper's XYZ; over some, if what is left is split on the hidden dim alone,
    it is called by its axes. Axes of one chip are passed over, and axes of the same size are
    interchangeable: gathered over x and z of 4x4x4, it is the paper's XY. Weights that are used
    in another layout than they rest in, without being gathered, are said to be rearranged.
    """
    weights = {i.name for i, _ in program.walk() if isinstance(i, Declare) and i.kind == "weight"}
    used = _multiplied(program, weights)
    if not used:
        return "no weight is multiplied"
    moved = _moved_over(program, weights, mesh, GATHERED)
    gathered = {name: moved.get(name, frozenset()) for name in sorted(used)}
    left = [_split(program, version, mesh) for version in used.values()]
    rearranged = _moved_over(program, weights, mesh, REARRANGED).keys() & used.keys()
    name = _named(program, mesh, gathered, left)
    return f"weights rearranged, then {name}" if rearranged else name


def described(passes: Iterable[tuple[str, Program]], mesh: Mapping[str, int]) -> str:
    """The name of a layout of several phases: one for all, or one for each."""
    names = {phase: describe(program, mesh) for phase, program in passes}
    if len(set(names.values())) == 1:
        return next(iter(names.values()))
    return ", ".join(f"{phase}: {name}" for phase, name in names.items())


def named(program: Program, gathered: int, dims: int) -> str:
    """What a layout would be called, on axes of different sizes, in which all weights are gathered
    over the first `gathered` axes (-1: over all) and what is left of each is split on `dims`."""
    order = [a.name for a in program.axes]
    if gathered == 0:
        return _stationary([dims])
    if gathered < 0:
        return f"{_capitals(order)}-weight-gathered"
    if dims == 1:
        return f"{_capitals(order[:gathered])}-weight-gathered"
    over, still = " and ".join(order[:gathered]), " and ".join(order[gathered:])
    return f"weights gathered over {over}, {dims}D over {still}"


def _named(
    program: Program,
    mesh: Mapping[str, int],
    gathered: Mapping[str, Axes],
    left: list[dict[str, Axes]],
) -> str:
    """The name by the axes that each weight is gathered over, and what splits it when used."""
    if not any(gathered.values()):
        return _stationary([len(split) for split in left])
    if len(set(gathered.values())) > 1:
        return _by_weight(program, gathered)
    return _weight_gathered(program, mesh, next(iter(gathered.values())), left)


def _stationary(split: list[int]) -> str:
    """By how many dims of each weight are split."""
    return f"{max(split)}D weight-stationary" if any(split) else "weights on every chip"


def _weight_gathered(
    program: Program, mesh: Mapping[str, int], axes: Axes, left: list[dict[str, Axes]]
) -> str:
    """All weights gathered over `axes`; `left` is what still splits each, by dim."""
    order = [a.name for a in program.axes]
    if not any(left):
        return f"{_capitals(order)}-weight-gathered"
    if all(_hidden(program, dim) for split in left for dim in split):
        return f"{_capitals(_first_alike(order, mesh, axes))}-weight-gathered"
    still = sorted({a for split in left for held in split.values() for a in held}, key=order.index)
    across = max(len(split) for split in left)
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


def _split(program: Program, name: str, mesh: Mapping[str, int]) -> dict[str, Axes]:
    """The axes of more than one chip that split each dim of a value."""
    split = {
        dim.name: frozenset(a for a in dim.axes if mesh[a] > 1) for dim in program.types[name].shape
    }
    return {dim: axes for dim, axes in split.items() if axes}


def _origins(program: Program, weights: set[str]) -> dict[str, str]:
    """The weight that each name is a version of."""
    origin = {name: name for name in weights}
    for item, _ in program.walk():
        if isinstance(item, Define) and isinstance(item.operation, Move):
            source = item.operation.operand
            if source in origin:
                origin[item.name] = origin[source]
    return origin


def _moved_over(
    program: Program, weights: set[str], mesh: Mapping[str, int], kinds: frozenset[MoveKind]
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


def _multiplied(program: Program, weights: set[str]) -> dict[str, str]:
    """The weights that enter a product which sums a dim, each with the version that does.

    Biases and scales are left out.
    """
    types, origin = program.types, _origins(program, weights)
    found = dict[str, str]()
    for item, _ in program.walk():
        match item:
            case Define(operation=Product(str(left), str(right))):
                union = {*types[left].shape.names, *types[right].shape.names}
                if union > set(item.type.shape.names):
                    found.update((origin[n], n) for n in (left, right) if n in origin)
    return found
