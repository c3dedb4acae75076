"""From an explicit program to the text of a Python module that runs it.

The module is what a careful engineer would have written: tables of sizes and layouts, the
function that one chip runs with its collectives spelled out, the same without a mesh as the
reference, and the fixed parts (`layoutc.codegen.fixed`). Its names are those of the command
line's contract, "the emitted module".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from layoutc.codegen import body, copied, handing, spell, tables
from layoutc.codegen.handing import Handing
from layoutc.codegen.layouts import AxisNames
from layoutc.codegen.names import function_name, identifier
from layoutc.codegen.padding import padded
from layoutc.codegen.places import Places
from layoutc.codegen.tables import Passes, spec
from layoutc.codegen.tree import Call, Expr, Literal, Name, Tuple
from layoutc.dsl.handing import HandOver
from layoutc.dsl.program import Program
from layoutc.dsl.scales import scaled

HELPERS = {
    "product": ("product",),
    "own_part": ("own_part",),
    "reorder": ("reorder",),
    "permute": ("permute", "_chips"),
    "places": ("places",),
    "embed": ("embed",),
    "rmsnorm": ("rmsnorm",),
    "layernorm": ("layernorm",),
    "rope": ("rope",),
    "scaled": ("scaled",),
    "seen": ("seen",),
    "write": ("places", "write"),
    "useful": ("useful",),
    "masked": ("useful", "places", "masked"),
    "trimmed": ("useful", "trimmed"),
    "refilled": ("refilled",),
    "used_share": ("useful", "used_share"),
    "unpadded": ("useful", "unpadded", "zeros_in_padding", "among_useful"),
    "placed": ("placed",),
}
"""What is copied where a function calls it, with what it takes."""
HEAD = '''"""{name} on the mesh {mesh}: a program for {chips} chips, each step spelled out.

Run it:  python {name}.py [--seed 0] [--set B=8] [--dtype f32] [--distributed]

It compares the sharded {functions} with the unsharded `reference` and times {them}. With
fewer devices than chips it simulates them on the CPU. Over several hosts, start it on each:
with --distributed where JAX finds the others by itself (a TPU slice, Slurm, Open MPI,
Kubernetes), or with JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID set.

A comment at the end of a line is the value's layout: BLE_xy has the dims B, L and E, with E
split over the mesh axes x and y, x the more significant; with (partialsum-x), each chip along
x holds one term of a sum.
"""
'''

CHIP = "What one chip does. Takes and returns global arrays, laid out as SPECS says."
WITH_CACHES = "What one chip does, of arrays laid out as SPECS says; caches are written over."
REFERENCE = "The same on whole arrays."

TAIL = """if __name__ == "__main__":
    start()
    sys.exit(main())
