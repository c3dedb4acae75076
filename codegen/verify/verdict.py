"""Is what was predicted what runs? An emitted program, compiled, read, run, and held against it.

Every collective that the prices count is looked for in XLA's optimised program at the full sizes;
the values are compared with the reference at small sizes in f32; memory with XLA's own account.
So that a slip is found where it is made, each value is looked at while the program is traced, and
the collectives that XLA is given are held against the prediction too.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

from layoutc.codegen.compiled import build
from layoutc.codegen.compiled.collectives import Collective
from layoutc.codegen.names import identifier
from layoutc.codegen.run import load
from layoutc.codegen.verify.account import Memory, account
from layoutc.codegen.verify.expected import Expected, expected
from layoutc.codegen.verify.lines import statement_lines
from layoutc.codegen.verify.live import values
from layoutc.codegen.verify.match import Matched, match
from layoutc.codegen.verify.traced import mistyped
from layoutc.codegen.verify.values import Values, compare
from layoutc.dsl.program import Program
from layoutc.solver.plan import Pass

MOST_DEVICES = 4096
"""As many chips as can be simulated in a minute or so."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """All that was held against the prediction.

    `mistyped` says of each value that is not the block that its notation says what it is;
    `stated` holds the collectives that XLA was given against the prediction, `matched` those
    that it made of them. `values` is None where it was not run.
    """

    mistyped: Mapping[str, str]
    stated: Matched
    matched: Matched
    values: Values | None
    memory: Memory
    simulated: bool
    platform: str

    @property
    def equal(self) -> bool:
        """True if every predicted collective is the compiled one and the values agree."""
        right = self.stated.equal and self.matched.equal and not self.mistyped
        return right and (self.values is None or self.values.equal)

    @property
    def agrees(self) -> bool:
        """True if nothing differs, memory included."""
        return self.equal and self.memory.exact and self.memory.close


def verify(plan: Pass, source: str, called: str = "", run: bool = True) -> Verdict:
    """`source` is the emitted text of a plan of which `plan` is one phase, and `called` the name
    of its function. Needs JAX, and simulates devices that are missing.

    Raises:
        TooManyChips: there are more chips than devices, and too many to simulate.
        Refused: JAX does not take the text.
    """
    simulated = devices(prod(plan.mesh.values()))
    if called:
        # From here on the program is called what its function is.
        plan = replace(plan, program=replace(plan.program, name=called))

    def traced(module: ModuleType) -> tuple[Callable[..., Any], Sequence[Any]]:
        arguments = build.arguments(module, module.make_mesh(), plan.phase)
        return module.called(plan.phase).run, arguments

    wrong = mistyped(source, plan.program, plan.mesh, traced)
    module = load(source, identifier(plan.program.name))
    with refusals(module, source, plan.program, wrong):
        built = build.build(*traced(module))
        found = compare(source, module, plan.program, plan.mesh) if run else None
    wanted = expected(plan.program, plan.mesh)
    matched = matcher(wanted, plan.program, plan.mesh, module, source)
    return Verdict(
        mistyped=wrong,
        stated=matched(built.stated, exact=True),
        matched=matched(built.collectives),
        values=found,
        memory=account(plan, built),
        simulated=simulated,
        platform=built.platform,
    )


def matcher(
    wanted: Sequence[Expected],
    program: Program,
    mesh: Mapping[str, int],
    module: ModuleType,
    source: str,
) -> Callable[..., Matched]:
    """Holds collectives against what a program predicts."""
    owner, known = _owners(module, source, program), values(program)
    return lambda found, exact=False: match(wanted, found, owner, known, mesh, exact)


class Refused(Exception):
    """JAX does not take an emitted program, which is a bug in it or in a change made to it.

    `differences` are what is known to be wrong with it, each with the name of its statement.
    """

    def __init__(self, differences: Sequence[str]) -> None:
        super().__init__("; ".join(differences))
        self.differences = tuple(differences)


@contextmanager
def refusals(
    module: ModuleType, source: str, program: Program, wrong: Mapping[str, str]
) -> Iterator[None]:
    """Whatever JAX says of the text leaves as `Refused`, with the statement that it is about."""
    try:
        yield
    except Exception as error:
        lines = statement_lines(source, program)
        trace = traceback.extract_tb(error.__traceback__)
        here = [f.lineno for f in trace if f.filename == module.__file__ and f.lineno]
        names = [lines[line] for line in here if line in lines]
        where = f"{names[-1]}: " if names else ""
        first = str(error).strip().partition("\n")[0]
        said = f"{where}JAX refuses it: {type(error).__name__}: {first}"
        raise Refused([*(f"{n}: {what}" for n, what in wrong.items()), said]) from error


class TooManyChips(Exception):
    """More than there are devices, and more than `MOST_DEVICES`, which can be simulated."""


def devices(chips: int) -> bool:
    """Sees to as many devices: true if they had to be simulated. Raises `TooManyChips`."""
    import jax

    if jax.device_count() < chips > MOST_DEVICES:
        raise TooManyChips
    return build.simulate(chips)


# Statements and lines.


def _owners(
    module: ModuleType, source: str, program: Program
) -> Callable[[Collective], str | None]:
    """Which statement a collective comes from: the one whose line it was traced at."""
    lines = statement_lines(source, program)

    def owner(collective: Collective) -> str | None:
        here = (p.line for p in collective.places if Path(p.file) == Path(str(module.__file__)))
        return next((lines[line] for line in here if line in lines), None)

    return owner
