"""Table 1: the longest context that fits, by what attention is sharded over."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from layoutc.dsl.header import Settings
from layoutc.dsl.models.architecture import Model
from layoutc.dsl.models.catalogue import model_named
from layoutc.dsl.models.layout import spelled
from layoutc.dsl.program import Program
from layoutc.pipeline import parsed, sound
from layoutc.serving.query import demand
from layoutc.solver.hardware.catalogue import load_machine, reached_of
from layoutc.solver.serving.planner import Pinned, Planner
from published_page.facts import TPU, longest_contexts

SHARE = 0.3
"""Of the memory, for caches."""

CHIPS = 64

VARIANTS = {
    "multihead": ("BMH_xyzQ", "heads"),
    "multiquery_by_head": ("BMQ", "heads"),
    "multiquery_by_batch": ("B_xyzMQ", "batch"),
}
"""How each holds its caches, and what attention is then sharded over."""


@dataclass(frozen=True, slots=True)
class Context:
    """A row of table 1: tokens as printed, and as they come out; `attention` is what the layout
    that was found shards it over."""

    variant: str
    batch: int
    printed: int
    found: float
    attention: str

    @property
    def error(self) -> float:
        """Found over printed, less 1."""
        return self.found / self.printed - 1


def contexts() -> list[Context]:
    """All rows: the caches are held as the variant says, the planner finds the rest."""
    rows, machine = longest_contexts(), load_machine(TPU)
    memory, found = SHARE * machine.memory_bytes, list[Context]()
    for variant in VARIANTS:
        batches = [batch for name, batch in rows if name == variant]
        planner = Planner(
            program(variant), machine, reached_of(machine)[0],
            demand(batches, [], [1], [1], [128]),
            decode=Pinned(frozenset(["2D weight-stationary"])),
        )  # fmt: skip
        home, *_ = planner.homes("bf16", CHIPS, ["decode"])
        ones = np.ones(len(batches))
        sizes = {"B": np.array(batches, dtype=float), "L": ones, "M": ones}
        longest = home.priced.terms.longest_cached(sizes, memory)
        found += [
            Context(variant, batch, rows[variant, batch], float(tokens), home.attention)
            for batch, tokens in zip(batches, longest, strict=True)
        ]
    return found


def program(variant: str) -> Program:
    """PaLM 540B, decoding, with its caches held as a variant of table 1 has them."""
    model, (cache, _) = model_named("palm-540b"), VARIANTS[variant]
    if variant == "multihead":
        model = _multihead(model)
    text = re.sub(r"(?m)^phase .*\n", "", spelled(model).text)
    text = re.sub(r"(?m)^mesh .*$", "mesh   x=4 y=4 z=4", text)
    text = re.sub(r"(cache .*: )BMH?Q\?", rf"\1{cache}", text)
    return sound(parsed(text.encode(), variant, variant), Settings(dims={"B": CHIPS}))


def _multihead(model: Model) -> Model:
    """The paper's variant for comparison: heads of 128, and 64 of them, as table 1 counts."""
    heads = replace(model.architecture, heads=64, kv_heads=64, head_size=128)
    return replace(model, architecture=heads)
