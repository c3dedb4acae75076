"""What `plan` says to a person: the points, the front marked; then the answer, and why."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

import numpy as np

from layoutc.document import Document
from layoutc.serving.answer import Answer, answers
from layoutc.serving.document import point
from layoutc.serving.studied import Studied
from layoutc.solver.attention import phrase
from layoutc.solver.units import chips, duration, mesh, size
from layoutc.table import Rows, table

MOST = 24
"""So many points are listed; of more, those on the front."""

WIDTH = 100


def report(found: Studied, explain: bool = False) -> str:
    """The whole report, ending in a newline."""
    parts = [_title(found), _points(found)]
    for answer in answers(found):
        parts.append(_answered(found, answer))
    if explain:
        from layoutc.serving.trace import traced

        parts += [traced(found, answer.row) for answer in answers(found)]
    return "\n\n".join([*parts, *_remarks(found)]) + "\n"


def _title(found: Studied) -> str:
    query, columns = found.query, found.study.columns
    sizes = [
        ("prompt", columns.prompt, "tokens"), ("then", columns.generate, "made"),
        ("context", columns.context, "when decoding starts"),
    ]  # fmt: skip
    said = ", ".join(f"{name} {_span(values)} {what}" for name, values, what in sizes)
    return f"{query.model} on {query.machine.name}: {said}"


def _span(values: np.ndarray) -> str:
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


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
    said = f"{len(rows)} of {len(study):,} points are on the front, and listed" if several else ""
    return table(listed, right=right) + (f"\n\n  {said}" if said else "")


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
        made["weights"], duration(prefill["seconds"]), _percent(prefill["mfu"]),
        duration(decode["step_seconds"]), _percent(decode["mfu"]),
        duration(made["request_seconds"]), f"{made['chip_seconds_per_token']:.3g}",
        *([f"{price:.2f}"] if price is not None else []),
        size(made["memory_bytes"]) if made["fits"] else f"{size(made['memory_bytes'])}: too much",
        f"{made['max_context']:,}" if made["fits"] else "",
    ]  # fmt: skip


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


# The answer.


def _answered(found: Studied, answer: Answer) -> str:
    made = point(found, answer.row)
    head = f"{answer.why}: {_where(made)}"
    rows: Rows = [*_phase("prefill", made["prefill"], "seconds")]
    rows += _phase("decode", made["decode"], "step_seconds")
    rows += [["request", _request(made)], ["memory", _memory(made)]]
    return f"{head}\n\n{table(rows)}"


def _where(made: Document) -> str:
    """Chips, batch and weights of a point."""
    ways = [f"{made['replicas']} replicas"] * (made["replicas"] > 1)
    ways += [f"{made['pipeline']} stages"] * (made["pipeline"] > 1)
    divided = f" ({' of '.join([*ways, chips(made['tensor'])])})" if ways else ""
    where = f"{chips(made['chips'])}{divided}"
    return f"{where}, batch {made['batch']:,}, {made['weights']} weights"


def _phase(name: str, run: Document, key: str) -> Rows:
    """A phase: how long, in which layout, and where that time goes."""
    low, high = run[f"{key}_range"]
    what = "a step" if name == "decode" else f"{run['batch']:,} x {run['tokens']:,} tokens"
    between = "" if low == high else f" ({duration(low)} to {duration(high)})"
    over = f", {phrase(run['attention'])}" if run["attention"] else ""
    waves = run.get("waves", 1)
    times = [f"in {waves} waves"] * (waves > 1)
    times += [f"{run['micro_batches']} micro-batches"] * (run["micro_batches"] > 1)
    layout = ", ".join([f"{run['layout']}{over}", mesh(run["mesh"]), *times])
    return [
        [name, f"{duration(run[key])}{between} {what}, MFU {_percent(run['mfu'])}"],
        ["", layout],
        ["", _shares(run)],
    ]


def _shares(run: Document) -> str:
    """Where a pass's time goes: what is hidden beside what it is hidden under."""
    parts = run["parts"]
    busy = {
        "computing": parts["compute"], "reading weights": parts["memory"],
        "gathering weights": parts["gathered"],
    }  # fmt: skip
    longest = max(busy, key=lambda name: busy[name])
    under = [f"{n} {duration(s)}" for n, s in busy.items() if s and n != longest]
    said = [f"{longest} {duration(busy[longest])}"]
    said[0] += f" ({', '.join(under)} under it)" if under else ""
    said += [
        f"{name} {duration(parts[name])}"
        for name in ("attention", "communication", "latency", "waiting")
        if parts[name] > 0
    ]
    return " + ".join(said)


def _request(made: Document) -> str:
    said = [duration(made["request_seconds"])]
    said += [f"{made['chip_seconds_per_token']:.3g} chip-s a token"]
    price = made["dollars_per_million_tokens"]
    said += [f"${price:.2f} a million tokens"] if price is not None else []
    return ", ".join([*said, f"{made['tokens_per_second']:,.0f} tokens/s"])


def _memory(made: Document) -> str:
    taken = {name: size(made["memory"][name]) for name in ("weights", "caches", "activations")}
    held = ", ".join(f"{name} {bytes_}" for name, bytes_ in taken.items())
    room = f"caches have room for a context of {made['max_context']:,}"
    return f"{size(made['memory_bytes'])} a chip: {held}; {room}"


# Remarks.


def _remarks(found: Studied) -> Iterator[str]:
    for one in found.refused:
        said = f"{one.chips:,} chips, {one.weights}: {one.why.message}"
        yield "\n".join(wrap(said + (f"; {one.why.hint}" if one.why.hint else ""), WIDTH))
    reached = found.query.reached
    said = f"Constants: {found.query.whose}."
    if reached.low < reached.high:
        said += " Ranges hold nine in ten of the timings that were fitted."
    said += " * is on the front of latency and cost."
    yield "\n".join(wrap(said, WIDTH))
