"""What each of XLA's operations does to blocks, for those that move nothing between devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from layoutc.codegen.against import communication, numbers, rearrange
from layoutc.codegen.against.application import Application, Compiled, integers
from layoutc.codegen.against.blocks import Block, Held, Unknown, canonical, tidy, unnumbered
from layoutc.codegen.against.digits import Digit
from layoutc.codegen.against.meeting import met
from layoutc.codegen.against.summing import kept, product, summed
from layoutc.codegen.compiled.collectives import KINDS
from layoutc.codegen.compiled.hlo import Instruction


def apply(instruction: Instruction, operands: Sequence[Held], program: Compiled) -> Held:
    """The value of an instruction; `Unknown` where it can't be followed."""
    kind = instruction.opcode.removesuffix("-start")
    if kind in KINDS:
        return communication.apply(instruction, operands, program.module, program.devices)
    if any(not isinstance(o, Block) for o in operands) or len(instruction.types) != 1:
        return _whole(instruction, operands)
    blocks = tuple(o for o in operands if isinstance(o, Block))
    named = (program.named[o] for o in instruction.operands if o in program.named)
    layouts = tuple(layout for i in named for layout in i.layouts[:1])
    application = Application(instruction, blocks, layouts, program)
    found = OPERATIONS.get(kind, _elementwise)(application)
    if found is None or found.extents != application.extents:
        return _whole(instruction, operands)
    return found


def _whole(instruction: Instruction, operands: Sequence[Held]) -> Held:
    """What is computed alike on all devices from what all hold alike is held alike."""
    if not all(isinstance(o, Block) and o.uniform for o in operands):
        return tuple(Unknown() for _ in instruction.types) if _several(instruction) else Unknown()
    values = tuple(numbers.block(held, None) for held in instruction.types)
    return values if _several(instruction) else values[0]


def _several(instruction: Instruction) -> bool:
    return len(instruction.types) != 1


# Operations.


def _elementwise(at: Application) -> Block | None:
    """Also what is not known, if operands and result have the same extents."""
    if any(b.extents not in ((), at.extents) for b in at.blocks) or not at.blocks:
        return None
    scalars = [b for b in at.blocks if b.extents != at.extents]
    if any(not b.uniform for b in scalars):
        return None
    values = [b.numbers for b in at.blocks if b.numbers is not None]
    if len(values) == len(at.blocks) and not any(b.letters for b in at.blocks):
        known = numbers.elementwise(at.instruction, values)
        if known is not None:
            return numbers.followed(numbers.block(at.instruction.types[0], known))
    return met([b for b in at.blocks if b.extents == at.extents], at.instruction.opcode)


def _constant(at: Application) -> Block:
    held = at.instruction.types[0]
    return numbers.block(held, numbers.constant(at.instruction, at.program.devices))


def _iota(at: Application) -> Block:
    return numbers.block(at.instruction.types[0], numbers.iota(at.instruction, at.program.devices))


def _device(at: Application) -> Block:
    return numbers.block(at.instruction.types[0], np.arange(at.program.devices))


def _replica(at: Application) -> Block:
    return numbers.block(at.instruction.types[0], np.zeros(at.program.devices, np.int64))


def _reshape(at: Application) -> Block | None:
    return rearrange.reshaped(at.blocks[0], at.extents)


def _copy(at: Application) -> Block:
    return at.blocks[0]


def _transpose(at: Application) -> Block:
    return rearrange.transposed(at.blocks[0], at.integers("dimensions"))


def _broadcast(at: Application) -> Block:
    found = rearrange.broadcast(at.blocks[0], at.integers("dimensions"), at.extents)
    return numbers.followed(found)


def _slice(at: Application) -> Block | None:
    block = at.blocks[0]
    text = at.instruction.attributes.get("slice", "")
    ends = [integers(part) for part in re.findall(r"\[([\d:]+)\]", text)]
    values = block.numbers
    if values is not None and not block.letters:
        values = values[(slice(None), *(slice(*part) for part in ends))]
        return numbers.block(at.instruction.types[0], values)
    for dim, part in enumerate(ends):
        if part != (0, block.extents[dim]):
            found = rearrange.strided(block, dim, part, at.program.devices)
            if found is None:
                return None
            block = found
    return block


