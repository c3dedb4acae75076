"""A sum of positive monomials over mesh sizes, minimised numerically and with a proof.

In the logarithms u of the sizes the logarithm of the sum is convex, and the meshes of n chips
are a simplex: u >= 0, adding up to log n. Newton's method follows the barrier's central path to
the minimum; the proof is the tangent there, under which no point of the simplex lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING

from layoutc.solver.monomial import Cost, Monomial

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BARRIERS = tuple(10.0**-k for k in range(14))
STEPS = 60
"""Newton steps for one barrier, at most; a handful is usual."""


@dataclass(frozen=True, slots=True)
class Lowest:
    """The best sizes found, real numbers from 1 up; no such sizes cost less than `bound`."""

    sizes: dict[str, float]
    value: float
    bound: float


def lowest(cost: Cost, dims: Mapping[str, int], free: Sequence[str], chips: int) -> Lowest:
    """The least of `cost` over the sizes of the `free` axes, whose product is `chips`.

    `dims` has a size for every other symbol. Coefficients are positive.
    """
    import numpy as np

    total = log(chips)
    if not cost.terms or total == 0 or len(free) < 2:
        return _only(cost, dims, free, chips)
    rates = np.array([[dict(t.powers).get(a, 0) for a in free] for t in cost.terms], float)
    offsets = np.array([_log(t, dims) for t in cost.terms])
    point = np.full(len(free), total / len(free))
    for barrier in BARRIERS:
        point = _centred(rates, offsets, point, barrier)
    value, gradient, _ = _log_sum(rates, offsets, point)
    slack = float(gradient @ point - total * gradient.min())
    sizes = {axis: exp(u) for axis, u in zip(free, point, strict=True)}
    return Lowest(sizes, exp(value), exp(value - max(slack, 0.0)))


def _only(cost: Cost, dims: Mapping[str, int], free: Sequence[str], chips: int) -> Lowest:
    """Where there is one mesh, or one cost."""
    sizes = {axis: chips ** (1 / len(free)) for axis in free}
    value = sum(exp(_log(t, {**dims, **sizes})) for t in cost.terms)
    return Lowest(sizes, value, value)


def _log(term: Monomial, values: Mapping[str, float]) -> float:
    """The logarithm of a term, without the symbols that have no value."""
    known = sum(e * log(values[s]) for s, e in term.powers if s in values)
    return log(term.coefficient.numerator) - log(term.coefficient.denominator) + known


def _centred(rates: Floats, offsets: Floats, point: Floats, barrier: float) -> Floats:
    """Newton's method for log-sum-exp minus barrier · Σ log u, the sum of u kept."""
    import numpy as np

    size = len(point)
    system = np.ones((size + 1, size + 1))
    system[size, size] = 0
    for _ in range(STEPS):
        _, gradient, hessian = _log_sum(rates, offsets, point)
        gradient = gradient - barrier / point
        system[:size, :size] = hessian + np.diag(barrier / point**2)
        step = np.linalg.solve(system, np.append(-gradient, 0.0))[:size]
        decrement = float(-gradient @ step)
        shortest = np.min(np.where(step < 0, -point / np.minimum(step, -1e-300), np.inf))
        point = point + min(1.0, 0.9 * float(shortest), _damping(decrement)) * step
        if decrement < 1e-20:
            break
    return point


def _damping(decrement: float) -> float:
    """Full steps near the end, shorter ones before: Newton's method then can't overshoot."""
    return 1.0 if decrement < 0.1 else 1 / (1 + decrement**0.5)


def _log_sum(rates: Floats, offsets: Floats, point: Floats) -> tuple[float, Floats, Floats]:
    """The logarithm of the sum, its gradient and its Hessian."""
    import numpy as np

    logs = rates @ point + offsets
    top = float(logs.max())
    shares = np.exp(logs - top)
    total = float(shares.sum())
    shares /= total
    gradient = shares @ rates
    hessian = rates.T @ (shares[:, None] * rates) - np.outer(gradient, gradient)
    return top + log(total), gradient, hessian
