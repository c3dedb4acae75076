"""Prices of explicit programs, against figures worked out by hand."""

import pytest
from machines import plain

from layoutc.dsl.check import check
from layoutc.dsl.parse import parse
from layoutc.dsl.program import Program
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import uniform
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.price import Prices, price

E, F = 18_432, 73_728
FFN = """\
dims  B=512 L=1 E=18432 F=73728
mesh  x y z
input  x     : BLE_xyz
weight w_in  : E_xF_yz
weight w_out : F_yzE_x
x1 : BLE_x                = all-gather(yz) x
h  : BLF_yz(partialsum-x) = x1 * w_in
h1 : BLF_yzx              = reduce-scatter(x) h
g  : BLF_yzx              = gelu(h1)
g1 : BLF_yz               = all-gather(x) g
p  : BLE_x(partialsum-yz) = g1 * w_out
y  : BLE_xyz              = reduce-scatter(yz) p
output y -> x
"""
PLAIN = plain("plain", 1.0, 1 << 30, 1.0, 1.0)
"""One of everything a second, so that seconds are counts."""


def program(text: str) -> Program:
    found = check(parse(text, "test.layout"))
    assert isinstance(found, Program), found
    return found


def priced(text: str, machine: Machine = PLAIN, **mesh: int) -> Prices:
    return price(program(text), uniform(mesh, machine))


def test_the_2d_layout_of_the_paper_on_64_chips() -> None:
    prices = priced(FFN, load_machine(), x=4, y=4, z=4)
    moved = {s.define.name: s.bytes for s in prices.collectives}
    assert moved == {"x1": 4_423_680, "h1": 3_538_944, "g1": 3_538_944, "y": 4_423_680}
    assert prices.communication.elements == 7_962_624
    assert prices.communication.bytes == 2 * 7_962_624
    assert prices.communication.seconds == pytest.approx(59.0e-6, rel=1e-3)
    assert prices.compute.flops == 2 * 2 * 512 * E * F // 64
    assert prices.compute.seconds == pytest.approx(158.1e-6, rel=1e-3)
    assert prices.memory.traffic_bytes == 2 * 2 * E * F // 64
    assert prices.memory.seconds == pytest.approx(70.8e-6, rel=1e-3)
    assert prices.seconds == pytest.approx(217.1e-6, rel=1e-3)


def test_statements_have_seconds_of_their_own() -> None:
    prices = priced(FFN, load_machine(), x=4, y=4, z=4)
    micro = {s.define.name: round(s.seconds * 1e6, 1) for s in prices.statements}
    assert micro == {"x1": 16.4, "h": 79.1, "h1": 13.1, "g": 0, "g1": 13.1, "p": 79.1, "y": 16.4}
    assert [s.before and str(s.before) for s in prices.collectives][:2] == [
        "BLE_xyz",
        "BLF_yz(partialsum-x)",
    ]


def test_the_largest_set_of_activations_is_part_of_the_capacity() -> None:
    """Beside each other: g1 (x and h1 are done with by then) and p, the most there is."""
    prices = priced(FFN, load_machine(), x=4, y=4, z=4)
    g1, p = 512 * F // 16 * 2, 512 * E // 4 * 2
    assert prices.memory.bytes == prices.memory.traffic_bytes + g1 + p


BLOCK = """\
dims  B=4 E=8 F=8
mesh  x
input  x : BE_x
weight s : E_x
repeat 3 {
  weight w : E_xF
  weight u : FE_x
  h  : BF(partialsum-x) = x * w
  h1 : BF               = all-reduce(x) h
  y  : BE_x             = h1 * u
  y1 : BE_x             = y * s
  next x = y1
}
output x
"""


def test_all_is_paid_once_a_repetition() -> None:
    prices = priced(BLOCK, x=2)
    assert [s.times for s in prices.statements] == [3] * 4
    assert [s.flops for s in prices.statements] == [3 * 256, 0, 3 * 256, 0]
    assert prices.communication.elements == 3 * 32
    # Three stacks of w and of u, one s; h and h1 beside each other.
    assert prices.memory.traffic_bytes == 3 * 2 * 64 + 8
    assert prices.memory.bytes == prices.memory.traffic_bytes + 2 * 64


def test_what_a_block_reads_from_outside_stays_through_it() -> None:
    """As an input, s is beside h and h1, though it is read only after them."""
    prices = priced(BLOCK.replace("weight s", "input s"), x=2)
    assert prices.memory.bytes == prices.memory.traffic_bytes + 2 * 64 + 8


