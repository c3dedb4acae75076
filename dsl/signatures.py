"""How the operations of a Transformer layer are written: what stands in brackets, and how many
operands there are."""

from __future__ import annotations

from dataclasses import dataclass

from layoutc.dsl import syntax
from layoutc.dsl.header import Header
from layoutc.dsl.layouts import known_dim
from layoutc.dsl.operation import Layer, LayerKind, Number, Operand
from layoutc.dsl.words import CONSTANTS, LAYERS, listed, number


@dataclass(frozen=True, slots=True)
class Signature:
    """`usage` is how it is written; so many dims and operands, of which the last may be a number
    where it is a `place`."""

    usage: str
    dims: int
    operands: tuple[int, ...]
    place: bool = False


SIGNATURES: dict[LayerKind, Signature] = {
    "embed": Signature("embed[V](table, ids)", 1, (2,)),
    "rmsnorm": Signature("rmsnorm[E, eps=1e-6](x, scale)", 1, (1, 2)),
    "layernorm": Signature("layernorm[E, eps=1e-5](x, scale, bias)", 1, (1, 2, 3)),
    "rope": Signature("rope[Q, theta=10000](q, pos)", 1, (2,), place=True),
    "write": Signature("write[M](cache, k, pos)", 1, (3,), place=True),
    "scale": Signature("scale[Q](s)", 1, (1,)),
    "causal": Signature("causal[L, M](s, pos)", 2, (2,), place=True),
    "valid": Signature("valid[M](s, len)", 1, (2,), place=True),
    "softmax": Signature("softmax[M](s)", 1, (1,)),
    "rename": Signature("rename[L -> M](k)", 2, (1,)),
}


def layer_kind(name: str) -> LayerKind | None:
    """The operation of that name, if it is one of a layer's."""
    return next((kind for kind in LAYERS if kind == name), None)


def read_layer(
    text: syntax.Call, kind: LayerKind, operands: list[Operand], header: Header
) -> Layer | None:
    """The operation, or None where it was refused."""
    signature, before = SIGNATURES[kind], len(header.errors)
    if len(operands) not in signature.operands:
        count = listed(map(str, signature.operands))
        plural = "s" * (signature.operands[-1] > 1)
        message = f"{kind} takes {count} operand{plural}, not {len(operands)}"
        header.refuse(message, text.span, f"write {signature.usage}")
        return None
    _numbers(text, kind, header)
    dims = _dims(text, kind, header)
    constant = _constant(text, kind, header)
    if len(header.errors) > before:
        return None
    return Layer(kind, dims, tuple(operands), constant)


def _numbers(text: syntax.Call, kind: LayerKind, header: Header) -> None:
    """Refuses numbers where names are wanted, and places that are not whole."""
    signature = SIGNATURES[kind]
    last = len(text.operands) - 1
    for i, operand in enumerate(text.operands):
        if not isinstance(operand, syntax.Numeral):
            continue
        if not signature.place or i < last:
            header.refuse(f"this operand of {kind} is a name", operand.span, signature.usage)
        elif not operand.text.isdigit() or int(operand.text) >= 2**31:
            header.refuse("a place is a whole number, zero or more", operand.span)


def _dims(text: syntax.Call, kind: LayerKind, header: Header) -> tuple[str, ...]:
    """The dims in brackets: as many as there have to be, declared, and each once."""
    signature = SIGNATURES[kind]
    words = [word for argument in text.arguments for word in _dims_of(argument, kind, header)]
    if len(words) != signature.dims:
        count = "one dim" if signature.dims == 1 else "two dims"
        span = text.function.span
        if text.arguments:
            span = text.arguments[0].span.to(text.arguments[-1].span)
        header.refuse(f"{kind} takes {count} in brackets", span, f"write {signature.usage}")
        return ()
    for word in words:
        known_dim(word, header)
    if len({word.text for word in words}) < len(words):
        header.refuse(f"dim {words[0].text} stands twice in {kind}", words[-1].span)
    return tuple(word.text for word in words)


def _dims_of(argument: syntax.Argument, kind: LayerKind, header: Header) -> list[syntax.Word]:
    key, value = argument.key, argument.value
    if not key.text.isupper():
        return []
    arrow = isinstance(value, syntax.Word)
    if arrow != (kind == "rename"):
        header.refuse(f"the dims of {kind} are written otherwise", argument.span,
                      f"write {SIGNATURES[kind].usage}")  # fmt: skip
    return [key, value] if isinstance(value, syntax.Word) else [key]


def _constant(text: syntax.Call, kind: LayerKind, header: Header) -> Number | None:
    """`eps=1e-6`, where the operation has such a thing."""
    found: Number | None = None
    for argument in text.arguments:
        key, value = argument.key.text, argument.value
        if key.isupper():
            continue
        if key != CONSTANTS.get(kind):
            hint = f"write {SIGNATURES[kind].usage}"
            header.refuse(f"{kind} has no {key}", argument.span, hint)
        elif found is not None:
            header.refuse(f"{key} stands twice", argument.span)
        elif isinstance(value, syntax.Numeral):
            spelled = number(value.text)
            if spelled is None or float(spelled) <= 0:
                header.refuse(f"{key} is a number above zero", value.span)
            found = Number(spelled or "1")
    return found
