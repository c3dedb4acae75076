"""What `model` says: the models there are, and of one its file, its architecture, its gaps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from layoutc.document import Document
from layoutc.dsl.models.architecture import Architecture, Model
from layoutc.dsl.models.layout import Spelled, spelled
from layoutc.dsl.models.unsaid import unsaid
from layoutc.table import table


def listed(models: Iterable[Model]) -> str:
    """The catalogue, one model a line, ending in a newline."""
    head = ["name", "weights", "layers", "d_model", "d_ff", "heads", "kv", "size", "words",
            "feedforward", "gaps"]  # fmt: skip
    rows = [head]
    for model in models:
        a = model.architecture
        sizes = (a.layers, a.d_model, a.d_ff, a.heads, a.kv_heads, a.head_size, a.vocabulary)
        hidden, gaps = f"{'gated ' if a.gated else ''}{a.activation}", len(unsaid(model))
        weights = billions(spelled(model).parameters)
        rows.append([model.name, weights, *map(str, sizes), hidden, str(gaps) if gaps else ""])
    return table(rows, right=(*range(1, 9), 10)) + "\n"


def billions(parameters: int) -> str:
    """A number of weights as one speaks of it: "8.03 B", "124 M"."""
    for unit, name in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if parameters >= unit:
            return f"{parameters / unit:#.3g}".rstrip(".") + f" {name}"
    return str(parameters)


def documents(models: Iterable[Model]) -> Document:
    """The catalogue as `--json` holds it: each model without its text."""
    made = [document(model, spelled(model)) for model in models]
    return {"models": [{k: v for k, v in one.items() if k != "text"} for one in made]}


def document(model: Model, made: Spelled) -> Document:
    """One model as `--json` holds it."""
    return {
        "model": model.name,
        "title": model.title,
        "source": model.source,
        "parameters": made.parameters,
        "published_parameters": model.published or None,
        "architecture": _architecture(model.architecture),
        "not_expressed": list(unsaid(model)),
        "text": made.text,
    }


def _architecture(architecture: Architecture) -> Document:
    """Every figure and choice; what is 0 where there is none is null."""
    absent = ("places", "score_cap", "logits_cap", "window", "window_layers", "rope_scaling")
    return {
        **asdict(architecture),
        **{name: getattr(architecture, name) or None for name in absent},
        "theta": architecture.theta if architecture.positions == "rotary" else None,
        "score_size": architecture.score_size or architecture.head_size,
        "attention": architecture.attention,
        "biases": sorted(architecture.biases),
    }
