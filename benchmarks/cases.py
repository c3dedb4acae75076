"""What partitioner.py compares: programs, on how many chips, at which sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from layoutc.solver.asked import Minimize

CUBE = {"x": 4, "y": 4, "z": 4}
EIGHT = {"x": 2, "y": 4, "z": 1}
FEW = {"B": 512, "E": 1152, "F": 4608}
"""Sizes at which two CPU cores take a fraction of a second."""
MANY = {"B": 1024, "L": 4, "E": 384, "F": 1536}


@dataclass(frozen=True, slots=True)
class Case:
    """A program under ROOT on so many chips, with sizes over the file's own, in one of its phases;
    `timed` are the sizes at which it is run, by default the small ones of its script."""

    path: str
    chips: int = 64
    sizes: Mapping[str, int] = field(default_factory=dict)
    mesh: Mapping[str, int] = field(default_factory=dict)
    timed: Mapping[str, int] = field(default_factory=lambda: FEW)
    phase: str = "main"
    minimize: Minimize = "communication"

    @property
    def name(self) -> str:
        return Path(self.path).stem


def _example(name: str, chips: int = 64, **fields: Any) -> Case:
    return Case(f"examples/{name}.layout", chips, **fields)


def _with_attention(name: str, *phases: str, **fields: Any) -> list[Case]:
    """Each phase of an example on eight chips, on which its search takes seconds."""
    return [
        _example(name, 8, **({"mesh": EIGHT, "timed": {}, "phase": phase} | fields))
        for phase in phases
    ]


def _extra(name: str, **fields: Any) -> Case:
    return Case(f"benchmarks/programs/{name}.layout", **fields)


CASES = [
    _example("ffn"),
    _example("ffn", 48),
    _example("ffn", 12),
    _example("stack", timed=FEW | {"repeat": 4}),
    _example("ffn_bias"),
    _extra("bias_whole"),
    _example("swiglu", timed=FEW | {"F": 3584}),
    _example("wafer_ffn"),
    _example("ffn_figure3", sizes={"B": 32_768}, mesh=CUBE, timed=MANY),
    _example("ffn_figure3", sizes={"B": 131_072}, mesh=CUBE, timed=MANY),
    _example("figure2b"),
    _example("ffn_phases", mesh=CUBE, timed=MANY, phase="prefill"),
    _example("ffn_phases", mesh=CUBE, phase="decode"),
    _example("ffn_1d_weight_stationary", 8),
    _example("ffn_2d_weight_stationary"),
    _example("ffn_x_weight_gathered", sizes={"L": 64}, mesh=CUBE, timed=MANY),
    _example("ffn_x_weight_gathered", 48, sizes={"L": 64}, mesh=CUBE | {"z": 3}, timed=MANY),
    _example("ffn_xy_weight_gathered", sizes={"L": 256}, mesh=CUBE, timed=MANY),
    _example("ffn_xyz_weight_gathered", sizes={"L": 8192}, mesh=CUBE, timed=MANY),
    _extra("parallel", mesh=CUBE, timed=FEW | {"G": 2048}),
    _extra("swiglu_residual", mesh=CUBE, timed=FEW | {"F": 3584}),
    _extra("prenorm", mesh=CUBE),
    _extra("adapter", mesh=CUBE, timed=FEW | {"R": 64}),
    _extra("tied", timed=MANY),
    *_with_attention("palm_layer", "prefill", "decode", sizes={"H": 64}),
    *_with_attention("megatron_layer", "prefill", "decode"),
    *_with_attention("llama_layer", "prefill", "decode"),
    *_with_attention("encoder_layer", "main", minimize="time"),
    *_with_attention("llama", "prefill", "decode", mesh={"x": 8, "y": 1, "z": 1}, minimize="time"),
    _extra("multiquery", timed={}),
]
"""Each of the paper's five layouts stands at a size at which no other moves less. All 64 heads of
`palm_layer` are used: the reference cuts padding off, which is not the partitioner's fault. Two
may hold all weights on every chip, and then little moves; they are compiled for the least time."""
