"""Machines: the catalogue, files of one's own, and what is said of those that are none."""

import re
from pathlib import Path

import pytest

from layoutc.dsl.errors import Diagnostic, Span, render
from layoutc.solver.hardware.catalogue import (
    BrokenMachine,
    UnknownMachine,
    catalogue,
    load_machine,
)
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reading import (
    MOST_CHIPS,
    SHAPES,
    TIER,
    TOP,
    WRAPAROUND,
    read_machine,
)
from layoutc.solver.hardware.shapes import Shapes
from layoutc.solver.hardware.tier import Wraparound
from layoutc.solver.hardware.values import FIGURE

DOCS = Path(__file__).parent.parent / "docs" / "machines.md"

MACHINE = """\
# A machine of two tiers.
name = "mine"
title = "My machine"

[peak_flops]
bf16 = 1e12
int8 = 2e12
source = "data sheet"

[memory_bytes]
value = 1_000_000
source = "data sheet"

[memory_bandwidth]
value = 1e9
source = "data sheet"

[memory_efficiency]
value = 0.5
source = "measured"
fitted = "on 12 points: median error 3 %"

[[network]]
name = "inside"
topology = "torus"
axes = 2
bandwidth = { value = 1e9, unit = "bytes/s, one link", source = "data sheet" }  # each way
hop = { value = 1e-6, source = "measured" }
shapes = { listed = ["1x1", "2x2"], multiple = 4, chips = 64, source = "data sheet" }

[network.start]
value = 0
source = "assumed"

[network.wraparound]
multiple = 4
source = "data sheet"

[[network]]
name = "across"
topology = "switch"
bandwidth.value = 1e8
bandwidth.source = "data sheet"
"""


def read(text: str) -> Machine:
    found = read_machine(text)
    assert isinstance(found, Machine), found
    return found


def wrong(text: str) -> list[Diagnostic]:
    found = read_machine(text)
    assert isinstance(found, list)
    return found


def changed(old: str, new: str) -> str:
    assert MACHINE.count(old) == 1, f"{old!r} stands {MACHINE.count(old)} times"
    return MACHINE.replace(old, new)


# The catalogue.


def test_the_default_is_the_papers_machine() -> None:
    machine = load_machine()
    assert machine.name == "tpu-v4-flat"
    assert machine.flat
    assert machine.peak_flops == 275e12
    assert machine.memory_bytes == 32 * 2**30
    assert machine.memory_bandwidth == 1200e9
    assert machine.network_bandwidth == 270e9


@pytest.mark.parametrize("name", catalogue())
def test_every_figure_of_the_catalogue_has_its_source(name: str) -> None:
    machine = load_machine(name)
    assert machine.name == name
    assert machine.title
    assert {f.name for f in machine.figures} >= {
        "peak_flops.bf16", "memory_bytes", "memory_bandwidth",
        *(f"{tier.name}.bandwidth" for tier in machine.tiers),
    }  # fmt: skip
    assert all(figure.source and figure.unit for figure in machine.figures)


def test_a_path_is_a_machine_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xef\xbb\xbf" + MACHINE.replace("\n", "\r\n").encode())
    machine = load_machine(str(path))
    assert machine.name == "mine"
    assert machine.tiers[1].bandwidth == 1e8


def test_a_name_nearly_right_is_guessed() -> None:
    with pytest.raises(UnknownMachine, match=r"called tpu-v4-fat; did you mean tpu-v4-flat\?$"):
        load_machine("tpu-v4-fat")
    with pytest.raises(UnknownMachine, match=r"called abacus; there are .*tpu-v4-flat"):
        load_machine("abacus")


