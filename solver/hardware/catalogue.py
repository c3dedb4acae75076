"""The machines that come with the compiler, one TOML file each, and files of one's own."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path

from layoutc.dsl.errors import Diagnostic, render
from layoutc.dsl.source import decode
from layoutc.solver.hardware.machine import DEFAULT, Machine
from layoutc.solver.hardware.reading import read_machine


class MachineError(Exception):
    """A machine can't be had; the message is for the person who asked."""


class UnknownMachine(MachineError):
    """No machine of the catalogue has this name, or no file can be read at this path."""

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        super().__init__(why)


class BrokenMachine(MachineError):
    """The file is there, but is not a machine: every error of it, and the text they point into."""

    def __init__(self, name: str, text: str, errors: list[Diagnostic]) -> None:
        self.name, self.text, self.errors = name, text, errors
        super().__init__(render(errors, text, name).rstrip("\n"))


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
    return _read(name_or_path, _text(name_or_path))


def _text(name: str) -> str:
    if "/" in name or name.endswith(".toml"):
        try:
            data = Path(name).read_bytes()
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise UnknownMachine(name, f"can't read the machine {name}: {why}") from error
        text = decode(data)
        if isinstance(text, Diagnostic):
            raise BrokenMachine(name, "", [text])
        return text
    known = catalogue()
    if name not in known:
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise UnknownMachine(name, f"there is no machine called {name}; {hint}")
    return (files("layoutc.solver") / "machines" / f"{name}.toml").read_text(encoding="utf-8")


@cache
def _read(name: str, text: str) -> Machine:
    found = read_machine(text)
    if isinstance(found, Machine):
        return found
    raise BrokenMachine(name, text, found)
