"""Is what was predicted of a hand-over what runs? Held against it as a phase is.

A stack is moved whole: what is predicted of one repetition is one call for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from types import ModuleType
from typing import Any

from layoutc.codegen.body import stacks
from layoutc.codegen.compiled import build
from layoutc.codegen.compiled.memory import aside
from layoutc.codegen.emit import emit
from layoutc.codegen.handing import function_names, stacked
from layoutc.codegen.places import Places
from layoutc.codegen.run import load
from layoutc.codegen.verify.account import Memory, widened
from layoutc.codegen.verify.expected import Expected, expected
from layoutc.codegen.verify.traced import mistyped
from layoutc.codegen.verify.values import Values
from layoutc.codegen.verify.verdict import Verdict, devices, matcher, refusals
from layoutc.dsl.handing import HandOver
from layoutc.dsl.program import DTYPES, Declare, Define, Program, Type
from layoutc.dsl.shape import Dim
from layoutc.solver.lifetimes import peak

PLACE_BYTES = 4
"""A place is an int32, on every chip."""


@dataclass(frozen=True, slots=True)
class Module:
    """What an emitted module was made of."""

    passes: tuple[Program, ...]
    mesh: Mapping[str, int]
    hand_overs: tuple[HandOver, ...]
    places: Places | None = None

    @property
    def text(self) -> str:
        return emit(self.passes, self.mesh, self.hand_overs, self.places)

    @property
    def wide(self) -> Module:
        """The same with f32 for all narrow floats."""
        handed = tuple(replace(one, program=widened(one.program)) for one in self.hand_overs)
        return replace(self, passes=tuple(map(widened, self.passes)), hand_overs=handed)

    def phase(self, name: str) -> Program:
        return next(program for program in self.passes if program.phase.name == name)


def verify_hand_over(made: Module, number: int, source: str, run: bool = True) -> Verdict:
    """The hand-over of that number, `source` being the text that was emitted.

    Raises:
        TooManyChips: there are more chips than devices, and too many to simulate.
        Refused: JAX does not take the text.
    """
    simulated = devices(prod(made.mesh.values()))
    one = made.hand_overs[number]
    # As of a phase, the program is called what its function is.
    called = function_names(made.passes, made.hand_overs)[str(one)]
    program = replace(one.program, name=called)

    def traced(module: ModuleType) -> tuple[Callable[..., Any], Sequence[Any]]:
        return module.HAND_OVERS[str(one)].run, arguments(module, str(one))

    wrong = mistyped(source, program, made.mesh, traced, stacked(program))
    module = load(source, called)
    with refusals(module, source, program, wrong):
        built = _built(module, str(one))
        found = _values(module, str(one)) if run else None
    wanted = [_at_once(e) for e in expected(program, made.mesh)]
    matched = matcher(wanted, program, made.mesh, module, source)
    return Verdict(
        mistyped=wrong,
        stated=matched(built.stated, exact=True),
        matched=matched(built.collectives),
        values=found,
        memory=_account(made, one, built, len(module.HAND_OVERS[str(one)].placed)),
        simulated=simulated,
        platform=built.platform,
    )


def arguments(module: ModuleType, name: str) -> tuple[Any, ...]:
    """A hand-over's arguments at full size, as shapes with shardings."""
    import jax

    hand_over, mesh = module.HAND_OVERS[name], module.make_mesh()
    caches = [
        struct
        for phase in (hand_over.source, hand_over.target)
        for cache, struct in zip(
            module.ARGUMENTS, build.arguments(module, mesh, phase), strict=True
        )
        if cache in hand_over.caches
    ]
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    place = jax.ShapeDtypeStruct((), jax.numpy.int32, sharding=everywhere)
    return (*caches, *[place] * len(hand_over.placed))


def _built(module: ModuleType, name: str) -> build.Built:
    count = len(module.HAND_OVERS[name].caches)
    function = module.HAND_OVERS[name].run
    return build.build(function, arguments(module, name), donated=range(count, 2 * count))


def _values(module: ModuleType, name: str) -> Values:
    """At small sizes, against NumPy: nothing is computed, so nothing is rounded."""
    hand_over = module.HAND_OVERS[name]
    sizes = [module.PHASES[phase].small for phase in (hand_over.source, hand_over.target)]
    dtype = build.exact_dtype(module)
    error = module.handed_over(hand_over, module.make_mesh(), dtype, *sizes)
    return Values(float(error), 0.0, sizes[1])


def _at_once(one: Expected) -> Expected:
    """All repetitions in one call."""
    calls = tuple(replace(call, elements=call.elements * one.times) for call in one.calls)
    return replace(one, calls=calls, times=1)


# Memory.


def _account(made: Module, one: HandOver, built: build.Built, places: int) -> Memory:
    """As of a phase: on the CPU the peak is that of caches in f32 for those of narrow floats."""
    wide = made.wide if built.platform == "cpu" else made
    alike = wide == made
    other = wide.hand_overs[made.hand_overs.index(one)]
    compiled = built if alike else _built(load(wide.text, "wide"), str(one))
    usage = compiled.usage
    besides = aside(compiled.module, usage.peak - usage.arguments)
    return Memory(
        predicted_stored=_stored(made, one),
        stored=built.usage.arguments - PLACE_BYTES * places,
        predicted_peak=_stored(wide, other) + _moving(other.program, made.mesh),
        peak=usage.peak - sum(besides),
        aside=besides,
        widened=not alike,
        what="caches",
    )


def _stored(made: Module, one: HandOver) -> int:
    """The bytes of the caches of both phases on one chip."""
    return sum(
        _bytes(program.types[cache], program, made.mesh) * stacks(program).get(cache, 1)
        for program in (made.phase(one.source), made.phase(one.target))
        for cache, _ in one.caches()
    )


def _moving(program: Program, mesh: Mapping[str, int]) -> int:
    """The most bytes of what moves make that are alive at once."""
    flat = _unstacked(program)
    return peak(flat, lambda held: _bytes(held, flat, mesh)).bytes


def _bytes(held: Type, program: Program, mesh: Mapping[str, int]) -> int:
    return held.shape.elements(program.sizes, mesh) * DTYPES[held.dtype]


def _unstacked(program: Program) -> Program:
    """The same without blocks: a stack is one value, whose first dim is called by its size."""
    counts = stacked(program)

    def one(item: Declare | Define) -> Declare | Define:
        count = counts.get(item.name)
        if count is None:
            return item
        shape = replace(item.type.shape, dims=(Dim(str(count)), *item.type.shape))
        return replace(item, type=replace(item.type, shape=shape))

    dims = {str(count): count for count in counts.values()}
    items = tuple(one(item) for item, _ in program.walk())
    return replace(program, items=items, dims={**program.dims, **dims})
