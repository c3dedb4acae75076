"""What the checker asks of a file as a whole: sizes, the mesh, holes, blocks."""

from __future__ import annotations

import pytest
from helpers.checking import HEAD, one, right, wrong

from layoutc.dsl.check import Settings
from layoutc.dsl.header import unknown_settings
from layoutc.dsl.parse import parse, parse_shape
from layoutc.dsl.program import Define, Next, Output, Program, Repeat

# Sizes.


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("0", "B = 0 is zero; a size is at least 1"),
        ("-4", "B = -4 is negative; a size is at least 1"),
        ("1.5", "B = 1.5 is not a whole number"),
        ("4611686018427387905", "B = 4611686018427387905 is beyond any size: at most 2^62"),
        ("9" * 5000, "B = 99999999999999999999... is beyond any size: at most 2^62"),
    ],
)
def test_sizes_that_are_none(size: str, message: str) -> None:
    assert one(f"dims B={size}\ninput x : B\noutput x\n") == (1, 8, message)
    assert one(f"dims B\nmesh x={size}\ninput x : B\noutput x\n")[1:] == (
        8,
        message.replace("B", "x"),
    )


def test_the_largest_size() -> None:
    right(f"dims B={2**62}\nmesh x={2**62}\ninput x : B_x\noutput x\n")


def test_a_dim_is_divided_by_its_axes() -> None:
    text = "dims E=100\nmesh x=4 y=2 z\ninput a : E_xyz\ninput b : E_xy\noutput a\n"
    (error, _) = wrong(text)
    assert (error.span.line, error.span.start, error.span.end) == (3, 11, 16)
    assert error.message == "E=100 is not divided by xy, which make 8 parts"
    assert (
        error.hint == "E=96 or E=104 would do, or 4 more places as padding:  dims E=100 padded 104"
    )
    assert error.notes[0][0].line == 1


def test_no_size_fits_below_the_first() -> None:
    (error,) = wrong("dims E=3\nmesh x=4\ninput a : E_x\noutput a\n")
    assert error.message == "E=3 is not divided by x=4"
    assert error.hint == "E=4 would do, or 1 more place as padding:  dims E=3 padded 4"


def test_the_command_line_wins() -> None:
    text = "dims E=100 L\nmesh x=8 y\ndtype bf16\ninput a : E_x\ninput b : E f16\noutput a\n"
    settings = Settings(dims={"E": 64, "L": 2}, mesh={"x": 2, "y": 4}, dtype="f32")
    program = right(text, settings)
    assert program.dims == {"E": 64, "L": 2}
    assert [axis.size for axis in program.axes] == [2, 4]
    assert [type_.dtype for type_ in program.types.values()] == ["f32", "f16"]
    assert one(text, Settings(dims={"E": 9}, mesh={"x": 2}))[2] == "E=9 is not divided by x=2"
    file = parse(text, "ffn.layout")
    assert unknown_settings(file, settings) == []
    assert unknown_settings(file, Settings(dims={"Q": 1}, mesh={"w": 1})) == [
        "ffn has no dim Q",
        "ffn has no mesh axis w",
    ]


# The mesh.


def test_axes_have_names_and_sizes() -> None:
    axes = right("dims B\nmesh d:data t:model=8\ninput x : B_d\noutput x\n").axes
    assert [(a.name, a.size, a.label) for a in axes] == [("d", None, "data"), ("t", 8, "model")]


@pytest.mark.parametrize(
    ("mesh", "column", "message"),
    [
        ("xy", 6, "a mesh axis is one letter, not xy"),
        ("x x", 8, "axis x is declared twice"),
        ("x:y y", 10, "two axes of the mesh would be called y"),
    ],
)
def test_meshes_that_are_none(mesh: str, column: int, message: str) -> None:
    assert (2, column, message) in [
        (e.span.line, e.span.start, e.message)
        for e in wrong(f"dims B\nmesh {mesh}\ninput q : B\noutput q\n")
    ]


# Dtypes.


def test_dtypes_that_follow() -> None:
    text = "r : BLF_yz f32 = cast(h)\ns = gelu(r)\nt = r * s\nu = r + h\nv = t * 2\n"
    types = right(HEAD + text + "output x\n").types
    assert [types[name].dtype for name in "rstuv"] == ["f32", "f32", "f32", "bf16", "f32"]


def test_products_may_be_stored_otherwise() -> None:
    text = "q : BLF_yz(partialsum-x) f32 = a * w_in\noutput x\n"
    assert right(HEAD + text).types["q"].dtype == "f32"


# Programs with holes.

HOLES = "dims B L E F\nmesh x y z\ninput x : BLE?\nweight w : EF!\n"


def holes(text: str) -> Program:
    program = right(HOLES + text)
    assert not program.explicit
    return program


def test_a_layout_that_is_left_out_is_a_hole() -> None:
    program = holes("h : BLF_x? = x * w\ng = gelu(h)\noutput g\n")
    assert str(program.types["g"].shape) == "BLF?"
    assert str(program.types["h"].shape) == "BLF_x?"


