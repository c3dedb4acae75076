"""What the paper prints, as data: timings, shares of the peak, longest contexts, bytes moved."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from layoutc.solver.serving.timings import Timing, read_timings

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
PUBLISHED = DATA / "published"

TPU, GPU = "tpu-v4", "a100-80gb"
"""The machines that the paper has timings of."""

PHASES = {"PaLM prefill": "prefill", "PaLM generate": "decode"}
"""Of table D.2's columns; the others are whole requests."""

PERCENT = re.compile(r"([\d.]+) % MFU")
"""Figure 7 has shares of the peak, and times were computed from them."""

Key = tuple[str, str, int]
"""What tells a printed figure from others: the note of its timing, the phase, the batch."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What a table says of one configuration: seconds, the share of the peak, as a fraction, and
    the tokens of a sequence that this share counts."""

    seconds: float
    mfu: float
    tokens: int


def timings(machine: str) -> list[Timing]:
    """The paper's timings on a machine."""
    path = PUBLISHED / f"{machine}.csv"
    found = read_timings(path.read_text(encoding="utf-8"))
    good = [one for one in found if isinstance(one, Timing)]
    assert len(good) == len(found), f"{path}: {found}"
    return good


def table_of(note: str) -> str:
    """The table or figure that a timing's note speaks of."""
    return note.partition(":")[0]


def printed(timing: Timing) -> Printed | None:
    """What was printed beside a timing; None where there are no shares of the peak."""
    if percent := PERCENT.search(timing.note):
        return Printed(timing.seconds, float(percent[1]) / 100, timing.prompt)
    return tables().get((timing.note, timing.phase, timing.batch))


@cache
def tables() -> dict[Key, Printed]:
    """Tables 2, 3 and D.2."""
    found: dict[Key, Printed] = {}
    for row in _rows(PUBLISHED / "table2_3.csv"):
        table = "table 2" if row["model"] == "palm-540b" else "table 3"
        key = f"{table}: {row['scenario']}", row["phase"], int(row["batch"])
        mfu, tokens = float(row["mfu_percent"]) / 100, int(row["tokens"])
        found[key] = Printed(float(row["seconds"]), mfu, tokens)
    for row in _rows(PUBLISHED / "table_d2.csv"):
        phase = PHASES.get(row["system"], "request")
        key = f"table D.2: {row['system']}", phase, int(row["batch"])
        own = {"prefill": ["input"], "decode": ["output"], "request": ["input", "output"]}[phase]
        tokens = sum(int(row[f"{way}_tokens"]) for way in own)
        mfu = float(row["mfu_percent"]) / 100
        found[key] = Printed(float(row["milliseconds"]) / 1e3, mfu, tokens)
    return found


def longest_contexts() -> dict[tuple[str, int], int]:
    """Table 1: tokens, by the variant of attention and the batch."""
    rows = _rows(DATA / "table1.csv")
    return {(row["variant"], int(row["batch"])): int(row["max_context"]) for row in rows}


def volumes() -> dict[str, dict[int, float]]:
    """Figure 3: for each line the bytes that a chip receives, by tokens."""
    found: dict[str, dict[int, float]] = {}
    for row in _rows(DATA / "fig3_ffn_communication.csv"):
        line = found.setdefault(row["layout"], {})
        line[int(row["tokens"])] = 1e9 * float(row["gigabytes"])
    return found


def _rows(path: Path) -> list[dict[str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))
