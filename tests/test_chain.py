"""What a pass waits for: the longest chain of its statements, against every path through them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from served import example
from texts import read

from layoutc.dsl.operation import Move, Operation, operands
from layoutc.dsl.program import Define, Program, Repeat
from layoutc.solver.collectives import moves_nothing
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import Fabric, uniform
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reached import IDEAL, Reached
from layoutc.solver.hardware.reaching import paced
from layoutc.solver.hardware.tier import Tier
from layoutc.solver.matmuls import matmul
from layoutc.solver.serving.chain import Chain, longest
from layoutc.solver.sites import at

MESH = {"x": 4}
STARTING = Machine(
    "starting", {"bf16": 1.0}, 1 << 30, 1.0, (Tier("port", "switch", 1.0, hop=8.0, start=16.0),)
)
"""A gather over four chips starts in 16 s and takes two rounds of 8 s: 32. An all-reduce takes four
rounds: 48. An all-to-all takes one hop: 24."""

LAUNCHING = Reached(launch=1.0)

HEAD = """\
dims B=4 L=1 E=8 F=8
mesh x
input  a : BE
input  b : BE_x
weight w : EF
weight v : FE
weight r : E_xF
"""


def chains(text: str, reached: Reached = LAUNCHING) -> tuple[Chain, Chain]:
    """Of the block and beside it."""
    program = read(HEAD + text)
    return longest(program, uniform(MESH, STARTING), reached)


def whole(text: str, reached: Reached = LAUNCHING) -> Chain:
    block, beside = chains(text, reached)
    return block + beside


def test_two_matmuls_side_by_side_count_once() -> None:
    assert whole("h : BF = a * w\ng : BF = a * w\ns = h + g\noutput s") == Chain(1)


def test_two_in_a_row_count_twice() -> None:
    assert whole("h : BF = a * w\ny : BE = h * v\noutput y") == Chain(2)


def test_a_collective_between_is_a_launch_and_its_latency() -> None:
    text = """\
h  : BF(partialsum-x) = b * r
h1 : BF               = all-reduce(x) h
y  : BE               = h1 * v
output y
"""
    assert whole(text) == Chain(3, 48)


def test_what_moves_nothing_waits_for_nothing() -> None:
    assert whole("a1 : BE_x = slice(x) a\nn = neg(a1)\noutput n") == Chain()


def test_latencies_are_so_many_times_those_of_the_file() -> None:
    text = "c : B_xE = all-to-all(x) b\noutput c\n"
    assert whole(text) == Chain(1, 24)
    assert whole(text).seconds(Reached(launch=2.0, latency=0.5)) == 2 + 12


def test_a_gather_over_axes_in_turn_is_launched_for_each() -> None:
    program = example("ffn_1d_weight_stationary")
    machine = load_machine("tpu-v4")
    fabric = next(at(program, {"x": 4, "y": 4, "z": 4}, machine))
    for at_once, turns in ((0, 1), (1, 3), (2, 2), (3, 1)):
        reached = Reached(launch=1.0, at_once=at_once)
        used = fabric.on(paced(machine, reached))
        _, beside = longest(program, used, reached)
        assert beside.launches == 2 + 2 * turns


def test_which_is_longest_hangs_on_what_is_reached() -> None:
    """Three matmuls in a row, or one gather: 3 launches, or 1 and 32 s."""
    text = """\
h : BF = a * w
g : BE = h * v
k : BF = g * w
c : BE = all-gather(x) b
output k, c
"""
    assert whole(text, Reached(launch=1.0)) == Chain(1, 32)
    assert whole(text, Reached(launch=20.0)) == Chain(3)


def test_a_norm_in_longhand_waits_for_one_collective() -> None:
    """Its sum is reduced; squares, roots and products of elements start with what is about them."""
    text = """\
q  = square(b)
m  : B(partialsum-x) = sum[E](q)
m1 : B               = all-reduce(x) m
s  = rsqrt(m1)
n  = b * s
h  : BF(partialsum-x) = n * r
h1 : BF               = all-reduce(x) h
output h1
"""
    assert whole(text) == Chain(3, 96)


BLOCK = """\
repeat 5 {
  weight u : EF
  weight t : FE
  h : BF = a * u
  y : BE = h * t
  next a = y
}
"""


def test_a_repeat_multiplies_and_what_stands_outside_adds() -> None:
    assert chains(BLOCK + "output a\n") == (Chain(10), Chain())
    before = "c : BE = all-gather(x) b\n"
    text = before + BLOCK.replace("= a * u", "= c * u").replace("next a", "next c")
    assert chains(text + "z : BF = c * w\noutput z\n") == (Chain(10), Chain(2, 32))


def test_a_block_waits_for_all_that_it_reads() -> None:
    """What it takes from outside beside what is carried, too."""
    text = "c : BE = all-gather(x) b\n" + BLOCK.replace(
        "y : BE = h * t", "p : BE = h * t\ny = p + c"
    )
    assert chains(text + "output a\n") == (Chain(10), Chain(1, 32))


def test_what_a_block_does_beside_what_it_carries_is_waited_for() -> None:
    """A loop's next repetition begins when all of the last one is over."""
    text = BLOCK.replace("y : BE = h * t", "y : BE = h * t\nz : BF = y * u")
    assert chains(text + "output a\n") == (Chain(15), Chain())


def test_a_longer_chain_may_pass_by_the_block() -> None:
    """Then nothing of it is the block's, and fewer layers make it no shorter."""
    text = BLOCK + "c : BE = all-gather(x) b\nz : BF = c * w\noutput a, z\n"
    assert chains(text) == (Chain(), Chain(2, 32))


