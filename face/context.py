"""What `compile` says of caches: what they take of a chip, and the longest context."""

from __future__ import annotations

from fractions import Fraction

from layoutc.solver.context import Growth, context
from layoutc.solver.plan import Pass
from layoutc.solver.units import size

Document = dict[str, object]


def rows(part: Pass, share: Fraction | None) -> list[list[str]]:
    """The lines of the report: bytes, and the context that they are for; none without caches."""
    found = context(part, share)
    if found is None:
        return []
    here, once, growth = size(found.bytes), size(found.total_bytes), found.growth
    if growth is None:
        return [["cache", f"{here} on each chip; each element once, {once}"]]
    here += f" on each chip, {size(float(growth.bytes_per_token))} per token"
    once += f" and {size(float(growth.total_bytes_per_token))}"
    said = f"{here}; each element once, {once}"
    return [["cache", said], ["context", _longest(growth, share)]]


def _longest(growth: Growth, share: Fraction | None) -> str:
    where = "beside weights and activations"
    if share is not None:
        where = f"in {100 * float(share):g}% of memory"
    most = f"up to {growth.longest:,}" if growth.longest else "no room for any"
    return f"{growth.dim}={growth.size:,}; {most} {where}"


def document(part: Pass, share: Fraction | None) -> Document | None:
    """The caches of `--json`: null of a program that has none."""
    found = context(part, share)
    if found is None:
        return None
    growth = found.growth
    return {
        "bytes": found.bytes,
        "total_bytes": found.total_bytes,
        "dim": growth and growth.dim,
        "bytes_per_place": growth and _number(growth.bytes_per_place),
        "bytes_per_token": growth and _number(growth.bytes_per_token),
        "total_bytes_per_token": growth and _number(growth.total_bytes_per_token),
        "max_context": growth and growth.longest,
        "share": share and float(share),
    }


def _number(exact: Fraction) -> int | float:
    """Whole numbers whole."""
    return exact.numerator if exact.denominator == 1 else float(exact)
