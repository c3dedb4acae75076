"""What can be typed of ranges, limits and layouts, as numbers and names."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from dataclasses import dataclass
from typing import Literal

MOST = 2**40
"""Of a batch, or of tokens: beyond it a number is a slip of the finger."""

POINTS = 10**6
"""So many values a list may have."""

TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}

LAYOUTS = {
    "1d": "1D weight-stationary", "2d": "2D weight-stationary", "x-wg": "X-weight-gathered",
    "xy-wg": "XY-weight-gathered", "xyz-wg": "XYZ-weight-gathered",
}  # fmt: skip
"""Short for the names that a report prints."""


def sizes(text: str) -> list[int]:
    """`64`, `1,8,64`, `4..1024` (doubling, both ends among them), or a mixture, in order.

    Raises `ArgumentTypeError`.
    """
    found: set[int] = set()
    for part in text.split(","):
        ends = re.fullmatch(r"([0-9]{1,13})(?:\.\.([0-9]{1,13}))?", part.strip())
        low, high = (int(ends[1]), int(ends[2] or ends[1])) if ends else (0, 0)
        if not 1 <= low <= high <= MOST:
            raise ArgumentTypeError(f"{text!r}: write it like 64, 1,8,64 or 4..1024")
        while low < high:
            found.add(low)
            low *= 2
        found.add(high)
    return sorted(found)


Timed = Literal["step", "prefill", "request"]


@dataclass(frozen=True, slots=True)
class Latency:
    """A limit in seconds on a step of decode, on a prefill, or on a whole request."""

    of: Timed
    seconds: float
    text: str


def latency(text: str) -> Latency:
    """`50ms` for a step, `prefill=1s`, `request=2.5s`. Raises `ArgumentTypeError`."""
    found = re.fullmatch(
        r"(?:(step|prefill|request)=)?([0-9]{1,9}(?:\.[0-9]{1,9})?)(s|ms|us|µs)", text
    )
    if not found or not float(found[2]):
        raise ArgumentTypeError(f"{text!r}: write it like 50ms, prefill=1s or request=2.5s")
    of: Timed = found[1] or "step"  # type: ignore[assignment]
    return Latency(of, float(found[2]) * TIMES[found[3]], f"{found[2]}{found[3]}")


def budget(text: str) -> float:
    """`10/Mtok`, dollars for a million tokens. Raises `ArgumentTypeError`."""
    found = re.fullmatch(r"\$?([0-9]{1,9}(?:\.[0-9]{1,9})?)/Mtok", text)
    if not found or not float(found[1]):
        raise ArgumentTypeError(f"{text!r}: write it like 10/Mtok, dollars for a million tokens")
    return float(found[1])


def price(text: str) -> float:
    """Dollars a chip-hour. Raises `ArgumentTypeError`."""
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) and float(text):
        return float(text)
    raise ArgumentTypeError(f"{text!r} is not a number of dollars, like 3.2")


def weights(text: str) -> list[str]:
    """`bf16`, `int8` or both. Raises `ArgumentTypeError`."""
    found = list(dict.fromkeys(part.strip() for part in text.split(",")))
    if not found or not set(found) <= {"bf16", "int8"}:
        raise ArgumentTypeError(f"{text!r}: bf16, int8 or bf16,int8")
    return found


def layout(text: str) -> dict[str, str]:
    """`2D` for both phases, or `prefill=xyz-wg,decode=2D`: names by phase. Raises
    `ArgumentTypeError`."""
    found: dict[str, str] = {}
    for part in text.split(","):
        phase, _, name = part.rpartition("=")
        phases = ("prefill", "decode") if not phase else (phase.strip(),)
        known = {*LAYOUTS.values()}
        spelled = LAYOUTS.get(name.strip().lower().removesuffix("-ws"), name.strip())
        if not set(phases) <= {"prefill", "decode"} or spelled not in known:
            listed = ", ".join(LAYOUTS)
            raise ArgumentTypeError(
                f"{text!r}: one of {listed}, for one phase like prefill=xyz-wg,decode=2d"
            )
        found |= dict.fromkeys(phases, spelled)
    return found


def attention(text: str) -> dict[str, str]:
    """`batch`, `heads` or `context` for both phases, or by phase. Raises `ArgumentTypeError`."""
    found: dict[str, str] = {}
    for part in text.split(","):
        phase, _, side = part.strip().rpartition("=")
        phases = ("prefill", "decode") if not phase else (phase,)
        if not set(phases) <= {"prefill", "decode"} or side not in ("batch", "heads", "context"):
            raise ArgumentTypeError(
                f"{text!r}: batch, heads or context, for one phase like prefill=heads,decode=batch"
            )
        found |= dict.fromkeys(phases, side)
    return found
