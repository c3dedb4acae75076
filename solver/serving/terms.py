"""An explicit program as sums over the sizes that vary: what a pass takes, at any of them at once.

The rules are those of `layoutc.solver.price`, which prices one program at one size. Here the dims
B, L and M (sequences, tokens of a pass, places of the context) stay symbols, so that a sum is
evaluated for arrays of sizes; and what differs in how much of the machine it reaches is kept apart:
matmuls with weights from those of attention, weights from caches, weights that are gathered from
everything else that moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutc.dsl.operation import Move
from layoutc.dsl.program import DTYPES, Declare, Define, Program, Repeat, Type
from layoutc.solver import lifetimes
from layoutc.solver.attention import attended
from layoutc.solver.collectives import RULES, held, moves_nothing, sending
from layoutc.solver.context import PLACES, SEQUENCES
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.reaching import one_way
from layoutc.solver.matmuls import Matmul, matmul
from layoutc.solver.monomial import Cost, Monomial
from layoutc.solver.stored import scales

Floats = NDArray[np.float64]
Number = float | Floats
"""One, or as many as there are sizes."""

Sizes = Mapping[str, Floats]
"""The sizes of B, L and M, of as many entries each."""

VARYING = ("B", "L", "M")
"""The dims that stay symbols: sequences, tokens of a pass, places of the context."""

KINDS = ("matmul", "attention", "weights", "caches", "gathered", "moved")
"""What is kept apart: in seconds at the machine's own figures."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """What a pass takes of a chip at each of many sizes: arrays of seconds, one for each kind, at
    the machine's own figures; all repetitions counted."""

    matmul: Floats
    attention: Floats
    weights: Floats
    caches: Floats
    gathered: Floats
    moved: Floats

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(*(getattr(self, kind) + getattr(other, kind) for kind in KINDS))

    def scaled(self, factor: Number) -> Amounts:
        """So many times as much."""
        return Amounts(*(factor * getattr(self, kind) for kind in KINDS))


@dataclass(frozen=True, slots=True)
class Term:
    """What one statement, or reading one weight or cache, takes: `cost` in seconds at the machine's
    own figures, over B, L and M, all `times` repetitions together."""

    name: str
    kind: str
    cost: Cost
    times: int


