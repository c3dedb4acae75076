"""Small random programs of a Transformer layer's operations, as `small_programs` has of products.

Values are tensors of B and one hidden dim, here too: they are looked up, normed, turned, masked,
renamed, and written to a cache from which a product reads. Of two phases, the second has more
requests, or more places, or both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from random import Random

from machines import plain
from small_programs import Small, Writer, live
from steps import declared

from layoutc.dsl.check import check
from layoutc.dsl.parse import parse
from layoutc.dsl.program import Program

CHIPS = {1: (2, 3, 4), 2: (4, 4, 6)}
LIVE = {1: 4, 2: 3}
FEW = (1, 2, 3, 3)
"""Requests that chips can hardly share, so that what they share is the hidden dim."""
REQUESTS = ("B?", "B?", "B", "B_x?", "B_x", "B!")
"""How positions and ids may be held."""


def small_layer(seed: int, phases: int = 1) -> Small:
    """The program of that seed; see `small`."""
    for attempt in count():
        writer = _Layers(Random(f"layer {phases} {seed} {attempt}"), phases=phases)
        found = writer.write()
        program = check(parse(found.text, "small.layout"))
        if isinstance(program, Program) and _bearable(program):
            return found
    raise AssertionError


def _bearable(program: Program) -> bool:
    """Whether enumeration has the time: of phases, it takes every layout of what is stored."""
    stored = (d for d in declared(program).values() if d.kind != "input")
    large = sum(len(item.type.shape.dims) > 1 for item in stored)
    axes = len(program.axes)
    return live(program) <= LIVE[axes] and (not program.phases or axes * large < 4 + (axes == 1))


@dataclass(slots=True)
class _Layers(Writer):
    phases: int = 1
    sizes: dict[str, int] = field(default_factory=dict)
    unsplit: bool = False
    """Whether annotations leave B whole."""
    written: int = 0
    """How many caches there are."""

    def write(self) -> Small:
        random = self.random
        self.axes = "xy"[: random.choice((1, 1, 2) if self.phases == 1 else (1, 1, 1, 2))]
        self.chips = random.choice(CHIPS[len(self.axes)])
        self.named = random.random() < 0.6
        self.start()
        pieces = [self.product, self.product, *[self.layer] * 4, self.between]
        for piece in random.sample(pieces, random.choice((3, 4, 5)) - 2 * (self.phases > 1)):
            piece()
        if self.phases > 1 or random.random() < 0.5:
            self.cached()
        if self.phases == 1 and random.random() < 0.5:
            self.layer()
        self.join()
        peak, network = random.choice((2.0, 4.0, 8.0)), random.choice((0.5, 1.0, 2.0, 4.0))
        return Small(self.text(), self.chips, plain("small", peak, 1 << 30, 1.0, network))

    def start(self) -> None:
        self.sizes = {d: self.size() for d in "BEFM"}
        if self.random.random() < 0.4:
            self.sizes["B"] = self.random.choice(FEW)
            self.sizes["E"] *= 4
        few = self.sizes["B"] in FEW or self.phases > 1
        self.unsplit = few and (self.phases == 1 or self.random.random() < 0.8)
        self.sizes |= dict.fromkeys("GH", self.sizes["E"])
        if self.sizes["E"] % 2:
            self.sizes |= dict.fromkeys("EGH", 2 * self.sizes["E"])
        self.sizes["M"] = max(self.sizes["M"], self.sizes["B"])
        self.head.append("dims " + " ".join(self.sized()))
        self.head.append(f"mesh {' '.join(self.axes)}")
        self.head += self.later()
        self.head.append(f"input pos : {self.requests()} int32")
        self.values["x"] = "E"
        if self.random.random() < 0.4:
            self.head.append(f"input ids : {self.requests()} int32")
            table = self.weight(self.random.choice(("VE", "FE")).replace("V", "M"))
            self.lines.append(f"x = embed[{self.declared[table][0]}]({table}, ids)")
        else:
            self.head.append(f"input x : {self.activation('E')}")

    def requests(self) -> str:
        return self.random.choice(REQUESTS[: 3 if self.unsplit else None])

    def activation(self, dim: str) -> str:
        """Few requests are not split by annotations, else there would mostly be no solution."""
        held = Writer.activation(self, dim)
        return f"B{held[held.index(dim) :]}" if self.unsplit else held

    def sized(self) -> Iterator[str]:
        own = "BM" if self.phases > 1 else ""
        return (d if d in own else f"{d}={size}" for d, size in self.sizes.items())

    def later(self) -> list[str]:
        """The phases: prefill has no more of anything, now and then more of one."""
        if self.phases == 1:
            return []
        batch, places = self.sizes["B"], self.sizes["M"]
        half = max(1, places // 2)
        fewer = ((1, places), (1, places), (batch, half), (batch, places), (1, half))
        first = self.random.choice((*fewer, (batch, 2 * places)))
        weight = self.random.choice((1, 3, 0.5))
        return [
            f"phase prefill : B={first[0]} M={first[1]}",
            f"phase decode : B={batch} M={places} weight={weight}",
        ]

    # Pieces.

    def layer(self) -> None:
        often = [self.norm] * 3
        kinds = (*often, self.softmax, self.turn, self.mask, self.divide, self.rename)
        self.random.choice(kinds)()

    def norm(self) -> None:
        source = self.pick()
        dim, kind = self.values[source], self.random.choice(("rmsnorm", "layernorm"))
        over = self.random.choice((dim, dim, "B"))
        count = self.random.choice((0, 1, 1, 2) if kind == "layernorm" else (0, 1, 1))
        beside = "".join(f", {self.weight(dim)}" for _ in range(count))
        self.fresh(dim, "", f"{kind}[{over}]({source}{beside})")

    def softmax(self) -> None:
        source = self.pick()
        over = self.random.choice((self.values[source], self.values[source], "B"))
        self.fresh(self.values[source], self.dtype(source), f"softmax[{over}]({source})")

    def dtype(self, source: str) -> str:
        """Now and then another dtype for the result."""
        return f": B{self.values[source]}? f32 " if self.random.random() < 0.2 else ""

    def turn(self) -> None:
        source = self.pick()
        dim = self.values[source]
        if self.sizes[dim] % 2 == 0 and dim != "M":
            self.fresh(dim, "", f"rope[{dim}]({source}, {self.place()})")

    def place(self) -> str:
        return "pos" if self.random.random() < 0.7 else "3"

    def mask(self) -> None:
        source = self.pick()
        dim = self.values[source]
        kind = self.random.choice((f"causal[B, {dim}]", f"valid[{dim}]"))
        self.fresh(dim, "", f"{kind}({source}, {self.place()})")

    def divide(self) -> None:
        """A scaled value; now and then a scaled maximum, or a sum, of each row."""
        source = self.pick()
        dim = self.values[source]
        if self.random.random() < 0.6:
            self.fresh(dim, "", f"scale[{dim}]({source})")
            return
        self.read(source)
        name = f"s{len(self.lines)}"
        self.lines.append(f"{name} = {self.random.choice(('sum', 'max'))}[{dim}]({source})")
        self.lines.append(f"{name}s = scale[{dim}]({name})")
        self.fresh(dim, "", f"{source} * {name}s")

    def rename(self) -> None:
        source = self.pick()
        dim = self.values[source]
        alike = [d for d in "EGH" if d != dim and dim in "EGH"]
        if alike:
            new = self.random.choice(alike)
            self.fresh(new, "", f"rename[{dim} -> {new}]({source})")

    def cached(self) -> None:
        """Rows written to a cache, of one request or one for each."""
        source = self.pick()
        dim = self.values[source]
        if dim != "M":
            (self.of_one if self.random.random() < 0.6 else self.of_each)(source, dim)

    def of_each(self, source: str, dim: str) -> None:
        """A row is a request's tokens: what its places hold is a value again."""
        cache, held = self.declare("BM", "")
        self.fresh("M", held, f"write[M]({cache}, {source}, {self.place()})")

    def of_one(self, source: str, dim: str) -> None:
        """Rows are its tokens: scores of all places follow, and now and then rows again."""
        dtype = self.random.choice(("", "", " f32"))
        cache, held = self.declare("M" + dim, dtype)
        new = f"{source}_f32" if dtype else source
        if dtype:
            self.lines.append(f"{new} : B{dim}? f32 = cast({source})")
        self.lines.append(f"{cache}n {held}= write[M]({cache}, {new}, {self.random.randint(0, 4)})")
        scores = self.fresh("M", ": BM? ", f"{self.read(source)} * {cache}n")
        if self.random.random() < 0.5:
            scores = self.fresh("M", self.dtype(scores), f"softmax[M]({self.read(scores)})")
            if self.random.random() < 0.5:
                self.fresh(dim, f": B{dim}? ", f"{self.read(scores)} * {cache}n")

    def declare(self, dims: str, dtype: str) -> tuple[str, str]:
        """A new cache, and the annotation of what is written to it."""
        cache = f"c{self.written}"
        self.written += 1
        self.head.append(f"cache {cache} : {self.parameter(dims)}{dtype}")
        return cache, self.random.choice(("", f": {dims}? "))