"""


def emit(
    program: Program | Sequence[Program],
    mesh: Mapping[str, int],
    hand_overs: Sequence[HandOver] = (),
    places: Places | None = None,
) -> str:
    """The module's text, of a program or of one for each phase. `mesh` has each axis' size.

    The programs are explicit, all their dims have sizes, and their weights are held alike. Where
    caches are not, or have other sizes, `hand_overs` bring them from one phase to another. With
    `places` the devices are put in order, so that each axis lies where it was priced.

    Raises:
        ValueError: if a hole or a size is left, or a cache is handed over in a layout that can't
            be put where it is to go; the caller has seen to them.
    """
    passes = (program,) if isinstance(program, Program) else tuple(program)
    for one in passes:
        if not one.explicit or None in one.dims.values():
            raise ValueError(f"{one.name} is not explicit, or a dim has no size")
        if not one.axes:
            raise ValueError(f"{one.name} has no mesh axis")
    axes = AxisNames.of(passes[0].axes)
    handings = Handing.all(passes, hand_overs, axes)
    functions = "\n".join(_functions(passes, axes, handings))
    called = [h for h in HELPERS if re.search(rf"\b{h}\(", functions)]
    helpers = dict.fromkeys(part for helper in called for part in HELPERS[helper])
    sections = [
        "\n".join(tables.tables(passes, mesh, axes, hand_overs)),
        *_placing(places, axes),
        copied.text("Tensor"),
        "\n".join(tables.arguments(passes[0])) + "\n\n" + copied.text("ABSTRACT_MESH"),
        *map(copied.text, helpers),
        functions,
        copied.text("Phase"),
        "\n".join(tables.phases(passes)),
        *_handing_over(handings),
        *(_fixed(name, passes, handings, places) for name in _names(passes, places)),
        TAIL,
    ]
    text = "\n\n\n".join(sections)
    return f"{_head(passes, mesh, axes)}\n{copied.imports(text)}\n\n{text}"


def _functions(passes: Passes, axes: AxisNames, handings: Sequence[Handing]) -> Iterator[str]:
    """What one chip does in each phase and between them, then the reference of all phases."""
    for program in passes:
        ins = tuple(spec(passes, program, d.name) for d in body.arguments(program))
        outs = tuple(spec(passes, program, n) for n in body.returned(program))
        keywords = (
            ("mesh", Name("ABSTRACT_MESH")),
            ("in_specs", Tuple(ins)),
            ("out_specs", outs[0] if len(outs) == 1 else Tuple(outs)),
        )
        sharded = Call("functools.partial", (Name("jax.shard_map"),), keywords)
        decorators = (_jitted(program), sharded)
        name = function_name(program, passes)
        doc = WITH_CACHES if body.caches(program) else CHIP
        yield from spell.statements([body.function(program, name, doc, axes, True, decorators)])
        yield from ("", "")
    for one in handings:
        yield from (*spell.statements([one.function(passes)]), "", "")
    plain = body.function(passes[0], "reference", REFERENCE, axes, False, _plainly(passes[0]))
    yield from spell.statements([plain])


def _jitted(program: Program) -> Expr:
    """The caches, the last arguments, are donated: what is returned lies where they lay."""
    last = len(body.arguments(program))
    first = last - len(body.caches(program))
    if first == last:
        return Name("jax.jit")
    numbers = Tuple(tuple(map(Literal, range(first, last))))
    return Call("functools.partial", (Name("jax.jit"),), (("donate_argnums", numbers),))


def _plainly(program: Program) -> tuple[Expr, ...]:
    """The reference's decorators: it is jitted, and sees no padding."""
    if not padded(program):
        return (Name("jax.jit"),)
    types = program.types
    dims = (Literal("".join(types[n].shape.names)) for n in body.returned(program))
    return Name("jax.jit"), Call("unpadded", tuple(dims))


# Text.


def _head(passes: Passes, mesh: Mapping[str, int], axes: AxisNames) -> str:
    program = passes[0]
    names = [f"`{function_name(one, passes)}`" for one in passes]
    return HEAD.format(
        name=identifier(program.name),
        mesh=" ".join(f"{axes.labels[a.name]}={mesh[a.name]}" for a in program.axes),
        chips=prod(mesh[a.name] for a in program.axes),
        functions=f"function{'s' * (len(names) > 1)} {' and '.join(names)}",
        them="them" if len(names) > 1 else "it",
    )


def _handing_over(handings: Sequence[Handing]) -> Iterator[str]:
    """What a module has beside where it hands caches over."""
    if handings:
        yield copied.text("HandOver")
        yield "\n".join(handing.table(handings))
        yield from map(copied.text, ("with_hand_overs", "handed_over", "numbered", "put"))


def _placing(places: Places | None, axes: AxisNames) -> Iterator[str]:
    """What a module has beside where its mesh has a place."""
    if places:
        yield copied.text("Run")
        yield "\n".join(places.tables(axes))


ORDER = "order"
"""The file of what puts devices in order; its `make_mesh` stands in for the plain one."""


def _names(passes: Passes, places: Places | None) -> Iterator[str]:
    """The fixed definitions after the program: those of int8 weights and of a mesh with a place
    where there are any, and those that every module has."""
    if scaled(passes[0]):
        yield from copied.texts()["scales"]
    for name in copied.always():
        yield from copied.texts()[ORDER] if places and name == "make_mesh" else (name,)


WITH_PADDING = {
    "part": "zeros_in_padding",
    "quantized_part": "zeros_in_padding",
    "choices": "among_useful",
}
"""Where dims are padded, what makes arguments puts zeros there, and counts what is used."""


def _fixed(name: str, passes: Passes, handings: Sequence[Handing], places: Places | None) -> str:
    """The fixed text of a definition, decorated where something asks for it."""
    text = copied.text(name, ORDER if places else "")
    if name in WITH_PADDING and padded(passes[0]):
        return f"@{WITH_PADDING[name]}\n{text}"
    if name == "argument" and scaled(passes[0]):
        return f"@with_scales\n{text}"
    if name == "start" and places:
        return f"@with_places\n{text}"
    return f"@with_hand_overs\n{text}" if name == "main" and handings else text
