"""Where the axes of a mesh lie on a slice of a machine.

A mesh axis takes whole physical axes, or parts of those that can be cut. A part is a run of chips
along one physical axis, `stride` apart: the parts of an axis of 8 cut in 2 and 4 are four chips in
a row, and two of them four apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod

from layoutc.dsl.program import Axis
from layoutc.solver.hardware.tier import Slice, Tier, spelled
from layoutc.solver.meshes import factorisations


@dataclass(frozen=True, slots=True)
class Part:
    """A run of `size` chips (or groups) along axis number `axis` of tier number `tier`; `ring` says
    whether the whole physical axis, `length` chips long, is closed."""

    tier: int
    axis: int
    size: int
    stride: int
    length: int
    ring: bool

    @property
    def whole(self) -> bool:
        """Whether it is all of its physical axis."""
        return self.size == self.length


Parts = tuple[Part, ...]
"""What an axis is made of, the most significant first."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A slice, and the parts of it that each mesh axis takes; none for an axis of one chip."""

    slice: Slice
    parts: Mapping[str, Parts]

    @property
    def mesh(self) -> dict[str, int]:
        """The size of each axis."""
        return {axis: prod(p.size for p in own) for axis, own in self.parts.items()}

    def renamed(self, names: Mapping[str, str]) -> Placement:
        """The same with its axes renamed, in the order that they had."""
        found = {names[axis]: own for axis, own in self.parts.items()}
        return Placement(self.slice, {axis: found[axis] for axis in self.parts})


@dataclass(frozen=True, slots=True)
class _Line:
    """One physical axis of a slice."""

    tier: int
    axis: int
    length: int
    ring: bool
    shaped: bool
    divisible: bool

    def like(self, other: _Line) -> bool:
        """Whether the two could change places."""
        return (self.tier, self.length, self.ring) == (other.tier, other.length, other.ring)


def placements(tiers: Sequence[Tier], one: Slice, axes: tuple[Axis, ...]) -> Iterator[Placement]:
    """Every way to lay axes on a slice, sizes that are given kept; of those that differ in which of
    two physical axes alike is which, one."""
    lines = list(_lines(tiers, one))
    cuts = [list(_cuts(line, tuple(axis.name for axis in axes))) for line in lines]
    sizes = {axis.name: axis.size for axis in axes}
    taken: dict[str, int] = dict.fromkeys(sizes, 1)

    def laid(number: int, first: int, parts: dict[str, Parts]) -> Iterator[Placement]:
        if number < 0:
            if all(size in (None, taken[axis]) for axis, size in sizes.items()):
                yield Placement(one, parts)
            return
        for index, cut in enumerate(cuts[number][first:], first):
            if any((sizes[a] or 0) % (taken[a] * part.size) for a, part in cut.items()):
                continue
            for axis, part in cut.items():
                taken[axis] *= part.size
            more = {axis: (*own, cut[axis]) if axis in cut else own for axis, own in parts.items()}
            alike = number > 0 and lines[number].like(lines[number - 1])
            yield from laid(number - 1, index if alike else 0, more)
            for axis, part in cut.items():
                taken[axis] //= part.size

    # From the outermost in, so that parts come to stand in order.
    yield from laid(len(lines) - 1, 0, dict.fromkeys(sizes, ()))


def _lines(tiers: Sequence[Tier], one: Slice) -> Iterator[_Line]:
    """The physical axes of more than one chip. The last axis of a torus is the innermost."""
    for number, (tier, shape) in enumerate(zip(tiers, one, strict=True)):
        rings = tier.rings(shape)
        for axis in reversed(range(len(shape))):
            if shape[axis] > 1:
                yield _Line(number, axis, shape[axis], rings[axis], tier.shaped, tier.divisible)


def _cuts(line: _Line, axes: tuple[str, ...]) -> Iterator[dict[str, Part]]:
    """The ways to give a physical axis to mesh axes, whole or cut."""
    if not line.divisible:
        for axis in axes:
            yield {axis: _part(line, line.length, 1)}
        return
    for sizes in factorisations(line.length, len(axes)):
        used = [(axis, size) for axis, size in zip(axes, sizes, strict=True) if size > 1]
        # Through a switch all chips are next to each other: one order stands for all.
        for order in permutations(used) if line.shaped else (used,):
            cut, stride = {}, 1
            for axis, size in reversed(order):
                cut[axis] = _part(line, size, stride)
                stride *= size
            yield cut


def _part(line: _Line, size: int, stride: int) -> Part:
    return Part(line.tier, line.axis, size, stride, line.length, line.ring)


def told(tiers: Sequence[Tier], placement: Placement) -> dict[str, str]:
    """Where each axis of more than one chip lies, for a person: ICI 1,2; 2 of NVLink."""
    found = {}
    for axis, own in placement.parts.items():
        groups: dict[int, list[Part]] = {}
        for part in own:
            groups.setdefault(part.tier, []).append(part)
        said = [_said(tiers[number], parts, placement) for number, parts in sorted(groups.items())]
        if said:
            found[axis] = " and ".join(said)
    return found


def _said(tier: Tier, parts: list[Part], placement: Placement) -> str:
    """One tier's parts of an axis."""
    alone = len(placement.slice[parts[0].tier]) == 1
    if alone and all(p.whole for p in parts):
        return tier.name
    if alone or not tier.shaped:
        return f"{prod(p.size for p in parts)} of {tier.name}"
    listed = (str(p.axis) if p.whole else f"{p.axis} ({_cut(p)})" for p in reversed(parts))
    return f"{tier.name} {','.join(sorted(listed))}"


def _cut(part: Part) -> str:
    apart = f", {part.stride} apart" if part.stride > 1 else ""
    return f"{part.size} of {part.length}{apart}"


def described(tiers: Sequence[Tier], placement: Placement) -> str:
    """One line: x → ICI 0; y,z → ICI 1,2 of a 4x8x8 slice."""
    lies = told(tiers, placement)
    listed = "; ".join(f"{axis} → {where}" for axis, where in lies.items())
    return f"{listed or 'one chip'} ({spelled(placement.slice)})"
