"""XLA's programs read in the notation: of emitted programs, every collective is its statement."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
import samples
from random_programs import random_program
from texts import read

from layoutc.codegen import body
from layoutc.codegen.against import communication, exchange, notation, reading, rearrange
from layoutc.codegen.against.blocks import Block, Held
from layoutc.codegen.against.digits import Digit, chopped, counted
from layoutc.codegen.against.function import returned
from layoutc.codegen.against.notation import Grid
from layoutc.codegen.against.trace import flat
from layoutc.codegen.compiled import build
from layoutc.codegen.compiled.groups import along
from layoutc.codegen.emit import emit
from layoutc.codegen.names import identifier
from layoutc.codegen.run import load
from layoutc.codegen.verify.verdict import statement_lines
from layoutc.dsl.operation import Move
from layoutc.dsl.parse import parse_shape
from layoutc.dsl.program import Define, Program
from layoutc.dsl.shape import Shape

LONG = bool(os.environ.get("LAYOUTC_LONG"))
SEEDS = 600 if LONG else 24
GROUP = 6

Mesh = dict[str, int]


def as_compared(shape: Shape, mesh: Mesh) -> Shape:
    """Without axes of one chip, which can't be seen, and with dims sorted: XLA transposes."""
    single = [a for a, n in mesh.items() if n == 1]
    rest = shape.without(single)
    partial = tuple(a for a in rest.partial if a not in single)
    return replace(rest, dims=tuple(sorted(rest.dims, key=lambda d: d.name)), partial=partial)


class Read:
    """An emitted program, compiled and read."""

    def __init__(self, program: Program, mesh: Mesh) -> None:
        source = emit(program, mesh)
        module = load(source, "emitted")
        arguments = build.arguments(module, module.make_mesh())
        built = build.build(getattr(module, identifier(program.name)), arguments)
        self.program, self.mesh, self.module = program, mesh, built.module
        self.grid = Grid({d: s or 0 for d, s in program.dims.items()}, mesh)
        stacks = body.stacks(program)
        blocks = [
            notation.block(d.type.shape, self.grid, d.name, stacks.get(d.name, 0))
            for d in body.arguments(program)
        ]
        self.reading = reading.read(built.module, blocks, self.grid.devices)
        lines = statement_lines(source, program)
        self.steps: dict[str, list[reading.Step]] = defaultdict(list)
        for step in self.reading.collectives().values():
            places = built.module.places(step.instruction)
            here = [p.line for p in places if p.file == module.__file__ and p.line in lines]
            self.steps[lines[here[0]]].append(step)

    def shape(self, held: Held) -> Shape | None:
        found = notation.shape(held, self.grid) if isinstance(held, Block) else None
        return found and as_compared(found, self.mesh)

    def taken(self, step: reading.Step) -> list[Shape | None]:
        """The shapes of a collective's operands; an all-to-all's parts are one."""
        operands = [o for o in step.operands if isinstance(o, Block)]
        if step.instruction.opcode == "all-to-all" and len(operands) > 1:
            whole = rearrange.joined(operands, 0, self.grid.devices)
            return [whole and self.shape(whole)]
        before = communication.before
        devices = self.grid.devices
        return [self.shape(before(step.instruction, o, self.module, devices)) for o in operands]

    def given(self, step: reading.Step) -> list[Shape | None]:
        results = [r for r in flat(step.result) if isinstance(r, Block)]
        if step.instruction.opcode == "all-to-all" and len(results) > 1:
            whole = rearrange.joined(results, 0, self.grid.devices)
            return [whole and self.shape(whole)]
        return [self.shape(r) for r in results]

    def check(self) -> int:
        """Every collective takes and gives what its statement says; so do the results.

        How many of them could not be followed: there is no shape, and none that is wrong.
        """
        types = self.program.types
        items = {i.name: i for i, _ in self.program.walk() if isinstance(i, Define)}
        pairs: list[tuple[str, list[Shape | None]]] = []
        for name, steps in self.steps.items():
            move = items[name].operation
            assert isinstance(move, Move)
            pairs += [(move.operand, self.taken(steps[0])), (name, self.given(steps[-1]))]
        for name, held in zip(returned(self.program), flat(self.reading.result), strict=True):
            pairs.append((name, [self.shape(held)]))
        for name, found in pairs:
            wanted = as_compared(types[name].shape, self.mesh)
            assert wanted in found or not any(found), (name, wanted, found)
        return sum(not any(found) for _, found in pairs)


