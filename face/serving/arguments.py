"""What `plan` takes on the command line: points, limits, ways to divide chips, files."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from layoutc.serving import words

Count = Callable[[str], int]
"""A number of chips, from its text."""


def points(command: argparse.ArgumentParser, count: Count) -> None:
    """What is asked for: chips, and how many sequences and tokens."""
    command.add_argument(
        "--chips", type=words.sizes, metavar="64", help="how many; 8..256 doubles, 8,64 lists"
    )
    for name, what in (
        ("batch", "sequences that are decoded at once"),
        ("prefill-batch", "sequences that are prefilled at once, where it is another number"),
        ("prompt", "tokens of a sequence that are prefilled"),
        ("generate", "tokens of a sequence that are made"),
        ("context", "tokens in the caches when decoding starts, where it is not the prompt"),
    ):
        command.add_argument(f"--{name}", type=words.sizes, metavar="4..1024", help=what)
    command.add_argument(
        "--weights", type=words.weights, default=["bf16"], metavar="bf16|int8",
        help="how the layers' matrices are stored",
    )  # fmt: skip
    command.add_argument(
        "--prefill-chips", type=count, default=0, metavar="N", help="chips that only prefill"
    )


def answers(command: argparse.ArgumentParser) -> None:
    """Limits that an answer has to keep, and what a chip costs."""
    command.add_argument(
        "--latency", type=words.latency, metavar="50ms",
        help="the cheapest with no longer a step, or prefill=1s, request=2s",
    )  # fmt: skip
    command.add_argument(
        "--budget", type=words.budget, metavar="10/Mtok",
        help="the fastest for no more dollars a million tokens",
    )  # fmt: skip
    command.add_argument(
        "--price", type=words.price, metavar="3.2", help="dollars a chip-hour, over the machine's"
    )


def ways(command: argparse.ArgumentParser, count: Count) -> None:
    """What fixes layouts, and how chips are divided, that would be chosen."""
    command.add_argument(
        "--layout", type=words.layout, default={}, metavar="2d",
        help="of both phases, or prefill=xyz-wg,decode=2d",
    )  # fmt: skip
    command.add_argument(
        "--attention", type=words.attention, default={}, metavar="batch",
        help="what it is sharded over, or prefill=heads,decode=batch",
    )  # fmt: skip
    for name, what in (
        ("tensor", "chips that share each matmul"),
        ("pipeline", "stages"),
        ("replicas", "copies of the model, each with its part of the batch"),
        ("micro-batches", "that fill a pipeline"),
    ):
        command.add_argument(f"--{name}", type=count, default=0, metavar="N", help=what)


def files(command: argparse.ArgumentParser) -> None:
    """What else is said, and where it goes."""
    command.add_argument("--explain", action="store_true", help="also where each figure is from")
    command.add_argument("--plot", metavar="OUT.svg", help="latency against cost, as .svg or .png")
    command.add_argument("--html", metavar="OUT.html", help="all of it as a page of its own")
    command.add_argument("--csv", metavar="OUT.csv", help="every point; - prints only that")