class Terms:
    """An explicit program where its axes lie; `fabric` has the machine's own figures."""

    def __init__(self, program: Program, fabric: Fabric) -> None:
        self.program, self.fabric, self.mesh = program, fabric, fabric.mesh
        self.types = program.types
        dims = {d: n for d, n in program.sizes.items() if d not in VARYING}
        self.values: dict[str, int | Fraction] = {**dims, **self.mesh}

    # What a pass takes.

    @cached_property
    def block(self) -> tuple[Term, ...]:
        """What is repeated."""
        return tuple(self._terms(repeated=True))

    @cached_property
    def outside(self) -> tuple[Term, ...]:
        """What is not."""
        return tuple(self._terms(repeated=False))

    def amounts(self, sizes: Sizes) -> tuple[Amounts, Amounts]:
        """What the repeated block and what the rest takes at arrays of sizes."""
        return evaluated(self._sums[0], sizes), evaluated(self._sums[1], sizes)

    @cached_property
    def _sums(self) -> tuple[dict[str, Cost], dict[str, Cost]]:
        return summed(self.block), summed(self.outside)

    def _terms(self, repeated: bool) -> Iterator[Term]:
        weights, attending = self._weights, {each.name for each in attended(self.program)}
        for item, times, inside in _walk(self.program):
            if inside != repeated:
                continue
            if isinstance(item, Declare):
                if item.kind != "input":
                    yield self._reading(item, times)
            elif isinstance(item.operation, Move):
                yield from self._moving(item, item.operation, times, item.name in weights)
            else:
                product = matmul(item, self.types)
                if product is not None:
                    kind = "attention" if item.name in attending else "matmul"
                    yield Term(item.name, kind, self._computing(product, times), times)

    def _reading(self, item: Declare, times: int) -> Term:
        bytes_ = self.sized(item.type) * times
        if item.name in self._scales:
            bytes_ += Cost.of(Monomial(Fraction(self._scales[item.name])))
        kind = "caches" if item.kind == "cache" else "weights"
        return Term(item.name, kind, _over(bytes_, self.fabric.machine.memory_bandwidth), times)

    def _computing(self, product: Matmul, times: int) -> Cost:
        one, other = (self.types[n].shape for n in (product.left, product.right))
        axes = {a for d in product.dims for a in (*one.split(d), *other.split(d))}
        work = self.reduced(Monomial.of(product.dims, axes, 2 * times))
        dtypes = (self.types[n].dtype for n in (product.left, product.right))
        return _over(work, self.fabric.machine.peak(*dtypes))

    def _moving(self, item: Define, move: Move, times: int, weight: bool) -> Iterator[Term]:
        before, after = self.types[move.operand].shape, item.type.shape
        if moves_nothing(move, before, after, self.mesh):
            return
        side = before if RULES[move.kind].side == "before" else after
        axes = sending(move, before, after)
        per_byte = self.fabric.rate(move.kind, axes).per_byte
        gathered = weight and move.kind == "all-gather"
        if gathered:
            per_byte = self._one_way(axes, per_byte)
        cost = self.sized(Type(side, item.type.dtype)) * Monomial(Fraction(per_byte) * times)
        yield Term(item.name, "gathered" if gathered else "moved", cost, times)

    def _one_way(self, axes: Iterable[str], per_byte: float) -> float:
        """Seconds a byte of weights that are gathered while they are multiplied, part by part:
        along a torus each part comes over one link in one direction."""
        stages = self.fabric.stages(axes)
        if not all(stage.tier.shaped for stage in stages):
            return per_byte
        new = 1 - 1 / prod(stage.chips for stage in stages)
        return new / one_way(tuple(stage.tier for stage in stages))

    # What it holds.

    def held(self, sizes: Sizes, share: float = 1.0) -> Floats:
        """Bytes of a chip, at most, with so much of the block's weights and caches."""
        return at(self._stored(share), sizes) + self.alive(sizes)

    def stored(self, kind: str, sizes: Sizes, share: float = 1.0) -> Floats:
        """Bytes of a chip that "weights" or "caches" take."""
        return at(self._stored(share, kind), sizes)

    def _stored(self, share: float, *only: str) -> Cost:
        """The bytes of weights and caches, or of those only, with so much of the block's."""
        kinds = only or ("weights", "caches")
        inside, outside = (sum((sums[k] for k in kinds), Cost()) for sums in self._sums)
        bandwidth = Monomial(Fraction(self.fabric.machine.memory_bandwidth))
        return (inside * Monomial(Fraction(share)) + outside) * bandwidth

    def alive(self, sizes: Sizes) -> Floats:
        """Bytes of the largest set of activations that is alive at once."""
        return np.asarray(np.max([at(cost, sizes) for cost in self.sets], axis=0))

    def longest(self, sizes: Sizes, memory: float, share: float = 1.0) -> Floats:
        """The most places of a context, M, with which everything fits; M of `sizes` is not read.

        Infinite where nothing grows with M.
        """
        return self._most(PLACES, self._stored(share), sizes, memory)

    def longest_cached(self, sizes: Sizes, memory: float, share: float = 1.0) -> Floats:
        """The same where caches alone have so much memory."""
        return _until(PLACES, self._stored(share, "caches"), sizes, memory)

    def widest(self, sizes: Sizes, room: Floats, share: float = 1.0) -> Floats:
        """The most sequences, B, for whose activations there is `room` in bytes beside the weights;
        B of `sizes` is not read. Infinite where nothing grows with B."""
        return self._most(SEQUENCES, self._stored(share, "weights"), sizes, room)

    def _most(self, dim: str, stored: Cost, sizes: Sizes, memory: Floats | float) -> Floats:
        """The most of a dim with which what is stored and what is alive take so much memory."""
        most = (_until(dim, stored + alive, sizes, memory) for alive in self.sets)
        return np.asarray(np.min([*most], axis=0))

    @cached_property
    def sets(self) -> tuple[Cost, ...]:
        """The activations alive at each statement, in bytes, those left out that are never most."""
        found = lifetimes.lives(self.program)
        changes = [Cost() for _ in range(lifetimes.ends(found) + 1)]
        for life in found:
            size = self.sized(life.type)
            changes[life.born] += size
            changes[life.last + 1] -= size
        total, sums = Cost(), list[Cost]()
        for change in changes[:-1]:
            total += change
            sums.append(total)
        return tuple(undominated(sums)) or (Cost(),)

    @cached_property
    def parts(self) -> dict[str, int]:
        """What B, L and M have to be multiples of, so that axes divide them."""
        shapes = [held_as.shape for held_as in self.types.values()]
        return {d: lcm(*(prod(self.mesh[a] for a in s.split(d)) for s in shapes)) for d in VARYING}

    # Of the program.

    def sized(self, held_as: Type) -> Cost:
        """The bytes of a tensor on one chip."""
        return self.reduced(held(held_as.shape)) * DTYPES[held_as.dtype]

    def reduced(self, monomial: Monomial) -> Cost:
        """With every symbol but B, L and M replaced by its value."""
        known = [(s, e) for s, e in monomial.powers if s not in VARYING]
        left = tuple((s, e) for s, e in monomial.powers if s in VARYING)
        factor = prod((Fraction(self.values[s]) ** e for s, e in known), start=Fraction(1))
        return Cost.of(Monomial(monomial.coefficient * factor, left))

    @cached_property
    def _weights(self) -> frozenset[str]:
        """The names that hold a weight, as it is declared or moved."""
        found = set[str]()
        for item, _ in self.program.walk():
            match item:
                case Declare("weight", name):
                    found.add(name)
                case Define(name, _, Move(_, _, operand)) if operand in found:
                    found.add(name)
                case _:
                    pass
        return frozenset(found)

    @cached_property
    def _scales(self) -> dict[str, int]:
        return scales(self.program)


