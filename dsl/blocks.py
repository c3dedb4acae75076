"""What ties names together: `repeat` and its `next`, and what leaves the program."""

from __future__ import annotations

from dataclasses import dataclass, field

from layoutc.dsl import syntax
from layoutc.dsl.errors import Span
from layoutc.dsl.program import Declare, Define, Next, Repeat
from layoutc.dsl.refusal import letters
from layoutc.dsl.scales import refuse_bare
from layoutc.dsl.scope import Definition, Scope
from layoutc.dsl.words import size


@dataclass(slots=True)
class Block:
    """A `repeat` whose end has not been met yet. `broken` if its first line was not read."""

    span: Span
    count: int
    broken: bool = False
    body: list[Declare | Define] = field(default_factory=list)
    nexts: dict[str, Next] = field(default_factory=dict)
    places: dict[str, Span] = field(default_factory=dict)
    last: list[syntax.Word] = field(default_factory=list)
    """What `next` names, to be looked up again at the end, where it happens."""


def check_open(line: syntax.OpenLine, scope: Scope) -> Block:
    """The block that a line opens."""
    value = size(line.repetitions.text)
    if isinstance(value, str):
        spelled = line.repetitions.text[:24]
        message = f"repeat {spelled} {value.replace('a size', 'a count')}"
        scope.header.refuse(message, line.repetitions.span)
        value = 1
    scope.block = line.span.line
    return Block(line.span, scope.header.settings.repeat or value)


def close_block(block: Block, scope: Scope) -> list[Repeat]:
    """The statement that a block has become."""
    for word in block.last:
        scope.find(word)
    inside = [known for known in scope.names.values() if known.block == scope.block]
    scope.block = 0
    if not inside and not block.broken:
        scope.header.refuse("there is nothing in this block to repeat", block.span)
    return [Repeat(block.count, tuple(block.body), tuple(block.nexts.values()))]


def check_next(line: syntax.NextLine, scope: Scope, block: Block | None, explicit: bool) -> None:
    """`next x = y`: x comes from outside, y from inside, and they are held alike."""
    if block is None:
        scope.header.refuse("next stands inside of a repeat", line.span)
        return
    carried, value = scope.find(line.carried), scope.find(line.value)
    block.last += [line.carried, line.value]
    name = line.carried.text
    first = block.places.setdefault(name, line.span)
    if first != line.span:
        message = f"{name} is carried twice"
        scope.header.refuse(message, line.carried.span, "", (first, "first here"))
    if carried and value and _may_carry(line, carried, value, scope):
        _alike(line.value, carried, value, scope, explicit, line.span)
    block.nexts.setdefault(name, Next(name, line.value.text))


def _may_carry(line: syntax.NextLine, carried: Definition, value: Definition, scope: Scope) -> bool:
    refuse, before = scope.header.refuse, len(scope.header.errors)
    if carried.block:
        message = f"{carried.name} is defined inside the block; what is carried comes into it"
        hint = "next OUTER = INNER says that INNER is OUTER in the next repetition"
        refuse(message, line.carried.span, hint, (carried.span, "defined here"))
    elif carried.kind in {"weight", "cache"}:
        message = f"{carried.name} is a {carried.kind}; only inputs and values are carried"
        refuse(message, line.carried.span, "", (carried.span, "declared here"))
    elif carried.weight:
        refuse_bare(carried, line.carried.span, "what is carried has no scales", scope)
    if not value.block or value.kind:
        message = f"{value.name} is not a value of this block"
        refuse(message, line.value.span, "", (value.span, "it comes from here"))
    elif value.weight:
        refuse_bare(value, line.value.span, "what is carried has no scales", scope)
    return len(scope.header.errors) == before


def check_output(leaving: syntax.Leaving, scope: Scope, explicit: bool) -> None:
    """What leaves is no term of a sum, and is held like what it is tied to."""
    found = scope.find(leaving.name)
    like = scope.find(leaving.like) if leaving.like else None
    if found and found.type and found.type.shape.partial:
        shape = found.type.shape
        what = "sum" if shape.reduction == "sum" else "maximum"
        message = f"{found.name} is a partial {what} over {letters(shape.partial)}; an output is "
        message += "never partial"
        hint = f"reduce it first:  all-reduce({letters(shape.partial)}) {found.name}"
        scope.header.refuse(message, leaving.name.span, hint, (found.place, "made here"))
    elif found and found.weight:
        refuse_bare(found, leaving.name.span, "an output has no scales", scope)
    elif found and like:
        assert leaving.like
        span = leaving.name.span.to(leaving.like.span)
        _alike(leaving.name, like, found, scope, explicit, span)


def _alike(
    word: syntax.Word,
    model: Definition,
    value: Definition,
    scope: Scope,
    explicit: bool,
    span: Span,
) -> None:
    """Refuses a value whose dims, dtype or (if all is explicit) layout are not the model's."""
    if model.type is None or value.type is None:
        return
    old, new = model.type, value.type
    notes = ((model.place, f"{model.name} is held so"), (value.place, f"and {value.name} so"))
    said = f"{value.name} is to be held like {model.name}"
    if old.shape.names != new.shape.names:
        dims = f"it has the dims {letters(new.shape.names)}, not {letters(old.shape.names)}"
        scope.header.refuse(f"{said}, but {dims}", span, "", *notes)
    elif old.dtype != new.dtype:
        hint = f"cast it:  NAME : {new.shape} {old.dtype} = cast({word.text})"
        scope.header.refuse(f"{said}, but it is {new.dtype}, not {old.dtype}", span, hint, *notes)
    elif explicit and old.shape != new.shape:
        message = f"{said}, but it is held as {new.shape}, not {old.shape}"
        scope.header.refuse(message, span, "", *notes)
