"""Machines: the figures of one chip, each with its source, read from one TOML file a machine.

The catalogue is the folder `machines` beside this file; a path names a file of the same form.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

DEFAULT = "tpu-v4-flat"
"""The machine that is meant where none is named: the paper's."""

FIGURES = ("peak_flops", "memory_bytes", "memory_bandwidth", "network_bandwidth")
"""The tables of a machine's file. Each has a positive `value` and a `source`."""


class MachineError(Exception):
    """A machine can't be had; the message is a sentence for the person who asked."""


class UnknownMachine(MachineError):
    """No machine of the catalogue has this name, or no file is at this path.

    `nearest` is the name that was probably meant, "" if none is near.
    """

    def __init__(self, name: str, nearest: str = "") -> None:
        self.name, self.nearest = name, nearest
        meant = f"; did you mean {nearest}?" if nearest else ""
        super().__init__(f"there is no machine called {name}{meant}")


class BrokenMachine(MachineError):
    """The file is there, but is not a machine."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a pass is priced with: figures of one chip, efficiencies 1, a flat network.

    peak_flops is in FLOP/s of bf16 matmuls, memory_bytes in bytes, both bandwidths in bytes/s;
    network_bandwidth is what a chip receives, over whichever mesh axes. `sources` says where
    each figure is from.
    """

    name: str
    peak_flops: float
    memory_bytes: int
    memory_bandwidth: float
    network_bandwidth: float
    sources: tuple[tuple[str, str], ...] = ()


def catalogue() -> tuple[str, ...]:
    """The names of the machines that come with the compiler, sorted."""
    folder = files("layoutc.solver") / "machines"
    entries = (entry.name for entry in folder.iterdir())
    return tuple(sorted(e.removesuffix(".toml") for e in entries if e.endswith(".toml")))


def load_machine(name_or_path: str = DEFAULT) -> Machine:
    """The machine of that name, or the one that a TOML file describes.

    What has a slash or ends in ".toml" is a path.

    Raises:
        UnknownMachine: there is no such name or file.
        BrokenMachine: the file does not describe a machine.
    """
    return _machine(name_or_path, _text(name_or_path))


def _text(name: str) -> str:
    if "/" in name or name.endswith(".toml"):
        try:
            return Path(name).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise BrokenMachine(f"{name} is not text: {error.reason}") from error
        except OSError as error:
            raise UnknownMachine(name) from error
    known = catalogue()
    if name not in known:
        raise UnknownMachine(name, next(iter(get_close_matches(name, known, 1)), ""))
    return (files("layoutc.solver") / "machines" / f"{name}.toml").read_text(encoding="utf-8")


def _machine(origin: str, text: str) -> Machine:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BrokenMachine(f"{origin} is not TOML: {error}") from error
    if not isinstance(table.get("name"), str):
        raise BrokenMachine(f'{origin} does not say  name = "..."')
    if table.get("network", "flat") != "flat":
        raise BrokenMachine(f"{origin} has a network of an unknown kind, {table['network']!r}")
    figures = {figure: _figure(origin, figure, table) for figure in FIGURES}
    return Machine(
        table["name"],
        float(figures["peak_flops"]),
        int(figures["memory_bytes"]),
        float(figures["memory_bandwidth"]),
        float(figures["network_bandwidth"]),
        tuple((figure, str(table[figure]["source"])) for figure in FIGURES),
    )


def _figure(origin: str, figure: str, table: Mapping[str, Any]) -> float:
    entry = table.get(figure)
    if not isinstance(entry, dict) or not {"value", "source"} <= entry.keys():
        raise BrokenMachine(f"{origin} has no table [{figure}] with a value and its source")
    value = entry["value"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e30:
        raise BrokenMachine(f"{origin}: {figure} is {value!r}, not a positive number")
    return value
