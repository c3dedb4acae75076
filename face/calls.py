"""`layoutc.compile`: what the command line's `compile` does, from Python.

The same stages, and the same sentences: what is said of sizes goes by the command line's words.
"""

from __future__ import annotations

import operator
import os
import re
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

from layoutc import options, pipeline
from layoutc.compiled import Compiled, compiled
from layoutc.dsl.program import DTYPES, Dtype
from layoutc.pipeline import Source, WrongCall
from layoutc.solver.asked import Minimize
from layoutc.solver.hardware.machine import DEFAULT

if TYPE_CHECKING:
    from layoutc.dsl.header import Settings
    from layoutc.solver.hardware.machine import Machine


def compile(
    path: str | os.PathLike[str],
    chips: int | None = None,
    *,
    minimize: Minimize = "time",
    hardware: str | os.PathLike[str] = DEFAULT,
    network: Literal["flat"] | None = None,
    slice: str | None = None,
    overlap: bool = False,
    mesh: Mapping[str, int] | None = None,
    dtype: Dtype | None = None,
    repeat: int | None = None,
    gap: float = 0.0,
    **dims: int,
) -> Compiled:
    """The plan for a `.layout` file.

    Args:
        path: the file.
        chips: how many; may be left out where all sizes of mesh axes are known.
        minimize: the "time" of a pass, or its "communication".
        hardware: the name of a machine, or the path of a TOML file that describes one.
        network: "flat" has one bandwidth in place of the machine's own network.
        slice: the slice to take of the machine, "4x8x8", where there are several.
        overlap: prices what can be moved inside a matmul as the longer of the two.
        mesh: sizes of mesh axes by letter, over the file's.
        dtype: of every tensor whose dtype the file does not pin: "bf16", "f32", ...
        repeat: the count of every `repeat`.
        gap: the search stops when nothing can be better by more than this share.
        dims: sizes by dim, over the file's: `B=512`.

    Raises:
        WrongFile: the file is wrong, or no mesh satisfies it. Its text is what the command line
            prints, and its `errors` are all there are.
        WrongCall: what is asked for makes no sense; a `ValueError`.

    >>> import layoutc
    >>> layoutc.compile("examples/ffn.layout", mesh={"x": 4, "y": 4, "z": 4}).chips
    64
    >>> layoutc.compile("examples/ffn.layout", chips=64, Q=3)
    Traceback (most recent call last):
    layoutc.pipeline.WrongCall: --set and --mesh size what a file declares: ffn has no dim Q
    """
    given = _settings(dims, mesh, repeat, dtype)
    machine = partial(_machine, os.fspath(hardware), network, slice, overlap)
    return _compiled(pipeline.read(os.fspath(path)), given, chips, minimize, machine, gap)


def compile_text(
    text: str,
    chips: int | None = None,
    *,
    name: str = "program",
    minimize: Minimize = "time",
    hardware: str | os.PathLike[str] = DEFAULT,
    network: Literal["flat"] | None = None,
    slice: str | None = None,
    overlap: bool = False,
    mesh: Mapping[str, int] | None = None,
    dtype: Dtype | None = None,
    repeat: int | None = None,
    gap: float = 0.0,
    **dims: int,
) -> Compiled:
    """The same for the text of a program, which goes by `name`, also in errors.

    >>> import layoutc
    >>> text = '''
    ... dims   B=8 E=16
    ... mesh   x
    ... input  x : BE_x
    ... y          = gelu(x)
    ... output y
    ... '''
    >>> layoutc.compile_text(text, 4, name="activation").layouts
    {'x': 'BE_x', 'y': 'BE_x'}
    >>> layoutc.compile_text(text.replace("gelu(x)", "gelu(v)"), 4)
    Traceback (most recent call last):
    layoutc.pipeline.WrongFile: program:5:19: error: v is not defined
      5 | y          = gelu(v)
        |                   ^
    """
    given = _settings(dims, mesh, repeat, dtype)
    machine = partial(_machine, os.fspath(hardware), network, slice, overlap)
    data = text.encode("utf-8", "surrogatepass")
    source = pipeline.parsed(data, name, f"{name.removesuffix('.layout')}.layout")
    return _compiled(source, given, chips, minimize, machine, gap)


def _compiled(
    source: Source,
    given: Settings,
    chips: int | None,
    minimize: Minimize,
    machine: Callable[[int], Machine],
    gap: float,
) -> Compiled:
    """The way through the pipeline, as the command line takes it."""
    if minimize not in get_args(Minimize):
        raise WrongCall(f"--minimize {minimize}: it is {' or '.join(get_args(Minimize))}")
    if not 0 <= gap < 1:
        raise WrongCall(f"--gap {gap!r} is not a share from 0 to below 1, like 0.01")
    said = None if chips is None else _count(chips)
    program = pipeline.sound(source, given)
    count = pipeline.chip_count(program, said)
    plan = pipeline.planned(source, program, count, machine(count), minimize, gap=gap)
    return compiled(plan)


def _machine(
    hardware: str, network: str | None, slice: str | None, overlap: bool, chips: int
) -> Machine:
    """The machine as the command line's words have it, for so many chips."""
    if network not in (None, "flat"):
        raise WrongCall(f"--network {network}: it is flat, or is left out")
    try:
        shape = None if slice is None else options.shape(slice)
    except ArgumentTypeError as error:
        raise WrongCall(f"--slice {error}") from None
    return pipeline.machine_called(hardware, chips, network, shape, overlap)


def _settings(
    dims: Mapping[str, int],
    mesh: Mapping[str, int] | None,
    repeat: int | None,
    dtype: Dtype | None,
) -> Settings:
    """The sizes as the command line's words, so that the same are refused in the same way."""
    for name in dims:
        if not re.fullmatch("[A-Z]", name):
            raise TypeError(f"compile() got an unexpected keyword argument {name!r}")
    if dtype is not None and dtype not in DTYPES:
        raise WrongCall(f"--dtype {dtype}: it is one of {', '.join(DTYPES)}")
    sizes = [f"{dim}={size}" for dim, size in dims.items()]
    sizes += [] if repeat is None else [f"repeat={repeat}"]
    axes = ",".join(f"{axis}={size}" for axis, size in (mesh or {}).items())
    return options.settings(Namespace(sets=sizes, mesh=axes, dtype=dtype))


def _count(chips: int) -> int:
    try:
        number = operator.index(chips)
    except TypeError:
        number = 0
    if not 1 <= number <= options.MOST_CHIPS:
        most = f"{options.MOST_CHIPS:,}"
        raise WrongCall(f"--chips {chips!r} is not a whole number from 1 to {most}")
    return number
