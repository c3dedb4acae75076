"""The command line's words: what can be typed, and what is wrong with what was typed."""

from __future__ import annotations

import argparse
import re
from fractions import Fraction
from typing import NamedTuple

from layoutc import __version__
from layoutc.dsl.check import Settings
from layoutc.dsl.program import DTYPES
from layoutc.pipeline import WrongCall
from layoutc.serving import arguments

LARGEST = 2**62
"""The largest size of a dim or an axis."""

MOST_CHIPS = 2**20
"""A hundred times the largest machines: beyond it a number of chips is a slip of the finger."""


def parser() -> argparse.ArgumentParser:
    """The whole command line. argparse ends the process with 2 when it can't be read."""
    top = argparse.ArgumentParser(
        prog="layoutc",
        description="A layout compiler for sharded Transformer programs.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"layoutc {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _check(_command(commands, "check", "is it right? every error, or nothing and exit status 0"))
    _fmt(_command(commands, "fmt", "the canonical spelling, in place"))
    _derive(_command(commands, "derive", "what an explicit program moves, in closed form"))
    _compare(_command(commands, "compare", "which of two programs is cheaper, and where"))
    _compile(_command(commands, "compile", "the best mesh and layouts, and the JAX program"))
    _regimes(_command(commands, "regimes", "which layout wins where, as one size grows"))
    _diff(_command(commands, "diff", "two explicit programs side by side"))
    _verify(_command(commands, "verify", "is what was predicted what XLA makes of it, and right?"))
    _model(_command(commands, "model", "a published model as a .layout file; all without a name"))
    _plan(_command(commands, "plan", "a whole model served: latency, MFU, cost, memory, the front"))
    _hardware(_command(commands, "hardware", "the machines there are; of one, every figure"))
    _calibrate(_command(commands, "calibrate", "measure this machine, and write its file"))
    return top


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, purpose: str
) -> argparse.ArgumentParser:
    made = commands.add_parser(name, help=purpose, description=purpose, allow_abbrev=False)
    made.add_argument("--json", action="store_true", help="one JSON document on standard output")
    return made


def _sizes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--set", action="append", default=[], metavar="B=512", dest="sets",
        help="the size of a dim, in one phase (decode.B=64), or a repeat's count (repeatable)",
    )  # fmt: skip
    command.add_argument(
        "--dtype", choices=tuple(DTYPES), help="of every tensor whose dtype the file does not pin"
    )
    command.add_argument("--mesh", metavar="x=4,y=4,z=4", help="the sizes of mesh axes")


def _machine(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--hardware", default="tpu-v4-flat", metavar="NAME-OR-FILE",
        help="a machine of the catalogue, or a TOML file that describes one",
    )  # fmt: skip
    command.add_argument(
        "--network", choices=("flat",),
        help="one bandwidth whichever axes take part, in place of the machine's own network",
    )  # fmt: skip
    command.add_argument(
        "--slice", type=shape, metavar="4x8x8", help="the slice to take, where there are several"
    )