HAND_WRITTEN = [
    ("FFN", {"x": 2, "y": 2, "z": 2}),
    ("FFN", {"x": 4, "y": 3, "z": 2}),
    ("BLOCKS", {"x": 2, "y": 3, "z": 2}),
    ("NO_WEIGHTS", {"x": 3, "y": 4}),
    ("MOVES", {"x": 2, "y": 2, "z": 3}),
    ("MOVES", {"x": 2, "y": 3, "z": 5}),
    ("MOVES", {"x": 5, "y": 2, "z": 3}),
    ("ARITHMETIC", {"x": 2, "y": 3}),
]


def enlarged(program: Program) -> Program:
    """The same with thrice the sizes: to XLA a dim of which a chip has one element is none."""
    return replace(program, dims={d: 3 * (s or 0) for d, s in program.dims.items()})


@pytest.mark.parametrize(("sample", "mesh"), HAND_WRITTEN)
def test_a_hand_written_program_is_read_as_it_is_written(sample: str, mesh: Mesh) -> None:
    assert Read(enlarged(read(getattr(samples, sample))), mesh).check() == 0


@pytest.mark.parametrize("seed", range(0, SEEDS, GROUP))
def test_random_programs_are_read_as_they_are_written(seed: int) -> None:
    """XLA may deal the elements of a chip out to dims that cut across the program's: rarely."""
    unknown = 0
    for number in range(seed, seed + GROUP):
        program, mesh = random_program(number)
        unknown += Read(enlarged(program), mesh).check()
    assert unknown <= (3 if LONG else 0)


def test_one_token_is_a_dim_too() -> None:
    """L=1: XLA drops such a dim in a product, and the shapes still have it."""
    program = read(samples.FFN)
    found = Read(program, {"x": 2, "y": 2, "z": 2})
    assert found.check() == 0
    assert len(found.steps) == 4


# The parts, by hand.

GRID = Grid({"B": 6, "E": 12, "F": 24}, {"x": 2, "y": 3})


def held(text: str) -> Block:
    shape = parse_shape(text)
    assert isinstance(shape, Shape)
    return notation.block(shape, GRID)


def said(block: Block | None) -> str:
    return str(block and notation.shape(block, GRID))


@pytest.mark.parametrize("text", ["BE", "BE_x", "B_xE_y", "BE_xy", "BE_yx", "BE_y(partialsum-x)"])
def test_a_shape_is_the_shape_of_its_block(text: str) -> None:
    assert said(held(text)) == text


def test_gathering_the_last_axis_gives_what_the_notation_says() -> None:
    """E is 12, so that a chip has 2 of it; along y, the less significant axis, 2 + 2 + 2 = 6."""
    assert said(exchange.gathered(held("BE_xy"), along(GRID.mesh, "y"), 1)) == "BE_x"


def test_chunks_out_of_order_are_no_shape() -> None:
    """Gathered along the more significant axis, a chip has elements 0 1 6 7: no part of E."""
    block = exchange.gathered(held("BE_xy"), along(GRID.mesh, "x"), 1)
    assert block is not None
    assert block.extents == (6, 4)
    assert said(block) == "None"


def test_a_permute_of_axes_of_different_sizes() -> None:
    """Chip (x, y) holds block 3x + y of E_xy; it is to hold block 2y + x, of chip divmod(., 3)."""
    pairs = [(block, 3 * (block % 2) + block // 2) for block in range(6)]
    assert said(exchange.permuted(held("BE_xy"), pairs, 6)) == "BE_yx"


def test_a_sum_of_what_is_whole_is_not_followed() -> None:
    assert exchange.reduced(held("BE_y"), along(GRID.mesh, "x"), "sum") is None


def test_a_sum_over_one_of_two_axes() -> None:
    block = held("BE(partialsum-xy)")
    assert said(exchange.reduced(block, along(GRID.mesh, "x"), "sum")) == "BE(partialsum-y)"
    assert exchange.reduced(block, along(GRID.mesh, "x"), "max") is None


def test_digits_of_a_reshape() -> None:
    """24 as 4 x 6, then as 8 x 3: the cut at 3 goes through the 6, the one at 5 through none."""
    row = (Digit("F", 1, 24),)
    assert chopped(row, (4, 6)) == ((Digit("F", 6, 4),), (Digit("F", 1, 6),))
    assert chopped(row, (8, 1, 3)) == ((Digit("F", 3, 8),), (), (Digit("F", 1, 3),))
    assert chopped((Digit("B", 1, 6), Digit("E", 1, 4)), (4, 6)) is None


def test_places_are_counted_in_digits() -> None:
    places = np.array([[0], [6], [1], [7], [2], [8]])
    assert counted(places, ["E"]) == (Digit("E", 1, 3), Digit("E", 6, 2))
    assert counted(np.array([[0], [2], [1]]), ["E"]) is None
