"""Small random programs with holes, as text: what a solver and an enumeration can both solve.

Values are tensors of B and one hidden dim. A program is one input, one to three products with a
weight each, and functions, biases, sums and earlier values between them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from layoutc.solver.machine import Machine

HIDDEN = "EFGH"
SIZES = (4, 6, 8, 8, 12, 12, 24)
FUNCTIONS = ("relu", "gelu", "silu", "tanh", "neg", "square")


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
    """The program of that seed; most have a solution, not all."""
    return _Writer(Random(seed)).write()


@dataclass(slots=True)
class _Writer:
    random: Random
    declared: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    """Each value's hidden dim."""
    used: set[str] = field(default_factory=set)

    def write(self) -> Small:
        random = self.random
        axes = "xyz"[: random.choice((1, 2, 2, 2, 2))]
        chips = random.choice((2, 3, 4, 4, 6, 8))
        self.values["x"] = "E"
        for _ in range(random.choice((1, 2, 2, 3))):
            self.product()
            for _ in range(random.choice((0, 1, 1, 2))):
                random.choice((self.apply, self.bias, self.combine, self.scale, self.total))()
        self.join()
        peak, network = random.choice((2.0, 4.0, 8.0, 16.0)), random.choice((0.5, 1.0, 2.0, 4.0))
        machine = Machine("small", peak, 1 << 30, 1.0, network)
        return Small(self.text(axes), chips, machine)

    def text(self, axes: str) -> str:
        dims = " ".join(f"{d}={self.random.choice(SIZES)}" for d in "B" + HIDDEN)
        last = list(self.values)[-1]
        like = " -> x" if self.values[last] == "E" and self.random.random() < 0.7 else ""
        head = [f"dims {dims}", f"mesh {' '.join(axes)}", f"input x : {self.activation(axes)}"]
        body = [line.replace("AXIS", self.random.choice(axes)) for line in self.lines]
        declared = [line.replace("AXIS", self.random.choice(axes)) for line in self.declared]
        return "\n".join([*head, *declared, *body, f"output {last}{like}", ""])

    def activation(self, axes: str) -> str:
        every = f"{{{axes}}}" if len(axes) > 1 else axes
        kinds = ("BE?", "BE?", "BE!", f"BE_{every}", f"BE_{axes[0]}?", f"B_{axes[0]}E?")
        return self.random.choice(kinds)

    # Pieces.

    def fresh(self, dim: str, written: str, operation: str) -> str:
        name = f"v{len(self.values)}"
        self.values[name] = dim
        self.lines.append(f"{name} {written}= {operation}")
        return name

    def read(self, name: str) -> str:
        self.used.add(name)
        return name

    def pick(self) -> str:
        """Mostly the last value, now and then an earlier one (which is then used twice)."""
        names = list(self.values)
        return self.read(names[-1] if self.random.random() < 0.8 else self.random.choice(names))

    def weight(self, dims: str) -> str:
        name = f"w{len(self.declared)}"
        annotation = self.random.choice(
            (f"{dims}?", f"{dims}!", f"{dims}!", f"{dims[0]}_AXIS{dims[1:]}?", f"{dims}_AXIS?")
        )
        self.declared.append(f"weight {name} : {annotation}")
        return name

    def product(self) -> None:
        source = self.pick()
        dim = self.values[source]
        new = self.random.choice([d for d in HIDDEN if d != dim] + ["E"] * (dim != "E"))
        weight = self.weight(dim + new)
        order = f"{source} * {weight}" if self.random.random() < 0.8 else f"{weight} * {source}"
        hole = self.random.choice(("?", "?", "?", "?", "_AXIS?"))
        self.fresh(new, f": B{new}{hole} ", order)

    def apply(self) -> None:
        source = self.pick()
        function = self.random.choice(FUNCTIONS)
        self.fresh(self.values[source], "", f"{function}({source})")

    def bias(self) -> None:
        source = self.pick()
        dim = self.values[source]
        name = f"b{len(self.declared)}"
        self.declared.append(f"weight {name} : {dim}?")
        self.fresh(dim, "", f"{source} {self.random.choice('+-*')} {name}")

    def scale(self) -> None:
        source = self.pick()
        self.fresh(self.values[source], "", f"{source} {self.random.choice('*/')} 2.0")

    def combine(self) -> None:
        """Two values of the same dims: a residual, or a gate."""
        source = self.pick()
        alike = [v for v, d in self.values.items() if d == self.values[source]]
        other = self.read(self.random.choice(alike))
        self.fresh(self.values[source], "", f"{source} {self.random.choice('++-*')} {other}")

    def total(self) -> None:
        """A normalisation, as far as layouts go: by a sum, or a maximum, of the hidden dim."""
        source = self.pick()
        dim = self.values[source]
        kind = self.random.choice(("sum", "mean", "max"))
        name = f"s{len(self.lines)}"
        self.lines.append(f"{name} = {kind}[{dim}]({source})")
        self.fresh(dim, "", f"{source} {self.random.choice('-/*')} {name}")

    def join(self) -> None:
        """What nobody has read is added in, if its dims allow, so that it matters."""
        last = list(self.values)[-1]
        for name, dim in list(self.values.items())[1:-1]:
            if name not in self.used and dim == self.values[last]:
                last = self.fresh(dim, "", f"{last} + {self.read(name)}")
