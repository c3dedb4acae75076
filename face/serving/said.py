"""What is said of a point in words: the same in a report and on a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from layoutc.document import Document
from layoutc.serving.studied import Refused, Studied
from layoutc.solver import attention as attending
from layoutc.solver.units import chips as counted
from layoutc.solver.units import duration, mesh, size

BUSY = {
    "compute": "computing", "memory": "reading weights", "gathered": "gathering weights",
}  # fmt: skip
"""The parts of a pass that go on at once: the longest counts."""

ON_TOP = ("attention", "communication", "latency", "waiting")
"""Those that come after it, one by one."""


@dataclass(frozen=True, slots=True)
class Went:
    """Where the seconds of a pass went, by what they went to.

    `added` are what adds up to the pass: the longest of what goes on at once, and then the rest.
    `under` is what goes on under the longest and ends before it. Nothing that takes no time is in
    either.
    """

    longest: str
    added: Mapping[str, float]
    under: Mapping[str, float]


def went(run: Document) -> Went:
    """Of a phase's document."""
    parts = run["parts"]
    busy = {said: parts[name] for name, said in BUSY.items()}
    longest = max(busy, key=lambda name: busy[name])
    rest = {name: parts[name] for name in ON_TOP if parts[name] > 0}
    under = {name: seconds for name, seconds in busy.items() if seconds and name != longest}
    return Went(longest, {longest: busy[longest], **rest}, under)


def shares(run: Document) -> str:
    """Where a pass's time goes: what is hidden beside what it is hidden under."""
    found = went(run)
    under = [f"{name} {duration(seconds)}" for name, seconds in found.under.items()]
    said = [f"{name} {duration(seconds)}" for name, seconds in found.added.items()]
    said[0] += f" ({', '.join(under)} under it)" if under else ""
    return " + ".join(said)


def percent(share: float) -> str:
    """14 %, 2.5 %, 0.031 %."""
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


def span(values: np.ndarray) -> str:
    """One number, or the least and the most."""
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def title(found: Studied) -> str:
    """The model and the machine."""
    return f"{found.query.model} on {found.query.machine.name}"


def sizes(found: Studied) -> str:
    """Of the requests: how many tokens come, are made, and are there already."""
    columns = found.study.columns
    said = [
        ("prompt", columns.prompt, "tokens"), ("then", columns.generate, "made"),
        ("context", columns.context, "when decoding starts"),
    ]  # fmt: skip
    return ", ".join(f"{name} {span(values)} {what}" for name, values, what in said)


def where(made: Document) -> str:
    """Chips, batch and weights of a point."""
    chips = f"{counted(made['chips'])}{divided(made)}"
    return f"{chips}, batch {made['batch']:,}, {made['weights']} weights"


def divided(made: Document) -> str:
    """How the chips are divided, in brackets; nothing where they are not."""
    ways = [f"{made['replicas']} replicas"] * (made["replicas"] > 1)
    ways += [f"{made['pipeline']} stages"] * (made["pipeline"] > 1)
    return f" ({' of '.join([*ways, counted(made['tensor'])])})" if ways else ""


def between(bounds: list[float]) -> str:
    """A range in brackets; nothing where both ends are one."""
    low, high = bounds
    return "" if low == high else f" ({duration(low)} to {duration(high)})"


def layout(name: str, attention: str) -> str:
    """What is done with the weights, and what attention is sharded over."""
    match attention:
        case "":
            return name
        case attending.WHOLE:
            return f"{name}, attention {attention}"
    return f"{name}, attention over {attention}"


def laid_out(run: Document) -> str:
    """A phase's layout and mesh, and how often it is gone through."""
    waves = run.get("waves", 1)
    times = [f"in {waves} waves"] * (waves > 1)
    times += [f"{run['micro_batches']} micro-batches"] * (run["micro_batches"] > 1)
    return ", ".join([layout(run["layout"], run["attention"]), mesh(run["mesh"]), *times])


def memory(made: Document) -> str:
    """What a chip holds, and for which context there is room."""
    taken = {name: size(made["memory"][name]) for name in ("weights", "caches", "activations")}
    held = ", ".join(f"{name} {bytes_}" for name, bytes_ in taken.items())
    room = f"caches have room for a context of {made['max_context']:,}"
    return f"{size(made['memory_bytes'])} a chip: {held}; {room}"


def refused(one: Refused) -> str:
    """Why nothing can be had on so many chips."""
    said = f"{counted(one.chips)}, {one.weights}: {one.why.message}"
    return said + (f"; {one.why.hint}" if one.why.hint else "")


def constants(found: Studied) -> Iterator[str]:
    """Whose constants these are, and what ranges mean where there are some."""
    reached = found.query.reached
    yield f"Constants: {found.query.whose}."
    if reached.low < reached.high:
        yield "Ranges hold nine in ten of the timings that were fitted."
