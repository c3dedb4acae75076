"""A checked program: what the checker hands on, what the solver fills, what is emitted.

Every name has a `Type` (a shape and a dtype). In a program with holes the shapes may have
holes; in an explicit program none has, and every statement means itself. The classes carry
no text: places in the source stay behind with the syntax.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod
from typing import Literal

from layoutc.dsl.operation import Hold, Layer, Operation
from layoutc.dsl.shape import Shape

Dtype = Literal["f32", "bf16", "f16", "int8", "int32", "f8e4m3", "f8e5m2"]
DTYPES: dict[Dtype, int] = {
    "f32": 4, "bf16": 2, "f16": 2, "int8": 1, "int32": 4, "f8e4m3": 1, "f8e5m2": 1,
}  # fmt: skip
"""The dtypes of the language and their sizes in bytes."""

DeclareKind = Literal["input", "weight", "cache"]


@dataclass(frozen=True, slots=True)
class Type:
    """A sharded shape and the dtype of its elements."""

    shape: Shape
    dtype: Dtype


@dataclass(frozen=True, slots=True)
class Declare:
    """`input x : BLE_x`, `weight w : EF!`, `cache c : BMKQ`."""

    kind: DeclareKind
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Define:
    """`name : SHAPE dtype = operation`. `type.shape` has the hole "?" where none was written."""

    name: str
    type: Type
    operation: Operation


@dataclass(frozen=True, slots=True)
class Next:
    """`next carried = value`: inside a block, `value` is `carried` in the next repetition."""

    carried: str
    value: str


@dataclass(frozen=True, slots=True)
class Repeat:
    """`repeat count { body }`. A weight or cache declared in the body is a stack of `count`."""

    count: int
    body: tuple[Declare | Define, ...]
    nexts: tuple[Next, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """`output name -> like`: `name` leaves the program, held like `like` where there is one."""

    name: str
    like: str | None = None


@dataclass(frozen=True, slots=True)
class Phase:
    """`phase decode : B=512 L=1 weight=64`: the sizes that are its own, and how often it runs."""

    name: str
    sizes: dict[str, int]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Axis:
    """A mesh axis: its letter, its size where pinned, its name in the emitted mesh if given."""

    name: str
    size: int | None = None
    label: str | None = None


MAIN = "main"
"""What the phase is called of a file that names none."""

Item = Declare | Define | Repeat


@dataclass(frozen=True, slots=True)
class Program:
    """One `.layout` file that has been found right.

    `dims` maps each declared dim to its size, None where the file leaves it open; of a padded
    dim that is the size with its padding, which layouts, costs and memory count, and `useful`
    has the size that is used. `name` is the file's stem. Items stand in the file's order, and so
    do the outputs and the phases, of which there are none where the file has no line for one.
    """

    name: str
    dims: dict[str, int | None]
    axes: tuple[Axis, ...]
    dtype: Dtype
    items: tuple[Item, ...]
    outputs: tuple[Output, ...]
    phases: tuple[Phase, ...] = ()
    useful: dict[str, int] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.name, self.items, self.outputs))

    def walk(self) -> Iterator[tuple[Declare | Define, int]]:
        """Every declaration and definition, with how many times a pass comes by it."""
        for item in self.items:
            if isinstance(item, Repeat):
                yield from ((inner, item.count) for inner in item.body)
            else:
                yield item, 1

    @property
    def sizes(self) -> dict[str, int]:
        """The dims that have a size."""
        return {dim: size for dim, size in self.dims.items() if size is not None}

    @property
    def parameters(self) -> int:
        """The elements of all weights, as often as they are repeated, padding left out."""
        sizes = {**self.sizes, **self.useful}
        return sum(
            times * prod(sizes[dim] for dim in item.type.shape.names)
            for item, times in self.walk()
            if isinstance(item, Declare) and item.kind == "weight"
        )

    @property
    def passes(self) -> tuple[Program, ...]:
        """The program of each phase: of that phase alone, and its dims have the sizes there."""
        return tuple(
            replace(self, dims={**self.dims, **phase.sizes}, phases=(phase,))
            for phase in self.phases
        ) or (self,)

    @property
    def phase(self) -> Phase:
        """The one phase of a program that has no more than one: without a line it is "main"."""
        (phase,) = self.phases or (Phase(MAIN, {}),)
        return phase

    @property
    def written(self) -> dict[str, str]:
        """The name that each cache goes by when a pass is over: of the last write, or its own."""
        found: dict[str, str] = {}
        cache_of: dict[str, str] = {}
        for item, _ in self.walk():
            match item:
                case Declare("cache"):
                    found[item.name] = cache_of[item.name] = item.name
                case Define(operation=Layer("write") as write) if write.lead in cache_of:
                    cache = cache_of[item.name] = cache_of[write.lead]
                    found[cache] = item.name
                case _:
                    pass
        return found

    @property
    def types(self) -> dict[str, Type]:
        """Every name's type, in the order of definition."""
        return {item.name: item.type for item, _ in self.walk()}

    @property
    def explicit(self) -> bool:
        """True if nothing is left to solve: no holes, and no `y : SHAPE = a` that moves."""
        types = self.types
        return all(
            item.type.shape.explicit
            and not (
                isinstance(item, Define)
                and isinstance(item.operation, Hold)
                and types[item.operation.operand].shape != item.type.shape
            )
            for item, _ in self.walk()
        )
