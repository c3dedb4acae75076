"""Random explicit programs on random meshes, by seed.

A program grows by statements that `layoutc.dsl.rules` accepts; each is proposed with its layout
written down here, so that the rules are compared with a second reading of the notation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from math import lcm, prod
from random import Random

from layoutc.dsl.operation import (
    Apply,
    Arithmetic,
    Cast,
    Function,
    Hold,
    Move,
    Number,
    Operation,
    Product,
    Reduce,
    operands,
)
from layoutc.dsl.program import Axis, Declare, Define, Item, Output, Program, Type
from layoutc.dsl.rules import Held, infer
from layoutc.dsl.shape import Dim, Shape

DIMS = "BLEF"
AXES = "uvxyz"
SIZES = (1, 2, 2, 3, 4, 5, 6, 8)
ANYWHERE: tuple[Function, ...] = (
    "relu",
    "gelu",
    "gelu_erf",
    "silu",
    "sigmoid",
    "tanh",
    "square",
    "neg",
    "abs",
)
TAMED: dict[Function, Function] = {
    "exp": "tanh", "exp2": "tanh", "log": "sigmoid", "sqrt": "sigmoid", "rsqrt": "sigmoid",
}  # fmt: skip
"""What keeps a function's argument where the function is smooth."""
MOST_ELEMENTS = 60_000


def random_program(seed: int, statements: int = 12) -> tuple[Program, dict[str, int]]:
    """A program of about as many statements, and the sizes of its mesh."""
    for attempt in count():
        random = Random(f"{seed} {attempt}")
        mesh = random_mesh(random)
        program = _Growing(random, mesh).grown(statements)
        if program is not None:
            return program, mesh
    raise AssertionError


def random_mesh(random: Random) -> dict[str, int]:
    """1 to 3 axes, sometimes 4 or 5; mostly at most 24 chips, never more than 64."""
    while True:
        axes = sorted(random.sample(AXES, random.choice((1, 2, 2, 3, 3, 3, 4, 5))))
        mesh = {a: random.choice(SIZES) for a in axes}
        if prod(mesh.values()) <= random.choice((8, 12, 24, 24, 64)):
            return mesh


