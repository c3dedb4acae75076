"""A model as a `.layout` file: every layout a hole, every operation a line, gaps named on top."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap

from layoutc.dsl.check import check
from layoutc.dsl.formatter import format_file
from layoutc.dsl.models.architecture import Architecture, Model
from layoutc.dsl.models.lines import BATCH, STEPS, body, prompt
from layoutc.dsl.models.unsaid import unsaid
from layoutc.dsl.parse import parse
from layoutc.dsl.program import Program
from layoutc.dsl.shape import Hole

WIDTH = 100
"""Of a comment, in columns."""

ROOM = 10**10
"""Matrices of larger models have no copies, `!`: there is no room, and the search is shorter."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """A model's file, the program that it is, and how many weights that has."""

    text: str
    program: Program
    parameters: int


def spelled(model: Model) -> Spelled:
    """The model as a canonical `.layout` file, called after the model."""
    a, file = model.architecture, f"{model.name}.layout"
    parameters = _program("\n".join(body(a, "?")), file).parameters
    hole: Hole = "!" if parameters > ROOM else "?"
    text = "\n".join((*_head(model, parameters), "", *body(a, hole)))
    return Spelled(format_file(parse(text, file)), _program(text, file), parameters)


def _program(text: str, file: str) -> Program:
    program = check(parse(text, file))
    if not isinstance(program, Program):
        raise AssertionError(f"{file} is not a program: {program}")
    return program


# The comment.


def _head(model: Model, parameters: int) -> Iterator[str]:
    a = model.architecture
    said = f"{model.title}, a whole model: {parameters:,} weights, {a.layers} layers. {_layer(a)}"
    tokens = prompt(a)
    yield from _comment(
        f"{said} Prefill is 1 prompt of {tokens} tokens; {STEPS} steps of decode follow it, each "
        f"of {BATCH} requests at once."
    )
    yield from _comment(f"Figures: {model.source}.")
    for clause in unsaid(model):
        yield from _comment(f"Not expressed: {clause}.")


def _layer(a: Architecture) -> str:
    """Attention, feedforward and positions in a sentence or two."""
    shared = "" if a.attention == "multi-head" else f" on {a.kv_heads} of keys and values"
    heads = f"{a.attention.capitalize()} attention, {a.heads} heads{shared}"
    hidden = f"{'gated ' if a.gated else ''}{a.activation}"
    beside = "beside" if a.parallel else "then"
    tied = "the table is the logits' matrix, too" if a.tied else "the logits have their own matrix"
    return f"{heads}, {beside} feedforward with {hidden}; {a.positions} positions; {tied}."


def _comment(text: str) -> Iterator[str]:
    yield from (f"# {line}" for line in wrap(text, WIDTH - 2, break_on_hyphens=False))
