"""Which device is where: an emitted mesh lies on a machine as it was priced there."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hosts import by_hand, run
from hypothesis import given, settings
from hypothesis import strategies as st
from texts import read

from layoutc.codegen.emit import emit
from layoutc.codegen.places import Places
from layoutc.codegen.run import load
from layoutc.dsl.program import Axis
from layoutc.loaded import loaded
from layoutc.pipeline import WrongCall, emitted, verified
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.placement import Part, Placement, placements
from layoutc.solver.hardware.shapes import Shapes
from layoutc.solver.hardware.tier import Slice, Tier, slices
from layoutc.solver.plan import Plan
from layoutc.solver.sites import at
from layoutc.solver.solve import solve

FFN = """
dims   B=16  L=1  E=64  F=256
mesh   x y z
input  x     : BLE?
weight w_in  : EF!
weight w_out : FE!
h : BLF? = x * w_in
g        = gelu(h)
y : BLE? = g * w_out
output y
"""

SMALLEST = """
dims  B=4
mesh  x:data y:model z
input x : B
y : B = relu(x)
output y
"""


@dataclass(frozen=True)
class Tpu:
    """A TPU as JAX describes it, as far as the order asks."""

    coords: tuple[int, ...]
    id: int = 0
    process_index: int = 0
    slice_index: int = 0
    core_on_chip: int = 0
    platform: str = "tpu"


@dataclass(frozen=True)
class Gpu:
    """A GPU of which JAX says nothing of the network: its coordinates are no place in one. The
    `node` is what JAX does not know."""

    id: int
    process_index: int
    node: int
    coords: tuple[int, ...] = (0,)
    platform: str = "gpu"


@dataclass(frozen=True)
class LinkedGpu(Gpu):
    """A GPU of which JAX knows the domain of NVLink."""

    slice_index: int = 0


def tpus(*shape: int, corner: tuple[int, int, int] = (7, 0, 3)) -> list[Any]:
    """A slice of TPUs somewhere in a pod, shuffled."""
    three = (*shape, 1, 1)[:3]
    places = [
        tuple(int(c + p) for c, p in zip(corner, at, strict=True)) for at in np.ndindex(three)
    ]
    return shuffled([Tpu(place, number, number // 4) for number, place in enumerate(places)])


def shuffled(devices: Sequence[Any]) -> list[Any]:
    return random.Random(len(devices)).sample(devices, len(devices))


def module_of(
    machine: str, mesh: Mapping[str, int], tiers: Sequence[set[int]] | None = None
) -> tuple[ModuleType, Fabric]:
    """A module on the first place of a mesh, of those where each axis lies on such tiers."""
    program = read(SMALLEST)
    fabric = next(
        fabric
        for fabric in at(program, dict(mesh), load_machine(machine))
        if tiers in (None, [{part.tier for part in own} for own in parts_of(fabric)])
    )
    return load(emit(program, mesh, places=Places.of(fabric)), "placed"), fabric


def parts_of(fabric: Fabric) -> list[tuple[Part, ...]]:
    return list(fabric.placement.parts.values())


def changes(grid: np.ndarray[Any, Any], axis: int, *of: str) -> set[int]:
    """Which numbers change from one device to the next along a mesh axis: of their coordinates, or
    of what else is asked of them."""
    lines = np.moveaxis(grid, axis, -1).reshape(-1, grid.shape[axis])
    steps = [pair for line in lines for pair in pairwise(line)]
    told = [tuple(numbers(device, of) for device in pair) for pair in steps]
    return {i for one, other in told for i in range(len(one)) if one[i] != other[i]}


def numbers(device: Any, of: Sequence[str]) -> tuple[int, ...]:
    return tuple(getattr(device, name) for name in of) if of else device.coords


# TPUs, by their coordinates.


@pytest.mark.parametrize(
    ("shape", "mesh"),
    [
        ((2, 2, 4), {"x": 2, "y": 2, "z": 4}),
        ((2, 2, 4), {"x": 4, "y": 4, "z": 1}),
        ((4, 4, 4), {"x": 4, "y": 4, "z": 4}),
        ((4, 4, 4), {"x": 1, "y": 16, "z": 4}),
        ((4, 8, 8), {"x": 8, "y": 4, "z": 8}),
        ((4, 8, 8), {"x": 32, "y": 1, "z": 8}),
    ],
)
def test_an_axis_moves_along_its_own_physical_axes(
    shape: tuple[int, ...], mesh: dict[str, int]
) -> None:
    module, fabric = module_of("tpu-v4", mesh)
    grid = module.make_mesh(tpus(*shape)).devices
    assert grid.shape == tuple(mesh.values())
    assert len(set(grid.flat)) == prod(shape)
    for number, parts in enumerate(parts_of(fabric)):
        assert changes(grid, number) == {part.axis for part in parts}


@pytest.mark.parametrize("turned", [(4, 8, 8), (8, 4, 8), (8, 8, 4)])
def test_a_slice_may_be_turned(turned: tuple[int, ...]) -> None:
    module, _ = module_of("tpu-v4", {"x": 4, "y": 8, "z": 8})
    grid = module.make_mesh(tpus(*turned)).devices
    assert changes(grid, 0) == {turned.index(4)}
    others = [changes(grid, number) for number in (1, 2)]
    assert sorted(map(list, others)) == [[i] for i in range(3) if turned[i] == 8]


def test_a_plane_has_a_third_coordinate_that_says_nothing() -> None:
    flat = Tier("ICI", "torus", 1.0, shapes=Shapes(2, ((4, 8),), 0))
    part_of = {"x": (Part(0, 1, 8, 1, 8, True),), "y": (Part(0, 0, 4, 1, 4, True),), "z": ()}
    places = Places((flat,), Placement(((4, 8),), part_of))
    module = load(emit(read(SMALLEST), {"x": 8, "y": 4, "z": 1}, places=places), "plane")
    grid = module.make_mesh(tpus(8, 4)).devices
    assert changes(grid, 0) == {0}
    assert changes(grid, 1) == {1}


def test_of_a_larger_slice_a_block_is_taken_that_keeps_whole_axes() -> None:
    module, _ = module_of("tpu-v4", {"x": 4, "y": 4, "z": 4})
    grid = module.make_mesh(tpus(4, 8, 4)).devices
    ends = np.array([device.coords for device in grid.flat])
    assert (np.ptp(ends, axis=0) == 3).all()
    module, _ = module_of("tpu-v4", {"x": 2, "y": 2, "z": 4})
    grid = module.make_mesh(tpus(2, 4, 4)).devices
    assert np.ptp([device.coords for device in grid.flat], axis=0)[0] == 1
    assert len(set(grid.flat)) == 16


@pytest.mark.parametrize("there", [(2, 8, 16), (1, 16, 16), (2, 16, 16)])
def test_another_slice_is_refused(there: tuple[int, ...]) -> None:
    module, _ = module_of("tpu-v4", {"x": 4, "y": 8, "z": 8})
    size = "x".join(map(str, there))
    said = f"MESH lies on 1 slice of 4x8x8 (ICI), and JAX has 1 of {size}: compile it for what"
    with pytest.raises(ValueError, match=re.escape(said)):
        module.make_mesh(tpus(*there))


def test_a_block_with_a_hole_is_refused() -> None:
    module, _ = module_of("tpu-v4", {"x": 2, "y": 2, "z": 2})
    slab = sorted(tpus(2, 2, 3), key=lambda device: device.coords)
    with pytest.raises(ValueError, match=r"1 slice of 2x2x2 \(ICI\), and JAX has 1 of 2x2x3"):
        module.make_mesh(slab[1:])


def test_a_device_that_is_half_a_chip_is_refused_with_what_to_do() -> None:
    module, _ = module_of("tpu-v4", {"x": 2, "y": 2, "z": 2})
    chips = tpus(2, 2, 2)
    halves = [Tpu(chip.coords, 8 + chip.id, core_on_chip=1) for chip in chips]
    with pytest.raises(ValueError, match=r"several devices on each chip.* one of each"):
        module.make_mesh([*chips, *halves])
    assert set(module.make_mesh(chips).devices.flat) == set(chips)


def test_too_few_are_refused_as_ever() -> None:
    module, _ = module_of("tpu-v4", {"x": 2, "y": 2, "z": 2})
    with pytest.raises(ValueError, match="MESH has 8 chips and there are 4 devices"):
        module.make_mesh(tpus(2, 2, 1))


# GPUs, by nodes.

NODES: dict[str, list[Any]] = {
    "a process a node": [Gpu(i, i // 8, i // 8) for i in range(16)],
    "two processes a node": [Gpu(i, i // 4, i // 8) for i in range(16)],
    "a process a GPU": [Gpu(i, i, i // 8) for i in range(16)],
    "ids as they came": [Gpu((5 * i) % 16, i, i // 8) for i in range(16)],
    "processes in turns": [LinkedGpu(i, i, i % 2, slice_index=i % 2) for i in range(16)],
    "some left over": [LinkedGpu(i, i, i // 10, slice_index=i // 10) for i in range(20)],
}


@pytest.mark.parametrize("devices", NODES.values(), ids=list(NODES))
def test_an_axis_in_a_node_never_leaves_it(devices: list[Any]) -> None:
    module, _ = module_of("h100", {"x": 8, "y": 2, "z": 1}, [{0}, {1}, set()])
    grid = module.make_mesh(shuffled(devices)).devices
    assert len(set(grid.flat)) == 16
    assert changes(grid, 0, "node") == set()
    assert changes(grid, 1, "node") == {0}


@pytest.mark.parametrize("devices", NODES.values(), ids=list(NODES))
def test_an_axis_across_nodes_has_them_as_its_major_part(devices: list[Any]) -> None:
    module, _ = module_of("h100", {"x": 16, "y": 1, "z": 1})
    grid = module.make_mesh(shuffled(devices)).devices
    assert [device.node for device in grid.flat] == [0] * 8 + [1] * 8


def test_nodes_that_are_smaller_than_planned_are_refused() -> None:
    module, _ = module_of("h100", {"x": 8, "y": 2, "z": 1})
    devices = [LinkedGpu(i, i // 4, i // 4, slice_index=i // 4) for i in range(16)]
    said = "MESH lies on 2 slices of 8 (NVLink), and JAX has 4 of 4: compile it for what there is"
    with pytest.raises(ValueError, match=re.escape(said)):
        module.make_mesh(devices)


def test_python_is_told_of_it_too() -> None:
    mesh = {"x": 4, "y": 4, "z": 1}
    _, fabric = module_of("h100", mesh)
    source = emit(read(SMALLEST, "small"), mesh, places=Places.of(fabric))
    devices = [LinkedGpu(i, i // 4, i // 4, slice_index=i // 4) for i in range(16)]
    with pytest.raises(WrongCall, match="small: MESH lies on 2 slices of 8"):
        loaded(source, "small", "main", ("y",), devices)


# Anything at all.

ICI = Tier("ICI", "torus", 1.0, shapes=Shapes(3, multiple=2, chips=64))
CUT = Tier("ICI", "torus", 1.0, cut=True, shapes=Shapes(2, multiple=1, chips=16))
NVLINK = Tier("NVLink", "switch", 1.0, shapes=Shapes(chips=8))
RACK = Tier("rack", "switch", 1.0, shapes=Shapes(chips=2))
OUTER = Tier("network", "switch", 1.0)

NETWORKS: list[tuple[tuple[Tier, ...], int]] = [
    ((ICI,), 64),
    ((CUT,), 8),
    ((CUT,), 12),
    ((CUT, OUTER), 32),
    ((NVLINK, OUTER), 16),
    ((NVLINK, OUTER), 48),
    ((NVLINK, RACK, OUTER), 32),
]


@cache
def places_on(number: int) -> list[Placement]:
    tiers, chips = NETWORKS[number]
    axes = tuple(Axis(name, None) for name in "xyz")
    return [p for one in slices(tiers, chips) for p in placements(tiers, one, axes)]


def devices_of(tiers: tuple[Tier, ...], one: Slice) -> dict[tuple[int, ...], Any]:
    """Devices by where they are: their place in the outermost tier, in the next, ..., each with as
    many numbers as the tier has axes."""
    inner, *outer = one
    groups = prod(map(prod, outer))
    by_place: dict[tuple[int, ...], Any] = {}
    for group, out in enumerate(np.ndindex(*(n for shape in reversed(outer) for n in shape))):
        for within, place in enumerate(np.ndindex(*inner)):
            number = group * prod(inner) + within
            if tiers[0].shaped:
                device: Any = Tpu((*place, 5, 5)[:3], number, number, slice_index=group)
            else:
                device = Gpu(number, number, group)
            by_place[(*out, *place)] = device
    assert len(by_place) == groups * prod(inner)
    return by_place


def place_at(placement: Placement, index: Mapping[str, int]) -> tuple[int, ...]:
    """Where the chip at an index of the mesh is: each part of an axis is a digit of its index, and
    is as many steps along its physical axis as that says."""
    place = [[0] * len(shape) for shape in placement.slice]
    for axis, left in index.items():
        for part in reversed(placement.parts[axis]):
            left, digit = divmod(left, part.size)
            place[part.tier][part.axis] += digit * part.stride
    return tuple(number for tier in reversed(place) for number in tier)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_each_device_is_where_its_parts_say(data: st.DataObject) -> None:
    number = data.draw(st.sampled_from(range(len(NETWORKS))))
    placement = data.draw(st.sampled_from(places_on(number)))
    tiers, chips = NETWORKS[number]
    places = Places(tiers, placement)
    module = load(emit(read(SMALLEST), placement.mesh, places=places), "random")
    by_place = devices_of(tiers, placement.slice)
    devices = data.draw(st.permutations(list(by_place.values())))
    grid = module.make_mesh(devices).devices
    assert len(set(grid.flat)) == chips
    for index in np.ndindex(grid.shape):
        at_index = dict(zip(placement.mesh, index, strict=True))
        assert grid[index] is by_place[place_at(placement, at_index)]


# What is emitted.


def planned(machine: str, chips: int) -> Plan:
    return solve(read(FFN, "ffn"), chips, load_machine(machine))


def test_the_slice_and_the_places_are_tables_that_can_be_read() -> None:
    tiers = load_machine("h100").tiers
    parts = {
        "x": (Part(1, 0, 2, 1, 2, False), Part(0, 0, 2, 4, 8, False)),
        "y": (Part(0, 0, 4, 1, 8, False),),
        "z": (),
    }
    places = Places(tiers, Placement(((8,), (2,)), parts))
    text = emit(read(SMALLEST), {"x": 4, "y": 4, "z": 1}, places=places)
    table = """\
