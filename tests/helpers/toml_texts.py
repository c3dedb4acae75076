"""Random TOML, of the keys that a machine has and others, in every way that TOML is spelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from layoutc.solver.hardware.reached import UNITS
from layoutc.solver.hardware.reached_reading import KEYS as REACHED
from layoutc.solver.hardware.reading import SHAPES, TIER, TOP, WRAPAROUND
from layoutc.solver.hardware.values import FIGURE

OTHERS = ("bf16", "int8", "x", "é", "a b", "", "a.b", '"')
KEYS = (*TOP, *TIER, *SHAPES, *WRAPAROUND, *FIGURE, *REACHED, *OTHERS)
TEXTS = ("", "torus", "line", "switch", "flat", "4x4", "1x1x1", "0x4", "source", "a # b", 'say "a"',
         "[x]", "a\nb", "\\", "'", "漢字", "\t", "bytes/s")  # fmt: skip

numbers = st.integers(-(2**70), 2**70) | st.sampled_from([0, 1, 2, 4, 8]) | st.floats()
scalars = numbers | st.booleans() | st.sampled_from(TEXTS)


def _tables(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)


values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | _tables(inner), max_leaves=12
)
"""What may stand behind a key."""


number = st.just({"value": 1e9, "source": "s"})
figures = number | st.fixed_dictionaries(
    {}, optional={"value": numbers, "unit": scalars, "source": scalars, "x": scalars}
)
shapes = st.fixed_dictionaries(
    {"source": st.just("s")},
    optional={
        "listed": st.lists(st.sampled_from(["1", "8", "2x2", "2x4", "4x4x4", "x"])),
        "multiple": st.integers(0, 8),
        "chips": st.integers(0, 70),
        "longest": st.sampled_from(["8", "4x8", "16x16x16"]),
        "x": values,
    },
)
tiers = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["a", "b", "c"]),
        "topology": st.sampled_from(["flat", "torus", "line", "switch"]),
        "bandwidth": number,
    },
    optional={
        "axes": st.integers(1, 3),
        "hop": figures,
        "start": figures,
        "both_ways": st.booleans(),
        "cut": st.booleans() | values,
        "shapes": shapes | values,
        "wraparound": st.fixed_dictionaries({"multiple": st.integers(0, 4), "source": scalars}),
    },
)
constants = st.sampled_from([1, 1, 1, 1, 1, 1, 0, 0.5, 2])
reached = st.fixed_dictionaries(
    {"source": st.just("s")},
    optional={**dict.fromkeys(UNITS, constants), "fitted": st.just("on 3 timings")},
) | st.fixed_dictionaries(
    {"source": st.just("s"), "like": st.sampled_from(["tpu-v4", "a100-80gb", "tpu-v5e", "x"])}
)
machines = st.fixed_dictionaries(
    {
        "name": st.just("mine"),
        "peak_flops": st.just({"bf16": 1e12, "source": "s"}),
        "memory_bytes": number,
        "memory_bandwidth": number,
        "network": st.lists(tiers, min_size=1, max_size=3) | values,
    },
    optional={
        "title": scalars,
        "matmul_efficiency": st.just({"value": 0.9, "source": "s", "fitted": "on 3 points"}),
        "price": figures,
        "reached": reached,
        "x": values,
    },
)
"""Nearly machines, some of them machines."""


def spelled(draw: st.DrawFn, document: Mapping[str, Any]) -> str:
    """A document as TOML, each table inline or under a header, as it is drawn."""
    lines: list[str] = []
    _table(draw, (), document, lines)
    return draw(st.sampled_from(["\n", "\r\n"])).join([*lines, ""])


def _table(
    draw: st.DrawFn, path: tuple[str, ...], table: Mapping[str, Any], lines: list[str]
) -> None:
    later = []
    for key, value in table.items():
        tables = isinstance(value, list) and value and all(isinstance(v, dict) for v in value)
        if (isinstance(value, dict) or tables) and draw(st.booleans()):
            later.append((key, value))
            continue
        if isinstance(value, dict) and value and draw(st.booleans()):
            # Dotted keys, one level deep.
            lines += [
                f"{_key(draw, key)} . {_key(draw, k)} = {_value(draw, v)}" for k, v in value.items()
            ]
            continue
        comment = draw(st.sampled_from(["", "  # 'so'", ' # "a" = [']))
        lines.append(f"{_key(draw, key)} = {_value(draw, value)}{comment}")
    for key, value in later:
        name = ".".join(_key(draw, part) for part in (*path, key))
        for one in [value] if isinstance(value, dict) else value:
            lines += ["", f"[{name}]" if isinstance(value, dict) else f"[[ {name} ]] # {key!r}"]
            _table(draw, (*path, key), one, lines)


def _key(draw: st.DrawFn, key: str) -> str:
    bare = key.isascii() and key.replace("_", "").isalnum()
    return key if bare and draw(st.booleans()) else _text(draw, key)


def _value(draw: st.DrawFn, value: Any) -> str:
    match value:
        case dict():
            pairs = (f"{_key(draw, k)}={_value(draw, v)}" for k, v in value.items())
            return "{ " + ", ".join(pairs) + " }"
        case list():
            gap = draw(st.sampled_from([" ", "\n  ", " # ]\n"]))
            return f"[{gap}" + "".join(f"{_value(draw, v)},{gap}" for v in value) + "]"
        case str():
            if draw(st.booleans()) and "\\" not in value:
                return '"""' + value.replace('"', '\\"') + '"""'
            return _text(draw, value)
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def _text(draw: st.DrawFn, text: str) -> str:
    """On one line, in either kind of quotes."""
    if "'" not in text and "\n" not in text and draw(st.booleans()):
        return f"'{text}'"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
