"""The examples: feedforward layers, and what has attention, of which the search takes longer."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import layoutc
from layoutc.compiled import Compiled

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.layout"))

MESHES = {
    "encoder_layer": {"x": 2, "y": 4, "z": 1},
    "llama": {"x": 8, "y": 1, "z": 1},
    "llama_layer": {"x": 2, "y": 4, "z": 1},
    "megatron_layer": {"x": 2, "y": 4, "z": 1},
    "palm_layer": {"x": 2, "y": 4, "z": 1},
}
"""What has attention, and eight chips for it on which the search takes seconds."""

FEEDFORWARD = [path for path in EXAMPLES if path.stem not in MESHES]
WITH_ATTENTION = [path for path in EXAMPLES if path.stem in MESHES]


@cache
def on_eight(stem: str) -> Compiled:
    """An example with attention at its own sizes on its mesh, compiled once for all tests."""
    return layoutc.compile(ROOT / "examples" / f"{stem}.layout", mesh=MESHES[stem])
