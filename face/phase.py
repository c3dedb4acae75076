"""One phase of a plan, as `layoutc.compile` returns it.

It is text and numbers until its devices are asked for: `load`, the shardings and the arguments'
shapes import JAX, the rest does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from layoutc.costs import Costs, costs
from layoutc.dsl.printer import print_program

if TYPE_CHECKING:
    from layoutc.loaded import Loaded, Shardings, Structs
    from layoutc.logical import Rule
    from layoutc.solver.plan import Pass


@dataclass(frozen=True, slots=True)
class Phase:
    """The explicit program of one phase, what it costs, and its part of the emitted module.

    A plan of one phase has all of this itself.
    """

    name: str
    """The phase's; "main" where the file names none."""
    weight: float
    """How often it runs."""
    layouts: dict[str, str]
    """The layout of every name, in the notation, in the order of the program."""
    costs: Costs
    text: str
    """The explicit program, as `.layout`."""
    source: str = field(repr=False)
    """The emitted Python module, of all phases."""
    answer: Pass = field(compare=False, repr=False)
    """What the solver said, with every statement and its price."""

    # For Flax, without devices.

    def logical_axis_rules(self, *names: str) -> tuple[Rule, ...]:
        """Rules for Flax: for each dim of the tensors `names`, the mesh axes that split it.

        A dim goes by its letter. Without `names` the rules are for the weights. The first dim of
        a stack, of a weight inside a `repeat`, has no rule: nothing splits it.

        >>> import layoutc
        >>> layoutc.compile("examples/ffn.layout", chips=64).logical_axis_rules()
        (('E', 'x'), ('F', ('y', 'z')))

        Raises:
            WrongCall: two of the tensors hold a dim in two ways, so that no rule can say both;
                there is no tensor of a name; or it is a partial sum.
        """
        from layoutc.logical import rules

        return rules(self.answer.program, names)

    # On the devices that there are.

    def load(self, devices: Sequence[Any] | None = None) -> Loaded:
        """The phase over `devices`, or over the first ones that JAX has: its callables.

        Raises:
            WrongCall: there are fewer devices than chips.
        """
        from layoutc.codegen.body import returned
        from layoutc.loaded import loaded

        program = self.answer.program
        return loaded(self.source, program.name, self.name, returned(program), devices)

    @property
    def in_shardings(self) -> Shardings:
        """A `jax.sharding.NamedSharding` for each argument, by name: inputs, weights, caches.

        `jax.device_put(arrays, plan.in_shardings)` lays out a dict of arrays. It and the next
        three raise `WrongCall` where JAX has fewer devices than the plan has chips.
        """
        return self.load().in_shardings

    @property
    def out_shardings(self) -> Shardings:
        """The same for what is returned: the outputs, then the caches."""
        return self.load().out_shardings

    @property
    def arguments(self) -> Structs:
        """A `jax.ShapeDtypeStruct` with its sharding for each argument, in the same order."""
        return self.load().arguments

    @property
    def weights(self) -> Structs:
        """Those of the weights alone: what a checkpoint is restored as."""
        from layoutc.logical import weights

        arguments = self.arguments
        return {name: arguments[name] for name in weights(self.answer.program)}


def phase(part: Pass, source: str) -> Phase:
    """One phase of a plan whose emitted module is `source`."""
    return Phase(
        name=part.phase,
        weight=part.weight,
        layouts={name: str(held.shape) for name, held in part.program.types.items()},
        costs=costs(part),
        text=print_program(part.program),
        source=source,
        answer=part,
    )
