"""What `plan --json` says, and what its tables, drawings and pages are made of.

A point's figures are those of one replica's chips where they are of a chip, and of all chips where
they are of a request. Ranges are what nine in ten of the timings that the machine's constants were
fitted on would allow.
"""

from __future__ import annotations

from dataclasses import asdict

from layoutc.document import Document
from layoutc.serving.query import Query
from layoutc.serving.studied import Studied
from layoutc.solver.serving.layouts import Layout
from layoutc.solver.serving.service import Served
from layoutc.solver.serving.study import dollars
from layoutc.solver.serving.sweep import Run

ADDS = ("attention", "communication", "latency")
"""The parts of a pass that come on top of the longest of computing, reading and gathering."""


def document(found: Studied) -> Document:
    """Everything that was found."""
    query = found.query
    return {
        "model": query.model,
        "hardware": query.machine.name,
        "parameters": found.study.parameters,
        "peak_flops": query.machine.peak_flops / query.machine.efficiencies[0],
        "memory_bytes": query.machine.memory_bytes,
        "dollars_per_chip_hour": query.price or None,
        "reached": {**asdict(query.reached), "of": query.whose},
        "points": [point(found, row) for row in range(len(found.study))],
        "refused": [
            {"chips": one.chips, "weights": one.weights, "message": one.why.message,
             "hint": one.why.hint}
            for one in found.refused
        ],
    }  # fmt: skip


def point(found: Studied, row: int) -> Document:
    """One row of a study."""
    columns, (served, at) = found.study.columns, found.study.served(row)
    service, query = served.service, found.query
    per_token = float(columns.per_token[row])
    request = float(columns.request_seconds[row])
    return {
        "chips": service.chips,
        "tensor": service.decode.tensor,
        "pipeline": service.decode.stages.count,
        "replicas": service.replicas,
        "batch": int(columns.batch[row]),
        "weights": service.weights,
        "context": int(columns.context[row]),
        "fits": bool(columns.fits[row]),
        "prefill": _prefill(found, row),
        "decode": _decode(found, row),
        "request_seconds": request,
        "request_seconds_range": _range(query, request),
        "chip_seconds_per_token": per_token,
        "dollars_per_million_tokens": dollars(per_token, query.price) if query.price else None,
        "tokens_per_second": float(columns.tokens_per_second[row]),
        "memory_bytes": float(columns.memory[row]),
        "memory": _memory(query, served, at),
        "max_context": int(columns.longest[row]),
        "on_front": bool(found.study.front[row]),
    }


def _prefill(found: Studied, row: int) -> Document:
    columns, (served, at) = found.study.columns, found.study.served(row)
    layout, _ = served.layouts(at)
    seconds = float(columns.prefill_seconds[row])
    chips, batch = served.service.prefill_chips, int(columns.prefill_batch[row])
    tokens = int(columns.prompt[row])
    return {
        "chips": chips,
        "batch": batch,
        "tokens": tokens,
        "seconds": seconds,
        "seconds_range": _range(found.query, seconds),
        "mfu": float(columns.prefill_mfu[row]),
        "chip_seconds_per_token": chips * seconds / (batch * tokens),
        "waves": int(served.prefill.waves[at]),
        **_run(served.prefill, at, layout),
    }


def _decode(found: Studied, row: int) -> Document:
    columns, (served, at) = found.study.columns, found.study.served(row)
    _, layout = served.layouts(at)
    step, chips = float(columns.step_seconds[row]), served.service.decode_chips
    batch = int(columns.batch[row])
    return {
        "chips": chips,
        "batch": batch,
        "tokens": int(columns.generate[row]),
        "step_seconds": step,
        "step_seconds_range": _range(found.query, step),
        "seconds": float(columns.decode_seconds[row]),
        "mfu": float(columns.decode_mfu[row]),
        "chip_seconds_per_token": chips * step / batch,
        **_run(served.decode, at, layout),
    }


def _run(run: Run, at: int, layout: Layout) -> Document:
    """A phase's layout, and where the seconds of a pass go. `memory` is reading weights; what is
    read of caches is in `attention`."""
    parts = run.parts
    own = {name: float(getattr(parts, name)[at]) for name in ("compute", "memory", "gathered")}
    own |= {name: float(getattr(parts, name)[at]) for name in ADDS}
    whole = float(parts.seconds[at])
    return {
        "layout": layout.name,
        "attention": layout.attention,
        "mesh": layout.plan.mesh,
        "micro_batches": int(run.micro[at]),
        "parts": {**own, "waiting": float(run.waiting[at])},
        "attention_share": own["attention"] / whole if whole else 0.0,
    }


def _memory(query: Query, served: Served, at: int) -> Document:
    """What a chip that decodes holds, in bytes, and what is left."""
    weights, caches = float(served.decode.weights[at]), float(served.caches[at])
    return {
        "weights": weights,
        "caches": caches,
        "activations": max(0.0, float(served.memory[at]) - weights - caches),
        "free": query.machine.memory_bytes - float(served.memory[at]),
        "for_caches": query.machine.memory_bytes - float(served.memory[at]) + caches,
    }


def _range(query: Query, seconds: float) -> list[float]:
    return [query.reached.low * seconds, query.reached.high * seconds]
