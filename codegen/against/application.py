"""An instruction of a compiled program and what it is applied to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from layoutc.codegen.against.blocks import Block
from layoutc.codegen.compiled.hlo import Instruction, Module


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program with its instructions by name, and how many devices run it."""

    module: Module
    devices: int
    named: Mapping[str, Instruction]

    @classmethod
    def of(cls, module: Module, devices: int) -> Compiled:
        computations = module.computations.values()
        return cls(module, devices, {i.name: i for c in computations for i in c.instructions})


@dataclass(frozen=True, slots=True)
class Application:
    """An instruction with the blocks that it is applied to, and how they lie in memory."""

    instruction: Instruction
    blocks: tuple[Block, ...]
    layouts: tuple[tuple[int, ...], ...]
    program: Compiled

    @property
    def extents(self) -> tuple[int, ...]:
        return self.instruction.types[0].extents

    def integers(self, attribute: str) -> tuple[int, ...]:
        """The numbers of an attribute such as `dimensions={0,2}`."""
        return integers(self.instruction.attributes.get(attribute, ""))


def integers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))
