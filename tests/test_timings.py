"""Files of timings of whole models: what is read, and what is said of those that are wrong."""

from __future__ import annotations

import pytest

from layoutc.dsl.errors import START, Diagnostic, Span
from layoutc.solver.serving.timings import FREE, NEEDED, Timing, read_timings

HEAD = "model,phase,chips,batch,prompt,generate,context,weights,layout,attention,pipeline,seconds"
ROW = "gpt2,decode,8,16,,64,512,int8,1D weight-stationary,heads,2,1.5"


def read(text: str) -> list[Timing]:
    found = [one for one in read_timings(text) if isinstance(one, Timing)]
    assert len(found) == len(read_timings(text))
    return found


def wrong(text: str) -> list[Diagnostic]:
    found = [one for one in read_timings(text) if isinstance(one, Diagnostic)]
    assert found
    assert len(found) == len(read_timings(text))
    return found


def cell(column: str, value: str) -> str:
    """The file whose one row has another value in a column."""
    at = HEAD.split(",").index(column)
    parts = ROW.split(",")
    return f"{HEAD}\n{','.join([*parts[:at], value, *parts[at + 1 :]])}\n"


def test_a_row_is_read_with_its_places() -> None:
    (found,) = read(f"# measured in March\n\n{HEAD}\n{ROW}\n")
    assert found == Timing(
        "gpt2", "decode", 8, 16, 0, 64, 512, "int8", "1D weight-stationary", "heads", 2, 0, 1.5,
        "", Span(4, 1, 5), Span(4, 1, 63),
    )  # fmt: skip
    assert found.tensor == 4


def test_columns_may_be_left_out_and_stand_in_any_order() -> None:
    (found,) = read("seconds,batch,chips,prompt,phase,model\n0.5,4,1,100,prefill,mine.layout\n")
    assert (found.model, found.phase, found.seconds) == ("mine.layout", "prefill", 0.5)
    assert (found.prompt, found.context, found.generate) == (100, 100, 0)
    assert (found.weights, found.layout, found.attention) == ("bf16", "", "")
    assert (found.pipeline, found.micro, found.note) == (1, 0, "")
    assert found.span == Span(2, 21, 32)


def test_a_spreadsheet_s_quotes_and_line_ends() -> None:
    text = '"model",phase,chips,batch,prompt,seconds,note,layout\r\n' + (
        'gpt2 , "prefill","1",2, 8 ,1e-3,"first, ""warm""","weights gathered over x, 1D over y"\r\n'
    )
    (found,) = read(text)
    assert (found.model, found.phase, found.chips, found.seconds) == ("gpt2", "prefill", 1, 1e-3)
    assert found.note == 'first, "warm"'
    assert found.layout == "weights gathered over x, 1D over y"
    assert read(text.replace("\r\n", "\r")) == [found]


@pytest.mark.parametrize(
    ("column", "value", "place", "message", "hint"),
    [
        ("model", "", (1, 2), "there is no model here", "as in  palm-540b"),
        ("phase", "decod", (6, 11), "there is no phase 'decod'", "did you mean decode?"),
        ("phase", "", (6, 7), "there is no phase ''", "there are prefill, decode, request"),
        ("chips", "0", (13, 14), "chips is '0', not a whole number from 1 to 10,000,000", ""),
        ("chips", '"8.5"', (13, 18), "chips is '8.5', not a whole number from 1 to 10,000,000", ""),
        ("batch", "", (15, 16), "batch is '', not a whole number from 1 to 10,000,000", ""),
        ("batch", "2e7", (15, 18), "batch is '2e7', not a whole number from 1 to 10,000,000", ""),
        ("prompt", "-1", (18, 20), "prompt is '-1', not a whole number from 1 to 10,000,000", ""),
        ("prompt", "600", (25, 28), "context is 512, less than the prompt of 600 in it", ""),
        ("generate", "", (19, 20), "a decode has no generate", "so many tokens of each sequence"),
        ("weights", "int4", (26, 30), "there is no weights 'int4'", "did you mean int8?"),
        ("attention", "head", (52, 56), "there is no attention 'head'", "did you mean heads?"),
        ("attention", "x", (52, 53), "there is no attention 'x'",
         "there are batch, heads, context"),
        ("pipeline", "3", (58, 59), "8 chips can't be divided into 3 stages", ""),
        ("pipeline", "x", (58, 59), "pipeline is 'x', not a whole number from 1 to 10,000,000", ""),
        ("seconds", "0", (60, 61), "seconds is '0', not a positive number", ""),
        ("seconds", "-1", (60, 62), "seconds is '-1', not a positive number", ""),
        ("seconds", "nan", (60, 63), "seconds is 'nan', not a positive number", ""),
        ("seconds", "1 s", (60, 63), "seconds is '1 s', not a positive number", ""),
    ],
)  # fmt: skip
def test_one_error_of_a_row(
    column: str, value: str, place: tuple[int, int], message: str, hint: str
) -> None:
    assert wrong(cell(column, value)) == [Diagnostic(message, Span(2, *place), hint)]


def test_a_phase_wants_its_tokens() -> None:
    """At their cell, or where there is no such column at the phase."""
    head = "model,phase,chips,batch,seconds"
    found = wrong(f"{head}\ngpt2,request,1,1,1\n")
    hint = "so many tokens of each sequence"
    assert found == [
        Diagnostic("a request has no prompt", Span(2, 6, 13), hint),
        Diagnostic("a request has no generate", Span(2, 6, 13), hint),
    ]


def test_columns_that_are_wrong() -> None:
    text = "model,phase,chip,batch,took,batch,weight\ngpt2,decode,1,1,1,1,bf16\n"
    assert wrong(text) == [
        Diagnostic("there is no column chips", Span(1, 1, 41)),
        Diagnostic("there is no column seconds", Span(1, 1, 41)),
        Diagnostic("there is no column 'chip'", Span(1, 13, 17), "did you mean chips?"),
        Diagnostic("there is no column 'took'", Span(1, 24, 28),
                   f"there are {', '.join((*NEEDED, *FREE))}"),
        Diagnostic("there are two columns batch", Span(1, 29, 34)),
        Diagnostic("there is no column 'weight'", Span(1, 35, 41), "did you mean weights?"),
    ]  # fmt: skip


def test_a_row_that_is_cut_off() -> None:
    (found,) = wrong(f"{HEAD}\ngpt2,decode,8\n{ROW}\n")
    assert found == Diagnostic("there are 3 cells, and 12 columns", Span(2, 1, 14))


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing yet\n", f"{HEAD}\n"])
def test_a_file_without_timings(text: str) -> None:
    hint = f"begin with the line  {','.join((*NEEDED, *FREE))}"
    assert wrong(text) == [Diagnostic("there are no timings", START, hint)]


def test_all_errors_are_found_together() -> None:
    text = f"{HEAD}\n{ROW}\n{ROW.replace('8,16', '0,x')}\n{ROW.replace('1.5', '')}\n"
    assert [(one.span.line, one.span.start) for one in wrong(text)] == [(3, 13), (3, 15), (4, 60)]
