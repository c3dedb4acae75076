"""The devices of a collective: XLA's ways of naming groups, and the groups of mesh axes.

A group is a tuple of device numbers, in the order in which its members' parts are joined.
Devices are numbered along the mesh, its last axis fastest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

import numpy as np

Group = tuple[int, ...]
Groups = frozenset[Group]


def read(text: str, devices: int) -> Groups:
    """The groups of an attribute `replica_groups`. "{}" is all devices in one group.

    Forms: `{{0,1},{2,3}}`; `[4,16]<=[64]` and `[16,4]<=[4,16]T(1,0)`, 0, 1, 2... shaped,
    transposed and cut in rows; `mesh['x'=4,'y'=2] {'y'}`, along axes of a mesh, whose devices
    may stand in another order: `mesh['x'=4,'y'=2], device_ids=([2,4]T(1,0)) {'y'}`.

    Raises:
        ValueError: a form that is none of these.
    """
    text = text.strip()
    if text.startswith("mesh["):
        return _along_mesh(text)
    if text.startswith("["):
        return _rows(_iota(text))
    if not re.fullmatch(r"[{}\d, ]*", text):
        raise ValueError(f"groups of devices in a form that is not known: {text}")
    found = re.findall(r"\{([\d, ]+)\}", text)
    groups = [tuple(map(int, group.split(","))) for group in found]
    return frozenset(groups or [tuple(range(devices))])


def pairs(text: str) -> frozenset[tuple[int, int]]:
    """The sources and targets of a collective-permute that are not the same device."""
    found = re.findall(r"\{(\d+),\s*(\d+)\}", text)
    return frozenset((int(s), int(t)) for s, t in found if s != t)


IOTA = re.compile(r"\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")


def _iota(text: str) -> np.ndarray:
    found = IOTA.match(text)
    if not found:
        raise ValueError(f"groups of devices in a form that is not known: {text}")
    shape, dims = (tuple(map(int, part.split(","))) for part in found.groups()[:2])
    order = tuple(map(int, found[3].split(","))) if found[3] else tuple(range(len(dims)))
    return np.arange(prod(dims)).reshape(dims).transpose(order).reshape(shape)


def _rows(table: np.ndarray) -> Groups:
    return frozenset(tuple(map(int, row)) for row in table.reshape(-1, table.shape[-1]))


AXIS = re.compile(r"'((?:[^'\\]|\\.)*)'(?::\((\d+)\)(\d+))?(?:=(\d+))?")


def _along_mesh(text: str) -> Groups:
    """`mesh['x'=4,'y'=8] {'x','y':(2)4}`: of y, the factor 4 that has a factor 2 before it."""
    head, _, tail = text.partition("{")
    mesh = {name: int(size) for name, _, _, size in AXIS.findall(head) if size}
    numbers = _numbers(head, prod(mesh.values()))
    wanted = [(n, int(b or 1), int(s) if s else mesh[n]) for n, b, s, _ in AXIS.findall(tail)]
    sizes, names = _factors(mesh, wanted)
    table = numbers.reshape(sizes)
    inside = [names.index((name, before)) for name, before, _ in wanted]
    outside = [i for i in range(len(sizes)) if i not in inside]
    count = prod(sizes[i] for i in inside)
    return _rows(table.transpose(outside + inside).reshape(-1, count))


def _numbers(head: str, count: int) -> np.ndarray:
    """The devices in the order of the mesh: `device_ids=([4,16]T(1,0))`, `device_ids=(0,2,1,3)`."""
    _, named, order = head.partition("device_ids=")
    if not named:
        return np.arange(count)
    shaped = re.match(r"\(\[([\d,]+)\](?:T\(([\d,]+)\))?\)", order)
    if not shaped:
        return np.array([int(n) for n in re.findall(r"\d+", order)])
    dims = tuple(map(int, shaped[1].split(",")))
    axes = tuple(map(int, shaped[2].split(","))) if shaped[2] else None
    return np.arange(count).reshape(dims).transpose(axes).ravel()


def _factors(
    mesh: Mapping[str, int], wanted: Sequence[tuple[str, int, int]]
) -> tuple[list[int], list[tuple[str, int]]]:
    """The mesh with its axes cut where parts of them are wanted: sizes, and (axis, before)."""
    sizes, names = [], []
    for axis, size in mesh.items():
        cuts = {1, size}
        for name, before, part in wanted:
            if name == axis:
                cuts |= {before, before * part}
        for low, high in pairwise(sorted(cuts)):
            sizes.append(high // low)
            names.append((axis, low))
        if size == 1:
            sizes.append(1)
            names.append((axis, 1))
    return sizes, names


# Groups of mesh axes.


def along(mesh: Mapping[str, int], axes: Sequence[str]) -> Groups:
    """The groups of a collective over `axes`, the first the most significant."""
    names = list(mesh)
    inside = [names.index(a) for a in axes]
    outside = [i for i in range(len(names)) if i not in inside]
    table = np.arange(prod(mesh.values())).reshape(tuple(mesh.values()))
    count = prod(mesh[a] for a in axes)
    return _rows(table.transpose(outside + inside).reshape(-1, count))


def axes_of(groups: Groups, mesh: Mapping[str, int]) -> tuple[str, ...] | None:
    """The axes over which `groups` run, most significant first; None if they are no axes.

    Axes of size 1 can't be seen, and are left out.
    """
    from itertools import permutations

    sizes = {a: n for a, n in mesh.items() if n > 1}
    count = len(next(iter(groups)))
    for number in range(len(sizes) + 1):
        for axes in permutations(sizes, number):
            if prod(sizes[a] for a in axes) == count and along(mesh, axes) == groups:
                return axes
    return None
