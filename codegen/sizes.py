"""The numbers of an emitted module: what each dim must be a multiple of, small sizes, fan-ins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil, lcm, prod

from layoutc.codegen.body import stacks
from layoutc.codegen.padding import padded
from layoutc.codegen.together import as_large, pairs, renamed, rooms
from layoutc.dsl.handing import HandOver
from layoutc.dsl.operation import Apply, Cast, Hold, Layer, Move, Product
from layoutc.dsl.program import Define, Program

PER_CHIP = 2
"""How much of each split dim a simulated chip holds: more than one, so that order shows."""

WHOLE = 4
"""What a dim that nothing splits is shrunk to."""

REPETITIONS = 2
"""What a count is shrunk to: enough for one repetition to start from another's result."""


def multiples(
    program: Program, mesh: Mapping[str, int], hand_overs: Sequence[HandOver] = ()
) -> dict[str, int]:
    """For each dim, the number that its size is a multiple of: all its splits divide it, as does
    2 where rope turns pairs. Dims that are one under two names have one number.

    The splits are those of a phase, and of what hands its caches over.
    """
    phase = program.phase.name
    programs = (program, *(one.program for one in hand_overs if one.source == phase))
    parts = dict.fromkeys(program.dims, 1)
    for type_ in (held for one in programs for held in one.types.values()):
        for dim in type_.shape:
            parts[dim.name] = lcm(parts[dim.name], prod(mesh[a] for a in dim.axes))
    for name in pairs(program):
        parts[name] = lcm(parts[name], 2)
    for names in renamed(program):
        parts |= dict.fromkeys(names, lcm(*(parts[n] for n in names)))
    return parts


def small(
    passes: Sequence[Program], mesh: Mapping[str, int], hand_overs: Sequence[HandOver] = ()
) -> list[dict[str, int]]:
    """Sizes for each phase that run in seconds on simulated devices; never above its own.

    What all phases have in common, the dims of weights, is of one size in all. Where a cache is
    handed over to one of more places, there are more; of the context there are as many in all,
    more than the tokens that come, so that these can come at several.
    """
    parts = [multiples(program, mesh, hand_overs) for program in passes]
    joint = {dim: lcm(*(p[dim] for p in parts)) for dim in passes[0].dims}
    counts = stacks(passes[0]).values()
    repeat = {"repeat": min(REPETITIONS, *counts)} if counts else {}
    handed = {name for one in hand_overs for name, _ in one.caches()}
    dims = {dim for name in handed for dim in passes[0].types[name].shape.names}
    ranked = [_ranks(program, passes, dims) for program in passes]
    tables = [_small(p, joint, ranks) for p, ranks in zip(passes, ranked, strict=True)]
    for tokens, places in sorted(rooms(passes[0])):
        most = max(table[tokens] for table in tables) + WHOLE
        for dim in as_large(places, passes[0]):
            size = joint[dim] * ceil(Fraction(most, joint[dim]))
            for table, program in zip(tables, passes, strict=True):
                table[dim] = min(program.dims[dim] or size, max(table[dim], size))
    return [{**table, **repeat} for table in tables]


def _ranks(program: Program, passes: Sequence[Program], dims: Iterable[str]) -> dict[str, int]:
    """For each of the dims, how many sizes the phases have of it up to the program's own."""
    own = program.sizes
    return {d: len({p.sizes[d] for p in passes if p.sizes[d] <= own[d]}) for d in dims}


def _small(program: Program, parts: Mapping[str, int], ranks: Mapping[str, int]) -> dict[str, int]:
    own, padding = program.dims, padded(program)
    sizes = {
        dim: (PER_CHIP * n if n > 1 else WHOLE) * ranks.get(dim, 1) for dim, n in parts.items()
    }
    for dim, (used, places) in padding.items():
        # As many that, what is used being rounded up, one is left for padding.
        least = ceil(Fraction(places, places - used))
        sizes[dim] = max(sizes[dim], parts[dim] * ceil(Fraction(least, parts[dim])))
    return {dim: min(own[dim] or size, size) for dim, size in sizes.items()}


def fan_ins(program: Program) -> dict[str, str]:
    """For each name whose product sums some of its dims, those dims: "E" for w in x * w.

    Followed through what leaves a tensor's size alone; the first product counts.
    """
    found: dict[str, str] = {}
    types = program.types
    defines = [item for item, _ in program.walk() if isinstance(item, Define)]
    for define in reversed(defines):
        match define.operation:
            case Move(_, _, name) | Hold(name) | Cast(name) | Apply("neg", name):
                if define.name in found:
                    found[name] = found[define.name]
            case Layer("rename", (old, new), (str(name),)):
                if define.name in found:
                    found[name] = found[define.name].replace(new, old)
            case Product(left, right):
                for side in (left, right):
                    if isinstance(side, str):
                        gone = set(types[side].shape.names) - set(define.type.shape.names)
                        found[side] = "".join(d for d in types[side].shape.names if d in gone)
            case _:
                pass
    return found
