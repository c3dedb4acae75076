"""From an explicit program to the text of a Python module that runs it.

The module is what a careful engineer would have written: tables of sizes and layouts, the
function that one chip runs with its collectives spelled out, the same without a mesh as the
reference, and the fixed parts (`layoutc.codegen.fixed`). Its names are those of the command
line's contract, "the emitted module".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from math import prod

from layoutc.codegen import body, sizes, spell
from layoutc.codegen.layouts import AxisNames
from layoutc.codegen.names import FIXED, identifier
from layoutc.codegen.operations import JAX_DTYPES
from layoutc.codegen.tree import Call, Expr, Function, Literal, Name, Tuple
from layoutc.dsl.program import Dtype, Program

HELPERS = {
    "product": ("product",),
    "own_part": ("own_part",),
    "reorder": ("reorder",),
    "permute": ("permute", "_chips"),
}
"""What is copied where a function calls it, with what it takes."""
STAND_INS = {"program", "reference", "ARGUMENTS", "MESH", "DIMS", "PARTS", "SMALL", "DTYPE"}
STAND_INS |= {"NARROWEST", "SPECS"}

HEAD = '''"""{name} on the mesh {mesh}: a program for {chips} chips, each step spelled out.

Run it:  python {name}.py [--seed 0] [--set B=8] [--dtype f32] [--distributed]

It compares the sharded function `{name}` with the unsharded `reference` and times it. With
fewer devices than chips it simulates them on the CPU. Over several hosts, start it on each:
with --distributed where JAX finds the others by itself (a TPU slice, Slurm, Open MPI,
Kubernetes), or with JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID set.

A comment at the end of a line is the value's layout: BLE_xy has the dims B, L and E, with E
split over the mesh axes x and y, x the more significant; with (partialsum-x), each chip along
x holds one term of a sum.
"""
'''

TAIL = """if __name__ == "__main__":
    start()
    sys.exit(main())
