"""The prediction and what XLA made, side by side: every call found, or a fault with its name.

What XLA may do without moving other than was predicted is recognised and said: carry a type in a
wider one, join several collectives in one operation, do once what two statements or all repetitions
say alike, leave out what reaches no output, make a reduce-scatter of an all-reduce and a slice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from layoutc.codegen.compiled import groups
from layoutc.codegen.compiled.collectives import Collective, ordered
from layoutc.codegen.verify.expected import Call, Expected
from layoutc.codegen.verify.live import Values

XLA_DTYPES = {
    "f32": "f32", "bf16": "bf16", "f16": "f16", "int8": "s8", "int32": "s32",
    "f8e4m3": "f8e4m3fn", "f8e5m2": "f8e5m2",
}  # fmt: skip
WIDER = {"f32": {"bf16", "f16", "f8e4m3fn", "f8e5m2"}, "f16": {"f8e4m3fn", "f8e5m2"}}
WIDER["bf16"] = {"f8e4m3fn", "f8e5m2"}
"""For each dtype, those that a backend may carry in it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One predicted statement beside what it became; `fault` says what differs, "" if nothing.

    `compiled` and `dtype` are None where XLA left the statement out.
    """

    expected: Expected
    predicted: int
    compiled: int | None
    dtype: str | None
    fault: str = ""


class Note(NamedTuple):
    """What XLA did with a statement, without moving other than was predicted."""

    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.name}: {self.what}"


@dataclass(frozen=True, slots=True)
class Matched:
    """All rows in the program's order, the compiled collectives that no statement predicts (as
    sentences), and what XLA did that is recognised."""

    rows: tuple[Row, ...]
    unexpected: tuple[str, ...]
    recognised: tuple[Note, ...]

    @property
    def equal(self) -> bool:
        return not self.unexpected and not any(row.fault for row in self.rows)


@dataclass(slots=True, eq=False)
class _Found:
    """A compiled collective, the statement that it comes from, and how often it is still free."""

    collective: Collective
    owner: str | None
    left: int

    def take(self, wanted: int) -> int:
        taken = min(wanted, self.left)
        self.left -= taken
        return taken


@dataclass(slots=True, eq=False)
class _Need:
    """A predicted statement, how often each of its calls is still missing, what it has taken."""

    expected: Expected
    missing: list[int]
    taken: Fraction = Fraction(0)
    dtypes: dict[str, None] = field(default_factory=dict)
    excused: bool = False

    @property
    def name(self) -> str:
        return self.expected.define.name

    @property
    def met(self) -> bool:
        return not any(self.missing)

    def owns(self, found: _Found) -> bool:
        return found.owner == self.name

    @property
    def once_for_all(self) -> bool:
        """True if every call was found once, and not once for each repetition."""
        return all(n == self.expected.times - 1 for n in self.missing)


def match(
    expected: Sequence[Expected],
    found: Sequence[Collective],
    owner: Callable[[Collective], str | None],
    values: Values,
    mesh: Mapping[str, int],
    exact: bool = False,
) -> Matched:
    """`owner` names the statement that a collective comes from, if its source line is known.

    With `exact`, nothing may be carried in a wider type.
    """
    return _Match(expected, found, owner, values, mesh, exact).result()


class _Match:
    def __init__(
        self,
        expected: Sequence[Expected],
        found: Sequence[Collective],
        owner: Callable[[Collective], str | None],
        values: Values,
        mesh: Mapping[str, int],
        exact: bool,
    ) -> None:
        self.needs = [_Need(e, [e.times] * len(e.calls)) for e in expected]
        self.found = [_Found(c, owner(c), c.times or 1) for c in found]
        self.values, self.mesh, self.exact = values, mesh, exact
        self.recognised: dict[Note, None] = {}

    def result(self) -> Matched:
        for need in self.needs:
            self.serve(need, need.owns)
        for need in self.needs:
            self.serve(need, lambda f: f.owner is None or f.collective.joined > 1)
        for need in self.needs:
            if not need.met:
                self.excuse(need)
        rows = tuple(self.row(need) for need in self.needs)
        return Matched(rows, tuple(self.unexpected()), tuple(self.recognised))

    # Who serves whom.

    def serve(self, need: _Need, candidate: Callable[[_Found], bool]) -> None:
        for number, call in enumerate(need.expected.calls):
            for found in filter(candidate, self.found):
                if need.missing[number] and found.left and same(call, found.collective):
                    taken = found.take(need.missing[number])
                    need.missing[number] -= taken
                    need.taken += taken * found.collective.elements
                    need.dtypes[found.collective.dtype] = None
                    self.recognise(need, found.collective, call)

    def recognise(self, need: _Need, collective: Collective, call: Call) -> None:
        stored = XLA_DTYPES[need.expected.define.type.dtype]
        if collective.kind != call.kind:
            self.say(need, "a reduce-scatter done as an all-reduce and a slice, which brings twice")
        if collective.joined > 1:
            self.say(need, f"joined with others in {collective.name}")
        if stored in WIDER.get(collective.dtype, ()):
            self.say(need, f"{stored} carried as {collective.dtype}")

    def say(self, need: _Need, what: str) -> None:
        self.recognised[Note(need.name, what)] = None

    def excuse(self, need: _Need) -> None:
        """What is missing for a good reason."""
        twin = self.twin(need)
        if need.name not in self.values.live:
            self.say(need, "left out, since it reaches no output")
            need.excused = True
        elif twin:
            self.say(need, f"the same as {twin}, and done once")
            need.excused = True
        elif need.name in self.values.steady and need.once_for_all:
            self.say(need, "done once, before the loop: every repetition would do the same")
            need.excused = True

    def twin(self, need: _Need) -> str | None:
        same_value = (
            other.name
            for other in self.needs
            if other is not need
            and (other.met or other.excused)
            and self.values.number[other.name] == self.values.number[need.name]
        )
        return next(same_value, None)

    # What is said of it.

    def row(self, need: _Need) -> Row:
        predicted = ceil(need.expected.elements)
        if need.excused:
            compiled = ceil(need.taken) if need.taken else None
            return Row(need.expected, predicted, compiled, next(iter(need.dtypes), None))
        others = [f for f in self.found if f.owner == need.name and f.left]
        taken = need.taken + sum((f.left * f.collective.elements for f in others), Fraction(0))
        dtypes = list(need.dtypes) + [f.collective.dtype for f in others]
        fault = self.fault(need, others)
        dtype = dtypes[0] if dtypes else None
        return Row(need.expected, predicted, ceil(taken), dtype, fault)

    def fault(self, need: _Need, others: Sequence[_Found]) -> str:
        became = " and ".join(self.described(f) for f in others)
        calls = zip(need.expected.calls, need.missing, strict=True)
        lacks = " and ".join(self.wanted(call) for call, n in calls if n)
        if lacks:
            other = " between other chips" if became.startswith("permute") else ""
            return f"{lacks} was predicted, and it became {became or 'nothing'}{other}"
        if became:
            return f"beside what was predicted, {became}"
        return self.wrong_dtype(need)

    def wrong_dtype(self, need: _Need) -> str:
        stored = XLA_DTYPES[need.expected.define.type.dtype]
        for dtype in need.dtypes:
            wider = not self.exact and stored in WIDER.get(dtype, ())
            if dtype != stored and not wider:
                return f"{stored} was predicted, and {dtype} is moved"
        return ""

    def wanted(self, call: Call) -> str:
        by = _by(call.reduction)
        return f"{call.kind}{self.over(call.groups, call.kind)}{by} of {_count(call.elements)}"

    def described(self, found: _Found) -> str:
        one = found.collective
        often = "" if found.left == 1 else f", {found.left} times"
        often = ", in a loop of unknown count" if one.times is None else often
        over = self.over(one.groups, one.kind) + _by(one.reduction)
        return f"{one.kind}{over} of {_count(one.elements)}{often} ({one.name})"

    def over(self, members: groups.Groups, kind: str) -> str:
        """ "(yz)", most significant first; groups that are along no axes are counted."""
        if kind == "permute":
            return ""
        axes = groups.axes_of(members, self.mesh)
        if axes is None:
            return f" in {len(members)} groups of {max(map(len, members))} chips"
        return f"({''.join(axes)})"

    def unexpected(self) -> Iterable[str]:
        owned = {need.name for need in self.needs}
        for found in self.found:
            if found.left and found.owner not in owned:
                where = f"{found.owner}: " if found.owner else ""
                yield f"{where}{self.described(found)}, which no statement predicts"


def same(call: Call, one: Collective) -> bool:
    """True if `one` is what was asked for, the dtype aside."""
    if one.kind == "all-reduce" and call.kind == "reduce-scatter":
        if one.primitive != "reduce_scatter":
            return False
        members = ordered("all-reduce", call.groups)
    else:
        members = call.groups
        if one.kind != call.kind:
            return False
    return (
        one.times is not None
        and one.groups == members
        and one.elements_as(call.kind) == call.elements
        and one.reduction == call.reduction
    )


def _by(reduction: str) -> str:
    """How it reduces, where that is not the sum."""
    return f" by {reduction}" if reduction not in ("", "sum") else ""


def _count(elements: Fraction) -> str:
    return f"{ceil(elements):,} elements"
