"""Digits: the dims of an array as runs through the dims of a program. See `blocks`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, slots=True)
class Digit:
    """`size` steps of `stride` elements along the program's dim `dim`.

    Without a dim it is free: the same goes for all devices, and it meets any other digit.
    """

    dim: str
    stride: int
    size: int


Digits = tuple[Digit, ...]


def free(size: int) -> Digits:
    """An array's dim of which nothing is known but that all devices hold the same."""
    return (Digit("", 0, size),) if size > 1 else ()


def merged(digits: Iterable[Digit]) -> Digits:
    """A row of digits with each as long as it can be; free ones of size 1 are left out."""
    row: list[Digit] = []
    for digit in digits:
        if not digit.dim and digit.size == 1:
            continue
        last = row[-1] if row else None
        if last and last.dim == digit.dim and last.stride == digit.stride * digit.size:
            row[-1] = Digit(digit.dim, digit.stride, last.size * digit.size)
        elif digit not in row or digit.size > 1:
            row.append(digit)
    return tuple(row)


def chopped(digits: Sequence[Digit], extents: Sequence[int]) -> tuple[Digits, ...] | None:
    """The digits dealt out anew to dims of these extents; None if a cut falls between them."""
    queue, dims = list(digits), []
    for at, extent in enumerate(extents):
        row, need = [], extent
        while need > 1 and queue:
            digit = queue.pop(0)
            if need % digit.size == 0:
                row.append(digit)
                need //= digit.size
            elif digit.size % need == 0:
                inner = digit.size // need
                row.append(Digit(digit.dim, digit.stride * inner, need))
                queue.insert(0, replace(digit, size=inner))
                need = 1
            else:
                return None
        if need > 1:
            return None
        row += _ones(queue, extent, extents[at + 1 :])
        dims.append(tuple(row))
    return None if any(d.size > 1 for d in queue) else tuple(dims)


def _ones(queue: list[Digit], extent: int, after: Sequence[int]) -> list[Digit]:
    """The digits of size 1 at the head of the queue that go with this dim.

    A dim of extent 1 takes one of them; what the dims of extent 1 that follow can't take stays
    with this one.
    """
    ones = next((i for i, d in enumerate(queue) if d.size > 1), len(queue))
    room = next((i for i, e in enumerate(after) if e > 1), len(after))
    take = max(ones - room, min(1, ones) if extent == 1 else 0)
    taken, queue[:take] = queue[:take], []
    return taken


def counted(places: np.ndarray, dims: Sequence[str]) -> Digits | None:
    """The digits that step through `places`, of which each row is a place in each of `dims`.

    None if there are none: the places are not in the order of any digits.
    """
    row: list[Digit] = []
    while len(places) > 1:
        step = places[1] - places[0]
        wanted = places[0] + np.arange(len(places))[:, None] * step
        good = np.all(places == wanted, axis=1)
        run = len(places) if good.all() else int(np.argmin(good))
        size = next(n for n in range(run, 0, -1) if len(places) % n == 0)
        along = np.flatnonzero(step)
        if size == 1 or len(along) > 1 or np.any(step < 0):
            return None
        heads = places[::size]
        if np.any(
            places.reshape(-1, size, len(dims)) - heads[:, None] != wanted[:size] - wanted[0]
        ):
            return None
        row.insert(
            0,
            Digit(dims[along[0]], int(step[along[0]]), size) if len(along) else Digit("", 0, size),
        )
        places = heads
    return tuple(row)