# data → 2 of NVLink and InfiniBand; model → 4 of NVLink (8·2)
SLICE = {"InfiniBand": (2,), "NVLink": (8,)}
PLACES = {
    "data": (Run("InfiniBand", 0, 2), Run("NVLink", 0, 2, apart=4)),
    "model": (Run("NVLink", 0, 4),),
    "z": (),
}
"""
    assert table in text
    assert "mesh_utils" not in text


def test_a_table_that_is_long_is_broken() -> None:
    tier = Tier("a network whose name is long", "torus", 1.0, cut=True, shapes=Shapes(4))
    parts = {
        "x": tuple(Part(0, axis, 2, 2, 4, True) for axis in range(4)),
        "y": tuple(Part(0, axis, 2, 1, 4, True) for axis in range(4)),
        "z": (),
    }
    places = Places((tier,), Placement(((4, 4, 4, 4),), parts))
    text = emit(read(SMALLEST), {"x": 16, "y": 16, "z": 1}, places=places)
    assert max(map(len, text.splitlines())) <= 100
    module = load(text, "long")
    assert [run.apart for run in module.PLACES["data"]] == [2] * 4


@pytest.mark.parametrize(("machine", "chips"), [("tpu-v4-flat", 8), ("tpu-v4", 1)])
def test_where_any_order_is_as_good_nothing_is_said(machine: str, chips: int) -> None:
    plan = planned(machine, chips)
    assert emitted(plan) == emit(plan.only.program, plan.mesh)
    assert "SLICE" not in emitted(plan)


def test_the_script_runs_on_simulated_devices(tmp_path: Path) -> None:
    path = tmp_path / "ffn.py"
    path.write_text(emitted(planned("tpu-v4", 8)), encoding="utf-8")
    (alone,) = run(path, [{}], 1)
    assert alone.status == 0, alone.err
    assert "simulating 8 on the CPU" in alone.out


def test_the_script_runs_over_two_hosts(tmp_path: Path) -> None:
    path = tmp_path / "ffn.py"
    path.write_text(emitted(planned("h100", 16)), encoding="utf-8")
    first, second = run(path, by_hand(2), 8)
    assert (first.status, second.status) == (0, 0), first.err
    assert "error" in first.out


def test_the_script_says_in_a_sentence_that_there_is_no_place(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _ = module_of("tpu-v4", {"x": 2, "y": 2, "z": 2})
    monkeypatch.setattr(module.jax, "devices", lambda: tpus(1, 4, 4))
    with pytest.raises(SystemExit) as ended:
        module.with_places(lambda: None)()
    said = "error: MESH lies on 1 slice of 2x2x2 (ICI), and JAX has 1 of 1x4x4: compile it for"
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(said)
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    assert "@with_places\ndef start()" in text


@pytest.mark.parametrize(("machine", "chips"), [("tpu-v4", 8), ("h100", 16)])
def test_what_was_predicted_is_what_runs(machine: str, chips: int) -> None:
    (verdict,) = verified(planned(machine, chips)).values()
    assert not isinstance(verdict, Exception), verdict
    assert verdict.equal
