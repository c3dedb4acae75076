"""The chat of the paper's introduction, planned: nothing of its layouts is said."""

from __future__ import annotations

from dataclasses import dataclass

from layoutc.serving.query import demand
from layoutc.solver.hardware.catalogue import load_machine, reached_of
from layoutc.solver.serving.layouts import Layout
from layoutc.solver.serving.planner import Planner
from layoutc.solver.serving.service import serve
from layoutc.solver.serving.splits import Split
from published_page.facts import TPU
from published_page.predictions import program_of

CHIPS, BATCH, PREFILL_BATCH, ASKED, CACHED, ANSWERED = 64, 64, 1, 64, 1920, 64
SECONDS = 1.9
"""As the introduction has it, prefill and answer together."""


@dataclass(frozen=True, slots=True)
class Chat:
    """What prefill and a step of decode take, in seconds, and the layouts of both."""

    prefill: float
    step: float
    layouts: tuple[Layout, Layout]

    @property
    def total(self) -> float:
        """From the question to the end of the answer, in seconds."""
        return self.prefill + ANSWERED * self.step

    @property
    def error(self) -> float:
        """Predicted over published, less 1."""
        return self.total / SECONDS - 1


def chat() -> Chat:
    """PaLM 540B with int8 weights."""
    machine = load_machine(TPU)
    asked = demand([BATCH], [PREFILL_BATCH], [ASKED], [ANSWERED], [CACHED + ASKED])
    planner = Planner(program_of("palm-540b"), machine, reached_of(machine)[0], asked)
    served = serve(planner.service("int8", Split(CHIPS)), asked, machine)
    prefill, step = (float(run.seconds[0]) for run in (served.prefill, served.decode))
    return Chat(prefill, step, served.layouts(0))
