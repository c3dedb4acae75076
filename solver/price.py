"""What an explicit program costs on a mesh of a machine: every statement, then the pass.

The rules are the paper's (section 2 and appendix A.1), times of moves those of the machine's
network (`layoutc.solver.hardware.timing`). All counts are of one chip, in whole
numbers, and count every repetition of a block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod

from layoutc.dsl.operation import Move
from layoutc.dsl.program import DTYPES, Define, Program, Type
from layoutc.dsl.shape import Shape
from layoutc.solver import lifetimes
from layoutc.solver.collectives import RULES, held, moves_nothing, received, sending
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.matmuls import Matmul, matmul
from layoutc.solver.monomial import Monomial
from layoutc.solver.overlap import Overlap, Seconds, overlapped
from layoutc.solver.stored import stored


@dataclass(frozen=True, slots=True)
class StatementPrice:
    """One statement, all its `times` repetitions together.

    A product has `flops`; a move has the `elements` and `bytes` that a chip receives and `before`,
    its operand's shape. `seconds` is computing or moving, whichever the statement does; `latency`
    is the part of it that goes to starting and to hops, whatever the bytes.
    """

    define: Define
    times: int
    flops: int = 0
    elements: int = 0
    bytes: int = 0
    seconds: float = 0.0
    latency: float = 0.0
    before: Shape | None = None


@dataclass(frozen=True, slots=True)
class Communication:
    """What the moves of a pass come to, on one chip; `latency` is the part of `seconds` that goes
    to starting and to hops."""

    elements: int
    bytes: int
    seconds: float
    latency: float = 0.0


@dataclass(frozen=True, slots=True)
class Compute:
    """What the products of a pass come to, on one chip.

    `useful_flops` is a chip's share of what they would be if nothing were padded and no two chips
    did the same.
    """

    flops: int
    seconds: float
    useful_flops: int


@dataclass(frozen=True, slots=True)
class Memory:
    """`bytes` is the most that a chip holds at once; `traffic_bytes` is what it reads in a pass,
    its share of weights and caches once, with the scales of int8 weights; `seconds` is how long
    that takes. `peak` are the names of the activations that are alive when it holds most."""

    bytes: int
    traffic_bytes: int
    seconds: float
    peak: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prices:
    """One pass: its statements in order, and their totals; `overlap` is there where the machine
    moves inside matmuls."""

    statements: tuple[StatementPrice, ...]
    communication: Communication
    compute: Compute
    memory: Memory
    overlap: Overlap | None = None

    @property
    def seconds(self) -> float:
        """Moving waits for computing, but for what runs inside a matmul; reading weights goes on
        under the matmuls."""
        return self.apart if self.overlap is None else self.overlap.seconds

    @property
    def apart(self) -> float:
        """The same where nothing is moved inside a matmul."""
        return max(self.compute.seconds, self.memory.seconds) + self.communication.seconds

    @property
    def collectives(self) -> tuple[StatementPrice, ...]:
        """The six kinds of move, those that cost nothing (slices, axes of size 1) among them."""
        return tuple(s for s in self.statements if isinstance(s.define.operation, Move))


def price(program: Program, fabric: Fabric) -> Prices:
    """The exact price of an explicit `program` where its axes lie on `fabric`.

    Raises:
        ValueError: the program has holes, a dim has no size, or its axes do not divide it.
    """
    pricer = _Pricer(program, fabric)
    statements = tuple(pricer.statements())
    return Prices(
        statements,
        _communication(statements),
        _compute(statements, pricer.useful_flops()),
        held_in(program, fabric.mesh, fabric.machine),
        _overlap(program, statements, fabric) if fabric.machine.overlap else None,
    )


def _overlap(program: Program, statements: tuple[StatementPrice, ...], fabric: Fabric) -> Overlap:
    moves = {s.define.name: s.seconds for s in statements if isinstance(s.define.operation, Move)}
    kept, rate = stored(program, fabric.mesh), fabric.machine.memory_bandwidth
    return overlapped(
        program,
        Seconds(
            {s.define.name: s.seconds for s in statements if s.flops},
            moves,
            {name: bytes_ / rate for name, bytes_ in kept.items()},
        ),
    )


def held_in(program: Program, mesh: Mapping[str, int], machine: Machine) -> Memory:
    """What an explicit program takes of a chip's memory: all that it costs but for the network.

    Raises:
        ValueError: the program has holes, a dim has no size, or its axes do not divide it.
    """
    sizes = _checked(program, mesh)

    def bytes_(held_as: Type) -> int:
        return ceil(held(held_as.shape).exact(sizes)) * DTYPES[held_as.dtype]

    read = sum(stored(program, mesh).values())
    alive = lifetimes.peak(program, bytes_)
    return Memory(read + alive.bytes, read, read / machine.memory_bandwidth, alive.names)


def _checked(program: Program, mesh: Mapping[str, int]) -> dict[str, int]:
    """The size of each dim and axis. Raises `ValueError` where one can't be priced."""
    sizes = {**program.sizes, **mesh}
    for name, found in program.types.items():
        shape = found.shape
        unsized = [s for s in (*shape.names, *shape.axes) if s not in sizes]
        if not shape.explicit or unsized:
            raise ValueError(f"{name} : {shape} has no price: a hole, or no size for {unsized}")
        local = (Monomial.of(d.name, d.axes).exact(sizes) for d in shape)
        if any(extent.denominator > 1 for extent in local):
            raise ValueError(f"{name} : {shape} is not divided evenly by {dict(mesh)}")
    return sizes


