"""Numbers as people read them: three digits and a unit, powers of ten as in data sheets; meshes."""

from __future__ import annotations

from collections.abc import Mapping

BYTES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
FLOPS = ((1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1.0, "FLOP/s"))
OPERATIONS = ((1e12, "TFLOP"), (1e9, "GFLOP"), (1e6, "MFLOP"), (1e3, "kFLOP"), (1.0, "FLOP"))
SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def size(count: float) -> str:
    """Bytes: 295 kB, 42.5 MB."""
    return _scaled(count, BYTES)


def rate(bytes_: float) -> str:
    """Bytes a second: 45 GB/s, 1.20 TB/s."""
    return f"{size(bytes_)}/s"


def flops(count: float) -> str:
    """FLOP a second: 275 TFLOP/s."""
    return _scaled(count, FLOPS)


def operations(count: float) -> str:
    """Operations of a matmul: 43.5 GFLOP."""
    return _scaled(count, OPERATIONS)


def duration(seconds: float) -> str:
    """Seconds: 16.4 µs, 217 µs."""
    return _scaled(seconds, SECONDS)


def chips(count: int) -> str:
    """1 chip, 4,096 chips."""
    return f"{count:,} chip{'s' * (count > 1)}"


def mesh(sizes: Mapping[str, int]) -> str:
    """x=4 y=4 z=4."""
    return " ".join(f"{axis}={size}" for axis, size in sizes.items())


def _scaled(number: float, units: tuple[tuple[float, str], ...]) -> str:
    for factor, unit in units:
        # 999.6 of a unit would round to 1000 of it: it is 1 of the next.
        if number >= factor * 0.9995:
            return f"{_digits(number / factor)} {unit}"
    factor, unit = units[-1]
    return f"{_digits(number / factor)} {unit}" if number else f"0 {unit}"


def _digits(number: float) -> str:
    """Three significant digits, whole numbers whole."""
    if number >= 99.95 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"
