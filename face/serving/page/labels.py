"""Labels beside points, each where it covers nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

LETTER, HEIGHT, MARK = 6.2, 13.0, 6.0
"""How wide a letter is, how high a line, and how far a point reaches."""


PLACES = (
    (-7.0, "end", 16.0), (9.0, "start", -7.0), (-9.0, "end", 4.0), (9.0, "start", 4.0),
    (-7.0, "end", -7.0), (9.0, "start", 17.0),
)  # fmt: skip
"""Where a label may stand beside its point, best first: how far aside, whether it starts or ends
there, and how far down. Left of a front and below it there are no points."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def covers(self, other: Box) -> bool:
        """Whether they have a part in common."""
        apart_x = self.right <= other.left or other.right <= self.left
        return not apart_x and not (self.bottom <= other.top or other.bottom <= self.top)

    def holds(self, other: Box) -> bool:
        """Whether the other is inside."""
        inside_x = self.left <= other.left and other.right <= self.right
        return inside_x and self.top <= other.top and other.bottom <= self.bottom


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
            if self.frame.holds(box) and not any(box.covers(other) for other in self.covered):
                self.covered.append(box)
                return x + aside, y + down, anchor
        return None
