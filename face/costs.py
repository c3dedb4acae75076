"""What one pass of a plan costs a chip, as numbers and as formulas."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutc.solver.plan import Pass


@dataclass(frozen=True, slots=True)
class Costs:
    """One pass, on one chip, every repetition of a `repeat` counted.

    Times are the cost model's, for the plan's machine. `formula` is the communication for large
    K, `exact` the same with every (K-1)/K kept; both are what the chip receives over the
    bandwidth, in elements of the program's dtype, with the size of mesh axis x as X. On a machine
    whose axes differ the bandwidth over x is `bandwidth_x`.

    >>> import layoutc
    >>> costs = layoutc.compile("examples/ffn.layout", chips=64).costs
    >>> costs.elements, costs.formula
    (7962624, '2*B*L*(E/X + F/(Y*Z))/bandwidth')
    >>> round(1e6 * costs.seconds), round(1e6 * costs.communication_seconds)
    (217, 59)
    """

    elements: int
    """Elements received from other chips."""
    bytes: int
    """Bytes received from other chips."""
    flops: int
    """Floating point operations of the products."""
    useful_flops: int
    """The chip's share of them if nothing were padded and no two chips did the same."""
    memory: int
    """The most that is held at once, in bytes."""
    traffic: int
    """Weights and caches read from memory, in bytes."""
    seconds: float
    """The pass: max(compute, memory) + communication."""
    communication_seconds: float
    compute_seconds: float
    memory_seconds: float
    formula: str
    exact: str
    latex: tuple[str, str] = field(repr=False)
    """`formula` and `exact` for LaTeX."""

    def _repr_latex_(self) -> str:
        """For a notebook: the communication in closed form, and the figures."""
        from layoutc.notebook import equations

        return equations(self)


def costs(plan: Pass) -> Costs:
    """What the solver's plan costs."""
    from layoutc.derive import time
    from layoutc.solver.algebra import speller
    from layoutc.solver.formula import communication, in_capitals
    from layoutc.solver.network import network

    prices, on = plan.prices, network(plan.program, plan.machine, plan.fabric)
    plain, latex = speller(plan.program), speller(plan.program, "latex")
    large, exact = (
        in_capitals(communication(plan.program, plan.mesh, each, on)) for each in (False, True)
    )
    return Costs(
        elements=prices.communication.elements,
        bytes=prices.communication.bytes,
        flops=prices.compute.flops,
        useful_flops=prices.compute.useful_flops,
        memory=prices.memory.bytes,
        traffic=prices.memory.traffic_bytes,
        seconds=prices.seconds,
        communication_seconds=prices.communication.seconds,
        compute_seconds=prices.compute.seconds,
        memory_seconds=prices.memory.seconds,
        formula=time(large, plain, on.over),
        exact=time(exact, plain, on.over),
        latex=(time(large, latex, on.over), time(exact, latex, on.over)),
    )
