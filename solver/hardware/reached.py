"""What whole models reach of a machine's figures: the constants that `plan` prices with.

A data sheet says what a chip could do. A model that is served reaches shares of that, and pays for
every step that waits for another. These are few constants, each with a meaning, fitted on timings
of whole models (`layoutc.solver.serving.fit`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

SHARES = ("matmul", "attention", "memory", "network")
"""The constants that are shares of a figure, at most 1."""

TIMES = ("launch",)
"""Those that are seconds."""

FACTORS = ("latency",)
"""Those that are so many times a figure, whatever that is."""

BOUNDS = ("low", "high")
"""Between which nine timings in ten lie."""

UNITS = {
    "matmul": "of the peak",
    "attention": "of the peak",
    "memory": "of its bandwidth",
    "network": "of the links' bandwidth",
    "launch": "seconds a matmul or collective",
    "latency": "of the starts and hops",
    "at_once": "axes",
    "low": "of the prediction",
    "high": "of the prediction",
}
"""What each of `Reached` is in, by its name in a machine's file."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Shares of a machine's figures, and seconds that come on top.

    - `matmul`: of the peak, in matmuls with weights
    - `attention`: of the peak, in the two matmuls of attention, what is between them included
    - `memory`: of the memory's bandwidth, reading weights and caches
    - `network`: of the links' bandwidth
    - `launch`: seconds for each matmul and each collective that waits for the one before it
    - `latency`: how many times as long as in the file collectives take to start, and hops

    `at_once` is how many axes of a torus one collective goes along at a time, 0 for all of its own.
    `low` and `high` are what was measured over what is predicted, for nine timings in ten.
    """

    matmul: float = 1.0
    attention: float = 1.0
    memory: float = 1.0
    network: float = 1.0
    launch: float = 0.0
    latency: float = 1.0
    at_once: int = 0
    low: float = 1.0
    high: float = 1.0

    @property
    def constants(self) -> dict[str, float]:
        """The fitted ones, by name."""
        return {name: getattr(self, name) for name in (*SHARES, *TIMES, *FACTORS)}

    def with_constants(self, values: Mapping[str, float]) -> Reached:
        """The same with other constants."""
        return replace(self, **values)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Like:
    """As much is reached as on `machine`, one of the catalogue; `source` says why."""

    machine: str
    source: str


IDEAL = Reached()
"""Everything that the data sheet says."""
