"""The plan that `layoutc.compile` returns.

What it has of each phase is in `layoutc.phase`; a plan of one phase has that itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from layoutc import files
from layoutc.costs import Costs
from layoutc.phase import Phase, phase
from layoutc.pipeline import WrongCall, emitted
from layoutc.solver import units

if TYPE_CHECKING:
    from layoutc.loaded import Loaded, Shardings, Structs
    from layoutc.logical import Rule
    from layoutc.solver.plan import Plan


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
    phases: dict[str, Phase]
    """Each phase of the file, by its name; of a file that names none there is one, "main"."""
    seconds: float
    """All passes, each as often as its phase runs."""
    source: str
    """The emitted Python module, as `-o` writes it."""
    answer: Plan = field(compare=False)
    """What the solver said, with every statement and its price."""

    def __repr__(self) -> str:
        where = f"{units.chips(self.chips)} ({self.hardware}), mesh {units.mesh(self.mesh)}"
        took = f"{units.duration(self.seconds)} a pass"
        if len(self.phases) > 1:
            took = f"phases {', '.join(self.phases)}, {units.duration(self.seconds)} in all"
        return f"<plan of {self.name}: {where}, {took}>"

    def __str__(self) -> str:
        from layoutc.report import report

        return report(self.answer).rstrip("\n")

    def _repr_html_(self) -> str:
        from layoutc.notebook import html

        return html(self.answer)

    @property
    def placement(self) -> str | None:
        """Where each mesh axis lies on the machine, and on which slice; None where that does not
        matter.

        >>> import layoutc
        >>> layoutc.compile("examples/ffn.layout", chips=64, hardware="tpu-v4").placement
        'x → ICI 0; y → ICI 1; z → ICI 2 (4x4x4)'
        """
        return None if self.answer.machine.uniform else str(self.answer.fabric)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the module, or to a path that ends in `.layout` the explicit program.

        A file that is there is replaced whole, or left as it is. Raises `OSError`, or `WrongCall`
        where there is an explicit program for each of several phases.
        """
        name = os.fspath(path)
        files.write(name, self.text if name.endswith(".layout") else self.source)

    # Of a plan of one phase: what is that phase's.

    @property
    def only(self) -> Phase:
        """The one phase. Raises `WrongCall` if there are several."""
        if len(self.phases) > 1:
            names = ", ".join(self.phases)
            first = next(iter(self.phases))
            raise WrongCall(f"{self.name} has the phases {names}: ask one, phases[{first!r}]")
        return next(iter(self.phases.values()))

    @property
    def layouts(self) -> dict[str, str]:
        """The layout of every name, in the notation, in the order of the program."""
        return self.only.layouts

    @property
    def costs(self) -> Costs:
        """What a pass takes."""
        return self.only.costs

    @property
    def text(self) -> str:
        """The explicit program, as `.layout`."""
        return self.only.text

    def logical_axis_rules(self, *names: str) -> tuple[Rule, ...]:
        """`Phase.logical_axis_rules`. Those of the weights are the same in all phases."""
        first = next(iter(self.phases.values()))
        return (self.only if names else first).logical_axis_rules(*names)

    def load(self, devices: Sequence[Any] | None = None) -> Loaded:
        """`Phase.load`."""
        return self.only.load(devices)

    @property
    def in_shardings(self) -> Shardings:
        """`Phase.in_shardings`."""
        return self.only.in_shardings

    @property
    def out_shardings(self) -> Shardings:
        """`Phase.out_shardings`."""
        return self.only.out_shardings

    @property
    def arguments(self) -> Structs:
        """`Phase.arguments`."""
        return self.only.arguments

    @property
    def weights(self) -> Structs:
        """`Phase.weights`, which are the same in all phases."""
        return next(iter(self.phases.values())).weights


def compiled(plan: Plan) -> Compiled:
    """The solver's plan for a caller's use. Raises `WrongCall` if there is no mesh to run on."""
    source = emitted(plan)
    return Compiled(
        name=plan.name,
        chips=plan.chips,
        hardware=plan.machine.name,
        mesh=dict(plan.mesh),
        phases={part.phase: phase(part, source) for part in plan.passes},
        seconds=plan.seconds,
        source=source,
        answer=plan,
    )
