"""The devices that JAX sees: what they are, and how they are linked as far as they tell."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Sequence
from datetime import date
from math import prod
from typing import Any

from layoutc.solver.hardware.samples import OPEN, Seen, Setting
from layoutc.solver.hardware.tier import Wraparound

INSIDE = {"cpu": "shared memory", "gpu": "NVLink or PCIe", "tpu": "ICI"}
"""What links the devices of one host."""

CLOSED = {
    "TPU v4": Wraparound(4, together=True),
    "TPU v5": Wraparound(4, together=True),
    "TPU v5p": Wraparound(4, together=True),
    "TPU v5 lite": Wraparound(16),
    "TPU v6 lite": Wraparound(16),
}
"""Which axes of a slice are rings, by JAX's name of the chip: cloud.google.com/tpu/docs. Of others
none is: on the slice itself, a ring is a line of twice the bandwidth."""


def setting() -> Setting:
    """The devices of this process, all of them."""
    import jax

    devices = jax.devices()
    return Setting(
        _kind(devices[0]),
        devices[0].platform,
        len(devices),
        jax.__version__,
        date.today().isoformat(),
        _memory(devices),
        seen(devices),
    )


def _kind(device: Any) -> str:
    """What a device is called; a CPU also by what tells it from others."""
    name = str(device.device_kind)
    if device.platform == "cpu":
        return f"{name} of {os.cpu_count()} cores, {platform.machine()}"
    return name


def _memory(devices: Sequence[Any]) -> int:
    """Bytes of one device: what it says, or of simulated ones a part of the host's."""
    stats = devices[0].memory_stats() if devices[0].platform != "cpu" else None
    if stats and "bytes_limit" in stats:
        return int(stats["bytes_limit"])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // len(devices)


def seen(devices: Sequence[Any]) -> tuple[Seen, ...]:
    """The tiers: a torus where devices have coordinates, else a switch in each process, and one
    between processes where there are several."""
    extents = _extents(devices)
    if extents:
        closed = CLOSED.get(devices[0].device_kind, OPEN)
        return (Seen(INSIDE["tpu"], "torus", extents, closed),)
    inside = INSIDE.get(devices[0].platform, "links")
    each = set(Counter(device.process_index for device in devices).values())
    count = len({device.process_index for device in devices})
    if count == 1 or len(each) > 1:
        return (Seen(inside, "switch", (len(devices),)),)
    return Seen(inside, "switch", (each.pop(),)), Seen("network", "switch", (count,))


def _extents(devices: Sequence[Any]) -> tuple[int, ...]:
    """The sizes of the box that the devices' coordinates fill; none if they fill none."""
    coords = {tuple(getattr(device, "coords", None) or ()) for device in devices}
    if () in coords or len(coords) < len(devices):
        return ()
    extents = tuple(max(axis) - min(axis) + 1 for axis in zip(*coords, strict=True))
    return extents if prod(extents) == len(devices) else ()


def in_order(devices: Sequence[Any]) -> list[Any]:
    """The devices as their tiers count them: the first axis of a torus is the outermost, and so is
    the last tier."""
    if _extents(devices):
        return sorted(devices, key=lambda device: tuple(device.coords))
    return sorted(devices, key=lambda device: (device.process_index, device.id))
