"""A machine's file held against the devices at hand, by a handful of timings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from layoutc.codegen.measure import present
from layoutc.codegen.measure.bench import Bench, Refused
from layoutc.codegen.measure.points import COMPUTED, MULTIPLIED, READ, Point, elements, held
from layoutc.dsl.program import Axis
from layoutc.solver.hardware.fabric import Fabric
from layoutc.solver.hardware.machine import Machine
from layoutc.solver.hardware.placement import placements
from layoutc.solver.hardware.samples import MoveTimed, Setting
from layoutc.solver.hardware.tier import slices
from layoutc.solver.hardware.timing import Run

KINDS: tuple[MoveTimed, ...] = ("all-gather", "all-reduce", "all-to-all")

SIZES = {True: (2**16, 2**22), False: (2**16, 2**26)}
"""Bytes of D of the moves, on a CPU and elsewhere."""

REPEATS = 5


@dataclass(frozen=True, slots=True)
class Held:
    """One timing beside what the file says of it, in seconds."""

    point: Point
    predicted: float
    measured: float

    @property
    def ratio(self) -> float:
        """Measured over predicted."""
        return self.measured / self.predicted


@dataclass(frozen=True, slots=True)
class Checked:
    """What was held against what, and what could not be, with the reason."""

    machine: Machine
    setting: Setting
    held: tuple[Held, ...]
    left_out: tuple[str, ...]


def checked(machine: Machine) -> Checked:
    """`machine` held against the devices that JAX sees, all of them at once."""
    setting = present.setting()
    bench, fabric = Bench(setting, REPEATS), _fabric(machine, setting.devices)
    found: list[Held] = []
    left_out: list[str] = []
    if setting.devices == 1:
        left_out.append("moves: there is one device")
    elif fabric is None:
        left_out.append(f"moves: {machine.name} has no slice of {setting.devices} chips")
    for point in _points(machine, setting, moves=setting.devices > 1 and fabric is not None):
        try:
            measured = bench.time(point).seconds
        except Refused as why:
            left_out.append(f"{point.kind} in {point.dtype}: {why}")
            continue
        found.append(Held(point, _predicted(point, machine, fabric), measured))
    return Checked(machine, setting, tuple(found), tuple(left_out))


def _fabric(machine: Machine, chips: int) -> Fabric | None:
    """The chips in one axis, on the most even slice."""
    one = next(slices(machine.tiers, chips), None)
    if one is None:
        return None
    placement = next(placements(machine.tiers, one, (Axis("x", chips),)))
    return Fabric(machine, {"x": chips}, placement)


def _points(machine: Machine, setting: Setting, moves: bool) -> Iterator[Point]:
    cpu, dtype = setting.platform == "cpu", held(setting)
    if moves:
        everything = tuple(tuple(map(Run, one.extents)) for one in setting.seen)
        for kind in KINDS:
            for size in SIZES[cpu]:
                yield Point(kind, everything, dtype, elements(size, dtype, setting.devices))
    for computed in COMPUTED:
        if computed in machine.peaks:
            yield Point("matmul", (), computed, MULTIPLIED[cpu][-1])
    yield Point("memory", (), dtype, READ[cpu][1])


def _predicted(point: Point, machine: Machine, fabric: Fabric | None) -> float:
    match point.kind:
        case "matmul":
            return point.work / machine.peak(point.dtype)
        case "memory":
            return point.work / machine.memory_bandwidth
        case _:
            assert fabric is not None
            return fabric.rate(point.kind, "x").seconds(point.work)
