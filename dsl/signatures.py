"""How the operations of a Transformer layer are written: what stands in brackets, and how many
operands there are."""

from __future__ import annotations

from dataclasses import dataclass

from layoutc.dsl import syntax
from layoutc.dsl.errors import Span
from layoutc.dsl.header import Header
from layoutc.dsl.layouts import known_dim
from layoutc.dsl.operation import Layer, LayerKind, Number, Operand
from layoutc.dsl.words import CONSTANTS, LAYERS, listed, number

LARGEST_PLACE = 2**31 - 1
"""The largest position or length: they are int32."""


@dataclass(frozen=True, slots=True)
class Signature:
    """`example` shows how it is written; so many dims and operands, of which the last may be a
    number where it is a `place`: a "position" or a "length"."""

    example: str
    dims: int
    operands: tuple[int, ...]
    place: str = ""


SIGNATURES: dict[LayerKind, Signature] = {
    "embed": Signature("embed[V](table, ids)", 1, (2,)),
    "rmsnorm": Signature("rmsnorm[E, eps=1e-6](x, g)", 1, (1, 2)),
    "layernorm": Signature("layernorm[E, eps=1e-5](x, g, b)", 1, (1, 2, 3)),
    "rope": Signature("rope[Q, theta=10000](q, pos)", 1, (2,), place="position"),
    "write": Signature("write[M](kc, k, pos)", 1, (3,), place="position"),
    "scale": Signature("scale[Q](s)", 1, (1,)),
    "causal": Signature("causal[L, M](s, pos)", 2, (2,), place="position"),
    "valid": Signature("valid[M](s, len)", 1, (2,), place="length"),
    "softmax": Signature("softmax[M](s)", 1, (1,)),
    "rename": Signature("rename[L -> M](k)", 2, (1,)),
}


def example(kind: LayerKind) -> str:
    """The hint that shows how an operation is written."""
    return f"as in {SIGNATURES[kind].example}"


def layer_kind(name: str) -> LayerKind | None:
    """The operation of that name, if it is one of a layer's."""
    return next((kind for kind in LAYERS if kind == name), None)


def read_layer(
    text: syntax.Call, kind: LayerKind, operands: list[Operand], header: Header
) -> Layer | None:
    """The operation, or None where it was refused."""
    before = len(header.errors)
    _operands(text, kind, header)
    dims = _dims(text, kind, header)
    constant = _constant(text, kind, header)
    if len(header.errors) > before:
        return None
    return Layer(kind, dims, tuple(operands), constant)


def _operands(text: syntax.Call, kind: LayerKind, header: Header) -> None:
    """Refuses too many or too few, and numbers that are not what a name stands for there."""
    signature, found = SIGNATURES[kind], len(text.operands)
    if found not in signature.operands:
        takes = f"{listed(map(_count, signature.operands))} operand"
        takes += "s" * (signature.operands[-1] > 1)
        header.refuse(f"{kind} takes {takes}, not {_count(found)}", text.span, example(kind))
        return
    for i, operand in enumerate(text.operands, start=1):
        if not isinstance(operand, syntax.Numeral):
            continue
        if not signature.place or i < found:
            message = f"this operand of {kind} is a name, not a number"
            header.refuse(message, operand.span, example(kind))
        elif number(operand.text) is not None and not _is_place(operand.text):
            message = f"a {signature.place} is a whole number, zero or more, below 2^31"
            header.refuse(message, operand.span)


def _is_place(text: str) -> bool:
    value = float(text)
    return value.is_integer() and 0 <= value <= LARGEST_PLACE


def _count(number: int) -> str:
    return ("none", "one", "two", "three")[number] if number < 4 else str(number)


# Brackets.


def _dims(text: syntax.Call, kind: LayerKind, header: Header) -> tuple[str, ...]:
    """The dims in brackets: as many as there have to be, declared, and each once."""
    wanted = SIGNATURES[kind].dims
    written = [argument for argument in text.arguments if argument.key.text.isupper()]
    words = [word for argument in written for word in _dims_of(argument)]
    dims = tuple(word.text for word in words)
    if len(words) != wanted:
        takes = f"{_count(wanted)} dim{'s' * (wanted > 1)} in brackets"
        found = f", not {_count(len(words))}" if words else ""
        header.refuse(f"{kind} takes {takes}{found}", text.brackets, example(kind))
        return ()
    _arrow(text, kind, dims, any(argument.value for argument in written), header)
    for word in words:
        known_dim(word, header)
    if len(set(dims)) < len(dims):
        header.refuse(f"dim {dims[0]} stands twice in {kind}", words[-1].span)
    return dims


def _dims_of(argument: syntax.Argument) -> tuple[syntax.Word, ...]:
    key, value, _ = argument
    return (key, value) if isinstance(value, syntax.Word) else (key,)


def _arrow(
    text: syntax.Call, kind: LayerKind, dims: tuple[str, ...], arrow: bool, header: Header
) -> None:
    """Refuses an arrow between dims, and of `rename` that there is none."""
    operands = ", ".join(operand.text for operand in text.operands)
    if arrow and kind != "rename":
        message = f"an arrow renames a dim; the dims of {kind} are separated by commas"
        hint = f"write {kind}[{', '.join(dims)}]({operands})"
        header.refuse(message, text.brackets, hint)
    if not arrow and kind == "rename":
        message = "rename says with an arrow which dim becomes which"
        hint = f"write rename[{' -> '.join(dims)}]({operands})"
        header.refuse(message, text.brackets, hint)


def _constant(text: syntax.Call, kind: LayerKind, header: Header) -> Number | None:
    """`eps=1e-6`, where the operation has such a thing."""
    found: Number | None = None
    first: Span | None = None
    for key, value, span in text.arguments:
        if key.text.isupper():
            continue
        if key.text != CONSTANTS.get(kind):
            header.refuse(f"{kind} has no {key.text}", span, example(kind))
        elif first:
            header.refuse(f"{key.text} stands twice", span, "", (first, "first here"))
        elif isinstance(value, syntax.Numeral):
            found, first = _above_zero(key.text, value, header), span
    return found


def _above_zero(name: str, value: syntax.Numeral, header: Header) -> Number:
    spelled = number(value.text)
    if spelled is None:
        header.refuse("this number is larger than any float", value.span)
    elif float(spelled) <= 0:
        header.refuse(f"{name} is a number above zero", value.span)
    return Number(spelled or "1")
