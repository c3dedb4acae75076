"""From a shape's text to the shape: its dims and axes are declared, stand once, and divide."""

from __future__ import annotations

from math import prod

from layoutc.dsl import syntax
from layoutc.dsl.errors import Span
from layoutc.dsl.header import Declared, Header
from layoutc.dsl.printer import print_dim
from layoutc.dsl.shape import Dim, Hole, Reduction, Shape
from layoutc.dsl.words import LARGEST


def read_shape(text: syntax.ShapeText, header: Header) -> Shape | None:
    """The shape, or None where it was refused."""
    before = len(header.errors)
    known = [known_dim(dim.name, header) for dim in text.dims]
    known += [known_axis(axis, header) for axis in _axes(text)]
    _once("dim", [dim.name for dim in text.dims], header)
    _once("axis", _axes(text), header)
    if text.hole and text.hole.text == "!" and text.partial:
        message = "`!` stores every element once; a partial sum is stored nowhere"
        header.refuse(message, text.span, "", (text.partial.span, "partial here"))
    if len(header.errors) > before or not all(known):
        return None
    for dim in text.dims:
        _divides(dim, header)
    return _shape(text, header)


def _shape(text: syntax.ShapeText, header: Header) -> Shape:
    dims = tuple(_dim(dim, header) for dim in text.dims)
    hole: Hole = "" if text.hole is None else "?" if text.hole.text == "?" else "!"
    if text.partial is None:
        return Shape(dims, hole=hole)
    reduction: Reduction = "sum" if text.partial.reduction == "sum" else "max"
    return Shape(dims, tuple(a.text for a in text.partial.axes), reduction, hole)


def _dim(text: syntax.DimText, header: Header) -> Dim:
    """A dim; a set of axes stands in the mesh's order, so that equal sets are equal."""
    axes, loose = tuple(a.text for a in text.axes), text.braces or header.free
    return Dim(text.name.text, header.sorted_axes(axes) if loose else axes, loose)


def _axes(text: syntax.ShapeText) -> list[syntax.Word]:
    partial = text.partial.axes if text.partial else ()
    return [axis for dim in text.dims for axis in dim.axes] + list(partial)


def known_dim(word: syntax.Word, header: Header) -> bool:
    """Whether a dim is declared; refuses it if it is not."""
    known = word.text in header.dims
    if not known:
        _undeclared("dim", word, header, f"add it to the dims:  dims {word.text}=...")
    return known


def known_axis(word: syntax.Word, header: Header) -> bool:
    """Whether an axis is declared; refuses it if it is not."""
    known = word.text in header.axes
    if not known:
        axes = " ".join(header.axes)
        hint = f"the mesh has {axes}" if axes else f"declare it:  mesh {word.text}"
        _undeclared("axis", word, header, hint)
    return known


def _undeclared(what: str, word: syntax.Word, header: Header, hint: str) -> None:
    """Refuses what is not declared, the first time that it is met."""
    if header.unsure or word.text in header.reported:
        return
    header.reported.add(word.text)
    place = header.later.get(word.text)
    if place is None:
        header.refuse(f"{what} {word.text} is not declared", word.span, hint)
    else:
        message = f"{what} {word.text} is declared only further down"
        header.refuse(message, word.span, "move that line up", (place, "here"))


def _once(what: str, words: list[syntax.Word], header: Header) -> None:
    first: dict[str, Span] = {}
    for word in words:
        place = first.setdefault(word.text, word.span)
        if place != word.span:
            message = f"{what} {word.text} stands twice in a shape"
            header.refuse(message, word.span, "", (place, "first here"))


def _divides(text: syntax.DimText, header: Header) -> None:
    """Refuses a dim that its axes' sizes do not divide, as far as both are known."""
    spelled = text.name.text + "".join(sorted(a.text for a in text.axes))
    sizes = {a.text: n for a in text.axes if (n := header.axes[a.text].size)}
    parts = prod(sizes.values())
    for where, dim in header.sizes(text.name.text):
        if dim.size is not None and dim.size % parts and spelled not in header.reported:
            header.reported.add(spelled)
            _undivided(text, where, dim, sizes, header)


def _undivided(
    text: syntax.DimText, where: str, dim: Declared, sizes: dict[str, int], header: Header
) -> None:
    """Says which sizes would do."""
    name, parts = text.name.text, prod(sizes.values())
    letters = "".join(sizes)
    said = f"{print_dim(name, dim.size, dim.useful)}{where} is not divided by {letters}"
    message = f"{said}, which make {parts} parts" if len(letters) > 1 else f"{said}={parts}"
    hint = _would_do(name, where, dim, parts)
    notes = [] if dim.span == text.name.span else [(dim.span, "declared here")]
    header.refuse(message, text.span, hint, *notes)


def _would_do(name: str, where: str, dim: Declared, parts: int) -> str:
    """The next sizes that as many parts divide; to the one above, a dim may be padded."""
    size = dim.size or 0
    below = size - size % parts
    above = below + parts
    if dim.useful is not None:
        fit = [str(near) for near in (below, above) if dim.useful <= near <= LARGEST]
        return f"padded {' or padded '.join(fit)} would do"
    fit = [f"{name}={near}" for near in (below, above) if 0 < near <= LARGEST]
    hint = f"{' or '.join(fit)} would do"
    if above > LARGEST or where:
        return hint
    more = f"{above - size} more place{'s' * (above - size > 1)} as padding"
    return f"{hint}, or {more}:  dims {name}={size} padded {above}"
