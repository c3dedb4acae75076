"""Whatever the file, there is an answer: a machine that can be told, or errors with places."""

import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toml_texts import machines, spelled

from layoutc import hardware
from layoutc.document import dumped
from layoutc.dsl.errors import render, source_lines
from layoutc.solver.hardware.catalogue import unlike
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.reading import read_machine

FILES = sorted((Path(__file__).parent.parent / "solver" / "machines").glob("*.toml"))
SAMPLES = 5_000 if os.environ.get("LAYOUTC_LONG") else 100
PIECES = [
    "[", "]", "[[", "]]", "{", "}", "=", ",", ".", "#", '"', "'", '"""', "'''", "\\", "\n", "\r",
    "\t", "\0", "é", "漢", "\u2028", "\x7f", "nan", "-inf", "1e999", "-1", "0", "0x" + "f" * 99,
    "9" * 4400, "true", "{}", "[]", "[1, 2]", '{ value = 1, source = "s" }', "2024-01-01",
    "network", "[[network]]\n", "[network.shapes]\n", "value = 1\n", 'source = "s"\n',
    'topology = "line"\n', "axes = 3\n", '"4x4"', "[reached]\n", "at_once = 1\n",
    'like = "tpu-v4"\n',
]  # fmt: skip


def answered(text: str) -> None:
    """A machine that can be told, or errors that lie in the text and can be printed."""
    found = read_machine(text, unlike)
    if isinstance(found, Machine):
        assert hardware.report(found)
        assert dumped(hardware.document(found))
        return
    assert found
    lines = source_lines(text)
    for error in found:
        span = error.span
        assert error.message.isprintable()
        assert len(error.message) < 200
        assert 1 <= span.line <= len(lines)
        assert 1 <= span.start <= len(lines[span.line - 1]) + 1
        assert span.start <= span.end <= len(lines[span.line - 1]) + 2
    assert render(found, text, "mine.toml").startswith("mine.toml:")


@st.composite
def nearly(draw: st.DrawFn) -> str:
    return spelled(draw, draw(machines))


@settings(max_examples=SAMPLES, deadline=None)
@given(nearly())
def test_what_is_nearly_a_machine(text: str) -> None:
    answered(text)


@settings(max_examples=SAMPLES, deadline=None)
@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_what_is_hardly_toml(text: str) -> None:
    answered(text)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_machines_with_something_changed(file: Path) -> None:
    """Lines left out, doubled, exchanged; words replaced by others, or by what is no word."""
    dice = random.Random(file.stem)
    text = file.read_text(encoding="utf-8")
    for _ in range(SAMPLES):
        changed = text
        for _ in range(dice.randint(1, 3)):
            changed = mutated(changed, dice)
        answered(changed)


def mutated(text: str, dice: random.Random) -> str:
    lines = text.split("\n")
    i, j = dice.randrange(len(lines)), dice.randrange(len(lines))
    match dice.randrange(6):
        case 0:
            del lines[i]
        case 1:
            lines.insert(i, lines[j])
        case 2:
            lines[i], lines[j] = lines[j], lines[i]
        case 3:
            words = lines[i].split(" ")
            words[dice.randrange(len(words))] = dice.choice(PIECES)
            lines[i] = " ".join(words)
        case 4:
            key, equals, _ = lines[i].partition("= ")
            lines[i] = f"{key}{equals}{dice.choice(PIECES)}"
        case _:
            at = dice.randrange(len(text) + 1)
            return text[:at] + dice.choice(PIECES) + text[at + dice.randrange(3) :]
    return "\n".join(lines)
