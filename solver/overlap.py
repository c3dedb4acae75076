"""Collectives that run inside a matmul: what is moved while it is computed.

An all-gather whose result a matmul reads can be looped with it, part by part, and so can the
reduce-scatter of its result (the paper's section 3.5; Wang et al. 2023, "Overlap Communication with
Dependent Computation via Decomposition"). Weights that are gathered are read by a matmul too. Such
a matmul and what runs inside it take the longest of computing, reading weights and moving; all else
is as without overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from layoutc.dsl.operation import Move
from layoutc.dsl.program import Define, Program, Repeat
from layoutc.solver.matmuls import Matmul, matmul


@dataclass(frozen=True, slots=True)
class Group:
    """A matmul and the collectives inside it, all by the names that they define, and the weights
    and caches that it is the first to read."""

    matmul: str
    inside: tuple[str, ...]
    reads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hidden:
    """A collective inside a matmul, and how many of its seconds go on under it."""

    collective: str
    matmul: str
    seconds: float


def groups(program: Program) -> Iterator[Group]:
    """The matmuls of an explicit program inside which something is moved.

    What is read by several matmuls runs inside the first.
    """
    types = program.types
    for items in _blocks(program):
        found = ((define.name, matmul(define, types)) for define in items)
        products = {name: one for name, one in found if one is not None}
        inside: dict[str, list[str]] = {name: [] for name in products}
        for define in items:
            home = _home(define, products)
            if home:
                inside[home].append(define.name)
        sources = _sources(items)
        read: set[str] = set()
        for name, product in products.items():
            stored = [sources.get(o, o) for o in (product.left, product.right)]
            mine = tuple(s for s in dict.fromkeys(stored) if s not in read)
            read.update(mine)
            if inside[name]:
                yield Group(name, tuple(inside[name]), mine)


def _blocks(program: Program) -> Iterator[list[Define]]:
    """The statements of each block: nothing overlaps with what is outside of its own."""
    yield [item for item in program.items if isinstance(item, Define)]
    for item in program.items:
        if isinstance(item, Repeat):
            yield [inner for inner in item.body if isinstance(inner, Define)]


def _home(define: Define, products: Mapping[str, Matmul]) -> str:
    """The matmul inside which a collective runs; "" if it is none, or runs alone."""
    match define.operation:
        case Move("all-gather"):
            readers = (n for n, p in products.items() if define.name in (p.left, p.right))
            return next(readers, "")
        case Move("reduce-scatter", _, operand) if operand in products:
            return operand
        case _:
            return ""


def _sources(items: list[Define]) -> dict[str, str]:
    """For each name that was moved, the name that it was moved from."""
    found: dict[str, str] = {}
    for define in items:
        if isinstance(define.operation, Move):
            operand = define.operation.operand
            found[define.name] = found.get(operand, operand)
    return found


@dataclass(frozen=True, slots=True)
class Overlap:
    """A pass whose collectives run inside matmuls where they can: what is hidden, and `seconds`."""

    hidden: tuple[Hidden, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Seconds:
    """What a pass takes one by one: each matmul, each collective, reading each weight or cache."""

    computing: Mapping[str, float]
    moving: Mapping[str, float]
    reading: Mapping[str, float]


def overlapped(program: Program, each: Seconds) -> Overlap:
    """The pass: the longer of all computing and of all reading, each with what sticks out of the
    matmuls, and then what is moved outside of them."""
    found = list(groups(program))
    moved = [sum(each.moving[name] for name in group.inside) for group in found]
    under = {
        "compute": [each.computing[group.matmul] for group in found],
        "memory": [sum(each.reading.get(name, 0.0) for name in group.reads) for group in found],
    }
    whole = {"compute": sum(each.computing.values()), "memory": sum(each.reading.values())}
    for resource, own in under.items():
        whole[resource] += sum(max(0.0, m - o) for m, o in zip(moved, own, strict=True))
    longest = max(whole, key=lambda resource: whole[resource])
    hidden = []
    for group, total, busy in zip(found, moved, under[longest], strict=True):
        share = min(1.0, busy / total) if total else 0.0
        hidden += [Hidden(n, group.matmul, share * each.moving[n]) for n in group.inside]
    outside = sum(each.moving.values()) - sum(moved)
    return Overlap(tuple(hidden), whole[longest] + outside)
