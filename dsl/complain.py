"""What is said of a line that does not parse: in the notation's words, and with the fix."""

from __future__ import annotations

import re

from layoutc.dsl.calls import CALLS
from layoutc.dsl.errors import Diagnostic, Span
from layoutc.dsl.stumble import Said, Stumble, expected, shown
from layoutc.dsl.words import HEADS, MOVES, OPERATIONS, did_you_mean


def complain(text: str, stumble: Stumble, line: int) -> Diagnostic:
    """The error for a line that the parser could not read."""
    width = max(1, len(stumble.found))
    span = Span(line, stumble.column, stumble.column + width)
    before = text[: stumble.column - 1]
    message, hint = _known(text, before, stumble) or ("", "")
    found = shown(stumble.found)
    return Diagnostic(message or f"{found}: expected {expected(stumble)}", span, hint)


LONGEST_TRIED = 300
"""In characters. The patterns below take quadratic time, and no person erred in a longer line."""

# The mistakes that people make, each with its words. A line may be tried against all of them.


def _known(text: str, before: str, stumble: Stumble) -> Said:
    if len(text) > LONGEST_TRIED or not text.strip():
        return None
    mistakes = (
        _brace,
        _word_as_name,
        *CALLS,
        _chain,
        _nested,
        _collective,
        _shape,
        _separator,
        _sign,
    )
    for mistake in mistakes:
        said = mistake(text, before, stumble)
        if said:
            return said
    return None


def _brace(text: str, before: str, stumble: Stumble) -> Said:
    if before.rstrip().endswith("{") and before.split()[0] == "repeat":
        return "`{` ends its line", "put what is repeated on lines of its own"
    if stumble.found == "}" or before.strip() == "}":
        return "`}` stands alone on its line", "put it on a line of its own"
    return None


def _word_as_name(text: str, before: str, stumble: Stumble) -> Said:
    word = before.strip()
    if word in HEADS and stumble.found in {"=", ":"}:
        return f"{word} is a word of the language, not a name", "choose another name"
    return None


def _chain(text: str, before: str, stumble: Stumble) -> Said:
    done = re.search(r"=\s*(\S+\s*[*+/-]\s*[^\s*+/-]+|.*\))\s*$", before)
    if done and stumble.found and stumble.found in "*+-/":
        hint = f"give the first a name of its own:  NAME = {done[1].strip()[:60]}"
        return "one operation to a statement", hint
    return None


def _nested(text: str, before: str, stumble: Stumble) -> Said:
    inside = "=" in before and before.count("(") > before.count(")")
    if inside and stumble.found and stumble.found in "*+-/([":
        message = "one operation to a statement; operands are names or numbers"
        return message, "give what stands in the parentheses a name of its own"
    return None


def _collective(text: str, before: str, stumble: Stumble) -> Said:
    move = re.search(r"=\s*([a-z][a-z_-]*)\s*(\([a-z]*\))?\s*[a-z]*\s*$", before)
    if move is None or stumble.expected == {"DIM"}:
        return None
    word = move[1]
    if word in MOVES and not move[2]:
        message = f"{word} names its axes in parentheses, one letter each"
        return message, f"write {word}(AXES) OPERAND, as in {word}(yz) a"
    if word not in OPERATIONS and move[2]:
        meant = did_you_mean(word.replace("_", "-"), MOVES)
        return (f"there is no {word}", meant) if meant else None
    return None


def _shape(text: str, before: str, stumble: Stumble) -> Said:
    if re.search(r":\s*$", before) and "DIM" in stumble.expected:
        return f"{shown(stumble.found)}: a shape starts with a dim, which is a capital", ""
    if stumble.found == "(" and "PARTIAL" in stumble.expected:
        message = "only a partial sum or maximum stands in parentheses after a shape"
        return message, "write (partialsum-AXES) or (partialmax-AXES), without spaces"
    if re.search(r"[A-Z]_\{?\s*$", before) and "AXES" in stumble.expected:
        return f"{shown(stumble.found)}: after `_` come the axes that split the dim", ""
    return None


def _separator(text: str, before: str, stumble: Stumble) -> Said:
    head = text.split()[0]
    if stumble.found in {",", ";"} and head in {"dims", "mesh", "phase"}:
        return f"what {head} lists is separated by spaces", f"leave the `{stumble.found}` out"
    return None


def _sign(text: str, before: str, stumble: Stumble) -> Said:
    if stumble.found in {"@", "×", "·", "⋅"} or (before.endswith("*") and stumble.found == "*"):
        return f"{shown(stumble.found)}: a product is written a * b", ""
    if stumble.found == "_" and before[-1:].isdigit():
        return f"{shown(stumble.found)}: a number has digits alone", ""
    if stumble.found == "_" and "=" in before:
        return f"{shown(stumble.found)}: a name starts with a lowercase letter", ""
    return None