@dataclass
class _Growing:
    random: Random
    mesh: dict[str, int]
    items: list[Item] = field(default_factory=list)
    types: dict[str, Type] = field(default_factory=dict)

    def grown(self, statements: int) -> Program | None:
        """The program, or None if it came out too large."""
        for _ in range(2):
            self.declare("input")
        proposals = [self.product] * 3 + [
            self.arithmetic,
            self.apply,
            self.reduce,
            self.hold,
            self.scaled,
        ]
        proposals += [self.move] * 4
        while len(self.items) < statements + 2:
            self.random.choice(proposals)()
        outputs = [self.finished(n) for n in list(self.types)[-self.random.choice((1, 1, 2, 3)) :]]
        sizes = self.sizes()
        largest = max(prod(sizes[d] for d in t.shape.names) for t in self.types.values())
        work = max(prod(sizes[d] for d in DIMS), largest)
        if work > 50 * MOST_ELEMENTS or largest > MOST_ELEMENTS:
            return None
        dims: dict[str, int | None] = dict(sizes)
        axes = tuple(Axis(a) for a in self.mesh)
        ends = tuple(Output(o) for o in dict.fromkeys(outputs))
        return Program("random", dims, axes, "f32", tuple(self.items), ends)

    # What the parts share.

    def define(self, operation: Operation, shape: Shape) -> str | None:
        """A statement, if the rules accept it; they have to agree about the layout."""
        held = {n: Held(n, self.types[n].shape, "f32") for n in operands(operation)}
        verdict = infer(operation, held, shape, "f32")
        if not isinstance(verdict, Shape):
            return None
        assert verdict == shape, (operation, held, shape, verdict)
        name = f"t{len(self.types)}"
        self.types[name] = Type(shape, "f32")
        self.items.append(Define(name, self.types[name], operation))
        return name

    def declare(self, kind: str = "", dims: tuple[str, ...] = ()) -> str:
        """A new argument; its axes fall where they like."""
        random = self.random
        dims = dims or tuple(random.sample(DIMS, random.randint(1, 3)))
        splits: dict[str, list[str]] = {d: [] for d in dims}
        for axis in random.sample(list(self.mesh), len(self.mesh)):
            if random.random() < 0.7:
                splits[random.choice(dims)].append(axis)
        name = f"t{len(self.types)}"
        shape = Shape(tuple(Dim(d, tuple(a)) for d, a in splits.items()))
        self.types[name] = Type(shape, "f32")
        chosen = kind or random.choice(("input", "weight", "weight", "cache"))
        self.items.append(Declare(chosen, name, self.types[name]))  # type: ignore[arg-type]
        return name

    def pick(self) -> tuple[str, Shape]:
        """A name, the latest more often."""
        names = list(self.types)
        name = self.random.choice(names[-3:] + names)
        return name, self.types[name].shape

    def meeting(self, shape: Shape) -> tuple[str, Shape]:
        """An operand to meet one of `shape`: an old one, or a new one."""
        if self.random.random() < 0.6:
            return self.pick()
        extra = [d for d in DIMS if d not in shape]
        dims = [d for d in shape.names if self.random.random() < 0.7]
        dims += self.random.sample(extra, min(len(extra), self.random.randint(0, 1)))
        name = self.declare(dims=tuple(dims) or shape.names)
        return name, self.types[name].shape

    def joined(self, dims: list[str], one: Shape, other: Shape) -> Shape | None:
        """The layout that two operands' own parts have, if there is one."""
        lists = [max(one.split(d), other.split(d), key=len) for d in one.names + other.names]
        met = dict(zip(one.names + other.names, lists, strict=True))
        gone = [a for d, axes in met.items() if d not in dims for a in axes]
        partial = {*one.partial, *other.partial, *gone}
        try:
            return Shape(tuple(Dim(d, met[d]) for d in dims), tuple(partial))
        except ValueError:
            return None

    # Statements.

    def product(self) -> None:
        left, one = self.pick()
        right, other = self.meeting(one)
        dims = list(dict.fromkeys(one.names + other.names))
        summed = [d for d in dims if d in one and d in other and self.random.random() < 0.6]
        kept = [d for d in dims if d not in summed and self.random.random() < 0.95]
        if self.random.random() < 0.3:
            self.random.shuffle(kept)
        shape = self.joined(kept[:3], one, other) if kept else None
        if shape:
            self.define(Product(left, right), shape)

    def arithmetic(self) -> None:
        left, one = self.pick()
        right, other = self.meeting(one)
        dims = list(dict.fromkeys(one.names + other.names))
        sign = self.random.choice("+-+/")
        if self.random.random() < 0.3:
            self.random.shuffle(dims)
        if sign == "/" and not other.partial:
            right = self.define(Apply("sigmoid", right), other) or right
        shape = self.joined(dims, one, other)
        if shape and len(dims) < 4 and not (sign == "/" and other.partial):
            self.define(Arithmetic(sign, left, right), shape)  # type: ignore[arg-type]

    def scaled(self) -> None:
        name, shape = self.pick()
        number = Number(self.random.choice(("2", "-0.5", "1e-1", "007")))
        choices: list[Operation] = [Product(name, number), Product(number, name)]
        choices += [Arithmetic("/", name, number), Arithmetic("+", number, name)]
        self.define(self.random.choice(choices), shape)

    def apply(self) -> None:
        name, shape = self.pick()
        function = self.random.choice(ANYWHERE + tuple(TAMED))
        if function in TAMED:
            name = self.define(Apply(TAMED[function], name), shape) or ""
        if name:
            self.define(Apply(function, name), shape)

    def reduce(self) -> None:
        name, shape = self.pick()
        if len(shape.dims) < 2:
            return
        kind = self.random.choice(("sum", "mean", "max"))
        gone = tuple(self.random.sample(shape.names, self.random.randint(1, len(shape.dims) - 1)))
        partial = shape.partial + tuple(a for d in gone for a in shape.split(d))
        rest = tuple(d for d in shape if d.name not in gone)
        to = Shape(rest, partial, "max" if kind == "max" else "sum")
        self.define(Reduce(kind, gone, name), to)  # type: ignore[arg-type]

    def hold(self) -> None:
        name, shape = self.pick()
        self.define(self.random.choice((Hold(name), Cast(name))), shape)

    # Moves.

    def move(self) -> None:
        kinds = [
            self.all_gather,
            self.reduction,
            self.reduction,
            self.all_to_all,
            self.slice,
            self.permute,
        ]
        name, shape = self.pick()
        self.random.choice(kinds)(name, shape)

    def moved(self, kind: str, axes: tuple[str, ...], name: str, shape: Shape) -> str | None:
        ordered = tuple(a for a in self.mesh if a in axes)
        return self.define(Move(kind, ordered, name), shape)  # type: ignore[arg-type]

    def some(self, axes: tuple[str, ...]) -> tuple[str, ...]:
        """At least one of `axes`, in any order."""
        return tuple(self.random.sample(axes, self.random.randint(1, len(axes))))

    def tail(self, axes: tuple[str, ...]) -> tuple[str, ...]:
        return axes[len(axes) - self.random.randint(0, len(axes)) :]

    def land(self, shape: Shape, axes: tuple[str, ...], dims: tuple[str, ...]) -> Shape:
        dim = self.random.choice(dims)
        return shape.with_split(dim, shape.split(dim) + axes)

    def all_gather(self, name: str, shape: Shape) -> None:
        axes = tuple(a for d in shape for a in self.tail(d.axes))
        if axes:
            self.moved("all-gather", axes, name, shape.without(axes))

    def reduction(self, name: str, shape: Shape) -> None:
        if not shape.partial:
            return
        axes = self.some(shape.partial)
        rest = tuple(a for a in shape.partial if a not in axes)
        after = shape.with_partial(rest, shape.reduction)
        if self.random.random() < 0.6 and shape.reduction == "sum":
            self.moved("reduce-scatter", axes, name, self.land(after, axes, shape.names))
        else:
            self.moved("all-reduce", axes, name, after)

    def all_to_all(self, name: str, shape: Shape) -> None:
        source = self.random.choice(shape.dims)
        axes = self.tail(source.axes)
        others = tuple(d for d in shape.names if d != source.name)
        if axes and others:
            landed = tuple(self.random.sample(axes, len(axes)))
            self.moved("all-to-all", axes, name, self.land(shape.without(axes), landed, others))

    def slice(self, name: str, shape: Shape) -> None:
        free = tuple(a for a in self.mesh if shape.whole_over(a))
        if free:
            axes = self.some(free)
            self.moved("slice", axes, name, self.land(shape, axes, shape.names))

    def permute(self, name: str, shape: Shape) -> None:
        wide = [d for d in shape if len(d.axes) > 1]
        if not wide:
            return
        dim = self.random.choice(wide)
        new = tuple(self.random.sample(dim.axes, len(dim.axes)))
        changed = tuple(a for a, b in zip(dim.axes, new, strict=True) if a != b)
        if changed:
            self.moved("permute", changed, name, shape.with_split(dim.name, new))

    # The end.

    def finished(self, name: str) -> str:
        """`name`, or what it is once it is no longer partial."""
        shape = self.types[name].shape
        if not shape.partial:
            return name
        return self.moved("all-reduce", shape.partial, name, shape.with_partial(())) or name

    def sizes(self) -> dict[str, int]:
        parts = dict.fromkeys(DIMS, 1)
        for type_ in self.types.values():
            for dim in type_.shape:
                parts[dim.name] = lcm(parts[dim.name], prod(self.mesh[a] for a in dim.axes))
        return {d: n * self.random.choice((1, 2, 3) if n < 12 else (1,)) for d, n in parts.items()}
