"""What a layout is called: the paper's names, recognised from what stays and what moves."""

from __future__ import annotations

from collections.abc import Mapping

from layoutc.dsl.program import Declare, Define, Move, Product, Program

Axes = frozenset[str]


def describe(program: Program, mesh: Mapping[str, int]) -> str:
    """The name of an explicit program's layout (section 3.2 of the paper), else a description.

    Weights that stay where they are make it weight-stationary: 1D if each is split on one dim,
    2D if on two. Weights that are all gathered over the same axes make it weight-gathered over
    those. Axes of one chip are passed over.
    """
    types = program.types
    weights = {i.name for i, _ in program.walk() if isinstance(i, Declare) and i.kind == "weight"}
    moved = _gathered(program, weights, mesh)
    multiplied = _multiplied(program, weights)
    if not multiplied:
        return "no weight is multiplied"
    gathered = {name: moved.get(name, frozenset()) for name in sorted(multiplied)}
    if not any(gathered.values()):
        split = [
            sum(any(mesh[a] > 1 for a in dim.axes) for dim in types[name].shape)
            for name in multiplied
        ]
        return _stationary(split)
    if len(set(gathered.values())) == 1:
        axes = next(iter(gathered.values()))
        return "".join(a.name.upper() for a in program.axes if a.name in axes) + "-weight-gathered"
    parts = (f"{n} gathered over {''.join(sorted(a))}" if a else f"{n} stays"
             for n, a in gathered.items())  # fmt: skip
    return "; ".join(parts)


def _stationary(split: list[int]) -> str:
    """By how many dims of each weight are split."""
    if not any(split):
        return "weights on every chip"
    most = max(split)
    return f"{most}D weight-stationary"


def _origins(program: Program, weights: set[str]) -> dict[str, str]:
    """The weight that each name is a version of."""
    origin = {name: name for name in weights}
    for item, _ in program.walk():
        if isinstance(item, Define) and isinstance(item.operation, Move):
            source = item.operation.operand
            if source in origin:
                origin[item.name] = origin[source]
    return origin


def _gathered(program: Program, weights: set[str], mesh: Mapping[str, int]) -> dict[str, Axes]:
    """The axes over which each weight is gathered before it is used."""
    origin, moved = _origins(program, weights), dict[str, Axes]()
    for item, _ in program.walk():
        if isinstance(item, Define) and isinstance(item.operation, Move):
            move = item.operation
            if move.operand in origin and move.kind == "all-gather":
                name = origin[move.operand]
                axes = frozenset(a for a in move.axes if mesh[a] > 1)
                moved[name] = moved.get(name, frozenset()) | axes
    return moved


def _multiplied(program: Program, weights: set[str]) -> set[str]:
    """The weights that enter a product which sums a dim: biases and scales are left out."""
    types, origin = program.types, _origins(program, weights)
    found = set[str]()
    for item, _ in program.walk():
        match item:
            case Define(operation=Product(str(left), str(right))):
                union = {*types[left].shape.names, *types[right].shape.names}
                if union > set(item.type.shape.names):
                    found.update(origin[n] for n in (left, right) if n in origin)
    return found
