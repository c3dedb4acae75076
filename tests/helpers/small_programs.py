"""Small random programs with holes, as text: what a solver and an enumeration can both solve.

Values are tensors of B and one hidden dim. A program is one input, one to four products with a
weight each, and functions, biases, sums, other holds and earlier values between them, on a mesh
of one to three axes. The more axes, the smaller the dims, and the fewer the statements between the
products: enumeration has to end.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import count, permutations
from math import gcd
from random import Random

from machines import plain

from layoutc.dsl.check import check
from layoutc.dsl.operation import Hold, operands
from layoutc.dsl.parse import parse
from layoutc.dsl.program import Declare, Define, Program
from layoutc.solver.hardware.machine import Machine

HIDDEN = "EFGH"
CHIPS = {1: (2, 3, 4, 5, 6, 8), 2: (2, 3, 4, 4, 6, 8), 3: (8, 8, 8, 12)}
"""By the number of axes."""
PARTS = (1, 1, 2, 2, 3)
"""A dim is mostly as many for each chip, and now and then anything at all."""
ANY = (2, 4, 6, 8, 12, 24)
FEW = {8: (2, 4, 4, 8), 12: (2, 4, 6, 6, 12)}
"""Dims that not all of three axes split, by chips."""
LIVE = {1: 4, 2: 3, 3: 2}
"""How many values may be needed later at once, by the number of axes."""
FUNCTIONS = ("relu", "gelu", "silu", "tanh", "neg", "square")
READINGS = 4
"""How often a value may be read: of so many paths, enumeration looks at all meetings."""


@dataclass(frozen=True, slots=True)
class Small:
    """The text of a program, and the chips and the machine to solve it for.

    On a real machine a program as small as this only waits for its memory; on these the three
    parts of a pass are of one size.
    """

    text: str
    chips: int
    machine: Machine


def small(seed: int) -> Small:
    """The program of that seed; most have a solution, not all.

    Drawn again where sizes are pinned and a layout does not divide, which is an error of the text,
    and where more values are needed later, at some point, than enumeration has the time for.
    """
    for attempt in count():
        found = Writer(Random(f"{seed} {attempt}")).write()
        program = check(parse(found.text, "small.layout"))
        if isinstance(program, Program) and live(program) <= _bearable(program):
            return found
    raise AssertionError


def _bearable(program: Program) -> int:
    declared = [item for item, _ in program.walk() if isinstance(item, Declare)]
    large = len(program.axes) == 3 and len(declared) > 3
    return 1 if large else LIVE[len(program.axes)]


def live(program: Program) -> int:
    """The most values, other than weights, that are there and will be read, after any statement."""
    value: dict[str, str] = {}
    last: dict[str, int] = {}
    first: dict[str, int] = {}
    for number, (item, _) in enumerate(program.walk()):
        if isinstance(item, Define):
            last.update((value[name], number) for name in operands(item.operation) if name in value)
        if isinstance(item, Define) and isinstance(item.operation, Hold):
            value[item.name] = value[item.operation.operand]
        elif isinstance(item, Define) or item.kind == "input":
            value[item.name] = item.name
            first[item.name] = number
    points = range(len(list(program.walk())))
    return max(sum(first[v] <= at < last.get(v, -1) for v in first) for at in points)


@dataclass(slots=True)
class Writer:
    """Writes one program, piece after piece."""

    random: Random
    axes: str = ""
    chips: int = 0
    named: bool = True
    """Whether annotations name axes."""
    declared: dict[str, str] = field(default_factory=dict)
    """Each weight's dims."""
    head: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    """Each value's hidden dim."""
    reads: Counter[str] = field(default_factory=Counter)

    def write(self) -> Small:
        random = self.random
        self.axes = "xyz"[: random.choice((1, 2, 2, 2, 3, 3))]
        self.chips = random.choice(CHIPS[len(self.axes)])
        self.named = len(self.axes) < 3 or random.random() < 0.5
        self.values["x"] = "E"
        self.start()
        for _ in range(random.choice((1, 2, 2, 3, 3, 4))):
            self.product()
            for _ in range(random.choice((0, 1, 1, 2) if len(self.axes) < 3 else (0, 0, 1, 1))):
                self.between()
        self.join()
        peak, network = random.choice((2.0, 4.0, 8.0, 16.0)), random.choice((0.5, 1.0, 2.0, 4.0))
        machine = plain("small", peak, 1 << 30, 1.0, network)
        return Small(self.text(), self.chips, machine)

    def start(self) -> None:
        sizes = {d: self.size() for d in "B" + HIDDEN}
        self.head.append("dims " + " ".join(f"{d}={size}" for d, size in sizes.items()))
        self.head.append("mesh " + " ".join(self.mesh(gcd(self.chips, *sizes.values()))))
        self.head.append(f"input x : {self.activation('E')}")

    def size(self) -> int:
        if len(self.axes) == 3:
            return self.random.choice(FEW[self.chips])
        if self.random.random() < 0.2:
            return self.random.choice(ANY)
        return self.chips * self.random.choice(PARTS)

    def mesh(self, common: int) -> list[str]:
        """Three axes that are named have their sizes; of fewer, one may, if it divides all dims.

        Else they would be named on meshes on which they are of one chip, and have layouts there.
        """
        if len(self.axes) == 3:
            sizes = self.random.choice(list(permutations((2, 2, self.chips // 4))))
            return (
                [f"{a}={n}" for a, n in zip(self.axes, sizes, strict=True)]
                if self.named
                else [*self.axes]
            )
        pins = [n for n in range(1, common + 1) if common % n == 0]
        if self.random.random() < 0.15 and (len(self.axes) > 1 or self.chips in pins):
            pin = self.random.choice(pins) if len(self.axes) > 1 else self.chips
            return [f"{self.axes[0]}={pin}", *self.axes[1:]]
        return [*self.axes]

    def between(self) -> None:
        kinds = (
            self.apply,
            self.bias,
            self.combine,
            self.combine,
            self.scale,
            self.total,
            self.hold,
        )
        self.random.choice(kinds)()

    def text(self) -> str:
        last = list(self.values)[-1]
        tied = self.values[last] == "E" and self.random.random() < 0.7
        like = " -> x" if tied and any(line.startswith("input x") for line in self.head) else ""
        return "\n".join([*self.head, *self.lines, f"output {last}{like}", ""])

    # Annotations.

    def axis(self) -> str:
        return self.random.choice(self.axes)

    def several(self) -> str:
        """Some of the axes in some order, or in braces: the order open."""
        count = min(self.random.choice((1, 1, 2, 2, 3)), len(self.axes))
        some = "".join(self.random.sample(self.axes, count))
        return some if len(some) == 1 or self.random.random() < 0.5 else f"{{{some}}}"

    def activation(self, dim: str) -> str:
        """A layout with B first: open, open but for something, or pinned."""
        if not self.named:
            return f"B{dim}{self.random.choice('??!')}"
        kinds = ("?", "?", "!", f"_{self.several()}", f"_{self.several()}?", f"_{self.axis()}!")
        kind = self.random.choice(kinds)
        if self.random.random() < 0.2:
            return f"B_{self.several()}{dim}?"
        return f"B{dim}{kind}"

    def parameter(self, dims: str) -> str:
        """A layout of a weight of two dims."""
        if not self.named:
            return f"{dims}{self.random.choice('?!')}"
        kinds = (
            *(f"{dims}?", f"{dims}?", f"{dims}!", f"{dims}!"),
            *(f"{dims[0]}_{self.axis()}{dims[1:]}?", f"{dims}_{self.several()}?"),
            *(f"{dims}_{self.several()}", f"{dims[0]}_{self.axis()}{dims[1:]}!"),
        )
        return self.random.choice(kinds)

    # Pieces.

    def fresh(self, dim: str, written: str, operation: str) -> str:
        name = f"v{len(self.values)}"
        self.values[name] = dim
        self.lines.append(f"{name} {written}= {operation}")
        return name

    def read(self, name: str) -> str:
        self.reads[name] += 1
        return name

    def readable(self, dim: str | None = None) -> list[str]:
        """The values that may be read once more, of that hidden dim."""
        most = READINGS if len(self.axes) < 3 else READINGS - 1
        fits = (v for v, d in self.values.items() if dim in (None, d))
        return [v for v in fits if self.reads[v] < most - 1]

    def pick(self) -> str:
        """Mostly the last value, now and then an earlier one (which is then used twice)."""
        last = list(self.values)[-1]
        names = self.readable() or [last]
        return self.read(last if self.random.random() < 0.8 else self.random.choice(names))

    def weight(self, dims: str) -> str:
        """A new weight, or now and then one that is there already."""
        old = [name for name, have in self.declared.items() if have == dims]
        if old and self.random.random() < 0.3:
            return old[0]
        name = f"w{len(self.declared)}"
        self.declared[name] = dims
        written = self.parameter(dims) if len(dims) > 1 else f"{dims}?"
        self.head.append(f"weight {name} : {written}")
        return name

    def product(self) -> None:
        source = self.pick()
        dim = self.values[source]
        new = self.random.choice([d for d in HIDDEN if d != dim] + ["E"] * (dim != "E"))
        weight = self.weight(dim + new)
        order = f"{source} * {weight}" if self.random.random() < 0.8 else f"{weight} * {source}"
        written = f"B{new}?" if self.random.random() < 0.7 else self.activation(new)
        self.fresh(new, f": {written} ", order)

    def apply(self) -> None:
        source = self.pick()
        function = self.random.choice(FUNCTIONS)
        self.fresh(self.values[source], "", f"{function}({source})")

    def bias(self) -> None:
        source = self.pick()
        dim = self.values[source]
        self.fresh(dim, "", f"{source} {self.random.choice('+-*')} {self.weight(dim)}")

    def scale(self) -> None:
        source = self.pick()
        self.fresh(self.values[source], "", f"{source} {self.random.choice('*/')} 2.0")

    def hold(self) -> None:
        """The same value under another name, as an annotation wants it."""
        source = self.pick()
        dim = self.values[source]
        self.fresh(dim, f": {self.activation(dim)} ", source)

    def combine(self) -> None:
        """Two values of the same dims: a residual, or a gate."""
        source = self.pick()
        alike = self.readable(self.values[source]) or [source]
        other = self.read(self.random.choice(alike))
        self.fresh(self.values[source], "", f"{source} {self.random.choice('++-*')} {other}")

    def total(self) -> None:
        """A normalisation, as far as layouts go: by a sum, or a maximum, of the hidden dim."""
        source = self.pick()
        self.read(source)
        dim = self.values[source]
        kind = self.random.choice(("sum", "mean", "max"))
        name = f"s{len(self.lines)}"
        self.lines.append(f"{name} = {kind}[{dim}]({source})")
        self.fresh(dim, "", f"{source} {self.random.choice('-/*')} {name}")

    def join(self) -> None:
        """What nobody has read is added in, if its dims allow, so that it matters."""
        last = list(self.values)[-1]
        for name, dim in list(self.values.items())[1:-1]:
            if not self.reads[name] and dim == self.values[last]:
                last = self.fresh(dim, "", f"{last} + {self.read(name)}")