"""


def emit(program: Program, mesh: Mapping[str, int]) -> str:
    """The module's text. `program` is explicit and all its dims have sizes; `mesh` has each
    axis' size.

    Raises:
        ValueError: if a hole or a size is left; the caller has filled them.
    """
    if not program.explicit or None in program.dims.values():
        raise ValueError(f"{program.name} is not explicit, or a dim has no size")
    if not program.axes:
        raise ValueError(f"{program.name} has no mesh axis")
    axes, name = AxisNames.of(program.axes), identifier(program.name)
    chip, reference = _functions(program, name, axes)
    functions = [*spell.statements([chip]), "", "", *spell.statements([reference])]
    fixed = _Fixed(name)
    used = [h for h in HELPERS if re.search(rf"\b{h}\(", "\n".join(functions))]
    tables = "\n".join(_tables(program, mesh, axes))
    sections = [
        f"{_head(name, program, mesh, axes)}\n{fixed.imports()}\n\n{tables}",
        fixed.text("Tensor"),
        "\n".join(_arguments(program)) + "\n\n" + fixed.text("ABSTRACT_MESH"),
        *(fixed.text(part) for helper in used for part in HELPERS[helper]),
        "\n".join(functions),
        *(fixed.text(n) for n in fixed.always()),
        TAIL.rstrip(),
    ]
    return _pruned("\n\n\n".join(sections) + "\n")


def _functions(program: Program, name: str, axes: AxisNames) -> tuple[Function, Function]:
    ins = tuple(_entry(d.name) for d in body.arguments(program))
    outs = tuple(_entry(n) for n in body.returned(program))
    keywords = (
        ("mesh", Name("ABSTRACT_MESH")),
        ("in_specs", Tuple(ins)),
        ("out_specs", outs[0] if len(outs) == 1 else Tuple(outs)),
    )
    sharded = Call("functools.partial", (Name("jax.shard_map"),), keywords)
    doc = "What one chip does. Takes and returns global arrays, laid out as SPECS says."
    chip = body.function(program, name, doc, axes, True, (Name("jax.jit"), sharded))
    doc = "The same on whole arrays."
    return chip, body.function(program, "reference", doc, axes, False, (Name("jax.jit"),))


def _entry(name: str) -> Expr:
    return Name(f"SPECS[{spell.string(name)}]")


# Text.


def _head(name: str, program: Program, mesh: Mapping[str, int], axes: AxisNames) -> str:
    said = " ".join(f"{axes.labels[a.name]}={mesh[a.name]}" for a in program.axes)
    chips = prod(mesh[a.name] for a in program.axes)
    return HEAD.format(name=name, mesh=said, chips=chips)


def _tables(program: Program, mesh: Mapping[str, int], axes: AxisNames) -> Iterable[str]:
    yield _table("MESH", {axes.labels[a.name]: mesh[a.name] for a in program.axes})
    yield _table("DIMS", {d: s for d, s in program.dims.items() if s is not None})
    yield _table("PARTS", sizes.multiples(program, mesh)) + "  # what a dim is a multiple of"
    yield _table("SMALL", sizes.small(program, mesh)) + "  # for simulated devices"
    yield f"DTYPE = {JAX_DTYPES[program.dtype]}"
    yield f"NARROWEST = {spell.expression(_pinned(program))}"
    yield "SPECS = {"
    types, stacks = program.types, body.stacks(program)
    for name in dict.fromkeys(
        [*(d.name for d in body.arguments(program)), *body.returned(program)]
    ):
        spec = spell.expression(axes.spec(types[name].shape, name in stacks))
        stack = f", a stack of {stacks[name]}" if name in stacks else ""
        yield f"    {spell.string(name)}: {spec},  # {types[name].shape}{stack}"
    yield "}"


def _table(name: str, values: Mapping[str, int]) -> str:
    return f"{name} = {{{', '.join(f'{spell.string(k)}: {v}' for k, v in values.items())}}}"


def _pinned(program: Program) -> Tuple:
    """The dtypes that --dtype does not replace, as NumPy names them: they bound the error."""
    pinned: dict[Dtype, None] = {t.dtype: None for t in program.types.values()}
    names = [JAX_DTYPES[d].removeprefix("jnp.") for d in pinned if d != program.dtype]
    return Tuple(tuple(map(Literal, names)))


def _arguments(program: Program) -> Iterable[str]:
    fan_ins, stacks = sizes.fan_ins(program), body.stacks(program)
    yield "ARGUMENTS = {"
    for declare in body.arguments(program):
        dims = "".join(declare.type.shape.names)
        keywords: list[tuple[str, Expr]] = []
        if declare.type.dtype != program.dtype:
            keywords.append(("dtype", Name(JAX_DTYPES[declare.type.dtype])))
        if declare.kind == "weight" and fan_ins.get(declare.name):
            keywords.append(("fan_in", Literal(fan_ins[declare.name])))
        if declare.name in stacks:
            keywords.append(("stack", Literal(stacks[declare.name])))
        call = Call("Tensor", (Literal(dims),), tuple(keywords))
        yield f"    {spell.string(declare.name)}: {spell.expression(call)},"
    yield "}"


def _pruned(text: str) -> str:
    """The text without the one import that not every program needs."""
    line = "from jax import lax\n"
    return text if "lax." in text.replace(line, "") else text.replace(line, "")


class _Fixed:
    """The text of `layoutc.codegen.fixed`, by definition, with the program's function named."""

    def __init__(self, name: str) -> None:
        source = FIXED.read_text(encoding="utf-8")
        self._lines = re.sub(r"\bprogram\(", f"{name}(", source).splitlines()
        self._nodes = {_defined(n): n for n in ast.parse(source).body}
        self._imports = [
            n for n in ast.parse(source).body if isinstance(n, ast.Import | ast.ImportFrom)
        ]

    def imports(self) -> str:
        first, last = self._imports[0], self._imports[-1]
        return "\n".join(self._lines[first.lineno - 1 : last.end_lineno])

    def text(self, name: str) -> str:
        node = self._nodes[name]
        return "\n".join(self._lines[node.lineno - 1 : node.end_lineno])

    def always(self) -> list[str]:
        """The names of the parts that every module has, in the file's order."""
        skipped = (
            STAND_INS
            | {part for parts in HELPERS.values() for part in parts}
            | {"", "Tensor", "ABSTRACT_MESH"}
        )
        return [n for n in self._nodes if n not in skipped]


def _defined(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return ""
