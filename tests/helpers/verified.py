"""Programs held against their predictions, by way of the library."""

from __future__ import annotations

from collections.abc import Mapping

from layoutc.codegen.emit import emit
from layoutc.codegen.verify.verdict import Refused, Verdict, verify
from layoutc.dsl.program import Program
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import uniform
from layoutc.solver.hardware.machine import DEFAULT
from layoutc.solver.plan import Pass
from layoutc.solver.price import price
from layoutc.verify import differences_of


def pass_of(program: Program, mesh: Mapping[str, int]) -> Pass:
    """An explicit program on a mesh, as if it had been chosen."""
    machine = load_machine(DEFAULT)
    fabric = uniform(mesh, machine)
    return Pass(program, fabric, price(program, fabric))


def verdict(program: Program, mesh: Mapping[str, int], source: str | None = None) -> Verdict:
    """What is found out of a program, or of another text in its place."""
    return verify(pass_of(program, mesh), source or emit(program, mesh))


def faults(program: Program, mesh: Mapping[str, int], source: str) -> list[str]:
    """All that is wrong with a text that should be the program's."""
    try:
        return differences_of(verdict(program, mesh, source))
    except Refused as refused:
        return list(refused.differences)
