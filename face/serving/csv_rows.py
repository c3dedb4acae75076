"""The points of a study as a CSV file, a line each."""

from __future__ import annotations

import csv
import io

from layoutc.document import Document
from layoutc.serving.document import point
from layoutc.serving.studied import Studied


def rows(found: Studied) -> str:
    """All points; what is inside another figure has its name in front, `decode.step_seconds`."""
    lines = [_flat(point(found, row)) for row in range(len(found.study))]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def _flat(made: Document, before: str = "") -> dict[str, object]:
    """Nested figures by their names; ranges as two columns, meshes as text."""
    found: dict[str, object] = {}
    for name, value in made.items():
        key = f"{before}{name}"
        match value:
            case {"compute": _} | {"step_seconds": _} | {"waves": _} | {"caches": _}:
                found |= _flat(value, f"{key}.")
            case dict():
                found[key] = " ".join(f"{axis}={size}" for axis, size in value.items())
            case [low, high]:
                found[f"{key}.low"], found[f"{key}.high"] = low, high
            case _:
                found[key] = value
    return found
