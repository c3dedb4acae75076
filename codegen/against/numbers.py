"""The few numbers of a compiled program that say which part a device takes, for all devices.

XLA computes them from the device's number and tables. A block's `numbers` are their values, the
devices first; what is not worked out here has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from layoutc.codegen.against.blocks import Block, unnumbered
from layoutc.codegen.against.digits import free
from layoutc.codegen.compiled.hlo import Array, Instruction

MOST = 1 << 22
"""The most numbers that are followed, all devices together."""

Binary = Callable[[np.ndarray, np.ndarray], np.ndarray]

BINARY: dict[str, Binary] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": lambda a, b: np.where(b == 0, 0, np.trunc(a / np.where(b == 0, 1, b))).astype(int),
    "remainder": lambda a, b: np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b))),
    "minimum": np.minimum,
    "maximum": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shift-left": np.left_shift,
    "shift-right-logical": np.right_shift,
    "shift-right-arithmetic": np.right_shift,
}
COMPARISONS: dict[str, Binary] = {
    "EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal,
    "GT": np.greater, "GE": np.greater_equal,
}  # fmt: skip
WHOLE = re.compile(r"[su]\d+|pred")


def constant(instruction: Instruction, devices: int) -> np.ndarray | None:
    """The value that the text gives, for each device; None for what is no whole number."""
    held = instruction.types[0]
    if not WHOLE.fullmatch(held.dtype) or held.elements * devices > MOST:
        return None
    words = re.findall(r"-?\d+|true|false", instruction.text)
    if len(words) != held.elements:
        return None
    values = [int(w) if w[-1].isdigit() else int(w == "true") for w in words]
    return np.broadcast_to(np.array(values).reshape(held.extents), (devices, *held.extents))


def iota(instruction: Instruction, devices: int) -> np.ndarray | None:
    held = instruction.types[0]
    if not WHOLE.fullmatch(held.dtype) or held.elements * devices > MOST:
        return None
    dim = int(instruction.attributes.get("iota_dimension", "0"))
    shape = [1] * len(held.extents)
    shape[dim] = -1
    along = np.arange(held.extents[dim]).reshape(shape)
    return np.broadcast_to(along, (devices, *held.extents))


def elementwise(instruction: Instruction, operands: Sequence[np.ndarray]) -> np.ndarray | None:
    """The values of an operation on whole numbers, None for one that is not known."""
    match instruction.opcode, operands:
        case "convert" | "copy", [one] if WHOLE.fullmatch(instruction.types[0].dtype):
            return one
        case "negate", [one]:
            return -one
        case "not", [one] if instruction.types[0].dtype == "pred":
            return 1 - one
        case "compare", [one, other]:
            found = COMPARISONS.get(instruction.attributes.get("direction", ""))
            return None if found is None else np.asarray(found(one, other), np.int64)
        case "select", [chosen, one, other]:
            return np.asarray(np.where(chosen != 0, one, other))
        case "clamp", [low, one, high]:
            return np.asarray(np.clip(one, low, high))
        case opcode, [one, other] if opcode in BINARY:
            return BINARY[opcode](one, other)
    return None


def dynamic_slice(
    table: np.ndarray, starts: Sequence[np.ndarray], sizes: Sequence[int]
) -> np.ndarray:
    """Each device's part of a table, held inside it as XLA does."""
    rows = []
    for device, values in enumerate(table):
        begins = [
            int(np.clip(s[device], 0, extent - size))
            for s, extent, size in zip(starts, values.shape, sizes, strict=True)
        ]
        parts = tuple(slice(b, b + n) for b, n in zip(begins, sizes, strict=True))
        rows.append(values[parts])
    return np.array(rows)


def followed(block: Block) -> Block:
    """The same, its numbers left out where they are too many."""
    return block if block.numbers is None or block.numbers.size <= MOST else unnumbered(block)


def block(held: Array, numbers: np.ndarray | None) -> Block:
    """A value of which the numbers are all that is known; without, that devices hold the same."""
    return Block(tuple(free(extent) for extent in held.extents), numbers=numbers)