def test_an_input_is_kept_until_it_is_last_read_and_an_output_to_the_end() -> None:
    text = """\
dims B=8
mesh x
input a : B
b = neg(a)
c = neg(b)
d = c + a
output b, d
"""
    # All four at once: b leaves the program, a is read last.
    assert priced(text, x=1).memory.bytes == 4 * 16
    assert priced(text.replace("c + a", "c + c"), x=1).memory.bytes == 3 * 16


def test_another_name_takes_no_memory() -> None:
    text = "dims B=8\nmesh x\ninput a : B\nb : B = a\nc = neg(b)\noutput c\n"
    assert priced(text, x=1).memory.bytes == 2 * 16


def test_a_matmul_that_chips_repeat_is_paid_by_each() -> None:
    text = """\
dims B=8 E=4 F=6
mesh x y
input  a : B_xE
weight w : EF
h : B_xF = a * w
output h
"""
    assert priced(text, x=2, y=4).compute.flops == 2 * 8 * 4 * 6 // 2


def test_an_operand_that_is_whole_uses_its_own_part() -> None:
    text = """\
dims B=8 E=4 F=6
mesh x
input  a : BE
weight w : E_xF
h  : BF(partialsum-x) = a * w
h1 : BF               = all-reduce(x) h
output h1
"""
    prices = priced(text, x=2)
    assert prices.compute.flops == 2 * 8 * 4 * 6 // 2
    assert prices.communication.elements == 2 * 48 // 2


def test_a_product_that_sums_nothing_is_no_matmul() -> None:
    text = """\
dims B=8 E=4
mesh x
input  a : BE_x
weight s : E_x
b = a * s
c = b * 2.0
output c
"""
    assert priced(text, x=2).compute.flops == 0


@pytest.mark.parametrize(("x", "elements"), [(1, 0), (2, 64)])
def test_a_permute_costs_only_if_chunks_move(x: int, elements: int) -> None:
    text = "dims B=32 E=8\nmesh x y\ninput a : BE_xy\nb : BE_yx = permute(xy) a\noutput b\n"
    assert priced(text, x=x, y=2).communication.elements == elements


def test_a_slice_is_listed_and_costs_nothing() -> None:
    text = "dims B=8\nmesh x\ninput a : B\nb : B_x = slice(x) a\noutput b\n"
    prices = priced(text, x=4)
    assert [(s.define.name, s.bytes) for s in prices.collectives] == [("b", 0)]


def test_counts_round_up_where_an_all_reduce_cannot_be_shared_evenly() -> None:
    text = """\
dims B=3 E=4
mesh x
input a : BE_x
b : B(partialsum-x) = sum[E](a)
c : B               = all-reduce(x) b
output c
"""
    prices = priced(text, x=4)
    assert prices.communication.elements == 5  # 2 · 3 · 3/4 = 4.5
    assert prices.communication.seconds == 4.5 * 2


def test_holes_and_sizes_that_do_not_divide_have_no_price() -> None:
    text = "dims B=6\nmesh x\ninput a : B_x\nb = neg(a)\noutput b\n"
    with pytest.raises(ValueError, match="not divided evenly"):
        priced(text, x=4)
    with pytest.raises(ValueError, match="hole"):
        priced(text.replace("B_x", "B?"), x=2)
    with pytest.raises(ValueError, match="no size"):
        priced(text.replace("B=6", "B"), x=2)


WRITTEN = """\
dims  B=2 L=2 M=8 Q=4
mesh  x
input k : B_xLQ
input q : B_xLQ
cache c : B_xMQ
c1 = write[M](c, k, 0)
s : B_xLM = q * c1
output s
"""


def test_a_cache_that_was_written_is_the_caches_own_memory() -> None:
    """On each of 2 chips: c is 8 · 4 elements, q 2 · 4, s 2 · 8; k is done with by then."""
    assert priced(WRITTEN, x=2).memory.bytes == 2 * (32 + 8 + 16)


def test_what_is_moved_of_it_is_not() -> None:
    """c2, the cache of both sequences, is an activation of 64 elements beside c, q and s."""
    moved = WRITTEN.replace("s : B_xLM = q * c1", "c2 : BMQ = all-gather(x) c1\ns : B_xLM = q * c2")
    assert priced(moved, x=2).memory.bytes == 2 * (32 + 64 + 8 + 16)


def test_a_renamed_dim_takes_no_memory() -> None:
    text = "dims B=8 L=4 M=4\nmesh x\ninput a : BL\nb = rename[L -> M](a)\nc = neg(b)\noutput c\n"
    assert priced(text, x=1).memory.bytes == 2 * 2 * 32
