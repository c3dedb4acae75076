"""Int8 weights: what may be done with one, the dims of its scales, and what both cost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from checking import one, right, wrong
from int8_programs import CUBE, GATHERED, HOLES, ODD, STACK, STATIONARY
from machines import plain
from texts import read

from layoutc.dsl.printer import print_program
from layoutc.dsl.scales import holders, scaled
from layoutc.report import report
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import uniform
from layoutc.solver.price import price
from layoutc.solver.solve import solve
from layoutc.solver.unsolvable import Unsolvable

# What may be done with an int8 weight.

HEAD = """\
dims B=8 E=16 F=32 V=64
mesh x y
input  x : BE
input  i : B int32
weight w : EF_y int8
weight t : VE int8
"""
"""Six lines, so that what a test adds starts on line 7."""

ONLY = "only a product of two tensors, or embed, applies its scales"
REFUSED = [
    ("y = relu(w)\noutput y", 7, 10, f"w is an int8 weight: {ONLY}"),
    ("y = w * 0.5\noutput y", 7, 5, f"w is an int8 weight: {ONLY}"),
    ("y = w + w\noutput y", 7, 5, f"w is an int8 weight: {ONLY}"),
    ("y : EF_y f32 = cast(w)\noutput y", 7, 21, f"w is an int8 weight: {ONLY}"),
    ("y : E f32 = max[V](t)\noutput y", 7, 20, f"t is an int8 weight: {ONLY}"),
    (
        "v : EF = all-gather(y) w\ny = square(v)\noutput y", 8, 12,
        f"v holds the int8 weight w: {ONLY}",
    ),
    ("y = x * x\noutput y, t", 8, 11, "t is an int8 weight: an output has no scales"),
    (
        "y = x * x\nv = t\noutput y, v", 9, 11,
        "v holds the int8 weight t: an output has no scales",
    ),
    (
        "v = t\nrepeat 2 {\nu = t\nnext v = u\n}\noutput x", 10, 6,
        "v holds the int8 weight t: what is carried has no scales",
    ),
    (
        "h : BF_y = x * w\ny : BE(partialsum-y) = h * w\nz : BE = all-reduce(y) y\noutput z", 8, 28,
        "w keeps E here and F there: an int8 weight has one set of scales",
    ),
    (
        "h : BE = embed[V](t, i)\ny : BV = h * t\noutput y", 8, 14,
        "t keeps V here and E there: an int8 weight has one set of scales",
    ),
    (
        "v : EF = all-gather(y) w\nh : BF = x * v\ny : BEF_y = x * w\noutput h, y", 9, 17,
        "w keeps EF here and F there: an int8 weight has one set of scales",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "line", "column", "message"), REFUSED)
def test_what_is_refused(lines: str, line: int, column: int, message: str) -> None:
    assert wrong(f"{HEAD}{lines}\n")[0].message == message
    assert (line, column, message) in [
        (e.span.line, e.span.start, e.message) for e in wrong(f"{HEAD}{lines}\n")
    ]


def test_a_second_set_of_scales_is_refused_with_both_places() -> None:
    text = f"{HEAD}h : BE = embed[V](t, i)\ny : BV = h * t\noutput y\n"
    (error,) = wrong(text)
    assert [(span.line, span.start, note) for span, note in error.notes] == [(7, 19, "E is kept")]
    assert error.hint == "declare two weights, or hold it in bf16:  weight t : VE bf16"


def test_a_name_that_there_is_not_holds_no_weight() -> None:
    assert one(f"{HEAD}v : EF = all-gather(y) nothing\noutput x\n")[0] == 7


def test_in_a_program_with_holes_too() -> None:
    text = HOLES.replace("g        = gelu(h)", "g = gelu(h)\nv = abs(w_in)")
    assert one(text) == (10, 9, f"w_in is an int8 weight: {ONLY}")


def test_int8_that_is_no_weight_is_plain_numbers() -> None:
    program = right("dims B=8\nmesh x\ninput a : B int8\ny = a * 2\nz = abs(y)\noutput z, a\n")
    assert scaled(program) == {}
    assert program.types["z"].dtype == "int8"


def test_a_product_of_int8_is_in_the_default_dtype() -> None:
    program = read(ODD)
    assert program.types["c"].dtype == "f32"
    assert read(print_program(program), "test") == program


# The dims of scales.


def test_scales_follow_from_the_use() -> None:
    assert scaled(read(STATIONARY)) == {"w_in": ("F",), "w_out": ("E",)}
    assert scaled(read(GATHERED)) == {"w_in": ("F",), "w_out": ("E",)}
    assert scaled(read(STACK)) == {"last": (), "w_in": ("D", "F"), "w_out": ("E",)}
    assert scaled(read(ODD)) == {"w": ("F",), "unused": (), "one": (), "a": ("E",), "b": ("V",)}
    table = right(f"{HEAD}h : BE = embed[V](t, i)\ny : BF_y = h * w\noutput y\n")
    assert scaled(table) == {"w": ("F",), "t": ("E",)}


def test_a_weight_is_followed_under_its_other_names() -> None:
    text = f"{HEAD}v : EF = all-gather(y) w\nu = v\ny : BF = x * u\noutput y\n"
    assert holders(right(text)) == {"w": "w", "t": "t", "v": "w", "u": "w"}
    assert scaled(right(text)) == {"w": ("F",), "t": ()}


# What they cost.

PLAIN = plain("plain", 1.0, 1 << 30, 1.0, 1.0)
"""One of everything a second, so that seconds are counts."""


def test_scales_are_stored_and_read_whole_on_every_chip() -> None:
    memory = price(read(STATIONARY), uniform(CUBE, PLAIN)).memory
    assert memory.traffic_bytes == 2 * 24 * 48 // 8 + 4 * (48 + 24)
    assert memory.seconds == memory.traffic_bytes
    assert memory.bytes > memory.traffic_bytes


def test_each_repetition_has_scales() -> None:
    memory = price(read(STACK), uniform(CUBE, PLAIN)).memory
    numbers, scales = 2 * 2 * 24 * 48 // 8, 4 * (2 * 48 + 24)
    assert memory.traffic_bytes == 3 * (numbers + scales + 4 * 24 // 2) + (24 // 2 + 4)


def test_what_moves_is_int8_and_no_scale() -> None:
    prices = price(read(GATHERED), uniform(CUBE, PLAIN))
    assert prices.communication.elements == prices.communication.bytes == 2 * 24 * 48 * 7 // 8


@pytest.mark.parametrize("batch", [8, 1024])
def test_the_search_proves_what_is_priced(batch: int) -> None:
    """With scales that take more than the numbers, whatever decides the pass."""
    program = read(HOLES)
    program = replace(program, dims={**program.dims, "B": batch})
    for network in (1e9, 1e15):
        machine = load_machine().faster(network=network / load_machine().network_bandwidth)
        plan = solve(program, 8, machine)
        assert plan.bound == pytest.approx(plan.value, rel=1e-9)
        assert plan.only.prices == price(plan.only.program, plan.fabric)


def test_scales_take_room() -> None:
    program, machine = read(HOLES), load_machine()
    scales = 3 * 4 * (256 + 64)
    lean = solve(replace(program, dims={**program.dims, "B": 8}), 8, machine)
    assert scaled(lean.only.program) == {"w_in": ("F",), "w_out": ("E",)}
    need = lean.only.prices.memory
    assert need.traffic_bytes == 3 * 2 * 64 * 256 // 8 + scales
    small = replace(machine, memory_bytes=need.traffic_bytes)
    with pytest.raises(Unsolvable, match="nothing fits"):
        solve(program, 8, small)


def test_the_report_names_them() -> None:
    plan = solve(read(HOLES, "stack"), 8, load_machine())
    said = report(plan)
    assert ", scales [256]" in said
    assert "9.22 kB" in said  # 3 · (64 · 256 / 8 + 4 · 256)