def _walk(program: Program) -> Iterator[tuple[Declare | Define, int, bool]]:
    """Every item, how often it comes, and whether in a block."""
    for item in program.items:
        if isinstance(item, Repeat):
            yield from ((inner, item.count, True) for inner in item.body)
        else:
            yield item, 1, False


def _over(cost: Cost, rate: float) -> Cost:
    return cost * Monomial(1 / Fraction(rate))


def summed(terms: Iterable[Term]) -> dict[str, Cost]:
    """The sum of each kind."""
    found = dict.fromkeys(KINDS, Cost())
    for term in terms:
        found[term.kind] += term.cost
    return found


def evaluated(sums: Mapping[str, Cost], sizes: Sizes) -> Amounts:
    """Sums at arrays of sizes."""
    return Amounts(*(at(sums[kind], sizes) for kind in KINDS))


def at(cost: Cost, sizes: Sizes) -> Floats:
    """A sum at arrays of sizes."""
    return cost.at(sizes, np.zeros(np.broadcast_shapes(*(np.shape(s) for s in sizes.values()))))


def _until(dim: str, cost: Cost, sizes: Sizes, memory: Floats | float) -> Floats:
    """The size of a dim at which a sum of bytes comes to `memory`; 0 where it does without it,
    infinite where it never does."""
    once = {**sizes, dim: np.ones_like(sizes[dim])}
    grows = Cost.of(*(term for term in cost.terms if dim in dict(term.powers)))
    rest, each = at(cost - grows, once), at(grows, once)
    full = np.divide(memory - rest, each, out=np.full(each.shape, np.inf), where=each > 0)
    return np.where(rest > memory, 0.0, full)


def undominated(costs: Iterable[Cost]) -> Iterator[Cost]:
    """Without those that no sizes make larger than another one."""
    kept: list[dict[Any, Fraction]] = []
    spelled = {cost: {t.powers: t.coefficient for t in cost.terms} for cost in costs}
    for own in sorted(spelled.values(), key=lambda c: -float(sum(c.values()))):
        if not any(all(c <= k.get(p, 0) for p, c in own.items()) for k in kept):
            kept.append(own)
            yield Cost.of(*(Monomial(c, p) for p, c in own.items()))