def _dynamic_slice(at: Application) -> Block | None:
    """Each device's part, where the numbers say which; else any part of what is whole."""
    block, *starts = at.blocks
    sizes = at.integers("dynamic_slice_sizes")
    begins = [s.numbers for s in starts]
    if block.numbers is not None and all(b is not None for b in begins):
        known = [b for b in begins if b is not None]
        values = numbers.dynamic_slice(block.numbers, known, sizes)
        return numbers.block(at.instruction.types[0], values)
    found: Block | None = block
    for dim, size in enumerate(sizes):
        if found is not None and size != block.extents[dim]:
            begin = begins[dim]
            fresh = f"{at.instruction.name}.{dim}"
            if begin is not None:
                begin = np.clip(begin, 0, block.extents[dim] - size)
                found = rearrange.cut(found, dim, begin, size, fresh)
            else:
                found = rearrange.freed(found, dim, size) if starts[dim].uniform else None
    return found and replace(found, name=block.name)


def _dynamic_update(at: Application) -> Block | None:
    """A part written over: where it goes is free of layouts, the rest must be held alike."""
    block, part, *starts = at.blocks
    if not all(s.uniform for s in starts):
        return None
    dims = [i for i, e in enumerate(part.extents) if e != block.extents[i]]
    wide: Block | None = part
    for dim in dims:
        wide = wide and rearrange.freed(wide, dim, block.extents[dim])
    return met([block, wide], "join") if wide else None


def _concatenate(at: Application) -> Block | None:
    (dim,) = at.integers("dimensions")
    return rearrange.joined(at.blocks, dim, at.program.devices)


def _pad(at: Application) -> Block | None:
    block: Block | None = at.blocks[0]
    if at.blocks[0].terms:
        return None
    for dim, extent in enumerate(at.extents):
        if block is not None and block.extents[dim] != extent:
            block = rearrange.freed(block, dim, extent)
    return block


def _bitcast(at: Application) -> Block | None:
    (wanted,) = at.instruction.layouts
    return rearrange.recast(at.blocks[0], at.layouts[0], at.extents, wanted)


def _dot(at: Application) -> Block | None:
    left, right = at.blocks
    batch = at.integers("lhs_batch_dims"), at.integers("rhs_batch_dims")
    contracted = at.integers("lhs_contracting_dims"), at.integers("rhs_contracting_dims")
    return product(left, right, batch, contracted, at.instruction.name)


def _reduce(at: Application) -> Block | None:
    block, gone = at.blocks[0], at.integers("dimensions")
    if len(at.blocks) != 2:
        return None
    how = communication.reduction(at.instruction, at.program.module)
    rows = [block.dims[i] for i in gone]
    dims = [ds for i, ds in enumerate(block.dims) if i not in gone]
    if dims:
        dims[-1] += tuple(d for row in rows for d in row if kept(d, row, block))
    digits = [d for row in rows for d in row if not dims or not kept(d, row, block)]
    return summed(replace(unnumbered(block), dims=tuple(dims)), digits, how, at.instruction.name)


def _reduce_window(at: Application) -> Block | None:
    """The first half of a reduction that is made in two: runs of elements that are next to others.

    What is left of such a dim goes by a name of its own, until the second half is made of it.
    """
    block, window = unnumbered(at.blocks[0]), at.instruction.attributes["window"]
    sizes, strides = (re.search(rf"{word}=([\dx]+)", window) for word in ("size", "stride"))
    if len(at.blocks) != 2 or sizes is None or strides is None or sizes[1] != strides[1]:
        return None
    dims, starts = list(block.dims), dict(block.starts)
    for i, size in enumerate(map(int, sizes[1].split("x"))):
        if size > 1:
            letters = sorted({d.dim for d in dims[i] if d.dim})
            if any(d.dim in letters for j, ds in enumerate(dims) if j != i for d in ds):
                return None
            name = f"{''.join(letters)}~"
            dims[i] = (Digit(name, 1, at.extents[i]),)
            tables = [starts[d] for d in letters if d in starts]
            if tables:
                starts[name] = canonical(tables)
    return tidy(replace(block, dims=tuple(dims), starts=starts))


OPERATIONS: Mapping[str, Callable[[Application], Block | None]] = {
    "bitcast": _bitcast,
    "constant": _constant,
    "iota": _iota,
    "partition-id": _device,
    "replica-id": _replica,
    "copy": _copy,
    "reshape": _reshape,
    "transpose": _transpose,
    "broadcast": _broadcast,
    "slice": _slice,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update,
    "concatenate": _concatenate,
    "pad": _pad,
    "dot": _dot,
    "reduce": _reduce,
    "reduce-window": _reduce_window,
}
