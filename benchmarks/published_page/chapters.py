"""The page's chapters: each a table or several, with what is to be said of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.units import duration, size
from published_page.chat import ANSWERED, ASKED, BATCH, CACHED, CHIPS, PREFILL_BATCH, SECONDS
from published_page.contexts import SHARE
from published_page.facts import TPU
from published_page.found import Found
from published_page.predictions import Point
from published_page.volumes import FILES
from published_page.words import errors, held, percent, prose, signed, table

COLUMNS = (
    "PaLM prefill", "PaLM generate", "PaLM total", "MT-NLG total", "TP16", "TP32", "PP3/TP8",
)  # fmt: skip
"""Of table D.2: on 64 chips of TPU v4, and from TP16 on FasterTransformer's on A100s."""

TIMES = ("published, s", "predicted, s", "error")
SHARES = ("MFU printed", "computed", "predicted")


def table1(found: Found) -> str:
    """The longest context."""
    rows = (
        [one.variant.replace("_", " "), one.attention, str(one.batch), f"{one.printed:,}",
         f"{one.found:,.0f}", signed(one.error)]
        for one in found.contexts
    )  # fmt: skip
    each = size(SHARE * load_machine(TPU).memory_bytes)
    said = f"""
        PaLM 540B in bf16 on 64 chips, with {100 * SHARE:.0f} % of the memory for caches, {each} a
        chip. The caches are held as each variant has them; the planner finds the rest. Multihead
        attention has heads of 128, and 64 of them, as the paper counts here. The print is rounded.
    """
    head = ("variant", "attention over", "batch", "printed", "found", "error")
    return _chapter("Table 1: the longest context", prose(said), table(head, rows, 2))


def tables2and3(found: Found) -> str:
    """End to end."""
    points = found.of("table 2", "table 3")
    rows = (
        [p.timing.model, p.series, p.timing.phase, held(p.layouts[0]), str(p.timing.chips),
         str(p.timing.batch), p.timing.weights, *_times(p), *_shares(p)]
        for p in points
    )  # fmt: skip
    head = ("model", "scenario", "phase", "layout, attention over", "chips", "batch", "weights",
            *TIMES, *SHARES)  # fmt: skip
    said = f"""
        Prefill is of 2,048 tokens; decode makes 64 behind as many. Here {errors(points)}
    """
    return _chapter("Tables 2 and 3: end to end", prose(said), table(head, rows, 4))


def tabled2(found: Found) -> str:
    """Against FasterTransformer."""
    said = f"""
        Weights are bf16. PaLM 540B and MT-NLG 530B are on 64 chips of TPU v4, 2D weight-stationary;
        what attention is sharded over is not said, and found. FasterTransformer's MT-NLG is on
        A100s, 1D weight-stationary over 16 (TP16), over 32 (TP32), or over 8 in each of 3 pipeline
        stages (PP3/TP8); it makes 8 tokens in 7 steps, the first out of the prompt. A total's share
        of the peak counts all 28 tokens. On TPU v4, {errors(found.of_tpu("table D.2"))} On A100,
        {errors(found.gpu)}
    """
    drawing = "![Seconds by batch, predicted as lines, published as marks](published/table_d2.svg)"
    columns = (_column(name, found.series(name)) for name in COLUMNS)
    return _chapter("Table D.2: 20 tokens in, 8 out", prose(said), drawing, *columns)


def _column(name: str, points: Sequence[Point]) -> str:
    rows = ([str(p.timing.batch), *_times(p), *_shares(p)] for p in points)
    made = table(("batch", *TIMES, *SHARES), rows, 0)
    return f"### {name}\n\n{prose(f'Here {errors(points)}')}\n\n{made}"


