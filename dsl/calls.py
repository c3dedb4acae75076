"""The mistakes that people make in calls, `softmax[M](s)`, where the line does not parse.

Each function looks for one of them in a line's text, what stands before the place at which the
parser stopped, and that place itself.
"""

from __future__ import annotations

import re

from layoutc.dsl.signatures import example, layer_kind
from layoutc.dsl.stumble import Said, Stumble
from layoutc.dsl.words import OPERATIONS

OPEN_BRACKET = re.compile(r"=\s*([a-z]\w*)\s*\[([^\]()]*)$")
"""What stands before a place in brackets: the operation, and what the brackets hold so far."""

OPEN_PARENTHESIS = re.compile(r"=\s*([a-z]\w*)\s*(\[[^\]]*\]\s*)?\(([^()]*)$")


def _as_in(word: str) -> str:
    kind = layer_kind(word)
    return example(kind) if kind else "as in sum[B, L](a)"


def _nameless(text: str, before: str, stumble: Stumble) -> Said:
    """`softmax[M](s)` by itself, and `kc[M] = k`."""
    word = before.strip()
    if stumble.found not in {"(", "["} or not re.fullmatch(r"[a-z]\w*", word):
        return None
    defined = "=" in re.sub(r"\[[^\]]*\]", "", text)
    if word in OPERATIONS and not defined:
        return f"what {word} gives needs a name", f"give it one:  NAME = {text.strip()}"
    if stumble.found == "[" and defined:
        message = "a name is defined whole, not in part"
        return message, "a cache is written to by an operation:  NAME = write[M](kc, k, pos)"
    return None


def _second(text: str, before: str, stumble: Stumble) -> Said:
    """`2 * softmax[M](s)`: the second of two operations."""
    found = re.search(r"=\s*[^\s*+/-]+\s*[*+/-]\s*([a-z]\w*)\s*$", before)
    if found is None or stumble.found not in {"(", "["}:
        return None
    call = text[found.start(1) :].strip()
    return "one operation to a statement", f"give the second a name of its own:  NAME = {call}"


def _no_parentheses(text: str, before: str, stumble: Stumble) -> Said:
    """`softmax[M] s`."""
    found = re.search(r"=\s*(([a-z]\w*)\s*\[[^\]]*\])\s*$", before)
    if found is None or stumble.expected != {"LPAR"}:
        return None
    operands = text[stumble.column - 1 :].replace(",", " ").split()
    fit = operands and all(re.fullmatch(r"[a-z]\w*|\d+", operand) for operand in operands)
    hint = f"write {found[1]}({', '.join(operands)})" if fit else _as_in(found[2])
    return "what an operation takes stands in parentheses", hint


def _in_brackets(text: str, before: str, stumble: Stumble) -> Said:
    """`rename[L->](k)`, `rope[Q, 10000](q, pos)`, `softmax[m](s)`."""
    inside = OPEN_BRACKET.search(before)
    if inside is None:
        return None
    word, found, hint = inside[1], stumble.found, _as_in(inside[1])
    if word == "rename":
        held = re.match(r"[^\](]*", text[inside.start(2) :])
        dims = re.findall(r"[A-Z]", held[0]) if held else []
        hint = f"write rename[{dims[0]} -> {dims[1]}]" if len(dims) == 2 else hint
        return "rename says with an arrow which dim becomes which, and dims are capitals", hint
    if re.match(r"-?\d", found) and "DIM" in stumble.expected:
        return f"{found} has no name here", hint
    if re.search(r",\s*[a-z]\w*\s*$", inside[2]) and stumble.expected == {"EQUAL"}:
        return f"{inside[2].split(',')[-1].strip()} has no value here", hint
    if inside[2].rstrip().endswith("="):
        return "what follows `=` in brackets is a number", hint
    if re.fullmatch(r"\s*[a-z]*\s*", inside[2]):
        return "what stands in brackets are dims, which are capitals", hint
    if "COMMA" in stumble.expected and found and (found.isalnum() or found == ";"):
        return "what stands in brackets is separated by commas", hint
    return None


def _in_parentheses(text: str, before: str, stumble: Stumble) -> Said:
    """`rope[Q](q pos)`, `softmax(s, M)`, `rmsnorm[E](x, eps=1e-6)`."""
    inside = OPEN_PARENTHESIS.search(before)
    if inside is None:
        return None
    if stumble.found == "=":
        named = re.split(r"[\s,]+", inside[3].strip())[-1]
        return f"{named} is no operand; what is named stands in brackets", _as_in(inside[1])
    if re.fullmatch(r"[A-Z]", stumble.found):
        return f"{stumble.found} is a dim and no operand; dims stand in brackets", _as_in(inside[1])
    if re.fullmatch(r"[a-z0-9]\w*", stumble.found) and "COMMA" in stumble.expected:
        return "operands are separated by commas", ""
    return None


CALLS = (_nameless, _second, _no_parentheses, _in_brackets, _in_parentheses)
"""In the order in which they are looked for."""