def _check(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", nargs="+", metavar="FILE", help="- reads standard input")
    _sizes(command)


def _fmt(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", nargs="+", metavar="FILE", help="- reads standard input")
    command.add_argument("--check", action="store_true", help="write nothing; exit 1 if it would")


def _compile(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="- reads standard input")
    command.add_argument("--chips", type=_count, metavar="N", help="how many chips")
    command.add_argument("-o", "--output", metavar="OUT.py", help="- prints only the program")
    command.add_argument("--minimize", choices=("time", "communication"), default="time")
    command.add_argument(
        "--explain", action="store_true", help="also what else was possible, and what decided"
    )
    command.add_argument(
        "--gap", type=_share, default=0.0, metavar="0.01",
        help="stop when nothing can be better by more than this share",
    )  # fmt: skip
    command.add_argument(
        "--overlap", action="store_true",
        help="price what can be moved inside a matmul as the longer of the two",
    )  # fmt: skip
    command.add_argument(
        "--cache-share", type=_part, metavar="0.3",
        help="the longest context whose caches fit in this share of memory",
    )  # fmt: skip
    _machine(command)
    _sizes(command)


def _derive(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="- reads standard input")
    command.add_argument("--chips", type=_count, metavar="N", help="also the best mesh of N chips")
    command.add_argument("--latex", action="store_true", help="the equations, for LaTeX")
    _machine(command)
    _sizes(command)


def _compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", nargs=2, metavar="FILE", help="- reads standard input")
    command.add_argument("--chips", type=_count, metavar="N", help="on N chips, by the tokens")
    _machine(command)
    _sizes(command)


def _diff(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", nargs=2, metavar="FILE", help="- reads standard input")
    command.add_argument("--chips", type=_count, metavar="N", help="how many chips")
    _machine(command)
    _sizes(command)


def _regimes(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="- reads standard input")
    command.add_argument(
        "--over", required=True, type=_over, metavar="B=1..16777216",
        help="the dim that grows, or n for the number of chips",
    )  # fmt: skip
    command.add_argument("--chips", type=_count, metavar="N", help="how many chips")
    command.add_argument("--plot", metavar="OUT.svg", help="also draw it, as .svg or .png")
    _machine(command)
    _sizes(command)


def _verify(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="- reads standard input")
    command.add_argument("--chips", type=_count, metavar="N", help="how many chips")
    command.add_argument("--no-run", action="store_true", help="compile it only")
    command.add_argument(
        "--against", metavar="MODULE:FUNCTION",
        help="what the automatic partitioner makes of this function, under the file's layouts",
    )  # fmt: skip
    command.add_argument("--minimize", choices=("time", "communication"), default="time")
    _machine(command)
    _sizes(command)


def _model(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", nargs="?", metavar="NAME-or-config.json", help="- reads a config")
    command.add_argument("-o", "--output", metavar="FILE.layout", help="- prints it, too")


def _plan(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help="a name, a config.json, a .layout, or -")
    arguments.points(command, _count)
    arguments.answers(command)
    arguments.ways(command, _count)
    arguments.files(command)
    _machine(command)
    _sizes(command)


def _hardware(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", nargs="?", metavar="NAME-OR-FILE", help="all without it")
    command.add_argument(
        "--check", action="store_true", help="time a handful on the devices at hand beside the file"
    )
    command.add_argument(
        "--fit", metavar="FILE.csv", help="fit its constants on these timings of whole models"
    )
    command.add_argument(
        "-o", "--output", metavar="OUT.toml", help="the machine's file with what was fitted"
    )
    command.add_argument(
        "--at-once", type=_axes, metavar="N",
        help="axes of a torus that one collective goes along at a time, 0 for all; else the best",
    )  # fmt: skip


def _calibrate(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-o", "--output", required=True, metavar="FILE.toml",
        help="the machine's file; timings are kept beside it, in FILE.csv, and taken up again",
    )  # fmt: skip
    command.add_argument(
        "--from", dest="timings", metavar="FILE.csv", help="fit these timings, and measure nothing"
    )
    command.add_argument(
        "--samples", type=_count, default=5, metavar="N",
        help="how often each point is timed; the median counts",
    )  # fmt: skip
    command.add_argument(
        "--most", type=_bytes, metavar="64MiB", help="the largest message, for one chip"
    )


class Over(NamedTuple):
    """A dim, or "n" for the number of chips, and the range that it goes through."""

    name: str
    low: int
    high: int


def _over(text: str) -> Over:
    found = re.fullmatch(r"([A-Z]|n)=([0-9]{1,19})\.\.([0-9]{1,19})", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r}: write it like B=1..16777216 or n=4..4096")
    over = Over(found[1], int(found[2]), int(found[3]))
    most = MOST_CHIPS if over.name == "n" else LARGEST
    if not 1 <= over.low < over.high <= most:
        raise argparse.ArgumentTypeError(f"{text!r}: from 1 up, the larger last, at most {most:,}")
    return over


def shape(text: str) -> tuple[int, ...]:
    """4x8x8 as numbers. Raises `ArgumentTypeError`."""
    if re.fullmatch(r"[1-9][0-9]{0,6}(x[1-9][0-9]{0,6})*", text):
        return tuple(map(int, text.split("x")))
    raise argparse.ArgumentTypeError(f"{text!r} is not a shape, like 4x8x8")


def _count(text: str) -> int:
    if re.fullmatch(r"[0-9]{1,19}", text) and 1 <= int(text) <= MOST_CHIPS:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {MOST_CHIPS:,}")


def _axes(text: str) -> int:
    if re.fullmatch(r"[0-9]", text):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of axes, like 1")


def _bytes(text: str) -> int:
    found = re.fullmatch(r"([0-9]{1,15})(|KiB|MiB|GiB)", text)
    powers = {"": 0, "KiB": 10, "MiB": 20, "GiB": 30}
    if found and int(found[1]) << powers[found[2]] >= 2**12:
        return int(found[1]) << powers[found[2]]
    raise argparse.ArgumentTypeError(f"{text!r}: write it like 64MiB, at least 4KiB")


def _share(text: str) -> float:
    if re.fullmatch(r"0?\.[0-9]{1,17}|0", text):
        return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0 to below 1, like 0.01")


def _part(text: str) -> Fraction:
    if re.fullmatch(r"0?\.[0-9]{1,17}|1(\.0{1,17})?", text) and Fraction(text):
        return Fraction(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a share above 0, up to 1, like 0.3")


def settings(options: argparse.Namespace) -> Settings:
    """What the command line says of sizes. Raises `WrongCall`."""
    sizes: dict[str, int] = {}
    phases: dict[str, dict[str, int]] = {}
    repeat: int | None = None
    for entry in options.sets:
        name, number = _assignment(entry, "--set", r"(?:[a-z][a-z0-9_]*\.)?[A-Z]|repeat")
        phase, _, dim = name.rpartition(".")
        if name == "repeat":
            repeat = number
        elif phase:
            phases.setdefault(phase, {})[dim] = number
        else:
            sizes[name] = number
    mesh = {}
    for entry in options.mesh.split(",") if options.mesh else []:
        name, number = _assignment(entry, "--mesh", r"[a-z]")
        if name in mesh:
            raise WrongCall(f"--mesh gives {name} twice")
        mesh[name] = number
    return Settings(dims=sizes, mesh=mesh, repeat=repeat, dtype=options.dtype, phases=phases)


def _assignment(entry: str, option: str, names: str) -> tuple[str, int]:
    found = re.fullmatch(rf"\s*({names})\s*=\s*([0-9]{{1,19}})\s*", entry)
    if not found:
        example = "B=512" if option == "--set" else "x=4,y=4,z=4"
        raise WrongCall(f"{option} {entry}: write it like {option} {example}")
    number = int(found[2])
    if not 1 <= number <= LARGEST:
        raise WrongCall(f"{option} {entry}: a size is a whole number from 1 to 2^62")
    return found[1], number