@pytest.mark.parametrize(
    "text",
    [
        "q : BLF = h\n",
        "q : BLF = h\nr : BL = sum[F](q)\n",
        "q = slice(x) h\n",
        "q = all-to-all(z) h\n",
        "q = permute(yz) h\n",
        "q : BLF_{yz} = gelu(h)\n",
    ],
)
def test_what_makes_holes(text: str) -> None:
    assert not right(HEAD + text + "output x\n").explicit


def test_a_hold_that_changes_nothing_is_explicit() -> None:
    assert right(HEAD + "q : BLF_yz = h\noutput q\n").explicit
    assert not right(HEAD + "q : BLF_y = h\noutput q\n").explicit


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("q : BLFQ? = x * w", 8, "dim Q is not declared"),
        ("q = gelu(xx)", 10, "xx is not defined"),
        ("q : BLF? = gelu(x)", 5, "gelu(x) has the dims BLE, not BLF"),
        ("q : BLE_x = all-gather(xy) x", 5, "all-gather(xy) does not give BLE_x: it is whole over"),
        ("r = neg(x)\nq : BLE = reduce-scatter(x) r", 5, "reduce-scatter(x) puts its axes on the"),
        ("q : BLE_x = reduce-scatter(x) x", 28, "reduce-scatter(x) has nothing to reduce: x is an"),
        ("q = all-reduce(x) w", 16, "all-reduce(x) has nothing to reduce: w is a weight, never"),
        ("q : BLE_xy = slice(x) x", 5, "slice(x) puts its axes on the end of one dim; BLE_xy has"),
        ("q : BLE(partialsum-x) = gelu(x)", 5, "gelu does not give a partial sum"),
        ("q : BL(partialsum-x) = max[E](x)", 5, "max does not give a partial sum"),
        ("weight v : EF(partialsum-x)!", 12, "`!` stores every element once; a partial sum is"),
    ],
)
def test_what_no_filling_makes_right(text: str, column: int, message: str) -> None:
    found = [(e.span.line, e.span.start, e.message) for e in wrong(HOLES + text + "\noutput x\n")]
    assert any(at[1] == column and at[2].startswith(message) for at in found), found


def test_order_free_reads_subscripts_as_sets() -> None:
    head = "dims B E F\nmesh x y z\norder free\n"
    text = "input a : BE_zyx\ninput b : B_xE\noutput a\n"
    program = right(head + text)
    assert not program.explicit
    assert program.types["a"].shape == parse_shape("BE_{xyz}")
    assert right(head + "input b : B_xE\noutput b\n").explicit


# Blocks.

BLOCK = "dims B E F\nmesh x y\ninput x : BE_x\nweight s : EF\nrepeat 3 {\n"


def test_a_block() -> None:
    text = BLOCK + "weight w : E\ny = x + w\nnext x = y\n}\noutput x\n"
    program = right(text)
    block = program.items[-1]
    assert isinstance(block, Repeat)
    assert (block.count, block.nexts) == (3, (Next("x", "y"),))
    assert isinstance(block.body[1], Define)
    assert program.outputs == (Output("x"),)
    assert [times for _, times in program.walk()] == [1, 1, 3, 3]
    again = right(text, Settings(repeat=7)).items[-1]
    assert isinstance(again, Repeat)
    assert again.count == 7


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("y = neg(x)\n}\nz = neg(y)\n", 8, 9, "y is defined inside a repeat and not seen outside"),
        ("y = neg(x)\nnext s = y\n}\n", 7, 6, "s is a weight; only inputs and values are carried"),
        ("y = neg(x)\nz = neg(x)\nnext y = z\n}\n", 8, 6, "y is defined inside the block"),
        ("y = neg(x)\nnext x = x\n}\n", 7, 10, "x is not a value of this block"),
        ("y = neg(x)\nnext x = y\nnext x = y\n}\n", 8, 6, "x is carried twice"),
        (
            "y : BE = all-gather(x) x\nnext x = y\n}\n",
            7,
            1,
            "y is to be held like x, but it is",
        ),
        ("y : BE_x f32 = cast(x)\nnext x = y\n}\n", 7, 1, "y is to be held like x, but it is f32"),
        ("y = sum[B](x)\nnext x = y\n}\n", 7, 1, "y is to be held like x, but it has the dims E"),
        ("input y : BE\n}\n", 6, 1, "an input stands outside of a repeat"),
        ("y = neg(x)\noutput y\n}\n", 7, 1, "a line with output stands outside of a repeat"),
        ("}\n", 5, 1, "there is nothing in this block to repeat"),
        ("repeat 2 {\ny = neg(x)\n}\n}\n", 6, 1, "a repeat does not stand inside a repeat"),
        ("y = neg(x)\n}\ny = neg(x)\n", 8, 1, "y is defined twice"),
    ],
)
def test_blocks_that_are_wrong(text: str, line: int, column: int, message: str) -> None:
    found = [(e.span.line, e.span.start, e.message) for e in wrong(BLOCK + text + "output x\n")]
    assert any(at[:2] == (line, column) and at[2].startswith(message) for at in found), found


@pytest.mark.parametrize("count", ["0", "-1", "1.5"])
def test_counts_that_are_none(count: str) -> None:
    text = BLOCK.replace("repeat 3", f"repeat {count}") + "y = neg(x)\n}\noutput x\n"
    assert one(text)[:2] == (5, 8)
