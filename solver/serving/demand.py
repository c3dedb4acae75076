"""What is asked of a model, at each point of a sweep, as arrays of as many entries."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Demand:
    """`batch` sequences are decoded at once, `prefill_batch` are prefilled at once; each has
    `prompt` tokens in, after which `context` tokens are in its cache, and `generate` tokens out.
    """

    batch: Ints
    prefill_batch: Ints
    prompt: Ints
    generate: Ints
    context: Ints

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def places(self) -> Ints:
        """What the caches have room for when the last token is made."""
        return self.context + self.generate

    def at(self, chosen: NDArray[np.bool_] | Ints) -> Demand:
        """Some of the points."""
        return Demand(*(getattr(self, f.name)[chosen] for f in fields(self)))
