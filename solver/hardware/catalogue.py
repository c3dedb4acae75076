"""The machines that come with the compiler, one TOML file each, and files of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import assert_never

from layoutc.dsl.errors import Diagnostic, render
from layoutc.dsl.source import decode
from layoutc.solver.hardware.machine import DEFAULT, Machine
from layoutc.solver.hardware.reached import IDEAL, Like, Reached
from layoutc.solver.hardware.reached_reading import Refusal
from layoutc.solver.hardware.reading import read_machine
from layoutc.solver.hardware.values import SHOWN, shown


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
        raise UnknownMachine(name, f"there is no machine called {name}; {_meant(name, known)}")
    return (files("layoutc.solver") / "machines" / f"{name}.toml").read_text(encoding="utf-8")


def _meant(name: str, known: Sequence[str]) -> str:
    """The name that is near to one that is wrong, or all there are."""
    near = get_close_matches(name[:SHOWN], known, 1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"


@cache
def _read(name: str, text: str) -> Machine:
    found = read_machine(text, unlike)
    if isinstance(found, Machine):
        return found
    raise BrokenMachine(name, text, found)


# What whole models reach.


def reached_of(machine: Machine) -> tuple[Reached, str]:
    """The constants that `plan` prices a machine with, and in words, whose they are.

    Raises:
        UnknownMachine: it is like a machine that is not in the catalogue.
    """
    match machine.reached:
        case None:
            return IDEAL, "nothing fitted: the data sheet's figures are taken as they are"
        case Reached() as own:
            fitted = any(f.fitted for f in machine.figures if f.name.startswith("reached."))
            name = machine.name
            return own, f"as fitted on {name}" if fitted else f"as the file of {name} says"
        case Like(other):
            return reached_of(load_machine(other))
        case _:
            assert_never(machine.reached)


def unlike(name: str) -> Refusal | None:
    """Why no machine can be like the one of that name, and what would do; None where one can."""
    if name not in catalogue():
        return f"{shown(name)} is no machine of the catalogue", _meant(name, _known())
    match _alone(name):
        case Reached():
            return None
        case Like(other):
            return f"{name} has no constants, it is like {other} itself", f'like = "{other}"'
        case None:
            return f"{name} has no constants", _meant(name, _known())


def _known() -> list[str]:
    """The machines that have constants themselves."""
    return [name for name in catalogue() if isinstance(_alone(name), Reached)]


@cache
def _alone(name: str) -> Reached | Like | None:
    """What the file of a machine of the catalogue says by itself."""
    found = read_machine(_text(name))
    return found.reached if isinstance(found, Machine) else None
