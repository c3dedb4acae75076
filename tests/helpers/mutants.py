"""Emitted programs with one fault planted in each: what a slip of the back end would look like.

Each operator changes one collective of the program's function, so that it moves something else,
moves it among others, or gives other values. Those that change nothing (the axes of an
all-reduce in another order) are not among them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass

Operator = Callable[[ast.Call, Mapping[str, int]], Iterator[ast.expr]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """The text of a module with a fault in the line that assigns to `name`."""

    what: str
    name: str
    text: str


def mutants(source: str, function: str, mesh: Mapping[str, int]) -> Iterator[Mutant]:
    """Every mutant of the emitted `source`, whose program is `function`."""
    for what, operator in OPERATORS.items():
        for number, _ in enumerate(_calls(ast.parse(source), function)):
            tree = ast.parse(source)
            assign, call = list(_calls(tree, function))[number]
            for faulty in operator(deepcopy(call), mesh):
                assign.value = faulty
                text = ast.unparse(ast.fix_missing_locations(tree))
                yield Mutant(what, ast.unparse(assign.targets[0]), text)


def _calls(tree: ast.Module, function: str) -> Iterator[tuple[ast.Assign, ast.Call]]:
    body = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function)
    for node in ast.walk(body):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            yield node, node.value


def _is(call: ast.Call, *names: str) -> bool:
    return ast.unparse(call.func) in names


def _axes(call: ast.Call) -> list[str]:
    value = ast.literal_eval(call.args[1])
    return [value] if isinstance(value, str) else list(value)


def _with_axes(call: ast.Call, axes: list[str], at: int = 1) -> ast.Call:
    changed = deepcopy(call)
    changed.args[at] = ast.parse(repr(tuple(axes)), mode="eval").body
    return changed


def _keyword(call: ast.Call, name: str) -> int:
    return int(ast.literal_eval(next(k.value for k in call.keywords if k.arg == name)))


def _expr(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


TILED = ("lax.all_gather", "lax.psum_scatter", "lax.all_to_all")


def wrong_axis(call: ast.Call, mesh: Mapping[str, int]) -> Iterator[ast.expr]:
    """One axis for another that it does not have."""
    if _is(call, *TILED, "lax.psum", "lax.pmax"):
        axes = _axes(call)
        for other in (a for a in mesh if a not in axes):
            yield _with_axes(call, [other, *axes[1:]])


def fewer_axes(call: ast.Call, mesh: Mapping[str, int]) -> Iterator[ast.expr]:
    if _is(call, *TILED, "lax.psum", "lax.pmax") and len(_axes(call)) > 1:
        yield _with_axes(call, _axes(call)[1:])


def order_lost(call: ast.Call, mesh: Mapping[str, int]) -> Iterator[ast.expr]:
    if _is(call, *TILED) and len(_axes(call)) > 1:
        yield _with_axes(call, _axes(call)[::-1])
    if _is(call, "permute"):
        yield _expr(f"permute({', '.join(map(ast.unparse, (call.args[0], *call.args[:0:-1])))})")
    if _is(call, "lax.all_to_all") and isinstance(call.args[0], ast.Call):
        changed = deepcopy(call)
        inner = call.args[0]
        changed.args[0] = inner.args[0]  # the chunks as they lie, not reordered
        yield changed


def all_reduced(call: ast.Call, mesh: Mapping[str, int]) -> Iterator[ast.expr]:
    """A reduce-scatter turned into an all-reduce, of which a chip keeps its part."""
    if _is(call, "lax.psum_scatter"):
        axes, dim = ast.unparse(call.args[1]), _keyword(call, "scatter_dimension")
        yield _part(f"lax.psum({ast.unparse(call.args[0])}, {axes})", dim, axes, mesh)


def _part(whole: str, dim: int, axes: str, mesh: Mapping[str, int]) -> ast.expr:
    names = ast.literal_eval(axes)
    count = 1
    for axis in [names] if isinstance(names, str) else names:
        count *= mesh[axis]
    size = f"(w.shape[{dim}] // {count})"
    return _expr(
        f"(lambda w: lax.dynamic_slice_in_dim(w, lax.axis_index({axes}) * {size}, {size}, {dim}))"
        f"({whole})"
    )


def doubled(call: ast.Call, mesh: Mapping[str, int]) -> Iterator[ast.expr]:
    """The same once more: of a gather, after a chip has taken its own part again."""
    if _is(call, "lax.all_gather"):
        axes, dim = ast.unparse(call.args[1]), _keyword(call, "axis")
        again = deepcopy(call)
        again.args[0] = _part(ast.unparse(call), dim, axes, mesh)
        yield again
    if _is(call, "lax.psum"):
        again = deepcopy(call)
        again.args[0] = deepcopy(call)
        yield again


def gathered(call: ast.Call, mesh: Mapping[str, int]) -> Iterator[ast.expr]:
    """An all-to-all done as a gather and a slice: right, and dearer."""
    if _is(call, "lax.all_to_all"):
        axes = ast.unparse(call.args[1])
        operand, onto = ast.unparse(call.args[0]), _keyword(call, "split_axis")
        whole = (
            f"lax.all_gather({operand}, {axes}, axis={_keyword(call, 'concat_axis')}, "
            "tiled=True, to='invarying')"
        )
        yield _part(whole, onto, axes, mesh)


def other_reduction(call: ast.Call, mesh: Mapping[str, int]) -> Iterator[ast.expr]:
    names = {"lax.psum": "lax.pmax", "lax.pmax": "lax.psum"}
    if ast.unparse(call.func) in names:
        changed = deepcopy(call)
        changed.func = _expr(names[ast.unparse(call.func)])
        yield changed


def left_out(call: ast.Call, mesh: Mapping[str, int]) -> Iterator[ast.expr]:
    if _is(call, *TILED, "lax.psum", "lax.pmax", "permute"):
        yield call.args[0]


def narrowed(call: ast.Call, mesh: Mapping[str, int]) -> Iterator[ast.expr]:
    """Fewer bytes, by rounding what is moved."""
    if _is(call, *TILED, "permute"):
        changed = deepcopy(call)
        changed.args[0] = _expr(f"({ast.unparse(call.args[0])}).astype(jnp.bfloat16)")
        yield _expr(f"({ast.unparse(changed)}).astype(jnp.float32)")


def other_dim(call: ast.Call, mesh: Mapping[str, int]) -> Iterator[ast.expr]:
    """Along the dim before or after."""
    for keyword in ("axis", "scatter_dimension", "split_axis"):
        if any(k.arg == keyword for k in call.keywords):
            changed = deepcopy(call)
            place = next(k for k in changed.keywords if k.arg == keyword)
            number = _keyword(call, keyword)
            place.value = ast.Constant(number - 1 if number else number + 1)
            yield changed


OPERATORS: dict[str, Operator] = {
    "a wrong axis": wrong_axis,
    "fewer axes": fewer_axes,
    "an order lost": order_lost,
    "an all-reduce for a reduce-scatter": all_reduced,
    "doubled": doubled,
    "a gather for an all-to-all": gathered,
    "another reduction": other_reduction,
    "left out": left_out,
    "rounded on the way": narrowed,
    "another dim": other_dim,
}
