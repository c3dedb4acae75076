"""Where the paper's own numbers say something else than its words, and what the page follows."""

from __future__ import annotations

from layoutc.solver.units import duration, size
from published_page.facts import TPU, table_of, timings, volumes
from published_page.volumes import MESH, SIZES
from published_page.words import prose

CHIPS = MESH["x"] * MESH["y"] * MESH["z"]
BYTES = 2


def disagreements() -> str:
    """The last chapter."""
    tokens = max(volumes()["XYZ-WG"])
    weights = 2 * SIZES["E"] * SIZES["F"] * BYTES
    term = 2 * tokens * SIZES["E"] // CHIPS * BYTES
    found = [
        f"""
        **Figure 3, XYZ-weight-gathered.** The appendix (A.2.2) has a term 2·B·L·E/N for
        activations. Where all N = {CHIPS} chips gather the weights no activation moves, and the
        line of the figure is 2·E·F alone: {size(weights)} for any number of tokens. With the term
        it would be {size(weights + term)} at {tokens:,} tokens.
        """,
        """
        **When two dimensions are better than one.** The text says: when √n > F/E, which is
        n > (F/E)². From the appendix's own formulas, 2·B·L·E against 4·B·L·√(E·F/n), it is
        n > 4·F/E. The two are the same at F = 4·E, 16 chips. At F = 8·E they are 64 and 32.
        """,
        """
        **Figure 6's caption** says 64 chips. Its axis goes from 64 to 256, and so does the table
        above.
        """,
        f"""
        **Heads of multihead attention.** Table 1 has 64 of them, section 2.1 has 48: with heads of
        128, 512 sequences of 2,048 tokens make {size(_caches(48))} of caches, its "3 TB". With 64
        it is {size(_caches(64))}.
        """,
        """
        **Subscripts without an order.** `reduce-scatter(x)` of `BLF_yz(partialsum-x)` gives
        `BLF_yzx`, not the `BLF_xyz` that is written. The order says which chip has which part.
        """,
        f"""
        **Figures and tables.** What is read off figures is about 2 % faster than the same in the
        tables. At batch 512 on 64 chips a step of decode takes {_twice("figure 6", "decode")} in
        figure 6 and table 2, and the prefill {_twice("figure 7", "prefill")} in figure 7 and
        table 2. No model can hit both.
        """,
    ]
    entries = "\n".join(prose(f"- {one.strip()}") for one in found)
    head = "## Where the paper does not agree with itself\n\nThis page follows the arithmetic.\n\n"
    return f"{head}{entries}\n"


def _caches(heads: int) -> int:
    """Keys and values of PaLM 540B with so many heads of 128, in bytes: 512 sequences of 2,048."""
    return 2 * 118 * heads * 128 * BYTES * 512 * 2048


def _twice(figure: str, phase: str) -> str:
    """What the same thing takes in a figure and in table 2."""
    layout = "2D weight-stationary" if phase == "decode" else "XYZ-weight-gathered"
    alike = 64, 512, phase, layout
    found = {
        table_of(timing.note): timing.seconds / (timing.generate or 1)
        for timing in timings(TPU)
        if (timing.chips, timing.batch, timing.phase, timing.layout) == alike
    }
    return f"{duration(found[figure])} and {duration(found['table 2'])}"
