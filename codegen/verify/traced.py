"""An emitted program traced, statement by statement: is each value the block that it should be?

JAX says where shapes clash, which is often not where the slip is. Here every value is looked at
as soon as it is made: its extents on one chip, its dtype, the axes over which it varies.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType, ModuleType
from typing import Any

from layoutc.codegen.layouts import AxisNames
from layoutc.codegen.names import identifier
from layoutc.codegen.operations import JAX_DTYPES
from layoutc.codegen.run import load
from layoutc.codegen.verify.lines import defining, function
from layoutc.dsl.program import Program

HOOK = "_looked_at"
"""No name of the notation begins with an underscore."""


Called = Callable[[ModuleType], tuple[Callable[..., Any], Sequence[Any]]]
"""A function of an emitted module and the arguments that it is traced with."""


def mistyped(
    source: str,
    program: Program,
    mesh: Mapping[str, int],
    called: Called,
    stacks: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, str]:
    """What is wrong with each value that is not as its notation says, by name.

    Empty where all is well. That JAX breaks the tracing off is said elsewhere: here what was made
    until then is looked at. `stacks` are the names whose values are stacks of as many.
    """
    wanted = _Wanted(program, mesh, stacks)
    found = {name: wanted.differs(name, value) for name, value in _values(source, program, called)}
    return {name: said for name, said in found.items() if said}


def _values(source: str, program: Program, called: Called) -> list[tuple[str, Any]]:
    """The values of the function while it is traced, with their names, as far as it comes."""
    import jax

    module = load(_looked_at(source, program), identifier(program.name))
    seen: list[tuple[str, Any]] = []
    setattr(module, HOOK, lambda name, value: seen.append((name, jax.typeof(value))))
    with suppress(Exception):
        function, arguments = called(module)
        jax.eval_shape(function, *arguments)
    return seen


def _looked_at(source: str, program: Program) -> str:
    """The text with a call after the last line of each name."""
    tree = ast.parse(source)
    last = {line.name: line for line in defining(function(tree, program), program)}
    for name, line in last.items():
        target = ast.unparse(line.assign.targets[0])
        call = ast.parse(f"{HOOK}({name!r}, {target})").body[0]
        line.body.insert(line.body.index(line.assign) + 1, call)
    return ast.unparse(ast.fix_missing_locations(tree))


class _Wanted:
    """What each name's value is on a chip, by its notation."""

    def __init__(
        self, program: Program, mesh: Mapping[str, int], stacks: Mapping[str, int]
    ) -> None:
        self.types, self.mesh, self.stacks = program.types, mesh, stacks
        self.sizes = {d: size or 0 for d, size in program.dims.items()}
        self.axes = AxisNames.of(program.axes)

    def differs(self, name: str, value: Any) -> str:
        """What is other than it should be with a value of this JAX type, "" if nothing."""
        type_ = self.types[name]
        over = self.axes.names((*type_.shape.axes, *type_.shape.partial))
        dtype = JAX_DTYPES[type_.dtype].removeprefix("jnp.")
        stack = (self.stacks[name],) if name in self.stacks else ()
        wanted = _said((*stack, *type_.shape.local(self.sizes, self.mesh)), dtype, over)
        here = _said(value.shape, value.dtype.name, value.manual_axis_type.varying)
        pairs = [(w, h) for w, h in zip(wanted, here, strict=True) if w != h]
        return (
            "it should be " + " and ".join(f"{w}, and not {h}" for w, h in pairs) if pairs else ""
        )


def _said(extents: tuple[int, ...], dtype: str, over: Any) -> tuple[str, str, str]:
    varying = (
        f"another on each chip along {', '.join(sorted(over))}" if over else "one on all chips"
    )
    return f"[{', '.join(map(str, extents))}] on a chip", dtype, varying