def _compute(statements: tuple[StatementPrice, ...], useful: int) -> Compute:
    products = [s for s in statements if s.flops]
    flops, seconds = sum(s.flops for s in products), sum(s.seconds for s in products)
    return Compute(flops, seconds, useful)


def _communication(statements: tuple[StatementPrice, ...]) -> Communication:
    moves = [s for s in statements if isinstance(s.define.operation, Move)]
    return Communication(
        sum(s.elements for s in moves),
        sum(s.bytes for s in moves),
        sum(s.seconds for s in moves),
        sum(s.latency for s in moves),
    )


class _Pricer:
    """Holds what every price needs: the types by name, sizes by dim and by axis, the fabric."""

    def __init__(self, program: Program, fabric: Fabric) -> None:
        self.program, self.fabric, self.mesh = program, fabric, fabric.mesh
        self.types = program.types
        self.values = _checked(program, fabric.mesh)

    def statements(self) -> list[StatementPrice]:
        return [self.one(item, n) for item, n in self.program.walk() if isinstance(item, Define)]

    def one(self, item: Define, times: int) -> StatementPrice:
        if isinstance(item.operation, Move):
            return self.move(item, item.operation, times)
        found = matmul(item, self.types)
        if found is None:
            return StatementPrice(item, times)
        flops = times * self.flops(found)
        dtypes = (self.types[name].dtype for name in (found.left, found.right))
        seconds = flops / self.fabric.machine.peak(*dtypes)
        return StatementPrice(item, times, flops, seconds=seconds)

    def flops(self, found: Matmul) -> int:
        """Twice the index space that falls to one chip, whoever repeats it."""
        one, other = self.types[found.left].shape, self.types[found.right].shape
        # Where both split a dim, one list begins the other: the longer one is what is shared.
        axes = {a for d in found.dims for a in (*one.split(d), *other.split(d))}
        return 2 * ceil(Monomial.of(found.dims, axes).exact(self.values))

    def useful_flops(self) -> int:
        """All products without padding, each once, over all chips."""
        sizes = {**self.values, **self.program.useful}
        whole = 0
        for item, times in self.program.walk():
            found = matmul(item, self.types) if isinstance(item, Define) else None
            if found is not None:
                whole += times * 2 * prod(sizes[d] for d in found.dims)
        return ceil(Fraction(whole, prod(self.mesh.values())))

    def move(self, item: Define, move: Move, times: int) -> StatementPrice:
        """Seconds go by the exact quotient; counts are rounded up where it is not whole.

        That happens only to an all-reduce of fewer elements than chips can share evenly.
        """
        before, after = self.types[move.operand].shape, item.type.shape
        if moves_nothing(move, before, after, self.mesh):
            return StatementPrice(item, times, before=before)
        exact = times * received(move, before, after).exact(self.values)
        itemsize = DTYPES[item.type.dtype]
        side = before if RULES[move.kind].side == "before" else after
        bytes_ = float(held(side).exact(self.values) * itemsize)
        rate = self.fabric.rate(move.kind, sending(move, before, after))
        return StatementPrice(
            item,
            times,
            elements=ceil(exact),
            bytes=ceil(exact) * itemsize,
            seconds=times * rate.seconds(bytes_),
            latency=times * rate.start,
            before=before,
        )
