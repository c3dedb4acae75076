"""What whole models reach of a machine: the table `[reached]`, and where its constants are from."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from layoutc import hardware
from layoutc.cli import main
from layoutc.dsl.errors import Diagnostic, Span
from layoutc.solver.hardware.catalogue import (
    BrokenMachine,
    catalogue,
    load_machine,
    reached_of,
    unlike,
)
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reached import IDEAL, SHARES, TIMES, UNITS, Like, Reached
from layoutc.solver.hardware.reached_reading import KEYS
from layoutc.solver.hardware.reading import read_machine
from layoutc.solver.hardware.writing import write_machine

DOCS = Path(__file__).parent.parent / "docs" / "machines.md"

CHIP = """\
name = "mine"
peak_flops = { bf16 = 200e12, source = "sheet 1" }
memory_bytes = { value = 16e9, source = "sheet 2" }
memory_bandwidth = { value = 1e12, source = "sheet 3" }
"""
TORUS = """\
[[network]]
name = "links"
topology = "torus"
axes = 2
bandwidth = { value = 50e9, source = "sheet 4" }
"""
SWITCH = TORUS.replace("torus", "switch").replace("axes = 2\n", "")
OWN = """\
[reached]
matmul = 0.8
attention = 0.25
memory = 0.95
network = 1
launch = 2e-6
latency = 2.5
at_once = 2
low = 0.9
high = 1.25
source = "our server"
fitted = "31 timings; mean error 5 %"
"""
LIKE = '[reached]\nlike = "tpu-v4"\nsource = "assumed: the same kind"\n'


def read(reached: str, network: str = TORUS) -> Machine:
    found = read_machine(CHIP + reached + network)
    assert isinstance(found, Machine), found
    return found


def wrong(reached: str, network: str = TORUS) -> list[Diagnostic]:
    found = read_machine(CHIP + reached + network, unlike)
    assert isinstance(found, list)
    return found


# What is read.


def test_constants_as_the_file_has_them() -> None:
    machine = read(OWN)
    assert machine.reached == Reached(0.8, 0.25, 0.95, 1.0, 2e-6, 2.5, 2, 0.9, 1.25)
    figures = {f.name: f for f in machine.figures if f.name.startswith("reached.")}
    assert [name.removeprefix("reached.") for name in figures] == list(UNITS)
    assert {figure.source for figure in figures.values()} == {"our server"}
    assert {figure.fitted for figure in figures.values()} == {"31 timings; mean error 5 %"}
    assert (figures["reached.launch"].value, figures["reached.matmul"].unit) == (
        2e-6,
        "of the peak",
    )


def test_what_is_left_out_is_as_the_data_sheet_says() -> None:
    machine = read('[reached]\nmatmul = 0.5\nsource = "s"\n')
    assert machine.reached == replace(IDEAL, matmul=0.5)
    assert [f.name for f in machine.figures if "reached" in f.name] == ["reached.matmul"]
    assert read("").reached is None


def test_reading_a_likeness_asks_no_other_file() -> None:
    assert read(LIKE.replace("tpu-v4", "nowhere")).reached == Like(
        "nowhere", "assumed: the same kind"
    )


@pytest.mark.parametrize("reached", [OWN, LIKE])
def test_nothing_else_of_the_machine_changes(reached: str) -> None:
    """So that what is compiled for it stays as it is."""
    machine, plain = read(reached), read("")
    kept = [figure for figure in machine.figures if not figure.name.startswith("reached.")]
    assert replace(machine, reached=None, figures=tuple(kept)) == plain


@pytest.mark.parametrize("reached", ["", OWN, LIKE, '[reached]\nlow = 0.9\nsource = "s"\n'])
@pytest.mark.parametrize("network", [TORUS, SWITCH])
def test_what_is_written_is_read_back(reached: str, network: str) -> None:
    machine = read(reached if network is TORUS else reached.replace("at_once = 2\n", ""), network)
    assert read_machine(write_machine(machine)) == machine


# What is wrong.


@pytest.mark.parametrize(
    ("old", "new", "place", "message", "hint"),
    [
        ("matmul = 0.8", "matmul = 1.5", (6, 10, 13),
         "reached.matmul is 1.5, more than all", "a share from 0 to 1, as in  0.9"),
        ("network = 1\n", "network = 1.0000001\n", (9, 11, 20),
         "reached.network is 1.0000001, more than all", "a share from 0 to 1, as in  0.9"),
        ("memory = 0.95", "memory = 0", (8, 10, 11),
         "reached.memory is 0, not a positive number", "memory = ...  of its bandwidth"),
        ("attention = 0.25", 'attention = "0.25"', (7, 13, 19),
         "reached.attention is '0.25', not a positive number", "attention = ...  of the peak"),
        ("matmul = 0.8", 'matmul = { value = 0.8, source = "s" }', (6, 10, 39),
         "reached.matmul is a table, not a positive number", "matmul = ...  of the peak"),
        ("launch = 2e-6", "launch = -2e-6", (10, 10, 15),
         "reached.launch is -2e-06, not a number from 0 up",
         "launch = ...  in seconds a matmul or collective"),
        ("latency = 2.5", "latency = nan", (11, 11, 14),
         "reached.latency is nan, not a positive number",
         "latency = ...  of the starts and hops"),
        ("at_once = 2", "at_once = 1.0", (12, 11, 14),
         "reached.at_once is 1, not a whole number from 0 up",
         "at_once = 0  goes along all axes at once"),
        ("at_once = 2", "at_once = -1", (12, 11, 13),
         "reached.at_once is -1, not a whole number from 0 up",
         "at_once = 0  goes along all axes at once"),
        ("at_once = 2", "at_once = true", (12, 11, 15),
         "reached.at_once is true, not a whole number from 0 up",
         "at_once = 0  goes along all axes at once"),
        ("at_once = 2", "at_once = 3", (12, 11, 12),
         "reached.at_once is 3, more axes than the network has",
         "at_once = 0  goes along all axes at once"),
        ("low = 0.9", "low = 1.1", (13, 7, 10),
         "reached.low is 1.1, more than is predicted", "a share from 0 to 1, as in  0.9"),
        ("high = 1.25", "high = 0.9", (14, 8, 11),
         "reached.high is 0.9, less than is predicted", "a number from 1 up, as in  1.1"),
        ("attention = 0.25", "atention = 0.25", (7, 1, 9),
         "reached has no atention", "did you mean attention?"),
        ("attention = 0.25", "overlap = 0.25", (7, 1, 8), "reached has no overlap",
         f"there are {', '.join(KEYS)}"),
        ('source = "our server"\n', "", (5, 1, 10), "reached has no source",
         'source = "assumed: the same kind of chip"'),
        ('fitted = "31 timings; mean error 5 %"', "fitted = 31", (16, 10, 12),
         "the fitted of reached is 31, not one line of text", 'fitted = "..."'),
        (OWN, "reached = 5\n", (5, 11, 12), "reached is 5, not a table",
         '[reached]  with  matmul = 0.9  or  like = "tpu-v4", and  '
         'source = "assumed: the same kind of chip"'),
        (OWN, "[reached]\n", (5, 1, 10), "reached is empty",
         '[reached]  with  matmul = 0.9  or  like = "tpu-v4", and  '
         'source = "assumed: the same kind of chip"'),
        (OWN, '[reached]\nsource = "s"\n', (5, 1, 10), "reached has no constants",
         "matmul = ...  of the peak"),
    ],
)  # fmt: skip
def test_one_error(
    old: str, new: str, place: tuple[int, int, int], message: str, hint: str
) -> None:
    assert OWN.count(old) == 1
    assert wrong(OWN.replace(old, new)) == [Diagnostic(message, Span(*place), hint)]


def test_what_has_no_axes_goes_along_none() -> None:
    (error,) = wrong(OWN, SWITCH)
    assert error.message == "reached.at_once is 2, more axes than the network has"


def test_a_network_that_is_wrong_says_nothing_of_its_axes() -> None:
    """Nobody is told that 2 are more than there are of an unknown number."""
    (error,) = wrong(OWN, TORUS.replace("axes = 2", "axes = 0"))
    assert error.message == "axes is 0, not a whole number from 1 to 6"


@pytest.mark.parametrize(
    ("new", "place", "message", "hint"),
    [
        ('like = "abacus"', (6, 8, 16), "'abacus' is no machine of the catalogue",
         "there are a100-80gb, tpu-v4"),
        ('like = "a100-80"', (6, 8, 17), "'a100-80' is no machine of the catalogue",
         "did you mean a100-80gb?"),
        ('like = "mine.toml"', (6, 8, 19), "'mine.toml' is no machine of the catalogue",
         "there are a100-80gb, tpu-v4"),
        ('like = "tpu-v5e"', (6, 8, 17), "tpu-v5e has no constants, it is like tpu-v4 itself",
         'like = "tpu-v4"'),
        ('like = "cpu"', (6, 8, 13), "cpu has no constants", "there are a100-80gb, tpu-v4"),
        ('like = ""', (6, 8, 10), "reached has no like", 'like = "tpu-v4"'),
        ("like = 4", (6, 8, 9), "the like of reached is 4, not one line of text",
         'like = "tpu-v4"'),
        ('like = "tpu-v4"\nmatmul = 0.9', (7, 1, 7),
         "matmul stands beside like, which takes everything from another machine",
         "leave matmul or like away"),
        ('like = "tpu-v4"\nfitted = "on 3"', (7, 1, 7),
         "fitted stands beside like, which takes everything from another machine",
         "leave fitted or like away"),
    ],
)  # fmt: skip
def test_one_error_of_a_likeness(
    new: str, place: tuple[int, int, int], message: str, hint: str
) -> None:
    found = wrong(LIKE.replace('like = "tpu-v4"', new))
    assert found == [Diagnostic(message, Span(*place), hint)]


def test_all_errors_are_found_together() -> None:
    text = LIKE.replace("tpu-v4", "tpu-v9") + "matmul = 2\nlow = 0.9\nlikes = 1\n"
    found = wrong(text, TORUS.replace('"torus"', '"ring"'))
    assert [(error.span.line, error.message) for error in found] == [
        (6, "'tpu-v9' is no machine of the catalogue"),
        (8, "matmul stands beside like, which takes everything from another machine"),
        (9, "low stands beside like, which takes everything from another machine"),
        (10, "reached has no likes"),
        (13, "'ring' is no topology"),
    ]


def test_a_file_that_is_loaded_is_like_a_machine_there_is(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(CHIP + LIKE + TORUS)
    assert reached_of(load_machine(str(path))) == reached_of(load_machine("tpu-v4"))
    path.write_text(CHIP + LIKE.replace("tpu-v4", "tpu-v44") + TORUS)
    with pytest.raises(BrokenMachine, match=r"mine.toml:6:8: error: 'tpu-v44' is no machine"):
        load_machine(str(path))


# Whose they are.


def test_whose_constants_they_are_in_words() -> None:
    fitted, plain = read(OWN), read('[reached]\nmatmul = 0.5\nsource = "guessed"\n')
    assert reached_of(fitted) == (fitted.reached, "as fitted on mine")
    assert reached_of(plain) == (plain.reached, "as the file of mine says")
    constants = load_machine("tpu-v4").reached
    assert reached_of(read(LIKE)) == (constants, "as fitted on tpu-v4")
    nothing = "nothing fitted: the data sheet's figures are taken as they are"
    assert reached_of(read("")) == (IDEAL, nothing)


@pytest.mark.parametrize("name", catalogue())
def test_the_catalogue_says_what_is_known_of_each(name: str) -> None:
    machine = load_machine(name)
    match machine.reached:
        case Reached() as own:
            assert name in ("tpu-v4", "a100-80gb")
            assert all(f.fitted for f in machine.figures if f.name.startswith("reached."))
            assert all(0 < own.constants[share] <= 1 for share in SHARES)
            assert all(0 <= own.constants[time] < 1e-3 for time in TIMES)
            assert own.low <= 1 <= own.high
        case Like(other, source):
            assert other == ("tpu-v4" if name.startswith("tpu") else "a100-80gb")
            assert source.startswith("assumed")
            assert reached_of(machine) == reached_of(load_machine(other))
        case None:
            assert name in ("cpu", "tpu-v4-flat", "wafer-mesh")


# What is said of them.


def chapter(machine: Machine) -> list[str]:
    """The lines of the chapter, spaces made one."""
    text = hardware.report(machine).split("\nwhat whole models reach of it\n\n")[1]
    lines = re.split(r"\n\n(?=\S)", text)[0].splitlines()
    return [" ".join(line.split()) for line in lines if line]


def test_each_constant_is_shown_with_what_it_means() -> None:
    assert chapter(read(OWN)) == [
        "matmul 0.8 of the peak in matmuls with weights",
        "attention 0.25 of the peak in the two matmuls of attention and between them",
        "memory 0.95 of its bandwidth reading weights and caches",
        "network 1 of the links' bandwidth in collectives, and between pipeline stages",
        "launch 2 µs a matmul or collective that waits for the one before it",
        "latency 2.5 of the starts and hops that the file gives for its links",
        "at once 2 axes of a torus, that one collective goes along at a time",
        "low 0.9 of the prediction nine timings in ten lie between this",
        "high 1.25 of the prediction and this",
        "source our server",
        "fitted 31 timings; mean error 5 %",
    ]


def test_those_of_another_machine_are_shown_as_such() -> None:
    own, lines = chapter(load_machine("tpu-v4")), chapter(read(LIKE))
    start = next(i for i, line in enumerate(own) if line.startswith("source "))
    assert lines[: start + 2] == [*own[:start], "like tpu-v4", "source assumed: the same kind"]
    assert lines[start + 2].startswith("fitted there ")


def test_how_many_axes_at_once_in_words() -> None:
    words = {"0": "all axes", "1": "1 axis", "2": "2 axes"}
    for number, said in words.items():
        lines = chapter(read(OWN.replace("at_once = 2", f"at_once = {number}")))
        assert any(line.startswith(f"at once {said} of a torus") for line in lines)


def test_where_the_file_says_nothing_there_is_no_chapter() -> None:
    assert "whole models" not in hardware.report(read(""))
    assert hardware.document(read(""))["reached"] is None


def test_a_tier_may_be_called_reached() -> None:
    machine = read(OWN, TORUS.replace("links", "reached"))
    assert read_machine(write_machine(machine)) == machine
    before = hardware.report(machine).split("what whole models reach of it")[0]
    assert "0.8 of the peak" not in before


def test_constants_as_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.toml"

    def shown(text: str) -> Mapping[str, object]:
        path.write_text(CHIP + text + TORUS)
        assert main(["hardware", str(path), "--json"]) == 0
        found: Mapping[str, object] = json.loads(capsys.readouterr().out)["reached"]
        return found

    assert shown(OWN) == {
        "constants": {
            "matmul": 0.8, "attention": 0.25, "memory": 0.95, "network": 1.0,
            "launch": 2e-6, "latency": 2.5,
        },
        "at_once": 2, "low": 0.9, "high": 1.25,
        "source": "our server", "fitted": "31 timings; mean error 5 %", "like": None,
    }  # fmt: skip
    other = hardware.document(load_machine("tpu-v4"))["reached"]
    assert shown(LIKE) == {**other, "source": "assumed: the same kind", "like": "tpu-v4"}


# What the documentation shows.


def test_the_docs_name_every_key_and_their_tables_are_right() -> None:
    page = DOCS.read_text(encoding="utf-8")
    section = page.split("\n## What whole models reach\n")[1].split("\n## ")[0]
    assert [key for key in KEYS if f"`{key}`" not in section] == []
    own, like = re.findall(r"^```toml\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert isinstance(read(own).reached, Reached)
    assert reached_of(read(like)) == reached_of(load_machine("tpu-v4"))
