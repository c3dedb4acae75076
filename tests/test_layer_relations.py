"""The layouts that a problem allows a layer's operations, all of them against the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

import pytest
from texts import read

from layoutc.dsl.longhand import longhand, needs_longhand
from layoutc.dsl.operation import Layer, operands
from layoutc.dsl.program import Declare, Define, Program, Type
from layoutc.dsl.refusal import Held
from layoutc.dsl.rules import infer
from layoutc.dsl.shape import Shape
from layoutc.solver.build import build
from layoutc.solver.problem import Problem

HEAD = """\
dims  B=8 E=8 F=8 G=8 L=8 M=8 V=8
mesh  x y z
input u   : BF?
input t   : BEF?
input q   : EF?
input i   : BF? int32
input j   : LF? int32
input one : E?
weight w  : FE?
cache c   : BM?
a : BE?   = u * w
m         = max[F](t)
g         = sum[F](q)
top       = max[F](q)
pos       = sum[F](i)
ids       = sum[F](j)
"""
"""`a`, `g`, `pos` and `ids` may be partial sums, `m` and `top` partial maxima."""

CASES = [
    *("rmsnorm[E](a)", "rmsnorm[E](a, g)", "rmsnorm[B](a, g)", "rmsnorm[E](m, top)"),
    *("layernorm[E](a, g)", "rmsnorm[E](one, g)", "softmax[E](one)"),
    *("softmax[E](a)", "softmax[B](a)", "softmax[E](m)"),
    *("rope[E](a, pos)", "rope[E](a, 3)", "rope[E](m, pos)"),
    *("causal[B, E](a, pos)", "causal[B, E](m, 3)", "valid[E](a, pos)", "valid[B](m, 3)"),
    *("scale[E](a)", "scale[F](m)", "rename[E -> G](a)", "rename[B -> G](m)"),
    *("write[M](c, u, pos)", "write[M](c, u, 0)"),
    *("embed[B](a, ids)", "embed[E](a, ids)", "embed[F](w, ids)", "embed[B](m, ids)"),
]
LARGE = ["layernorm[E](a, g, g)", "softmax[L](r)", "rmsnorm[E](r, g)"]
"""With so many layouts that two axes are enough."""


def program(operation: str) -> Program:
    more = "r = t + ids\n" * ("(r" in operation)
    return read(f"{HEAD}{more}y = {operation}\noutput y\n")


@pytest.mark.parametrize("operation", [*CASES, *LARGE])
def test_what_is_allowed_is_what_is_right_over_two_axes(operation: str) -> None:
    hold(program(operation), ("x", "y"))


@pytest.mark.parametrize("operation", ["rmsnorm[E](one, g)", "rope[E](a, 3)", "scale[E](a)"])
def test_what_is_allowed_is_what_is_right_over_three(operation: str) -> None:
    hold(program(operation), ("x", "y", "z"))


def hold(program: Program, axes: tuple[str, ...]) -> None:
    """Each way to have the operands is allowed if it is right, and gives the same result."""
    problem = build(program, axes)
    define = next(i for i, _ in program.walk() if isinstance(i, Define) and i.name == "y")
    allowed, right = dict(_allowed(problem, define)), 0
    for shapes in _ways(problem, define):
        found = _by_rules(define, shapes, program, axes)
        right += found is not None
        assert allowed.pop(shapes, None) == found, [str(s) for s in shapes]
    assert not allowed
    assert right


def _ways(problem: Problem, define: Define) -> Iterator[tuple[Shape, ...]]:
    """Every layout of each operand, be it allowed or not, but what is declared is never partial."""
    (part,) = problem.parts
    values = [part.of[name] for name in operands(define.operation)]
    spaces = [problem.space(v.root) for v in values]
    declared = {i.name for i, _ in part.program.walk() if isinstance(i, Declare)}
    nodes_of = [
        [n for n in range(len(space)) if value.name not in declared or not space.partial[n]]
        for value, space in zip(values, spaces, strict=True)
    ]
    for nodes in product(*nodes_of):
        yield tuple(
            space.shape(node, value.reduction)
            for space, node, value in zip(spaces, nodes, values, strict=True)
        )


def _allowed(problem: Problem, define: Define) -> Iterator[tuple[tuple[Shape, ...], Shape]]:
    """What the problem allows: the operands' layouts and the result's."""
    (part,) = problem.parts
    names = operands(define.operation)
    values = [part.of[name] for name in names]
    leaves = [problem.find(part.uses[define.name, i]) for i in range(len(names))]
    root = problem.find(part.of[define.name].root)
    scope = tuple(dict.fromkeys((*leaves, root)))
    for nodes in _assignments(problem, scope):
        shapes = tuple(
            problem.space(leaf).shape(nodes[leaf], value.reduction)
            for leaf, value in zip(leaves, values, strict=True)
        )
        yield shapes, problem.space(root).shape(nodes[root], part.of[define.name].reduction)


def _assignments(problem: Problem, scope: tuple[int, ...]) -> Iterator[Mapping[int, int]]:
    """Nodes of the variables that are allowed, each by itself and together by all steps."""
    steps = [
        (found, set(zip(*(c.tolist() for c in step.columns), strict=True)))
        for step in problem.steps
        if set(found := tuple(map(problem.find, step.scope))) <= set(scope)
    ]
    partial: list[dict[int, int]] = [{}]
    for number, variable in enumerate(scope):
        there = {*scope[: number + 1]}
        decided = [(s, rows) for s, rows in steps if set(s) <= there and variable in s]
        nodes = problem.variables[variable].allowed.nonzero()[0].tolist()
        partial = [
            new
            for found in partial
            for node in nodes
            if all(
                tuple(new[v] for v in s) in rows
                for new in [{**found, variable: node}]
                for s, rows in decided
            )
            for new in [{**found, variable: node}]
        ]
    return iter(partial)


def _by_rules(
    define: Define, shapes: tuple[Shape, ...], program: Program, axes: tuple[str, ...]
) -> Shape | None:
    """What the rules give on operands held so; of a dim that is split, what its statements give."""
    names = [f"o{i}" for i in range(len(shapes))]
    assert isinstance(define.operation, Layer)
    given = [o for o in define.operation.operands if not isinstance(o, str)]
    operation = replace(define.operation, operands=(*names, *given))
    types = [program.types[name] for name in operands(define.operation)]
    held = {n: Held(n, s, t.dtype) for n, s, t in zip(names, shapes, types, strict=True)}
    steps = [replace(define, operation=operation)]
    lead = Type(shapes[0], types[0].dtype)
    if needs_longhand(operation, lead.shape):
        if len(lead.shape.dims) < 2:
            return None
        wanted = replace(steps[0], type=Type(lead.shape, lead.dtype))
        steps = longhand(wanted, lead, lambda role: role, axes)
    for step in steps:
        written = step.type.shape if len(steps) > 1 else None
        found = infer(step.operation, held, written, step.type.dtype)
        if not isinstance(found, Shape):
            return None
        held[step.name] = Held(step.name, found, step.type.dtype)
    return held[define.name].shape
