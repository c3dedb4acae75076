"""The function that hands the caches of one phase over to another, and its line in a table.

It takes the source's caches, then the target's, which it writes over, then where a dim other than
the context has another size the first of the target's places that are filled. Stacks are moved
whole: one call is for all layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from layoutc.codegen import moves, spell
from layoutc.codegen.body import stacks
from layoutc.codegen.layouts import AxisNames
from layoutc.codegen.names import USED, function_name, respelled
from layoutc.codegen.tables import Passes, spec
from layoutc.codegen.tree import (
    Assign,
    Call,
    Expr,
    Function,
    Literal,
    Name,
    Return,
    Statement,
    Tuple,
)
from layoutc.dsl.handing import HandOver, context
from layoutc.dsl.operation import Move
from layoutc.dsl.program import Define, Program, Repeat, Type

PLACE = "place"


def function_names(passes: Passes, hand_overs: Sequence[HandOver]) -> dict[str, str]:
    """What the function of each hand-over is called: after its phases, where there are several."""
    taken = {function_name(program, passes) for program in passes}
    found = {}
    for one in hand_overs:
        several = len(hand_overs) > 1
        text = f"hand_over_{one.source}_{one.target}" if several else "hand_over"
        found[str(one)] = _fresh(text, taken)
    return found


def _fresh(text: str, taken: set[str]) -> str:
    """`text`, or with underscores what is not taken yet; from now on it is."""
    while text in taken:
        text += "_"
    taken.add(text)
    return text


@dataclass(frozen=True, slots=True)
class Handing:
    """A hand-over between two phases of a module: all that its function needs to be known."""

    hand_over: HandOver
    source: Program
    target: Program
    name: str
    axes: AxisNames

    @classmethod
    def all(cls, passes: Passes, hand_overs: Sequence[HandOver], axes: AxisNames) -> list[Handing]:
        """Those of a module.

        Raises:
            ValueError: a cache does not come to be held as it has to be, to be put in its place.
        """
        phases = {program.phase.name: program for program in passes}
        names = function_names(passes, hand_overs)
        found = []
        for one in hand_overs:
            source, target = phases[one.source], phases[one.target]
            wrong = one.misplaced(target)
            if wrong:
                raise ValueError(f"{one}: {'; '.join(wrong)}")
            found.append(cls(one, source, target, names[str(one)], axes))
        return found

    @property
    def program(self) -> Program:
        return self.hand_over.program

    @property
    def resized(self) -> tuple[str, ...]:
        """The dims that have another size in the target."""
        return self.hand_over.resized(self.target)

    @property
    def placed(self) -> tuple[str, ...]:
        """Of those the dims that are filled from a place on that is given."""
        return tuple(d for d in self.resized if d not in context(self.target))

    # The function.

    def function(self, passes: Passes) -> Function:
        """What one chip does."""
        spelled = respelled(self.program.types)
        taken = {*spelled.values(), *USED}
        caches = [cache for cache, _ in self.hand_over.caches()]
        into = {n: _fresh(f"{n}_{self.target.phase.name}", taken) for n in caches}
        places = self.places(taken)
        body = [*self.moved(spelled), *self.put(spelled, into, places)]
        results = tuple(Name(into[n]) for n in caches)
        body.append(Return(results[0] if len(results) == 1 else Tuple(results)))
        parameters = (*(spelled[n] for n in caches), *into.values(), *places.values())
        decorators = self.decorators(passes)
        return Function(self.name, parameters, tuple(body), self.doc(places), decorators)

    def doc(self, places: Mapping[str, str]) -> str:
        source, target = self.hand_over.source, self.hand_over.target
        where = " and ".join(f"{dim} from `{place}` on" for dim, place in places.items())
        said = f"What one chip does to put the caches of {source} into those of {target}"
        return f"{said}, {where}." if where else f"{said}."

    def places(self, taken: set[str]) -> dict[str, str]:
        """The parameters that say where a dim is filled from; one alone is called `place`."""
        if len(self.placed) == 1:
            return {self.placed[0]: PLACE}
        return {dim: _fresh(f"{PLACE}_{dim.lower()}", taken) for dim in self.placed}

    def decorators(self, passes: Passes) -> tuple[Expr, ...]:
        caches = [cache for cache, _ in self.hand_over.caches()]
        ins, outs = (
            tuple(spec(passes, program, name) for name in caches)
            for program in (self.source, self.target)
        )
        number = len(caches)
        donated = Tuple(tuple(Literal(n) for n in range(number, 2 * number)))
        keywords = (
            ("mesh", Name("ABSTRACT_MESH")),
            ("in_specs", Tuple((*ins, *outs, *[Call("P", ())] * len(self.placed)))),
            ("out_specs", outs[0] if number == 1 else Tuple(outs)),
        )
        jitted = Call("functools.partial", (Name("jax.jit"),), (("donate_argnums", donated),))
        return jitted, Call("functools.partial", (Name("jax.shard_map"),), keywords)

    def moved(self, spelled: Mapping[str, str]) -> Iterator[Statement]:
        """The moves, in the program's order."""
        types, counts = self.program.types, stacked(self.program)
        for item, _ in self.program.walk():
            if not isinstance(item, Define):
                continue
            assert isinstance(item.operation, Move)
            operand, target = item.operation.operand, Name(spelled[item.name])
            calls = moves.steps(
                item.operation,
                Name(spelled[operand]),
                target,
                types[operand].shape,
                item.type.shape,
                self.axes,
                leading=item.name in counts,
            )
            for call, shape in calls:
                held = Type(shape, item.type.dtype)
                yield Assign(target, call, self.notation(held, counts.get(item.name)))

    def put(
        self, spelled: Mapping[str, str], into: Mapping[str, str], places: Mapping[str, str]
    ) -> Iterator[Statement]:
        """What the moves gave, put into the target's caches."""
        types, counts = self.target.types, stacks(self.target)
        for cache, last in self.hand_over.caches():
            target, held = Name(into[cache]), types[cache]
            along = tuple(
                Tuple((Literal(number), self.axes.one_or_more(dim.axes), _first(dim.name, places)))
                for number, dim in enumerate(held.shape, start=cache in counts)
                if dim.name in self.resized
            )
            call = Call("placed", (target, Name(spelled[last]), *along))
            yield Assign(target, call, self.notation(held, counts.get(cache)))

    def notation(self, type_: Type, count: int | None) -> str:
        """A line's comment."""
        dtype = "" if type_.dtype == self.program.dtype else f" {type_.dtype}"
        stack = f", a stack of {count}" if count else ""
        return f"{type_.shape}{dtype}{stack}"


def _first(dim: str, places: Mapping[str, str]) -> Expr:
    return Name(places[dim]) if dim in places else Literal(0)


def stacked(program: Program) -> dict[str, int]:
    """The names inside of blocks, whose values are stacks, and the blocks' counts."""
    blocks = (item for item in program.items if isinstance(item, Repeat))
    return {item.name: block.count for block in blocks for item in block.body}


def table(handings: Sequence[Handing]) -> Iterator[str]:
    """The table of all hand-overs, by the phases that they are between."""
    yield "HAND_OVERS = {"
    for one in handings:
        caches = Tuple(tuple(Literal(cache) for cache, _ in one.hand_over.caches()))
        filled = "".join(d for d in one.resized if d not in one.placed)
        phases = Literal(one.hand_over.source), Literal(one.hand_over.target)
        dims = Literal("".join(one.placed)), Literal(filled)
        call = Call("HandOver", (Name(one.name), *phases, caches, *dims))
        yield f"    {spell.string(str(one.hand_over))}: {spell.expression(call)},"
    yield "}"
