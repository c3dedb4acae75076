"""Labels beside points, each where it covers nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from layoutc.figures.boxes import Box

LETTER, HEIGHT, MARK = 6.2, 13.0, 6.0
"""How wide a letter is, how high a line, and how far a point reaches."""


PLACES = (
    (-7.0, "end", 16.0), (9.0, "start", -7.0), (-9.0, "end", 4.0), (9.0, "start", 4.0),
    (-7.0, "end", -7.0), (9.0, "start", 17.0),
)  # fmt: skip
"""Where a label may stand beside its point, best first: how far aside, whether it starts or ends
there, and how far down. Left of a front and below it there are no points."""


@dataclass(slots=True)
class Labels:
    """What is covered within a frame so far."""

    frame: Box
    covered: list[Box] = field(default_factory=list)

    def keep_clear(self, x: float, y: float) -> None:
        """A point that no label may cover."""
        self.covered.append(Box(x - MARK, y - MARK, x + MARK, y + MARK))

    def place(self, text: str, x: float, y: float) -> tuple[float, float, str] | None:
        """Where the text of a point starts or ends, and which of the two; None if it has no
        place."""
        width = LETTER * len(text)
        for aside, anchor, down in PLACES:
            left = x + aside - (width if anchor == "end" else 0.0)
            box = Box(left, y + down - HEIGHT + 3, left + width, y + down + 3)
            if box.within(self.frame) and not any(box.meets(other) for other in self.covered):
                self.covered.append(box)
                return x + aside, y + down, anchor
        return None
