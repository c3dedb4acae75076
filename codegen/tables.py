"""The tables of an emitted module: its mesh, the sizes, the layouts and the arguments.

With several phases, sizes and layouts are tables by phase.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from layoutc.codegen import body, sizes, spell, together
from layoutc.codegen.layouts import AxisNames
from layoutc.codegen.names import function_name
from layoutc.codegen.operations import JAX_DTYPES
from layoutc.codegen.padding import padded
from layoutc.codegen.scales import said
from layoutc.codegen.tree import Call, Expr, Literal, Name, Tuple
from layoutc.dsl.handing import HandOver
from layoutc.dsl.program import Dtype, Program
from layoutc.dsl.scales import holders, scaled

INDENT = "    "

Passes = Sequence[Program]
"""The explicit program of each phase; of the only one, where there is one."""


def tables(
    passes: Passes, mesh: Mapping[str, int], axes: AxisNames, hand_overs: Sequence[HandOver]
) -> Iterator[str]:
    program = passes[0]
    yield from _table("MESH", {axes.labels[a.name]: mesh[a.name] for a in program.axes})
    small = sizes.small(passes, mesh, hand_overs)
    yield from _by_phase("DIMS", passes, [one.sizes for one in passes])
    parts = [sizes.multiples(one, mesh, hand_overs) for one in passes]
    yield from _by_phase("PARTS", passes, parts, "what a dim is a multiple of")
    yield from _by_phase("SMALL", passes, small, "for simulated devices")
    if padded(program):
        yield _useful(padded(program))
    yield f"DTYPE = {JAX_DTYPES[program.dtype]}"
    yield f"NARROWEST = {spell.expression(_pinned(passes))}"
    if len(passes) == 1:
        yield from ("SPECS = {", *_specs(program, axes, INDENT), "}")
        return
    yield "SPECS = {"
    for one in passes:
        yield f"{INDENT}{spell.string(one.phase.name)}: {{"
        yield from _specs(one, axes, 2 * INDENT)
        yield f"{INDENT}}},"
    yield "}"


def _useful(padded: Mapping[str, tuple[int, int]]) -> str:
    pairs = ", ".join(f"{spell.string(dim)}: {pair}" for dim, pair in padded.items())
    (used, places), *_ = padded.values()
    return f"USEFUL = {{{pairs}}}  # of {places} places of a padded dim {used} are used"


def _specs(program: Program, axes: AxisNames, indent: str) -> Iterator[str]:
    types, stacks, scales = program.types, body.stacks(program), scaled(program)
    arguments = (declare.name for declare in body.arguments(program))
    for name in dict.fromkeys([*arguments, *body.returned(program)]):
        spec, note = axes.spec(types[name].shape, name in stacks), str(types[name].shape)
        if name in scales:
            spec = Tuple((spec, Call("P", ())))
            note += f" and {said(scales[name])}"
        stack = f", a stack of {stacks[name]}" if name in stacks else ""
        yield f"{indent}{spell.string(name)}: {spell.expression(spec)},  # {note}{stack}"


def _by_phase(
    name: str, passes: Passes, tables: Sequence[Mapping[str, int]], comment: str = ""
) -> Iterator[str]:
    """A table of numbers; of several phases, one for each."""
    if len(passes) == 1:
        yield from _table(name, tables[0], comment)
        return
    yield f"{name} = {{" + (f"  # {comment}" if comment else "")
    for program, table in zip(passes, tables, strict=True):
        yield from _entries(f"{INDENT}{spell.string(program.phase.name)}: ", table, ",")
    yield "}"


def phases(passes: Passes) -> Iterator[str]:
    yield "PHASES = {"
    for program in passes:
        tables = (_of(table, passes, program) for table in ("DIMS", "PARTS", "SMALL", "SPECS"))
        values = (function_name(program, passes), *tables)
        yield f"{INDENT}{spell.string(program.phase.name)}: Phase({', '.join(values)}),"
    yield "}"


def _table(name: str, values: Mapping[str, int], comment: str = "") -> list[str]:
    """A table on a line, its comment above where there is no room beside it."""
    lines, note = _entries(f"{name} = ", values), f"  # {comment}" if comment else ""
    if len(lines[0] + note) <= spell.WIDTH:
        return [lines[0] + note, *lines[1:]]
    return [note.strip(), *lines]


def _entries(before: str, values: Mapping[str, int], after: str = "") -> list[str]:
    """A dict between two texts, an entry to a line if it is too long for one."""
    entries = [f"{spell.string(key)}: {value}" for key, value in values.items()]
    flat = f"{before}{{{', '.join(entries)}}}{after}"
    if len(flat) <= spell.WIDTH:
        return [flat]
    indent = before[: len(before) - len(before.lstrip())]
    lines = [f"{indent}{INDENT}{entry}," for entry in entries]
    return [f"{before}{{", *lines, f"{indent}}}{after}"]


def _pinned(passes: Passes) -> Tuple:
    """The dtypes that --dtype does not replace, as NumPy names them: they bound the error. An int8
    weight is the same numbers on both sides."""
    types = [t for one in passes for n, t in one.types.items() if n not in holders(one)]
    pinned: dict[Dtype, None] = {t.dtype: None for t in types}
    names = [JAX_DTYPES[d].removeprefix("jnp.") for d in pinned if d != passes[0].dtype]
    return Tuple(tuple(map(Literal, names)))


def arguments(program: Program) -> Iterable[str]:
    fan_ins, stacks, scales = sizes.fan_ins(program), body.stacks(program), scaled(program)
    counts = together.counts(program)
    yield "ARGUMENTS = {"
    for declare in body.arguments(program):
        dims = "".join(declare.type.shape.names)
        keywords: list[tuple[str, Expr]] = []
        if declare.type.dtype != program.dtype or declare.name in scales:
            keywords.append(("dtype", Name(JAX_DTYPES[declare.type.dtype])))
        if declare.kind == "weight" and fan_ins.get(declare.name):
            keywords.append(("fan_in", Literal(fan_ins[declare.name])))
        if declare.name in stacks:
            keywords.append(("stack", Literal(stacks[declare.name])))
        if declare.name in scales:
            keywords.append(("scales", Literal("".join(scales[declare.name]))))
        if declare.kind == "cache":
            keywords.append(("cache", Literal(True)))
        keywords += [(key, Literal(value)) for key, value in counts.get(declare.name, {}).items()]
        call = Call("Tensor", (Literal(dims),), tuple(keywords))
        yield f"    {spell.string(declare.name)}: {spell.expression(call)},"
    yield "}"


def spec(passes: Passes, program: Program, name: str) -> Expr:
    return Name(f"{_of('SPECS', passes, program)}[{spell.string(name)}]")


def _of(table: str, passes: Passes, program: Program) -> str:
    """What a phase has of a table: all of it, where there is one phase."""
    return f"{table}[{spell.string(program.phase.name)}]" if len(passes) > 1 else table