def test_a_file_that_cant_be_read(tmp_path: Path) -> None:
    with pytest.raises(UnknownMachine, match=r"nowhere/mine.toml: no such file or directory$"):
        load_machine("nowhere/mine.toml")
    with pytest.raises(UnknownMachine, match="is a directory"):
        load_machine(f"{tmp_path}/")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"name = '\xff'", "this is not text: byte 9 is not UTF-8"),
        (b"name = 'a\0'", "this is not text: it has NUL characters"),
        (b"#" * (2**20 + 1), "the file is too large: at most 1 MiB is read"),
    ],
)
def test_what_is_not_text(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(data)
    with pytest.raises(BrokenMachine) as caught:
        load_machine(str(path))
    assert [error.message for error in caught.value.errors] == [message]
    assert str(caught.value) == f"{path}:1:1: error: {message}"


# What is read.


def test_figures_as_the_file_has_them_rates_as_they_are_reached() -> None:
    machine = read(MACHINE)
    assert machine.memory_bandwidth == 0.5 * 1e9
    assert machine.peaks == {"bf16": 1e12, "int8": 2e12}
    assert machine.efficiencies == (1.0, 0.5)
    figures = {figure.name: figure for figure in machine.figures}
    assert figures["memory_bandwidth"].value == 1e9
    assert figures["memory_bandwidth"].unit == "bytes/s"
    assert figures["memory_efficiency"].fitted == "on 12 points: median error 3 %"
    assert figures["inside.bandwidth"].unit == "bytes/s, one link"
    assert figures["inside.start"].value == 0
    assert figures["across.bandwidth"].source == "data sheet"


def test_tiers_as_the_file_has_them() -> None:
    inside, across = read(MACHINE).tiers
    assert (inside.topology, inside.hop, inside.start) == ("torus", 1e-6, 0.0)
    assert inside.shapes == Shapes(2, ((1, 1), (2, 2)), 4, 64)
    assert inside.wraparound == Wraparound(4, together=False)
    assert not inside.divisible
    assert (across.topology, across.hop, across.shapes) == ("switch", 0.0, Shapes())
    assert across.divisible


def test_tables_may_come_in_any_order_and_spelling() -> None:
    """The same as inline tables, with dotted keys, and with the network first."""
    inline = """\
network = [ # the tiers
  { name = "inside", topology = 'torus', axes = 2, "start" = { value = 0, source = "assumed" }, \
bandwidth = { value = 1e9, unit = "bytes/s, one link", source = "data sheet" }, \
hop = { source = "measured", value = 1e-6 }, wraparound = { source = "data sheet", multiple = 4 }, \
shapes = { listed = [ "1x1",
  "2x2" ], multiple = 4, chips = 64, source = "data sheet" } },
  { name = "across", topology = "switch", bandwidth = { value = 1e8, source = "data sheet" } },
]
memory_efficiency = { value = 0.5, source = "measured", fitted = "on 12 points: median error 3 %" }
memory_bytes.value = 1_000_000
memory_bytes.source = "data sheet"
peak_flops = { bf16 = 1e12, int8 = 2e12, source = "data sheet" }
memory_bandwidth = { value = 1e9, source = "data sheet" }
name = "mine"
title = "My machine"
"""
    same, machine = read(inline), read(MACHINE)
    assert (same.tiers, same.peaks, same.title) == (machine.tiers, machine.peaks, machine.title)
    assert set(same.figures) == set(machine.figures)


def test_many_tiers() -> None:
    tier = (
        '[[network]]\nname = "t{}"\ntopology = "switch"\nshapes = {{ chips = 2, source = "s" }}\n'
    )
    tier += 'bandwidth = {{ value = 1, source = "s" }}\n'
    text = MACHINE[: MACHINE.index("[[network]]")] + "".join(map(tier.format, range(200)))
    assert len(read(text).tiers) == 200


# What is wrong.


def test_an_error_as_it_is_printed() -> None:
    text = changed("value = 1_000_000", 'value = "big" # in bytes')
    assert render(wrong(text), text, "mine.toml") == (
        "mine.toml:11:9: error: memory_bytes is 'big', not a positive number\n"
        '  11 | value = "big" # in bytes\n'
        "     |         ^^^^^\n"
        "  value = ...  in bytes\n"
    )


def test_all_errors_are_found_in_the_order_of_the_text() -> None:
    text = changed("bf16 = 1e12", "bf16 = -1").replace("axes = 2", "axes = 0")
    text = text.replace('topology = "switch"', 'topology = "ring"').replace(
        "[memory_bytes]", "[size]"
    )
    assert [(error.span.line, error.message) for error in wrong(text)] == [
        (1, "memory_bytes is missing"),
        (6, "peak_flops.bf16 is -1, not a positive number"),
        (10, "a machine has no size"),
        (26, "axes is 0, not a whole number from 1 to 6"),
        (41, "'ring' is no topology"),
    ]


SOURCE = 'source = "the data sheet, page 2"'


@pytest.mark.parametrize(
    ("old", "new", "place", "message", "hint"),
    [
        # Names and other keys.
        ('name = "mine"', "", (1, 1, 1), "a machine has no name", 'name = "my-machine"'),
        ('name = "mine"', "name = 5", (2, 8, 9),
         "the name of a machine is 5, not one line of text", 'name = "my-machine"'),
        ('title = "My machine"', 'title = "a\\nb"', (3, 9, 15),
         "the title of a machine is 'a\\nb', not one line of text", 'title = "..."'),
        ('title = "My machine"', 'titel = "My machine"', (3, 1, 6),
         "a machine has no titel", "did you mean title?"),
        ('title = "My machine"', '"" = 1', (3, 1, 3), "a machine has no ''",
         "there are name, title, peak_flops, memory_bytes, memory_bandwidth, matmul_efficiency, "
         "memory_efficiency, price, reached, network"),
        ("[memory_bandwidth]", "[memory_bandwith]", (14, 1, 18),
         "a machine has no memory_bandwith", "did you mean memory_bandwidth?"),
        # Figures.
        ('bf16 = 1e12\nint8 = 2e12\nsource = "data sheet"', "", (5, 1, 13), "peak_flops is empty",
         f"[peak_flops]  with  bf16 = 275e12  and  {SOURCE}"),
        ("bf16 = 1e12", "f32 = 1e12", (5, 1, 13), "peak_flops has no bf16",
         "bf16 = ...  in FLOP/s"),
        ("bf16 = 1e12", "fp16 = 1e12", (6, 1, 5), "peak_flops has no fp16",
         "did you mean f16?"),
        ("value = 1_000_000", "", (10, 1, 15), "memory_bytes has no value",
         "value = ...  in bytes"),
        ("value = 1_000_000", "value = 0.5", (11, 9, 12),
         "memory_bytes is 0.5, not even one byte", "value = ...  in bytes"),
        ("value = 1_000_000", "value = true", (11, 9, 13),
         "memory_bytes is true, not a positive number", "value = ...  in bytes"),
        ("value = 1e9\n", "value = nan\n", (15, 9, 12),
         "memory_bandwidth is nan, not a positive number", "value = ...  in bytes/s"),
        ("value = 1e9\n", "value = inf\n", (15, 9, 12),
         "memory_bandwidth is inf, not a positive number", "value = ...  in bytes/s"),
        ("value = 1e9\n", "value = 1e40\n", (15, 9, 13),
         "memory_bandwidth is 1e+40, beyond any machine", "value = ...  in bytes/s"),
        ("value = 1e9\n", f"value = 0x{'f' * 4000}\n", (15, 9, 4011),
         "memory_bandwidth is a huge number, beyond any machine", "value = ...  in bytes/s"),
        ("value = 1e9\n", "value = [1e9]\n", (15, 9, 14),
         "memory_bandwidth is an array, not a positive number", "value = ...  in bytes/s"),
        ("value = 1e9\n", "value = 2024-01-01 10:00:00\n", (15, 9, 28),
         "memory_bandwidth is 2024-01-01 10:00:00, not a positive number",
         "value = ...  in bytes/s"),
        ("value = 0.5", "value = 1.5", (19, 9, 12), "memory_efficiency is 1.5, more than all",
         "a share from 0 to 1, as in  0.9"),
        ('hop = { value = 1e-6, source = "measured" }', "hop = 1e-6", (28, 7, 11),
         "hop has no source", f"hop = {{ value = 1e-6, {SOURCE} }}"),
        ('hop = { value = 1e-6, source = "measured" }', 'hop = "1 µs"', (28, 7, 13),
         "hop is '1 µs', not a value and its source", f"hop = {{ value = ..., {SOURCE} }}"),
        ('hop = { value = 1e-6, source = "measured" }', "hop = { value = 1e-6 }", (28, 7, 23),
         "hop has no source", SOURCE),
        ("value = 1e-6", "value = -1e-6", (28, 17, 22), "hop is -1e-06, not a number from 0 up",
         "value = ...  in seconds a hop"),
        ("bandwidth.value = 1e8\nbandwidth.source", "bandwidht.value = 1e8\nbandwidht.source",
         (42, 1, 10), "a tier has no bandwidht", "did you mean bandwidth?"),
        ("bytes/s, one link", "GB/s, one link", (27, 35, 51),
         "bandwidth is in bytes/s, and this says 'GB/s, one link'",
         'unit = "bytes/s, ..."  and the value to match'),
        # Tiers.
        ('topology = "torus"', "", (23, 1, 12), "a tier has no topology",
         "there are flat, torus, line, switch"),
        ('topology = "switch"', "topology = 3", (41, 12, 13), "3 is no topology",
         "there are flat, torus, line, switch"),
        ('topology = "switch"', 'topology = "flat"', (41, 12, 18),
         "a flat network is all there is: it has one tier", 'topology = "switch"'),
        ('topology = "switch"', 'topology = "switch"\ncut = false', (42, 1, 4),
         "a switch can be cut anywhere", "leave cut away"),
        ('topology = "switch"', 'topology = "switch"\ncut = "no"', (42, 7, 11),
         "cut is 'no', not true or false", "cut = true"),
        ('topology = "switch"', 'topology = "switch"\nboth_ways = false', (42, 1, 10),
         "a switch has no links that run one way", "leave both_ways away"),
        ('topology = "switch"', 'topology = "line"\nwraparound.multiple = 2\n'
         'wraparound.source = "s"', (42, 1, 11), "a line does not wrap around",
         "leave wraparound away"),
        ('name = "across"', 'name = "inside"', (40, 8, 16), "two tiers are called inside",
         "rename one"),
        ("axes = 2", "axes = 2000000000", (26, 8, 18),
         "axes is 2000000000, not a whole number from 1 to 6", ""),
        # Shapes.
        ('"2x2"', '"2x2x2"', (29, 29, 36), "'2x2x2' is no shape of 2 axes", 'as in  "4x4"'),
        ('"2x2"', '"２x２"', (29, 29, 34), "'２x２' is no shape of 2 axes", 'as in  "4x4"'),
        ('"2x2"', "22", (29, 29, 31), "22 is no shape of 2 axes", 'as in  "4x4"'),
        ('["1x1", "2x2"]', '"2x2"', (29, 21, 26), "listed is '2x2', not an array",
         'as in  ["4x4"]'),
        ("chips = 64", "chips = 0", (29, 59, 60),
         "chips is 0, not a whole number from 1 to 1,048,576", ""),
        ("chips = 64", "chips = 65", (29, 10, 86),
         "no shape of inside has all its 65 chips, which across links",
         "shapes = { chips = 8 }  counts chips that some shape has"),
        (", chips = 64", "", (29, 10, 74),
         "inside has no end, and so there is nothing outside it",
         "shapes = { chips = 8 }  says from where on across is needed"),
        ('listed = ["1x1", "2x2"], multiple = 4', "multiple = 16", (29, 10, 62),
         "there are no shapes: the least, 16x16, is more than there is",
         'listed = ["4x4"]  or  multiple = 4'),
        ('listed = ["1x1", "2x2"], multiple = 4', "multiple = 0", (29, 10, 61),
         "there are no shapes: none is listed", 'listed = ["4x4"]  or  multiple = 4'),
        ("chips = 64", 'longest = "4000x4000"', (29, 10, 97),
         "these are 16,000,000 chips, more than 1,048,576", "chips = 4096  is an end"),
        ('chips = 64, source = "data sheet"', "chips = 64", (29, 10, 63), "shapes has no source",
         SOURCE),
        ("[network.wraparound]\nmultiple = 4\n", "[network.wraparound]\nmultiple = 1.5\n",
         (36, 12, 15), "multiple is 1.5, not a whole number from 0 to 1,048,576", ""),
        ('[network.wraparound]\nmultiple = 4\nsource = "data sheet"',
         "[network.wraparound]\nmultiple = 4", (35, 1, 21), "wraparound has no source", SOURCE),
    ],
)  # fmt: skip
def test_one_error(
    old: str, new: str, place: tuple[int, int, int], message: str, hint: str
) -> None:
    found = wrong(changed(old, new))
    assert Diagnostic(message, Span(*place), hint) in found
    assert len(found) <= 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("network = 5", "a machine has a network that is no list of tiers"),
        ("network = []", "a machine has a network that is no list of tiers"),
        ("network = [1, {}]", "a machine has a network that is no list of tiers"),
        ("[network]\nname = 'ICI'", "a machine has a network that is no list of tiers"),
        ("name = 'a'", "a machine has no network"),
    ],
)
def test_a_network_is_a_list_of_tiers(text: str, message: str) -> None:
    found = [error for error in wrong(text) if error.message == message]
    assert [error.hint for error in found] == [
        "begin each tier, the innermost first, with  [[network]]"
    ]