def figure3(found: Found) -> str:
    """What is moved."""
    lines = list(dict.fromkeys(one.layout for one in found.volumes))
    by_tokens: dict[int, list[str]] = {}
    for one in found.volumes:
        cell = f"{one.counted / 1e9:.5g} ({one.drawn / 1e9:.5g})"
        by_tokens.setdefault(one.tokens, [f"{one.tokens:,}"]).append(cell)
    names = ", ".join(f"{line} [`{file}`](../examples/{file}.layout)"
                      for line, file in FILES.items())  # fmt: skip
    off = max(abs(one.error) for one in found.volumes)
    said = f"""
        Gigabytes that each chip receives, of E = 16,384, F = 65,536 and X = Y = Z = 4, (K-1)/K
        taken for 1; in brackets what the figure shows. The layouts are {names}. None of
        {len(found.volumes)} points is off by more than {100 * off:.1g} %; nothing is fitted here.
    """
    drawing = "![Bytes by tokens, counted as lines, drawn as marks](published/figure3.svg)"
    made = table(("tokens", *lines), by_tokens.values(), 0)
    return _chapter("Figure 3: what a feedforward layer moves", prose(said), drawing, made)


def figure6(found: Found) -> str:
    """A step of decode, by chips."""
    points = found.of("figure 6")
    rows = ([p.timing.layout, str(p.timing.chips), *_times(p)] for p in points)
    said = f"""
        PaLM 540B at batch 512; the context is taken for 2,048 tokens, which the figure does not
        say. Here {errors(points)}
    """
    drawing = "![Milliseconds by chips, predicted and published](published/figure6.svg)"
    made = table(("layout", "chips", *TIMES), rows, 1)
    return _chapter("Figure 6: a step of decode as chips are added", prose(said), drawing, made)


def figure7(found: Found) -> str:
    """Prefill, weights gathered or not."""
    points = found.of("figure 7")
    rows = (
        [p.timing.layout, f"{p.timing.batch * p.timing.prompt:,}", *_times(p), *_shares(p)]
        for p in points
    )
    said = f"""
        PaLM 540B on 64 chips, sequences of 2,048 tokens. The figure shows shares of the peak; the
        published seconds are computed from them. Here {errors(points)}
    """
    drawing = "![Shares of the peak by tokens, predicted and published](published/figure7.svg)"
    made = table(("layout", "tokens", *TIMES, *SHARES), rows, 1)
    return _chapter("Figure 7: prefill, weights gathered or not", prose(said), drawing, made)


def chat(found: Found) -> str:
    """The introduction's example."""
    one = found.chat
    assert one is not None
    prefill, decode = one.layouts
    said = f"""
        A question of {ASKED} tokens, {CACHED:,} tokens of conversation in the caches, an answer of
        {ANSWERED} tokens: {SECONDS} s in the paper, with PaLM 540B in int8 on {CHIPS} chips,
        prefill at batch {PREFILL_BATCH} and decode at batch {BATCH}. It is none of the timings
        above, and nothing is said of layouts. Planned, it takes {duration(one.total)}
        ({signed(one.error)}): {duration(one.prefill)} for prefill, {prefill.name}, attention over
        {prefill.attention}; and {ANSWERED} times {duration(one.step)} for decode, {decode.name},
        attention over {decode.attention}.
    """
    return _chapter("The chat of the introduction", prose(said))


def _chapter(title: str, *parts: str) -> str:
    return "\n\n".join([f"## {title}", *parts]) + "\n"


def _times(point: Point) -> list[str]:
    return [f"{point.timing.seconds:.4g}", f"{point.predicted:.4g}", signed(point.error)]


def _shares(point: Point) -> list[str]:
    """As printed, as the printed time makes it, as predicted."""
    assert point.printed is not None, point.timing
    shares = point.mfu(point.timing.seconds), point.mfu(point.predicted)
    return [f"{100 * point.printed.mfu:.4g} %", *map(percent, shares)]


WRITERS: dict[str, Callable[[Found], str]] = {
    "table1": table1, "tables2and3": tables2and3, "tabled2": tabled2, "figure3": figure3,
    "figure6": figure6, "figure7": figure7, "chat": chat,
}  # fmt: skip
"""What writes each chapter, by its name."""
