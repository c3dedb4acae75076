"""The plan that `layoutc.compile` returns.

It is text and numbers until its devices are asked for: `load`, the shardings and the arguments'
shapes import JAX, the rest does not.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from layoutc import files, units
from layoutc.costs import Costs, costs
from layoutc.dsl.printer import print_program
from layoutc.pipeline import emitted

if TYPE_CHECKING:
    from layoutc.loaded import Loaded, Shardings, Structs
    from layoutc.logical import Rule
    from layoutc.solver.solve import Plan


@dataclass(frozen=True, slots=True, repr=False)
class Compiled:
    """A plan: the best mesh and layouts for a program on so many chips, proven, and its module.

    In a notebook it is shown as a table; `print` gives the command line's report.

    >>> import layoutc
    >>> plan = layoutc.compile("examples/ffn.layout", chips=64, B=512)
    >>> plan.mesh
    {'x': 4, 'y': 4, 'z': 4}
    >>> plan.layouts["w_in"], plan.layouts["h1"]
    ('E_xF_yz', 'BLF_yzx')
    >>> plan.costs.bytes
    15925248
    """

    name: str
    """The program's: its file's stem."""
    chips: int
    hardware: str
    mesh: dict[str, int]
    """The size of each mesh axis, by its letter."""
    layouts: dict[str, str]
    """The layout of every name, in the notation, in the order of the program."""
    costs: Costs
    text: str
    """The explicit program, as `.layout`."""
    source: str
    """The emitted Python module, as `-o` writes it."""
    answer: Plan = field(compare=False)
    """What the solver said, with every statement and its price."""

    def __repr__(self) -> str:
        where = f"{units.chips(self.chips)} ({self.hardware}), mesh {units.mesh(self.mesh)}"
        return f"<plan of {self.name}: {where}, {units.duration(self.costs.seconds)} a pass>"

    def __str__(self) -> str:
        from layoutc.report import report

        return report(self.answer).rstrip("\n")

    def _repr_html_(self) -> str:
        from layoutc.notebook import html

        return html(self.answer)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the module, or to a path that ends in `.layout` the explicit program.

        A file that is there is replaced whole, or left as it is. Raises `OSError`.
        """
        name = os.fspath(path)
        files.write(name, self.text if name.endswith(".layout") else self.source)

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
        """The program over `devices`, or over the first ones that JAX has: its callables.

        Raises:
            WrongCall: there are fewer devices than chips.
        """
        from layoutc.codegen.body import returned
        from layoutc.loaded import loaded

        return loaded(self.source, self.name, returned(self.answer.program), devices)

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


def compiled(plan: Plan) -> Compiled:
    """The solver's plan for a caller's use. Raises `WrongCall` if there is no mesh to run on."""
    return Compiled(
        name=plan.program.name,
        chips=plan.chips,
        hardware=plan.machine.name,
        mesh=dict(plan.mesh),
        layouts={name: str(held.shape) for name, held in plan.program.types.items()},
        costs=costs(plan),
        text=print_program(plan.program),
        source=emitted(plan),
        answer=plan,
    )
