"""MESH where it was priced, each axis on its own links; copied where not all links are alike."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh

from layoutc.codegen.fixed.filled import MESH, PLACES, SLICE
from layoutc.codegen.fixed.hosts import refuse


def make_mesh(devices: Sequence[Any] | None = None) -> Mesh:
    """MESH over `devices`, each axis on the links that PLACES says: by default over JAX's, over all
    hosts, each of which has a part."""
    processes = jax.process_count() if devices is None else 1
    devices = list(jax.devices() if devices is None else devices)
    need = math.prod(MESH.values())
    who = "there are" if processes == 1 else f"{processes} processes together have"
    said = f"MESH has {need} chips and {who} {len(devices)} devices"
    if len(devices) < need:
        raise ValueError(said)
    grid = as_mesh(as_slice(devices))
    if len({device.process_index for device in grid.flat}) < processes:
        raise ValueError(f"{said}; start fewer, so that each has a part")
    return Mesh(grid, tuple(MESH), axis_types=(AxisType.Auto,) * len(MESH))


def as_mesh(chips: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Chips that stand as in SLICE, as MESH has them."""
    lines = [(links, axis) for links, shape in SLICE.items() for axis in range(len(shape))]
    runs = [run for name in MESH for run in PLACES[name]]
    # Each physical axis is cut into its runs, that of the chips that are farthest apart first.
    cut = sorted(runs, key=lambda run: (lines.index((run.links, run.axis)), -run.apart))
    grid = chips.reshape([run.chips for run in cut])
    return grid.transpose([cut.index(run) for run in runs]).reshape(tuple(MESH.values()))


def as_slice(devices: Sequence[Any]) -> np.ndarray[Any, Any]:
    """The devices that SLICE takes, as an array with an axis for each of its physical ones."""
    *outer, (links, shape) = SLICE.items()
    need = math.prod(size for _, sizes in outer for size in sizes)
    # JAX gives devices behind the same fast links one slice_index, on several hosts too. Where it
    # gives none, they are taken in their order, and so many in a row stand for one group: not the
    # devices of one process, since a process may have a single GPU.
    groups: dict[int, list[Any]] = {}
    for device in sorted(devices, key=lambda d: (slice_of(d), d.process_index, d.id)):
        groups.setdefault(slice_of(device), []).append(device)
    grids = [grid for group in groups.values() for grid in blocks_in(group, shape)]
    if len(grids) < need:
        wanted = f"{need} slice{'s' * (need > 1)} of {'x'.join(map(str, shape))}"
        found = Counter(map(size_of, groups.values())).items()
        there = ", ".join(f"{count} of {size}" for size, count in found)
        said = f"MESH lies on {wanted} ({links}), and JAX has {there}"
        raise ValueError(f"{said}: compile it for what there is")
    return np.stack(grids[:need])


def slice_of(device: Any) -> int:
    return getattr(device, "slice_index", 0)


def size_of(group: Sequence[Any]) -> str:
    """How large a group is: 4x8x8, or where there are no coordinates, 8."""
    if group[0].platform != "tpu":
        return str(len(group))
    return "x".join(map(str, np.ptp([device.coords for device in group], axis=0) + 1))


def blocks_in(group: Sequence[Any], shape: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    """The blocks of that shape in one group: of TPUs one, by coordinates, if it is there; of
    others as many as there are, in their order."""
    if group[0].platform == "tpu":
        return block_of_tpus(group, shape)
    size = math.prod(shape)
    starts = range(0, len(group) - size + 1, size)
    return [np.array(group[i : i + size], object).reshape(shape) for i in starts]


def block_of_tpus(group: Sequence[Any], shape: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    """The block of that shape in the corner of a slice, turned so that it fits; none if none does.

    A part of a larger slice has lines where rings were planned.
    """
    chips = {tuple(device.coords): device for device in group}
    if len(chips) < len(group):
        several = "JAX has several devices on each chip, and MESH counts chips"
        raise ValueError(f"{several}: give make_mesh one of each, or compile it for such devices")
    corner = np.min(list(chips), axis=0)
    box = np.full(np.ptp(list(chips), axis=0) + 1, None)
    for place, chip in chips.items():
        box[tuple(np.array(place) - corner)] = chip
    turned = [
        np.moveaxis(box, turn, range(len(shape)))
        for turn in itertools.permutations(range(box.ndim), len(shape))
    ]
    fits = [grid for grid in turned if all(np.less_equal(shape, grid.shape[: len(shape)]))]
    if not fits:
        return []
    # The one with the most axes that are taken whole: those keep their rings.
    best = max(fits, key=lambda grid: sum(np.equal(shape, grid.shape[: len(shape)])))
    found = best[tuple(map(slice, shape))].reshape(*shape, -1)[..., 0]
    return [] if any(chip is None for chip in found.flat) else [found]


def with_places(start: Callable[[], None]) -> Callable[[], None]:
    """Before anything runs, see also that there is a place for MESH."""

    @functools.wraps(start)
    def longer() -> None:
        start()
        try:
            make_mesh()
        except ValueError as refusal:
            refuse(refusal)

    return longer
