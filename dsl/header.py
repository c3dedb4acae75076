"""The lines at the top of a file: which dims and axes there are, their sizes, the dtype."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from layoutc.dsl import syntax
from layoutc.dsl.errors import Diagnostic, Span
from layoutc.dsl.program import DTYPES, Axis, Dtype
from layoutc.dsl.words import did_you_mean, listed, size

DEFAULT_DTYPE: Dtype = "bf16"
MOST_GUESSES = 30


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says about a file.

    `dims` and `mesh` are sizes that win over the file's, by dim and by axis; `phases` are those of
    dims in one phase alone, by its name, and win over all. `repeat` is the count of every block;
    `dtype` stands in for the file's default.
    """

    dims: Mapping[str, int] = field(default_factory=dict)
    mesh: Mapping[str, int] = field(default_factory=dict)
    repeat: int | None = None
    dtype: Dtype | None = None
    phases: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Declared:
    """A dim or an axis: its size where it is known, and where it was declared.

    The size of a padded dim is with its padding; `useful` is how much of it is used.
    """

    size: int | None
    span: Span
    label: str | None = None
    useful: int | None = None


@dataclass(slots=True)
class Header:
    """What the header's lines have declared so far.

    `later` are the places of dims and axes that are declared further down, to tell them from
    those that are declared nowhere. `own` are the sizes of dims in each phase, by its name,
    wherever its line stands. `reported` keeps what was refused once from being refused
    at its every use. `unsure` is true where a header line could not be read:
    then what is missing may well stand in it.
    """

    settings: Settings
    later: Mapping[str, Span]
    own: Mapping[str, Mapping[str, Declared]] = field(default_factory=dict)
    unsure: bool = False
    dims: dict[str, Declared] = field(default_factory=dict)
    axes: dict[str, Declared] = field(default_factory=dict)
    dtype: Dtype = DEFAULT_DTYPE
    free: bool = False
    phases: dict[str, syntax.PhaseLine] = field(default_factory=dict)
    lines: dict[str, Span] = field(default_factory=dict)
    reported: set[str] = field(default_factory=set)
    guesses: int = 0
    errors: list[Diagnostic] = field(default_factory=list)

    def refuse(self, message: str, span: Span, hint: str = "", *notes: tuple[Span, str]) -> None:
        self.errors.append(Diagnostic(message, span, hint, notes))

    def guess(self, word: str, known: Iterable[str]) -> str:
        """A hint at what was meant. The first errors have one: guessing is slow."""
        self.guesses += 1
        short = len(word) <= 40 and self.guesses <= MOST_GUESSES
        return did_you_mean(word, known) if short else ""

    @property
    def mesh_order(self) -> tuple[str, ...]:
        return tuple(self.axes)

    def sorted_axes(self, axes: tuple[str, ...]) -> tuple[str, ...]:
        """A set of axes in the mesh's order."""
        order = self.mesh_order
        return tuple(sorted(axes, key=lambda a: order.index(a) if a in order else len(order)))

    def sizes(self, dim: str) -> list[tuple[str, Declared]]:
        """What a dim is in each phase that has another size of it, with " in decode" or ""."""
        everywhere = self.dims[dim]
        if everywhere.useful is not None:
            return [("", everywhere)]
        found = {phase: sizes.get(dim, everywhere) for phase, sizes in self.own.items()}
        distinct: dict[int | None, tuple[str, Declared]] = {}
        for phase, declared in found.items():
            where = "" if declared is everywhere else f" in {phase}"
            distinct.setdefault(declared.size, (where, declared))
        return list(distinct.values()) or [("", everywhere)]

    def program_dims(self) -> dict[str, int | None]:
        return {name: dim.size for name, dim in self.dims.items()}

    def program_useful(self) -> dict[str, int]:
        return {name: d.useful for name, d in self.dims.items() if d.useful is not None}

    def program_axes(self) -> tuple[Axis, ...]:
        return tuple(Axis(name, axis.size, axis.label) for name, axis in self.axes.items())


def start(file: syntax.File, settings: Settings) -> Header:
    """The header of a file of which no line has been checked yet."""
    later: dict[str, Span] = {}
    unsure = False
    for statement in file.statements:
        match statement:
            case syntax.DimsLine(entries) | syntax.MeshLine(entries):
                for entry in entries:
                    later.setdefault(entry.name.text, entry.name.span)
            case syntax.BrokenLine(head):
                unsure = unsure or head in {"dims", "mesh"}
            case _:
                pass
    own = {
        s.name.text: _own(s, settings) for s in file.statements if isinstance(s, syntax.PhaseLine)
    }
    return Header(settings, later, own, unsure, dtype=settings.dtype or DEFAULT_DTYPE)


def _own(line: syntax.PhaseLine, settings: Settings) -> dict[str, Declared]:
    """The sizes of dims that a phase has for itself; what is wrong with them is said elsewhere."""
    name, sizes = line.name.text, dict[str, Declared]()
    for key, value in line.settings:
        read = size(value.text)
        if key.text.isupper() and isinstance(read, int):
            sizes[key.text] = Declared(settings.dims.get(key.text, read), key.span)
    for dim, number in settings.phases.get(name, {}).items():
        sizes[dim] = Declared(number, line.name.span)
    return sizes


def padded_dims(file: syntax.File) -> dict[str, Span]:
    """The dims that have a padding, with their places."""
    lines = (s for s in file.statements if isinstance(s, syntax.DimsLine))
    return {e.name.text: e.name.span for line in lines for e in line.entries if e.padded}


