"""A user's JAX function: found by name, and held against what a program takes and gives."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from layoutc.codegen.body import arguments, returned, stacks
from layoutc.codegen.scales import said as scales_said
from layoutc.dsl.program import Declare, Program
from layoutc.dsl.scales import scaled


class WrongFunction(Exception):
    """The user's module or function is at fault; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Function:
    """`call` is as the user wrote it; `file` is the module's, "" for one without."""

    called: str
    call: Callable[..., Any]
    file: str

    @property
    def name(self) -> str:
        return self.called.partition(":")[2]


def found(called: str, folder: Path) -> Function:
    """The function of "module:function", looked for here and in `folder` too.

    Raises:
        WrongFunction: there is none of that name, or its module can't be imported.
    """
    module_name, colon, name = called.partition(":")
    if not colon or not module_name or not name:
        raise WrongFunction(
            f"{called}: a function is called module:function, as in mlp:feedforward"
        )
    if module_name.endswith(".py") or "/" in module_name:
        dotted = module_name.removesuffix(".py").strip("./").replace("/", ".")
        raise WrongFunction(f"{called}: a module goes by its name, not its file: {dotted}:{name}")
    with _paths(folder):
        module = _module(module_name)
        function = _attribute(module, module_name, name)
    if not callable(function):
        kind = type(function).__name__
        raise WrongFunction(f"{called} is no function: it is of type {kind}")
    return Function(called, function, getattr(module, "__file__", None) or "")


@contextmanager
def _paths(folder: Path) -> Iterator[None]:
    """The current folder and another at the head of where Python looks for modules."""
    added = [os.getcwd(), str(folder.resolve())]
    sys.path[:0] = added
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for path in added:
            sys.path.remove(path)


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(f"{missing}."):
            raise WrongFunction(
                f"there is no module {missing} in this folder, beside the file, or installed"
            ) from None
        raise WrongFunction(f"{name} imports {missing}, and there is no such module") from None
    except (Exception, SystemExit) as error:
        raise WrongFunction(f"{name} can't be imported: {said(error)}") from None


def _attribute(module: ModuleType, module_name: str, name: str) -> Any:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            near = get_close_matches(part, [n for n in vars(value) if not n.startswith("_")], 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise WrongFunction(f"{module_name} has no {name}{hint}")
        value = getattr(value, part)
    return value


def said(error: BaseException, file: str = "") -> str:
    """An exception's type and message in a line, with the user's line: "mlp.py:9: ..."."""
    message = next(filter(None, map(str.strip, str(error).splitlines())), "")
    kind = type(error).__name__
    text = f"{kind}: {message}" if message else kind
    if isinstance(error, SyntaxError):
        return f"{Path(error.filename or '').name}:{error.lineno}: {kind}: {error.msg}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if _theirs(f.filename)]
    own = [f for f in frames if file and f.filename == file] or frames
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}: {text}" if own else text


def _theirs(file: str) -> bool:
    """True of a file that is neither installed nor Python's own nor ours."""
    ours = str(Path(__file__).resolve().parents[1])
    places = ("site-packages", "dist-packages", os.path.dirname(os.__file__))
    return not file.startswith(("<", ours)) and not any(place in file for place in places)


# What it takes and gives.


def declared(program: Program) -> str:
    """The arguments in the function's order: "x : BLE_xyz, w_in : E_xF_yz"."""
    count, scales = stacks(program), scaled(program)

    def one(declare: Declare) -> str:
        name, held = declare.name, str(declare.type.shape)
        pair = f"({held}, {scales_said(scales[name])})" if name in scales else held
        return f"{name} : {pair}" + (f", a stack of {count[name]}" if name in count else "")

    return ", ".join(map(one, arguments(program)))


def wanted(program: Program) -> str:
    """The results in the function's order: "y : BLE_xyz"."""
    return ", ".join(f"{name} : {program.types[name].shape}" for name in returned(program))


def accepts(function: Function, program: Program) -> None:
    """Raises `WrongFunction` for one that does not take as many arguments."""
    names = [d.name for d in arguments(program)]
    try:
        signature = inspect.signature(function.call)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*names)
    except TypeError:
        raise WrongFunction(
            f"{function.called} takes {signature}; {program.name} gives it "
            f"{len(names)}: {declared(program)}"
        ) from None


def gives(
    function: Function, program: Program, got: Sequence[Any], expected: Sequence[Any]
) -> None:
    """Raises `WrongFunction` if results are not as many, or of other shapes or dtypes."""
    names = returned(program)
    if len(got) != len(expected):
        count = f"{len(got)} array{'s' * (len(got) != 1)}"
        raise WrongFunction(
            f"{function.called} returns {count}; {program.name} has {wanted(program)}"
        )
    for name, one, other in zip(names, got, expected, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            shape = program.types[name].shape
            raise WrongFunction(
                f"{function.called} returns {_type(one)} for {name}; in {program.name} it is "
                f"{_type(other)}, held as {shape}"
            )


def _type(array: Any) -> str:
    return f"{array.dtype.name}[{', '.join(map(str, array.shape))}]"