def test_an_empty_file_says_all_that_is_missing() -> None:
    assert [error.message for error in wrong("")] == [
        "a machine has no name",
        "peak_flops is missing",
        "memory_bytes is missing",
        "memory_bandwidth is missing",
        "a machine has no network",
    ]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("name = \n", (1, 8, 9), "this is not TOML: invalid value"),
        ('name = "a"\nname = "b"\n', (2, 11, 12), "this is not TOML: cannot overwrite a value"),
        ('a = 1\nb = "', (2, 5, 6), "this is not TOML: unterminated string"),
        ('a = 1\nb = """\nand on\n\n', (3, 6, 7), "this is not TOML: unterminated string"),
        ("a = 1\rb = 2", (1, 6, 7),
         "this is not TOML: expected newline or end of document after a statement"),
        ("a = " + "[" * 5000, (1, 1, 1), "this is nested too deeply for a machine"),
        ("a = 1\nb = " + "1" * 5000, (2, 5, 5005), "a number has too many digits"),
    ],
)  # fmt: skip
def test_what_is_not_toml(text: str, place: tuple[int, int, int], message: str) -> None:
    (error,) = wrong(text)
    assert (error.span, error.message) == (Span(*place), message)


def test_the_most_chips_of_a_tier_can_be_had() -> None:
    machine = read(changed("chips = 64", f"chips = {MOST_CHIPS}"))
    assert machine.tiers[0].shapes.whole[0] == (1024, 1024)


# What the documentation shows.


def test_the_example_of_the_docs_is_a_machine() -> None:
    page = DOCS.read_text(encoding="utf-8")
    example = re.search(r"^```toml mine-16.toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert example
    board, switch = read(example[1]).tiers
    assert (board.shapes.most, switch.shapes.most) == (8, 16)


def test_the_docs_name_every_key() -> None:
    page = DOCS.read_text(encoding="utf-8")
    keys = {*TOP, *FIGURE, *TIER, *SHAPES, *WRAPAROUND}
    assert [
        key for key in sorted(keys) if f"`{key}`" not in page and f"[[{key}]]" not in page
    ] == []