def unknown_settings(file: syntax.File, settings: Settings) -> list[str]:
    """What the command line gives a size to and the file does not declare, in sentences."""
    lines = [s for s in file.statements if isinstance(s, syntax.DimsLine | syntax.MeshLine)]
    known = {entry.name.text for line in lines for entry in line.entries}
    of_phases = {dim: None for sizes in settings.phases.values() for dim in sizes}
    dims = [d for d in {**dict.fromkeys(settings.dims), **of_phases} if d not in known]
    axes = [f"{file.name} has no mesh axis {axis}" for axis in settings.mesh if axis not in known]
    return [f"{file.name} has no dim {dim}" for dim in dims] + axes


# Lines.


def check_dims(line: syntax.DimsLine, header: Header) -> None:
    """Declare the dims of a line."""
    for entry in line.entries:
        name, span = entry.name.text, entry.name.span
        first = header.dims.get(name)
        if first:
            header.refuse(f"dim {name} is declared twice", span, "", (first.span, "first here"))
            continue
        header.dims[name] = _dim(entry, header)
        _not_both(name, name.lower(), header, span)


def _dim(entry: syntax.DimEntry, header: Header) -> Declared:
    """A dim with the size that settings leave it, and its padding."""
    name, span = entry.name.text, entry.name.span
    value = header.settings.dims.get(name, read_size(name, entry.size, header))
    if entry.padded is None:
        return Declared(value, span)
    padded = _number(f"{name} padded to", entry.padded, header)
    where = span.to(entry.padded.span)
    if value is None and entry.size is None:
        hint = f"say how much of it is used:  {name}=... padded {entry.padded.text}"
        header.refuse(f"{name} is padded and has no size", where, hint)
    if value is None or padded is None:
        return Declared(None, span)
    if padded < value:
        message = f"{name}={value} is padded to {padded}, which is less"
        header.refuse(message, where, f"pad it to at least {value}, or leave the padding out")
        return Declared(None, span)
    return Declared(padded, span, useful=value)


def check_mesh(line: syntax.MeshLine, header: Header) -> None:
    """Declare the axes of the mesh."""
    if _once("mesh", line.span, header):
        return
    for entry in line.entries:
        name, span = entry.name.text, entry.name.span
        first = header.axes.get(name)
        if len(name) > 1:
            hint = f"separate them by spaces:  mesh {' '.join(name)}"
            header.refuse(f"a mesh axis is one letter, not {name}", span, hint)
        elif first:
            header.refuse(f"axis {name} is declared twice", span, "", (first.span, "first here"))
        else:
            value = read_size(name, entry.size, header)
            label = _label(entry, header)
            header.axes[name] = Declared(header.settings.mesh.get(name, value), span, label)
            _not_both(name.upper(), name, header, span)


def check_dtype(line: syntax.DtypeLine, header: Header, used: Span | None) -> None:
    """The file's default dtype; `used` is where a tensor stands before this line."""
    if _once("dtype", line.span, header) or _late("dtype", line.span, header, used):
        return
    dtype = read_dtype(line.dtype, header)
    header.dtype = header.settings.dtype or dtype or header.dtype


def check_order(line: syntax.OrderLine, header: Header, used: Span | None) -> None:
    """`order free`: every subscript stands as if in braces."""
    if _once("order", line.span, header) or _late("order", line.span, header, used):
        return
    if line.order.text != "free":
        message = f"there is no order {line.order.text}"
        header.refuse(message, line.order.span, "write order free, or leave the line out")
    header.free = True


def read_dtype(word: syntax.Word, header: Header) -> Dtype | None:
    """The dtype that a word names."""
    for dtype in DTYPES:
        if dtype == word.text:
            return dtype
    hint = header.guess(word.text, DTYPES) or f"the dtypes are {listed(DTYPES)}"
    header.refuse(f"{word.text} is not a dtype", word.span, hint)
    return None


# What the lines share.


def _once(head: str, span: Span, header: Header) -> bool:
    """Refuses a second line of its kind; true if it did."""
    first = header.lines.setdefault(head, span)
    if first != span:
        header.refuse(f"a file has one {head} line", span, "", (first, "the first is here"))
    return first != span


def _late(head: str, span: Span, header: Header, used: Span | None) -> bool:
    if used:
        message = f"the {head} line stands before what it speaks of"
        header.refuse(message, span, "move it up", (used, "the first tensor is here"))
    return used is not None


def read_size(name: str, written: syntax.Numeral | None, header: Header) -> int | None:
    if written is None:
        return None
    return _number(f"{name} =", written, header)


def _number(said: str, written: syntax.Numeral, header: Header) -> int | None:
    """The size that is written, refused with what is `said` of it if it is none."""
    value = size(written.text)
    if isinstance(value, int):
        return value
    spelled = written.text if len(written.text) <= 24 else f"{written.text[:20]}..."
    header.refuse(f"{said} {spelled} {value}", written.span)
    return None


def _label(entry: syntax.MeshEntry, header: Header) -> str | None:
    """The axis's name in the emitted mesh; no two axes may have the same there."""
    emitted = entry.label or entry.name
    for name, axis in header.axes.items():
        if emitted.text == (axis.label or name):
            message = f"two axes of the mesh would be called {emitted.text}"
            header.refuse(message, emitted.span, "", (axis.span, "the other is here"))
    return entry.label.text if entry.label else None


def _not_both(dim: str, axis: str, header: Header, span: Span) -> None:
    """The capital of an axis is its size in formulas, so no dim may have it."""
    if dim not in header.dims or axis not in header.axes:
        return
    first = header.dims[dim].span
    if first == span:
        first = header.axes[axis].span
    message = f"{dim} is both a dim and the size of mesh axis {axis}"
    header.refuse(message, span, "choose another letter for one of them", (first, "and here"))
