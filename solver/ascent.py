"""The greatest bound that a forest proves: copies of a variable are brought to agree.

What one copy pays more for a value than the others do is taken off it and put on them: the sum
stays the same, and the bound rises, to that of the linear relaxation of the problem, which most
often is the least cost itself. Each round keeps part of the momentum of the one before, which
takes a third of the rounds that it takes without.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from layoutc.solver.forest import Forest
from layoutc.solver.space import Floats

FIRST = 0.9
"""How much of their difference copies even out in the first round."""

STEP = 0.5
"""How much afterwards: more would overshoot where several do at once."""

MOMENTUM = 0.5
"""How much of a round's change is made once more in the next."""


@dataclass
class Ascent:
    """Rounds of agreement among the copies of a forest that has been passed."""

    forest: Forest
    reached: dict[int, Floats] = field(default_factory=dict)
    """The offsets before momentum carried them on."""

    def round(self) -> float:
        """The bound, the copies having been brought a little closer to each other."""
        step, reached = STEP if self.reached else FIRST, {}
        for nodes in self.forest.copies.values():
            reached.update(self._evened(nodes, step))
        for node, offset in reached.items():
            before = self.reached.get(node)
            self.forest.offsets[node] = offset if before is None else _carried(offset, before)
        self.reached = reached
        return self.forest.passed()

    def _evened(self, nodes: list[int], step: float) -> dict[int, Floats]:
        """What copies of one variable owe when each pays more nearly what the others pay."""
        beliefs = np.array([self.forest.known(n) for n in nodes])
        offsets = np.array([self.forest.offsets.get(n, self.forest.nothing[n]) for n in nodes])
        # What one copy can't have none can.
        never = ~np.isfinite(beliefs).all(axis=0)
        beliefs[:, never] = 0.0
        offsets += step * (beliefs.mean(axis=0) - beliefs)
        offsets[:, never] = np.inf
        return dict(zip(nodes, offsets, strict=True))


def _carried(offset: Floats, before: Floats) -> Floats:
    """As far again as momentum takes it; what is forbidden stays so."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(offset), offset + MOMENTUM * (offset - before), np.inf)
