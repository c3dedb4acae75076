"""Figure 3: what a chip receives for a feedforward layer, in each of the paper's layouts."""

from __future__ import annotations

from dataclasses import dataclass

from layoutc.dsl.header import Settings
from layoutc.dsl.program import DTYPES
from layoutc.pipeline import checked, read
from layoutc.solver.formula import communication
from published_page.facts import ROOT, volumes

SIZES = {"L": 1, "E": 16384, "F": 65536}
MESH = {"x": 4, "y": 4, "z": 4}

FILES = {
    "WS": "ffn_2d_weight_stationary",
    "X-WG": "ffn_x_weight_gathered",
    "XY-WG": "ffn_xy_weight_gathered",
    "XYZ-WG": "ffn_xyz_weight_gathered",
}
"""The example that each line is of; `Min` is the least of all."""


@dataclass(frozen=True, slots=True)
class Volume:
    """A point of figure 3: bytes that each chip receives, as drawn and as counted."""

    layout: str
    tokens: int
    drawn: float
    counted: float

    @property
    def error(self) -> float:
        """Counted over drawn, less 1."""
        return self.counted / self.drawn - 1


def compared() -> list[Volume]:
    """All points, line by line."""
    found = list[Volume]()
    for layout, line in volumes().items():
        lines = FILES if layout == "Min" else [layout]
        for tokens, drawn in line.items():
            least = min(counted(one, tokens) for one in lines)
            found.append(Volume(layout, tokens, drawn, least))
    return found


def counted(layout: str, tokens: int) -> float:
    """Bytes that each chip receives for so many tokens; (K-1)/K is taken for 1, as in the paper."""
    path = ROOT / "examples" / f"{FILES[layout]}.layout"
    program = checked(read(str(path)), Settings(dims={**SIZES, "B": tokens}, mesh=MESH))
    elements = communication(program, MESH)
    return float(elements.exact({**program.sizes, **MESH})) * DTYPES[program.dtype]
