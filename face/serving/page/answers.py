"""What was asked, and the answers: in words, with ranges."""

from __future__ import annotations

from collections.abc import Iterator

from layoutc.document import Document
from layoutc.serving import said
from layoutc.serving.answer import SPOKEN, Answer
from layoutc.serving.page.html import Child, Markup, element
from layoutc.serving.page.shown import Shown, anchor
from layoutc.serving.studied import Studied
from layoutc.solver.units import duration, size


def asked(found: Studied) -> Markup:
    """What was asked, as a list of words and what was said of them."""
    return element("dl", *_pairs(_question(found)), class_="asked")


def _question(found: Studied) -> Iterator[tuple[str, str]]:
    query, columns = found.query, found.study.columns
    yield "Model", f"{query.model}, {found.study.parameters:,} parameters"
    chips = ", ".join(f"{number:,}" for number in query.chips)
    yield "Chips", f"{chips} of {query.machine.name}"
    if query.prefill_chips:
        yield "Prefill chips", f"{query.prefill_chips:,}"
    yield "Weights", ", ".join(query.weights)
    yield "Batch", said.span(columns.batch)
    yield "Prefill batch", said.span(columns.prefill_batch)
    yield "Requests", said.sizes(found)
    if query.price:
        yield "Price", f"${query.price:g} a chip-hour"
    if query.limit is not None:
        yield "Limit", f"{SPOKEN[query.limit.of]} within {query.limit.text}"
    if query.budget:
        yield "Budget", f"${query.budget:g} a million tokens"


def answered(here: Shown) -> Markup:
    """All answers, side by side where there is room."""
    cards = [_card(here, number, answer) for number, answer in enumerate(here.answers)]
    return element("div", *cards, class_="cards")


def _card(here: Shown, number: int, answer: Answer) -> Markup:
    made = here.made[answer.row]
    why = answer.why[0].upper() + answer.why[1:]
    return element(
        "article",
        element("h3", why, id=f"answer-{number}"),
        element("p", said.where(made), class_="where"),
        element("dl", *_pairs(_figures(made)), class_="figures"),
        element("p", element("a", "In the table", href=f"#{anchor(answer.row)}"), ", ",
                element("a", "its layouts", href=f"#layouts-{answer.row}"), class_="remark"),
        aria_labelledby=f"answer-{number}",
        class_="card" if answer.met else "card unmet",
    )  # fmt: skip


def _figures(made: Document) -> Iterator[tuple[str, Child]]:
    prefill, decode = made["prefill"], made["decode"]
    yield "Request", _ranged(made["request_seconds"], made["request_seconds_range"])
    yield (
        "Step of decode",
        [
            _ranged(decode["step_seconds"], decode["step_seconds_range"]),
            _small(f"MFU {said.percent(decode['mfu'])}; {said.laid_out(decode)}"),
            _small(said.shares(decode)),
        ],
    )
    yield "Prefill", [
        _ranged(prefill["seconds"], prefill["seconds_range"]),
        _small(f"{prefill['batch']:,} × {prefill['tokens']:,} tokens; "
               f"MFU {said.percent(prefill['mfu'])}; {said.laid_out(prefill)}"),
        _small(said.shares(prefill)),
    ]  # fmt: skip
    yield "Cost", [_cost(made), _small(f"{made['tokens_per_second']:,.0f} tokens/s")]
    yield "Memory", [_strong(size(made["memory_bytes"])), " a chip", _small(_room(made))]


def _cost(made: Document) -> list[Child]:
    price, seconds = made["dollars_per_million_tokens"], made["chip_seconds_per_token"]
    said_so = f"{seconds:.3g} chip-s"
    if price is None:
        return [_strong(said_so), " a token"]
    return [_strong(f"${price:.2f}"), " a million tokens, ", f"{said_so} a token"]


def _room(made: Document) -> str:
    _, _, held = said.memory(made).partition(": ")
    return held


def _ranged(seconds: float, bounds: list[float]) -> list[Child]:
    return [_strong(duration(seconds)), said.between(bounds)]


def _strong(text: str) -> Markup:
    return element("strong", text)


def _small(text: str) -> Markup:
    return element("small", text)


def _pairs(of: Iterator[tuple[str, Child]] | Iterator[tuple[str, str]]) -> Iterator[Markup]:
    for word, what in of:
        yield element("div", element("dt", word), element("dd", what))
