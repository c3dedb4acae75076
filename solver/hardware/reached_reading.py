"""The table `[reached]` of a machine's file: constants, or the name of a machine that has them."""

from __future__ import annotations

from collections.abc import Callable

from layoutc.solver.hardware.machine import Figure
from layoutc.solver.hardware.places import Path
from layoutc.solver.hardware.reached import (
    BOUNDS,
    FACTORS,
    SHARES,
    TIMES,
    UNITS,
    Like,
    Reached,
)
from layoutc.solver.hardware.values import Table, Values, shown

Refusal = tuple[str, str]
"""What is wrong, and the fix."""

Judge = Callable[[str], Refusal | None]
"""Says why no machine can be like the one of a name, or None where one can."""

KEYS = ("like", *SHARES, *TIMES, *FACTORS, "at_once", *BOUNDS, "source", "fitted")
PATH: Path = ("reached",)
LIKE = 'like = "tpu-v4"'
SOURCE = 'source = "assumed: the same kind of chip"'
HINT = f"[reached]  with  matmul = 0.9  or  {LIKE}, and  {SOURCE}"


def read_reached(values: Values, table: Table, axes: int, judge: Judge) -> Reached | Like | None:
    """What the file says is reached, None where it says nothing.

    `axes` are the most that a tier of the network has: no collective goes along more at a time.
    """
    if "reached" not in table:
        return None
    found = values.table(PATH, table, HINT)
    if not found:
        if table["reached"] == {}:
            values.wrong(PATH, "reached is empty", HINT)
        return None
    values.known(PATH, found, KEYS, "reached")
    source = values.text((*PATH, "source"), found, "reached", SOURCE)
    if "like" in found:
        return _like(values, found, source, judge)
    return _constants(values, found, source, axes)


def _like(values: Values, found: Table, source: str, judge: Judge) -> Like:
    """The machine whose constants are taken, all of them."""
    name = values.text((*PATH, "like"), found, "reached", LIKE)
    for key in KEYS:
        if key in found and key not in ("like", "source"):
            message = f"{key} stands beside like, which takes everything from another machine"
            values.misplaced((*PATH, key), message, f"leave {key} or like away")
    refusal = judge(name) if name else None
    if refusal is not None:
        values.wrong((*PATH, "like"), *refusal)
    return Like(name, source)


def _constants(values: Values, found: Table, source: str, axes: int) -> Reached:
    """The constants that are there; the others are as in `Reached`."""
    fitted = values.text((*PATH, "fitted"), found, "reached")
    said = [key for key in UNITS if key in found]
    if not said:
        values.wrong(PATH, "reached has no constants", f"matmul = ...  {UNITS['matmul']}")
    numbers = {key: _constant(values, key, found[key]) for key in said if key != "at_once"}
    at_once = _at_once(values, found.get("at_once", 0), axes)
    for key in said:
        number = numbers.get(key, at_once)
        values.figures.append(Figure(f"reached.{key}", number, UNITS[key], source, fitted))
    return Reached(at_once=at_once).with_constants(numbers)


def _constant(values: Values, key: str, value: object) -> float:
    """A number within its bounds."""
    path, of = (*PATH, key), f"reached.{key}"
    number = values.number(path, value, of, UNITS[key], zero=key in TIMES)
    if key in (*SHARES, "low") and number > 1:
        than = "all" if key in SHARES else "is predicted"
        message = f"{of} is {shown(value)}, more than {than}"
        values.wrong(path, message, "a share from 0 to 1, as in  0.9")
    if key == "high" and number < 1:
        message = f"{of} is {shown(value)}, less than is predicted"
        values.wrong(path, message, "a number from 1 up, as in  1.1")
    return number


def _at_once(values: Values, value: object, axes: int) -> int:
    """A number of axes that the network has."""
    what = "not a whole number from 0 up"
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        if value <= axes:
            return value
        what = "more axes than the network has"
    message = f"reached.at_once is {shown(value)}, {what}"
    values.wrong((*PATH, "at_once"), message, "at_once = 0  goes along all axes at once")
    return 0
