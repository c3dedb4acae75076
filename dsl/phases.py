"""`phase decode : B=512 weight=64`: the same program with other sizes, and how often it runs."""

from __future__ import annotations

from collections.abc import Iterator

from layoutc.dsl import syntax
from layoutc.dsl.errors import Span
from layoutc.dsl.header import Header, Settings, padded_dims, read_size
from layoutc.dsl.program import Phase
from layoutc.dsl.words import RESERVED

WEIGHT = "weight"
"""What a phase says beside sizes: how often it runs for each run of one that says nothing."""


OfOneSize = dict[str, tuple[str, Span]]


def check_phase(line: syntax.PhaseLine, header: Header) -> None:
    """Declare a phase. What it sizes is looked into at the end, when all dims are known."""
    name, span = line.name.text, line.name.span
    first = header.phases.get(name)
    alike = next((p for p in header.phases if p.rstrip("_") == name.rstrip("_")), None)
    if name in RESERVED:
        header.refuse(f"{name} is a word of the language, not a name", span, "choose another name")
    elif first:
        header.refuse(f"phase {name} is there twice", span, "", (first.name.span, "first here"))
    elif alike:
        message = f"phases {alike} and {name} differ only by underscores at the end"
        note = (header.phases[alike].name.span, "the other is here")
        header.refuse(message, span, "choose another name", note)
    header.phases.setdefault(name, line)


def phases(file: syntax.File, header: Header) -> tuple[Phase, ...]:
    """The phases of a file whose lines have all been gone through, settings applied."""
    fixed = _of_one_size(file)
    return tuple(_phase(line, header, fixed) for line in header.phases.values())


def unknown_phases(file: syntax.File, settings: Settings) -> list[str]:
    """What the command line says of phases and the file can't follow, in sentences."""
    known = [s.name.text for s in file.statements if isinstance(s, syntax.PhaseLine)]
    fixed = _of_one_size(file)
    found = []
    for phase, sizes in settings.phases.items():
        if phase not in known:
            has = f"its phases are {', '.join(known)}" if known else "it has no phases"
            found.append(f"{file.name} has no phase {phase}: {has}")
        found += [fixed[dim][0] for dim in sizes if dim in fixed]
    return found


def _phase(line: syntax.PhaseLine, header: Header, fixed: OfOneSize) -> Phase:
    """A phase as settings leave it; refuses what its line says and can't."""
    weight = 1.0
    seen: dict[str, Span] = {}
    for key, value in line.settings:
        first = seen.setdefault(key.text, key.span)
        if first != key.span:
            header.refuse(f"{key.text} stands twice", key.span, "", (first, "first here"))
        elif key.text == WEIGHT:
            weight = _weight(value, header)
        elif _may_be_sized(key, header, fixed):
            read_size(key.text, value, header)
    own = header.own[line.name.text].items()
    return Phase(line.name.text, {dim: d.size for dim, d in own if d.size is not None}, weight)


def _weight(written: syntax.Numeral, header: Header) -> float:
    value = float(written.text)
    if 0 < value < float("inf"):
        return value
    header.refuse("a phase's weight is above zero: how often it runs", written.span)
    return 1.0


def _may_be_sized(key: syntax.Word, header: Header, fixed: OfOneSize) -> bool:
    """Whether a phase may have a size of its own for a dim; refuses it if not."""
    name = key.text
    if not name.isupper():
        hint = header.guess(name, (WEIGHT,)) or "a phase has sizes of dims, and its weight"
        header.refuse(f"{name} is not a dim", key.span, hint)
    elif name not in header.dims and not header.unsure:
        header.refuse(f"dim {name} is not declared", key.span, f"add it to the dims line:  {name}")
    elif name in fixed:
        why, place = fixed[name]
        header.refuse(why, key.span, "", (place, "it is declared here"))
    else:
        return True
    return False


def _of_one_size(file: syntax.File) -> OfOneSize:
    """The dims that no phase may size: why not, and the first place that says so."""
    found: OfOneSize = {}
    for dim, word in _dims_of_weights(file):
        why = f"{dim} is a dim of the weight {word.text}, which all phases share: its size is one"
        found.setdefault(dim, (why, word.span))
    for dim, span in padded_dims(file).items():
        found[dim] = (f"{dim} is padded, to the same size in all phases", span)
    return found


def _dims_of_weights(file: syntax.File) -> Iterator[tuple[str, syntax.Word]]:
    for statement in file.statements:
        match statement:
            case syntax.DeclareLine(syntax.Word("weight"), name, annotation):
                yield from ((dim.name.text, name) for dim in annotation.shape.dims)
            case _:
                pass
