"""Memory as it was predicted, beside XLA's own account of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from layoutc.codegen import body
from layoutc.codegen.compiled import build
from layoutc.codegen.compiled.memory import Aside, aside
from layoutc.codegen.emit import emit
from layoutc.codegen.names import identifier
from layoutc.codegen.padding import masks
from layoutc.codegen.places import Places
from layoutc.codegen.run import load
from layoutc.dsl.operation import Cast
from layoutc.dsl.program import DTYPES, Declare, Define, Dtype, Item, Program, Repeat
from layoutc.solver.plan import Pass
from layoutc.solver.price import held_in

CLOSE = 0.25
"""How far above what was predicted XLA's peak may be, as a share."""

NEGLIGIBLE = 1 << 16
"""Bytes below which peaks are not compared: there alignment is all."""

NARROW: tuple[Dtype, ...] = ("bf16", "f16", "f8e4m3", "f8e5m2")


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes on one chip. `stored` are weights and caches, `peak` is the most at once. `what` is
    stored is said for people.

    The peaks are of the program with f32 for its narrow floats where `widened`; what is `aside`
    is not counted in them.
    """

    predicted_stored: int
    stored: int
    predicted_peak: int
    peak: int
    aside: Aside
    widened: bool
    what: str = "weights"

    @property
    def exact(self) -> bool:
        """True if weights and caches are what was predicted, to the byte."""
        return self.stored == self.predicted_stored

    @property
    def close(self) -> bool:
        """True if the peak is no more than a quarter above the predicted one.

        Less is no fault: XLA does not store what it fuses into the operation that reads it.
        """
        return self.peak <= max((1 + CLOSE) * self.predicted_peak, NEGLIGIBLE)


def account(plan: Pass, built: build.Built) -> Memory:
    """`built` is the plan's own program, compiled.

    On the CPU narrow floats are computed in f32, so that XLA's account says nothing of them:
    there the program is compiled once more, with f32 in their place. Its caches are written over,
    and its inputs may be, as a chain of layers does it and as the price has it. What an argument is
    once it is masked is a value of its own, which the price of the program does not know.
    """
    inputs = [d for d in body.arguments(plan.program) if d.kind == "input"]
    wide = widened(plan.program) if built.platform == "cpu" else plan.program
    kinds = [d.kind for d in body.arguments(plan.program)]
    donated = tuple(i for i, kind in enumerate(kinds) if kind != "weight")
    text = emit(wide, plan.mesh, places=Places.of(plan.fabric))
    peak, besides = _peak(text, identifier(wide.name), donated, built.platform)
    return Memory(
        predicted_stored=plan.prices.memory.traffic_bytes,
        stored=built.usage.arguments - sum(_bytes(d, plan) for d in inputs),
        predicted_peak=held_in(_masking(wide), plan.mesh, plan.machine).bytes,
        peak=peak - sum(besides),
        aside=besides,
        widened=wide != plan.program,
    )


@lru_cache(maxsize=1)
def _peak(text: str, name: str, donated: tuple[int, ...], platform: str) -> tuple[int, Aside]:
    """XLA's peak for an emitted text, and what is aside in it; many may ask for the same."""
    module = load(text, name)
    arguments = build.arguments(module, module.make_mesh())
    compiled = build.build(getattr(module, name), arguments, donated=donated)
    usage = compiled.usage
    return usage.peak, aside(compiled.module, usage.peak - usage.arguments)


def _bytes(declare: Declare, plan: Pass) -> int:
    sizes = {d: size or 0 for d, size in plan.program.dims.items()}
    return declare.type.shape.elements(sizes, plan.mesh) * DTYPES[declare.type.dtype]


def _masking(program: Program) -> Program:
    """The program with a statement where an argument is first masked: from there on its name is
    that of another value."""
    found, seen = masks(program).before, set[str]()
    arguments = {declare.name for declare in body.arguments(program)}
    carried = {n.carried for i in program.items if isinstance(i, Repeat) for n in i.nexts}

    def before(item: Item) -> Iterator[Define]:
        asked = found.get(item, ()) if isinstance(item, Define | Repeat) else ()
        for name in dict.fromkeys(mask.name for mask in asked):
            if name in arguments - carried - seen:
                seen.add(name)
                yield Define(name, program.types[name], Cast(name))

    def with_masks(item: Item) -> Iterator[Item]:
        yield from before(item)
        if isinstance(item, Repeat):
            inside = ((*before(inner), inner) for inner in item.body)
            item = replace(item, body=tuple(chain.from_iterable(inside)))
        yield item

    return replace(program, items=tuple(chain.from_iterable(map(with_masks, program.items))))


def widened(program: Program) -> Program:
    """The same with every narrow float held as f32."""

    def one(item: Item) -> Item:
        match item:
            case Repeat():
                inside = tuple(i for i in map(one, item.body) if not isinstance(i, Repeat))
                return replace(item, body=inside)
            case Declare() | Define():
                return replace(item, type=replace(item.type, dtype=_wide(item.type.dtype)))

    items = tuple(map(one, program.items))
    return replace(program, items=items, dtype=_wide(program.dtype))


def _wide(dtype: Dtype) -> Dtype:
    return "f32" if dtype in NARROW else dtype
