"""A checked program as text: what it prints parses and checks back to the same program.

Layouts are always printed, dtypes where they would not follow. Columns are aligned by
`layoutc.dsl.columns`, which `fmt` shares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from layoutc.dsl.columns import Row, align
from layoutc.dsl.dtypes import derived_dtype
from layoutc.dsl.notation import print_operation
from layoutc.dsl.operation import Cast
from layoutc.dsl.program import Axis, Declare, Define, Dtype, Phase, Program, Repeat
from layoutc.dsl.refusal import letters
from layoutc.dsl.shape import Shape
from layoutc.dsl.words import number


def print_program(program: Program) -> str:
    """The program as a `.layout` file, ending in a newline."""
    order = tuple(axis.name for axis in program.axes)
    dtypes = {name: type_.dtype for name, type_ in program.types.items()}
    rows = _head(program)
    for item in program.items:
        if rows[-1].cells and rows[-1].kind != _kind(item):
            rows.append(Row("", ()))
        if isinstance(item, Repeat):
            rows += _repeat(item, order, dtypes, program.dtype)
        else:
            rows.append(_row(item, order, dtypes, program.dtype, 0))
    rows += [Row("output", (print_output(out.name, out.like),)) for out in program.outputs]
    return align(rows)


def print_statement(define: Define, mesh_order: tuple[str, ...]) -> str:
    """One definition with single spaces: "x1 : BLE_x = all-gather(yz) x".

    The dtype is printed where the operation can't do without it, which is `cast`.
    """
    shape = print_shape(define.type.shape, mesh_order)
    dtype = f" {define.type.dtype}" if isinstance(define.operation, Cast) else ""
    return f"{define.name} : {shape}{dtype} = {print_operation(define.operation)}"


def print_shape(shape: Shape, mesh_order: Iterable[str] = ()) -> str:
    """The shape with its partial axes in the mesh's order."""
    if len(shape.partial) < 2:
        return str(shape)
    order = list(mesh_order)
    known = [a for a in order if a in shape.partial]
    rest = [a for a in shape.partial if a not in order]
    dims = "".join(map(str, shape.dims))
    return f"{dims}(partial{shape.reduction}-{letters(known + rest)}){shape.hole}"


def print_output(name: str, like: str | None) -> str:
    return f"output {name} -> {like}" if like else f"output {name}"


def print_dims(dims: Mapping[str, int | None], useful: Mapping[str, int]) -> str:
    """`dims   B=512  H=48 padded 64`; a list without sizes stands closer."""
    entries = [print_dim(name, size, useful.get(name)) for name, size in dims.items()]
    gap = "  " if any(size is not None for size in dims.values()) else " "
    return f"dims   {gap.join(entries)}"


def print_dim(name: str, size: int | None, useful: int | None) -> str:
    """`H=48 padded 64`, where 48 are `useful`; `B=512`, or only `B`, where there is no padding."""
    if useful is not None:
        return f"{name}={useful} padded {size}"
    return name if size is None else f"{name}={size}"


def print_mesh(axes: Iterable[Axis]) -> str:
    return "mesh   " + " ".join(map(_axis, axes))


def print_sizes(phase: Phase) -> str:
    """What stands after a phase's name: `B=512  L=1  weight=64`."""
    entries = [f"{dim}={size}" for dim, size in phase.sizes.items()]
    if phase.weight != 1:
        entries.append(f"weight={number(repr(phase.weight))}")
    return "  ".join(entries)


def _axis(axis: Axis) -> str:
    label = f":{axis.label}" if axis.label else ""
    return f"{axis.name}{label}" if axis.size is None else f"{axis.name}{label}={axis.size}"


# Rows.


def _head(program: Program) -> list[Row]:
    rows = [Row("head", (print_dims(program.dims, program.useful),))] if program.dims else []
    if program.axes:
        rows.append(Row("head", (print_mesh(program.axes),)))
    rows.append(Row("head", (f"dtype  {program.dtype}",)))
    return rows + [Row("phase", (phase.name, print_sizes(phase))) for phase in program.phases]


def _kind(item: Declare | Define | Repeat) -> str:
    match item:
        case Declare():
            return "declare"
        case Define():
            return "define"
        case Repeat():
            return "repeat"


def _row(
    item: Declare | Define,
    order: tuple[str, ...],
    dtypes: Mapping[str, Dtype],
    default: Dtype,
    depth: int,
) -> Row:
    shape, dtype = print_shape(item.type.shape, order), item.type.dtype
    if isinstance(item, Declare):
        held = shape if dtype == default else f"{shape} {dtype}"
        return Row("declare", (item.kind, item.name, held), depth)
    follows = derived_dtype(item.operation, dtypes, default)
    written = dtype != follows or isinstance(item.operation, Cast)
    held = f"{shape} {dtype}" if written else shape
    return Row("define", (item.name, held, print_operation(item.operation)), depth)


def _repeat(
    item: Repeat, order: tuple[str, ...], dtypes: Mapping[str, Dtype], default: Dtype
) -> list[Row]:
    rows = [Row("repeat", (f"repeat {item.count} {{",))]
    rows += [_row(inner, order, dtypes, default, 1) for inner in item.body]
    rows += [Row("next", (f"next {n.carried} = {n.value}",), 1) for n in item.nexts]
    return [*rows, Row("close", ("}",))]
