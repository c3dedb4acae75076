"""What is asked of the solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Minimize = Literal["time", "communication"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is minimised, with moves weighed exactly or for `large` K; whether it has to `fit` in
    memory; and how far from proven it may be, as a share of the best."""

    minimize: Minimize = "time"
    large: bool = False
    fit: bool = True
    gap: float = 0.0
