"""How far long work is: a bar on standard error, for a person who waits at a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

PATIENCE = 1.0
"""Seconds before a bar appears: what is done sooner needs none."""


def watched(what: str) -> Callable[[list[int]], Iterable[int]]:
    """Passes values on one by one, and shows how many are left if that takes long."""
    return lambda values: _shown(what, values) if sys.stderr.isatty() else iter(values)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Says what is being waited for, while it is, to a person at a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def _shown(what: str, values: list[int]) -> Iterator[int]:
    from rich.console import Console
    from rich.progress import Progress

    began = time.monotonic()
    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=len(values))
    try:
        for value in values:
            yield value
            bar.advance(task)
            if not bar.live.is_started and time.monotonic() - began > PATIENCE:
                bar.start()
    finally:
        bar.stop()