def test_a_share_of_the_block_and_a_sum() -> None:
    assert Chain(4, 8) * 0.5 + Chain(1, 1) == Chain(3, 5)


# Against every path.


def random_text(random: Random, names: list[tuple[str, str]], lines: int, start: str) -> list[str]:
    """Statements on named values of E and F, whole, or split by columns or by rows; the values
    that they make are added to the names, each with its shape."""
    found = []
    for number in range(lines):
        name, (value, shape) = f"{start}{number}", random.choice(names)
        dim = "E" if "E" in shape else "F"
        ways = {
            f"B{dim}": (
                (f"B{'FE'[dim == 'F']}", f"{value} * {'w' if dim == 'E' else 'v'}"),
                (f"B{dim}_x", f"slice(x) {value}"),
            ),
            f"B{dim}_x": (
                (f"B{dim}", f"all-gather(x) {value}"),
                (f"B_x{dim}", f"all-to-all(x) {value}"),
            ),
            f"B_x{dim}": ((f"B{dim}", f"all-gather(x) {value}"),),
        }
        other = random.choice([n for n, s in names if s == shape])
        way = random.choice((*ways[shape], (shape, f"{value} + {other}"), (shape, f"neg({value})")))
        found.append(f"{name} : {way[0]} = {way[1]}")
        names.append((name, way[0]))
    return found


def paths(program: Program, fabric: Fabric, reached: Reached) -> Iterator[float]:
    """Seconds of every path through a program without blocks."""
    types = program.types
    of = {item.name: item for item, _ in program.walk() if isinstance(item, Define)}

    def ending(name: str) -> Iterator[float]:
        if name not in of:
            yield 0.0
            return
        operation, own = of[name].operation, 0.0
        if isinstance(operation, Move):
            before, after = types[operation.operand].shape, types[name].shape
            if not moves_nothing(operation, before, after, fabric.mesh):
                start = fabric.rate(operation.kind, operation.axes).start
                own = reached.launch + reached.latency * start
        elif matmul(of[name], types) is not None:
            own = reached.launch
        for operand in operands(operation):
            yield from (own + before for before in ending(operand))

    for name in of:
        yield from ending(name)


drawn = st.builds(
    Reached,
    launch=st.sampled_from((0.0, 1.0, 10.0, 40.0)),
    latency=st.sampled_from((0.0, 1.0, 10.0)),
)
few = settings(max_examples=60, deadline=None)


@few
@given(st.integers(0, 10**6), st.integers(1, 10), drawn)
def test_without_blocks_it_is_the_longest_path(seed: int, lines: int, reached: Reached) -> None:
    names = [("a", "BE"), ("b", "BE_x")]
    text = random_text(Random(seed), names, lines, "n")
    program = read(HEAD + "\n".join(text) + f"\noutput {names[-1][0]}\n")
    fabric = uniform(MESH, STARTING)
    block, beside = longest(program, fabric, reached)
    assert block == Chain()
    assert beside.seconds(reached) == pytest.approx(max(paths(program, fabric, reached)))


@few
@given(st.integers(0, 10**6), st.integers(1, 3), drawn)
def test_with_a_block_it_is_no_shorter_than_any_path(
    seed: int, times: int, reached: Reached
) -> None:
    """Of the same program with the block written out as often as it is repeated."""
    random, names = Random(seed), [("a", "BE"), ("b", "BE_x")]
    before = random_text(random, names, random.randint(0, 3), "n")
    inside = [*names]
    body = random_text(random, inside, random.randint(1, 3), "m")
    carried = random.choice([n for n, s in names if s == inside[-1][1]] or [""])
    ending = f"next {carried} = {inside[-1][0]}\n" if carried else ""
    after = random_text(random, names, random.randint(0, 2), "k")
    text = [*before, f"repeat {times} {{", *body, ending, "}", *after]
    program = read(HEAD + "\n".join(text) + f"\noutput {names[-1][0]}\n")
    fabric = uniform(MESH, STARTING)
    block, beside = longest(program, fabric, reached)
    most = max(paths(unrolled(program), fabric, reached), default=0.0)
    assert (block + beside).seconds(reached) >= most - 1e-9
    assert all(getattr(chain, n) >= 0 for chain in (block, beside) for n in chain.__slots__)


def unrolled(program: Program) -> Program:
    """Every repetition's statements, their names told apart, for paths to be found in."""
    goes_by: dict[str, str] = {}
    items: list[Define] = []

    def renamed(item: Define, name: str) -> Define:
        operation = item.operation
        for old in operands(operation):
            operation = substituted(operation, old, goes_by.get(old, old))
        return Define(name, item.type, operation)

    for item in program.items:
        if isinstance(item, Define):
            items.append(renamed(item, item.name))
        elif isinstance(item, Repeat):
            for number in range(item.count):
                for inner in item.body:
                    if isinstance(inner, Define):
                        items.append(renamed(inner, f"{inner.name}.{number}"))
                        goes_by[inner.name] = f"{inner.name}.{number}"
                goes_by.update({n.carried: goes_by.get(n.value, n.value) for n in item.nexts})
    declared = tuple(i for i in program.items if not isinstance(i, Define | Repeat))
    return replace(program, items=(*declared, *items), outputs=())


def substituted(operation: Operation, old: str, new: str) -> Operation:
    """An operation with an operand called otherwise."""
    named = ("left", "right", "operand")
    changed = {name: new for name in named if getattr(operation, name, None) == old}
    return replace(operation, **changed)  # type: ignore[arg-type]


def test_nothing_takes_nothing() -> None:
    block, beside = chains("n = neg(a)\noutput n\n", IDEAL)
    assert (block + beside).seconds(IDEAL) == 0
