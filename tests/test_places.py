"""Where the keys and values of a TOML text stand."""

import os
import tomllib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from toml_texts import KEYS, spelled, values

from layoutc.dsl.errors import Span, source_lines
from layoutc.solver.hardware.places import Path, Places

TEXT = '''\
# a comment = 1
top = 'a # b' # no part of it
"quoted key".bare = "say \\"[x]\\""

[table . 'inner']
many = [ 1, # one
  [2, 3], { four = 4, "f.ve" = 1979-05-27 07:32:00Z },
]
long = """
key = 1
"""""
after = true

[[list]]
[list.of]
a = 1
[[list]]
b.c = [ ]
[[list.of]]
d = \'\'\' # \'\'\'
'''


def at(path: Path, text: str = TEXT) -> str:
    """What stands at the place of a value."""
    return under(Places(text).of(path), text)


def under(span: Span, text: str = TEXT) -> str:
    return source_lines(text)[span.line - 1][span.start - 1 : span.end - 1]


def test_values() -> None:
    assert at(("top",)) == "'a # b'"
    assert at(("quoted key", "bare")) == '"say \\"[x]\\""'
    assert at(("table", "inner", "many")) == "[ 1, # one"
    assert at(("table", "inner", "many", 1)) == "[2, 3]"
    assert at(("table", "inner", "many", 1, 1)) == "3"
    assert at(("table", "inner", "many", 2, "f.ve")) == "1979-05-27 07:32:00Z"
    assert at(("table", "inner", "long")) == '"""'
    assert at(("table", "inner", "after")) == "true"
    assert at(("list", 1, "b", "c")) == "[ ]"
    assert at(("list", 1, "of", 0, "d")) == "''' # '''"


def test_tables_stand_at_their_headers() -> None:
    places = Places(TEXT)
    assert places.of(("table",)) == Span(5, 1, 18)
    assert places.of(("list",)) == Span(14, 1, 9)
    assert [places.of(("list", i)).line for i in (0, 1)] == [14, 17]
    assert under(places.of(("list", 0, "of"))) == "[list.of]"
    assert under(places.of(("list", 1, "of", 0))) == "[[list.of]]"


def test_what_is_missing_stands_at_the_table_around_it() -> None:
    assert at(("list", 0, "of", "z", "y")) == "[list.of]"
    assert at(("list", 1, "b", "z")) == "b"
    assert Places(TEXT).of(("z",)) == Span(1, 1, 1)


def test_keys() -> None:
    places = Places(TEXT)
    assert under(places.of_key(("quoted key",))) == '"quoted key"'
    assert under(places.of_key(("quoted key", "bare"))) == "bare"
    assert under(places.of_key(("table", "inner", "many", 2, "f.ve"))) == '"f.ve"'
    assert under(places.of_key(("list", 0, "of"))) == "[list.of]"


@st.composite
def documents(draw: st.DrawFn) -> str:
    return spelled(draw, draw(st.dictionaries(st.sampled_from(KEYS), values, max_size=5)))


@settings(max_examples=5_000 if os.environ.get("LAYOUTC_LONG") else 100, deadline=None)
@given(documents())
def test_what_stands_at_a_place_is_the_value(text: str) -> None:
    table = tomllib.loads(text)
    places = Places(text)
    for path, value in leaves(table, ()):
        shown = at(path, text) if path in places.values else "?"
        last = source_lines(text)[places.of(path).line - 1 :]
        if shown.startswith('"""') and not shown.endswith('"""', 3):
            shown = "\n".join([shown, *last[1:]])
            shown = shown[: shown.index('"""', 3) + 3]
        assert same(tomllib.loads(f"value = {shown}")["value"], value), path


def leaves(value: Any, path: Path) -> list[tuple[Path, Any]]:
    """Every value that is no table and no array."""
    if isinstance(value, dict):
        return [found for key, one in value.items() for found in leaves(one, (*path, key))]
    if isinstance(value, list):
        return [found for i, one in enumerate(value) for found in leaves(one, (*path, i))]
    return [(path, value)]


def same(one: Any, other: Any) -> bool:
    """Equal; and nan is nan."""
    return repr(one) == repr(other)
