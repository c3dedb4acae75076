"""Which slices of a machine there are, and where the axes of a mesh may lie on one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations_with_replacement, product
from math import prod

import pytest
from fabrics import AXES, machines
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from layoutc.dsl.program import Axis
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.placement import Part, Placement, placements
from layoutc.solver.hardware.shapes import Shape, Shapes
from layoutc.solver.hardware.tier import Slice, Tier, nearest
from layoutc.solver.hardware.tier import slices as slices_of

few = settings(max_examples=30, deadline=None)


# Placements.


@few
@given(machines())
def test_every_physical_axis_is_used_once(drawn: tuple[Machine, Slice]) -> None:
    on, one = drawn
    lengths = {
        (tier, axis): size
        for tier, shape in enumerate(one)
        for axis, size in enumerate(shape)
        if size > 1
    }
    found = list(placements(on.tiers, one, AXES))
    assert len({repr(placement) for placement in found}) == len(found) > 0
    for placement in found:
        assert prod(placement.mesh.values()) == prod(map(prod, one))
        lines: dict[tuple[int, int], list[Part]] = defaultdict(list)
        for part in (p for own in placement.parts.values() for p in own):
            lines[part.tier, part.axis].append(part)
        assert {line: prod(p.size for p in parts) for line, parts in lines.items()} == lengths
        assert all(_nested(parts) for parts in lines.values())
        assert all(on.tiers[tier].divisible or len(own) == 1 for (tier, _), own in lines.items())


def _nested(parts: list[Part]) -> bool:
    """Each part as far apart as what lies inside it is long."""
    ordered = sorted(parts, key=lambda part: part.stride)
    return all(
        part.stride == prod(p.size for p in ordered[:number]) and part.size > 1
        for number, part in enumerate(ordered)
    )


@few
@given(machines(), st.data())
def test_sizes_that_are_given_are_kept(drawn: tuple[Machine, Slice], data: st.DataObject) -> None:
    """What is found with them is what is found without them, of that size."""
    on, one = drawn
    size = data.draw(st.sampled_from((1, 2, 3, 4, 8)))
    given_ = (Axis("x", size), *AXES[1:])
    kept = [repr(p) for p in placements(on.tiers, one, given_)]
    free = [repr(p) for p in placements(on.tiers, one, AXES) if p.mesh["x"] == size]
    assert kept == free


@pytest.mark.parametrize("shape", [(4, 4, 4), (2, 4, 4), (4, 4, 8), (2, 3, 4), (1, 2, 2)])
def test_axes_that_could_change_places_are_laid_once(shape: Shape) -> None:
    """Every way to give axes to axes takes as long as one of those that are found."""
    on = load_machine("tpu-v4")
    found = [Fabric(on, p.mesh, p).key("xyz") for p in placements(on.tiers, (shape,), AXES)]
    (ici,) = on.tiers
    rings = ici.rings(shape)
    every = set()
    for owners in product("xyz", repeat=3):
        parts = {
            axis: tuple(
                Part(0, n, shape[n], 1, shape[n], rings[n])
                for n in range(3)
                if owners[n] == axis and shape[n] > 1
            )
            for axis in "xyz"
        }
        placement = Placement((shape,), parts)
        every.add(Fabric(on, placement.mesh, placement).key("xyz"))
    assert set(found) == every
    assert len(found) == len(every)


# Slices.


@st.composite
def shapes(draw: st.DrawFn) -> Shapes:
    axes = draw(st.integers(1, 3))
    one = st.tuples(*[st.integers(1, 6)] * axes).map(lambda sizes: tuple(sorted(sizes)))
    listed = tuple(draw(st.lists(one, max_size=3)))
    longest = draw(st.one_of(st.just(()), one))
    least = 0 if listed else 1
    multiple = draw(st.integers(least, 4))
    return Shapes(axes, listed, multiple, draw(st.sampled_from((0, 8, 12, 30))), longest)


def plainly(of: Shapes, chips: int) -> Iterator[Shape]:
    """The shapes of so many chips, by trying all."""
    divisors = [n for n in range(1, chips + 1) if chips % n == 0]
    for sizes in combinations_with_replacement(divisors, of.axes):
        if prod(sizes) == chips:
            fits = all(a <= b for a, b in zip(sizes, sorted(of.longest), strict=False))
            few_enough = not of.chips or chips <= of.chips
            whole = of.multiple and all(size % of.multiple == 0 for size in sizes)
            if sizes in of.listed or (whole and fits and few_enough):
                yield sizes


@few
@given(shapes())
def test_shapes_are_those_that_exist(of: Shapes) -> None:
    found = {chips: of.of(chips) for chips in range(1, 73)}
    for chips, shapes_ in found.items():
        assert set(shapes_) == set(plainly(of, chips))
        assert all(of.has(shape) for shape in shapes_)
        assert list(shapes_) == sorted(shapes_, key=lambda shape: shape[::-1])
    endless = of.multiple and not of.chips and not of.longest
    had = [chips for chips in found if found[chips]]
    if endless:
        assert of.most == 0
    elif of.most <= 72:
        assert of.most == max(had, default=0)


@few
@given(shapes(), shapes(), st.integers(1, 72))
def test_the_nearest_numbers_of_chips(inside: Shapes, outside: Shapes, chips: int) -> None:
    """A slice is some of the inner tier, or all of it so many times."""
    whole = inside.most
    assume(0 < whole <= 72)
    pair = [Tier("in", "torus", 1.0, shapes=inside), Tier("out", "torus", 1.0, shapes=outside)]
    end = whole * (outside.most or 72)
    had = [n for n in range(1, min(end, 150) + 1) if _had(inside, outside, whole, n)]
    assert had == [n for n in range(1, min(end, 150) + 1) if any(slices_of(pair, n))]
    below, above = nearest(pair, chips)
    assert below == max((n for n in had if n < chips), default=0)
    if above <= 150 and (above or end <= 150):
        assert above == min((n for n in had if n > chips), default=0)


def _had(inside: Shapes, outside: Shapes, whole: int, chips: int) -> bool:
    alone = any(plainly(inside, chips))
    return alone or (chips % whole == 0 and any(plainly(outside, chips // whole)))
