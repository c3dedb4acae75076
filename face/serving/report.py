"""What `plan` says to a person: the points, the front marked; then the answer, and why."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

import numpy as np

from layoutc.document import Document
from layoutc.serving import said
from layoutc.serving.answer import Answer, answers
from layoutc.serving.document import point
from layoutc.serving.studied import Studied
from layoutc.solver.units import duration, size
from layoutc.table import Rows, table

MOST = 24
"""So many points are listed; of more, those on the front."""

WIDTH = 100


def report(found: Studied, explain: bool = False) -> str:
    """The whole report, ending in a newline."""
    parts = [f"{said.title(found)}: {said.sizes(found)}", _points(found)]
    for answer in answers(found):
        parts.append(_answered(found, answer))
    if explain:
        from layoutc.serving.trace import traced

        parts += [traced(found, answer.row) for answer in answers(found)]
    return "\n\n".join([*parts, *_remarks(found)]) + "\n"


# The points.


def _points(found: Studied) -> str:
    study = found.study
    everything = np.ones(len(study), dtype=bool)
    several = len(study) > MOST
    rows = sorted(
        study.rows(study.front if several else everything), key=lambda r: _order(found, r)
    )
    listed: Rows = [_head(found)]
    listed += [_line(found, row) for row in rows]
    right = tuple(i for i in range(len(listed[0])) if i not in (0, 3))
    left = f"\n\n  {len(rows)} of {len(study):,} points are on the front, and listed"
    return table(listed, right=right) + left * several


def _order(found: Studied, row: int) -> tuple[float, ...]:
    columns, (served, _) = found.study.columns, found.study.served(row)
    return (served.service.chips, float(columns.batch[row]), float(columns.request_seconds[row]))


def _head(found: Studied) -> list[str]:
    price = ["$/Mtok"] * bool(found.query.price)
    return ["", "chips", "batch", "weights", "prefill", "MFU", "step", "MFU", "request",
            "chip-s/token", *price, "a chip holds", "room for"]  # fmt: skip


def _line(found: Studied, row: int) -> list[str]:
    """A point: `*` where it is on the front."""
    made = point(found, row)
    prefill, decode = made["prefill"], made["decode"]
    price = made["dollars_per_million_tokens"]
    return [
        "*" if made["on_front"] else "", f"{made['chips']:,}", f"{made['batch']:,}",
        made["weights"], duration(prefill["seconds"]), said.percent(prefill["mfu"]),
        duration(decode["step_seconds"]), said.percent(decode["mfu"]),
        duration(made["request_seconds"]), f"{made['chip_seconds_per_token']:.3g}",
        *([f"{price:.2f}"] if price is not None else []),
        size(made["memory_bytes"]) if made["fits"] else f"{size(made['memory_bytes'])}: too much",
        f"{made['max_context']:,}" if made["fits"] else "",
    ]  # fmt: skip


# The answer.


def _answered(found: Studied, answer: Answer) -> str:
    made = point(found, answer.row)
    head = f"{answer.why}: {said.where(made)}"
    rows: Rows = [*_phase("prefill", made["prefill"], "seconds")]
    rows += _phase("decode", made["decode"], "step_seconds")
    rows += [["request", _request(made)], ["memory", said.memory(made)]]
    return f"{head}\n\n{table(rows)}"


def _phase(name: str, run: Document, key: str) -> Rows:
    """A phase: how long, in which layout, and where that time goes."""
    what = "a step" if name == "decode" else f"{run['batch']:,} x {run['tokens']:,} tokens"
    taken = f"{duration(run[key])}{said.between(run[f'{key}_range'])}"
    return [
        [name, f"{taken} {what}, MFU {said.percent(run['mfu'])}"],
        ["", said.laid_out(run)],
        ["", said.shares(run)],
    ]


def _request(made: Document) -> str:
    price = made["dollars_per_million_tokens"]
    return ", ".join([
        duration(made["request_seconds"]),
        f"{made['chip_seconds_per_token']:.3g} chip-s a token",
        *([f"${price:.2f} a million tokens"] if price is not None else []),
        f"{made['tokens_per_second']:,.0f} tokens/s",
    ])  # fmt: skip


# Remarks.


def _remarks(found: Studied) -> Iterator[str]:
    for one in found.refused:
        yield "\n".join(wrap(said.refused(one), WIDTH))
    marked = "* is on the front of latency and cost."
    yield "\n".join(wrap(" ".join([*said.constants(found), marked]), WIDTH))
