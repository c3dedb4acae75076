"""Caches handed over from one phase to the next: layouts, places, stacks, and what moves."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
from checking import right
from emitted import PRIMITIVES, Kinds, collectives_of, equations
from handing import Case, caches, filled, handing, on_chips, phase
from verified import pass_of

from layoutc import pipeline
from layoutc.codegen.emit import emit
from layoutc.codegen.run import load, start_script
from layoutc.codegen.verify.handing import Module, arguments, verify_hand_over
from layoutc.codegen.verify.verdict import Refused
from layoutc.dsl.handing import HandOver, context
from layoutc.dsl.program import Program
from layoutc.loaded import loaded
from layoutc.pipeline import WrongCall
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import uniform
from layoutc.solver.plan import Plan
from layoutc.verify import differences_of, document, report

EIGHT = {"x": 2, "y": 2, "z": 2}
SIX = {"x": 3, "y": 2}

BATCH = Case(
    EIGHT,
    "cache kc : BMK_xQ",
    "cache kc : B_xyzMKQ",
    "cache kc : BMK_xQ\nk1 : BMKQ = all-gather(x) kc",
    "k1",
    places=(0, 5, 7),
)
"""A prefill of one request, held by heads, into one place of a batch of eight."""

STACK = Case(
    EIGHT,
    "cache kc : BMK_xQ int8\n  cache vc : BM_zK_xyQ",
    "cache kc : B_yMK_xQ int8\n  cache vc : BMK_yxQ_z",
    "cache kc : BMK_xQ int8\n  cache vc : BM_zK_xyQ\n"
    "  v1 : BM_zK_yxQ = permute(xy) vc\n  v2 : BMK_yxQ_z = all-to-all(z) v1",
    "kc v2",
    "B=2 M=6",
    "B=4 M=6",
    (0, 1, 2),
)
"""A cache that needs no move, and a stack of three that needs two."""

CASES = {
    "heads to batch, of one size": Case(
        EIGHT,
        "cache kc : BMK_xyQ_z",
        "cache kc : B_zyxMKQ",
        "cache kc : BMK_xyQ_z\na : B_zMK_xyQ = all-to-all(z) kc\nb : B_zyxMKQ = all-to-all(xy) a",
        "b",
        "B=8 M=6",
        places=(),
    ),
    "one into a batch": BATCH,
    "some, across chips and beyond the ends": replace(
        BATCH, given="B=3 M=6", there="B=16 M=6", places=(0, 5, 13, 14, -1, 16)
    ),
    "more than a chip has room for": replace(BATCH, given="B=7 M=6", places=(0, 1)),
    "a shorter context": replace(BATCH, given="B=1 M=5", there="B=8 M=11"),
    "a shorter context alone, onto a split one": Case(
        EIGHT,
        "cache kc : B_xMKQ",
        "cache kc : B_xM_yzKQ",
        "cache kc : B_xMKQ",
        "kc",
        "B=4 M=7",
        "B=4 M=12",
        (),
    ),
    "batch and context split over three chips and two": Case(
        SIX,
        "cache kc : BM_xKQ_y",
        "cache kc : B_yM_xKQ",
        "cache kc : BM_xKQ_y\nk1 : BMKQ = all-gather(xy) kc",
        "k1",
        "B=1 M=3",
        "B=6 M=15",
        (0, 2, 5),
    ),
    "stacks": STACK,
    "a stack's own part": Case(
        EIGHT,
        "  cache vc : BMKQ_x int8",
        "  cache vc : B_zMK_yQ_x int8",
        "  cache vc : BMKQ_x int8\n  v1 : BMK_yQ_x int8 = slice(y) vc",
        "v1",
        places=(3,),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_caches_come_to_their_places(case: Case) -> None:
    """Held against NumPy element by element; what is not filled stays."""
    module = case.module()
    new, old = caches(module, "prefill", 1), caches(module, "decode", 2)
    source = on_chips(module, "prefill", new)
    for place in case.places or [0]:
        given = [np.int32(place)] * bool(case.places)
        found = module.hand_over(*source, *on_chips(module, "decode", old), *given)
        results = found if isinstance(found, tuple) else (found,)
        for result, a, b in zip(results, new, old, strict=True):
            np.testing.assert_array_equal(result, filled(a, b, place, batch=a.ndim - 4))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_moves_is_what_is_stated(case: Case) -> None:
    """A statement inside of a `repeat` is one call for the whole stack."""
    module = case.module()
    jaxpr = jax.make_jaxpr(module.hand_over)(*arguments(module, "prefill -> decode"))
    kinds: Kinds = Counter()
    for equation in equations(jaxpr.jaxpr):
        if kind := PRIMITIVES.get(equation.primitive.name):
            over = equation.params.get("axes", equation.params.get("axis_name"))
            kinds[kind, tuple(sorted(over if isinstance(over, tuple) else (over,)))] += 1
    assert kinds == collectives_of(case.hand_over.program)


def test_another_place_compiles_nothing_and_the_target_is_written_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    module = BATCH.module()
    (source,) = on_chips(module, "prefill", caches(module, "prefill", 1))
    (held,) = on_chips(module, "decode", caches(module, "decode", 2))
    with jax.log_compiles(), caplog.at_level("WARNING"):
        for place in range(8):
            before, held = held, module.hand_over(source, held, np.int32(place))
            assert before.is_deleted()
    assert caplog.text.count("Finished XLA compilation of jit(hand_over)") == 1
    assert not source.is_deleted()
    np.testing.assert_array_equal(held, np.repeat(source, 8, axis=0))
    assert "check_vma" not in BATCH.text


def test_names_that_the_function_has_itself_make_way() -> None:
    names = {"kc": "place", "k1": "kc_decode"}
    case = BATCH
    for old, new in names.items():
        case = replace(
            case,
            source=case.source.replace(old, new),
            target=case.target.replace(old, new),
            moves=case.moves.replace(old, new),
            last=case.last.replace(old, new),
        )
    case = replace(case, moves=case.moves.replace("kc_decode", "place_decode"), last="place_decode")
    module = case.module()
    new, old = caches(module, "prefill", 1), caches(module, "decode", 2)
    held = (*on_chips(module, "prefill", new), *on_chips(module, "decode", old))
    np.testing.assert_array_equal(
        module.hand_over(*held, np.int32(3)), filled(new[0], old[0], 3, batch=0)
    )


# Which dims are filled from the start, and which from a place on.


def test_two_dims_have_a_place_each() -> None:
    mesh = {"x": 2, "y": 2}
    case = Case(
        mesh, "cache kc : BLM", "cache kc : B_xL_yM", "cache kc : BLM", "kc",
        "B=1 L=2 M=3", "B=4 L=6 M=3",
    )  # fmt: skip
    module = case.module()
    (new,), (old,) = caches(module, "prefill", 1), caches(module, "decode", 2)
    held = (*on_chips(module, "prefill", [new]), *on_chips(module, "decode", [old]))
    wanted = old.copy()
    wanted[3, 2:4] = new[0]
    np.testing.assert_array_equal(module.hand_over(*held, np.int32(3), np.int32(2)), wanted)
    assert "def hand_over(kc, kc_decode, place_b, place_l):" in case.text


def test_the_context_is_what_is_written_along() -> None:
    text = (
        "dims B=4 L=1 S=8\nmesh x\ninput pos : B int32\ninput k : BL\ncache kc : BS\n"
        "k1 : BS = write[S](kc, k, pos)\ny = neg(k1)\noutput y\n"
    )
    assert context(right(text)) == {"S"}
    assert context(BATCH.passes[0]) == {"M"}


def test_a_cache_that_can_not_be_put_there_is_refused() -> None:
    wrong = replace(BATCH, moves="cache kc : BMK_xQ", last="kc")
    with pytest.raises(ValueError, match="kc is handed over as BMK_xQ, not as BMKQ"):
        emit(wrong.passes, EIGHT, [wrong.hand_over])


# Several phases.


def chat() -> tuple[list[Program], list[HandOver]]:
    """Three phases, the last of which may be called as a function of the module's own."""
    sizes = {"prefill": "B=1 M=4", "decode": "B=8 M=8", "hand_over": "B=8 M=16"}
    held = {"prefill": "BMK_xQ", "decode": "B_xMKQ", "hand_over": "B_xyMKQ"}
    passes = [phase(n, sizes[n], EIGHT, f"cache kc : {held[n]}") for n in sizes]
    first = phase("prefill", sizes["prefill"], EIGHT, BATCH.moves)
    second = phase(
        "decode", sizes["decode"], EIGHT, "cache kc : B_xMKQ\nk1 : B_xyMKQ = slice(y) kc"
    )
    return passes, [
        handing("prefill", "decode", first, "k1"),
        handing("decode", "hand_over", second, "k1"),
    ]


def test_of_several_each_is_called_after_its_phases() -> None:
    passes, hand_overs = chat()
    module = load(emit(passes, EIGHT, hand_overs), "chat")
    assert list(module.HAND_OVERS) == ["prefill -> decode", "decode -> hand_over"]
    new, there, last = (caches(module, p.phase.name, i)[0] for i, p in enumerate(passes))
    (kc,) = on_chips(module, "prefill", [new])
    decode = module.hand_over_prefill_decode(kc, *on_chips(module, "decode", [there]), np.int32(6))
    wanted = filled(new, there, 6, batch=0)
    np.testing.assert_array_equal(decode, wanted)
    # Of one batch in both: no place is asked for.
    end = module.hand_over_decode_hand_over(decode, *on_chips(module, "hand_over", [last]))
    np.testing.assert_array_equal(end, filled(wanted, last, 0, batch=0))


def test_a_phase_may_be_called_like_the_function() -> None:
    passes, (_, second) = chat()
    module = load(emit(passes, EIGHT, [second]), "chat")
    assert module.HAND_OVERS["decode -> hand_over"].run is module.hand_over_
    assert module.PHASES["hand_over"].run is module.hand_over


# The script.


def test_the_script_hands_over_at_small_sizes(tmp_path: Path) -> None:
    """What is smaller in prefill is so at small sizes."""
    case = replace(STACK, given="B=2 M=60", there="B=64 M=120")
    path = tmp_path / "handed.py"
    path.write_text(case.text)
    script = start_script(path)
    out, err = script.communicate()
    assert script.returncode == 0, out + err
    assert "prefill: simulated devices, so small sizes: B=2 L=2 M=4 " in out
    assert "decode: simulated devices, so small sizes: B=8 L=2 M=8 " in out
    assert "hand_over prefill -> decode: error 0 (max |a-b| / max |b|)" in out
    refused = start_script(path, ["--set", "decode.K=4"])
    out, err = refused.communicate()
    assert refused.returncode == 2
    assert "error: prefill -> decode: K is one size in both, not 8 and 4" in err
    path.write_text(case.text.replace("place - lax.axis_index", "1 + place - lax.axis_index"))
    assert start_script(path).wait() == 1


# Verification and Python.


def plan_of(case: Case) -> Plan:
    passes = tuple(pass_of(program, case.mesh) for program in case.passes)
    return Plan(
        passes, 8, uniform(case.mesh, load_machine()), "time", 0.0, hand_overs=(case.hand_over,)
    )


LARGE = replace(STACK, given="B=2 M=192", there="B=16 M=768")


def test_a_hand_over_is_verified_beside_its_phases() -> None:
    """By hand: v1 is 3 x 2*96*3*4 places a chip; v2 moves half of as many."""
    plan = plan_of(LARGE)
    found = pipeline.verified(plan)
    answer = json.loads(json.dumps(document(plan, found)))
    assert answer["differences"] == []
    assert answer["equal"]
    handed = answer["hand_overs"]["prefill -> decode"]
    block = 3 * 2 * 96 * 3 * 4
    rows = [
        (row["statement"], row["times"], row["predicted_elements"], row["compiled_elements"])
        for row in handed["collectives"]
    ]
    assert rows == [
        ("v1 : BM_zK_yxQ = permute(xy) vc", 1, block, block),
        ("v2 : BMK_yxQ_z = all-to-all(z) v1", 1, block // 2, block // 2),
    ]
    # Both phases' caches: int8 kc over x and over x and y, three layers of f32 vc over x, y and z.
    small, large = 2 * 192 * 12 * 4, 16 * 768 * 12 * 4
    stored = small // 2 + large // 4 + 3 * 4 * (small + large) // 8
    assert handed["predicted_weight_memory"] == handed["compiled_weight_memory"] == stored
    # A stack of 3 moved twice: the first result and the second are there together.
    assert handed["predicted_peak_memory"] == stored + 2 * 4 * block
    assert handed["compiled_peak_memory"] == pytest.approx(stored + 2 * 4 * block, rel=1e-3)
    assert set(handed) == set(answer["phases"]["prefill"])
    assert "handed, prefill -> decode, on 8 chips" in report(plan, found).replace("test", "handed")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('permute(vc, ("x", "y"), ("y", "x"))', "vc", "v1: permute of 6,912 elements"),
        ("(1, (), place)", "(1, (), 0)", "values: error"),
    ],
)
def test_a_slip_in_a_hand_over_is_found(before: str, after: str, said: str) -> None:
    made = Module(LARGE.passes, LARGE.mesh, (LARGE.hand_over,))
    assert before in made.text
    found = verify_hand_over(made, 0, made.text.replace(before, after))
    assert any(said in one for one in differences_of(found)), differences_of(found)


def test_a_part_along_another_axis_is_refused() -> None:
    """By the check of what varies over which axes, which is on."""
    made = Module(LARGE.passes, LARGE.mesh, (LARGE.hand_over,))
    with pytest.raises(Refused, match="require replication"):
        verify_hand_over(made, 0, made.text.replace('(0, "y", place)', '(0, "z", place)'))


def test_narrow_floats_are_carried_as_f32_on_the_cpu() -> None:
    """What is counted is bf16: 1*6144*6*4 places on each of x, as many come."""
    narrow = {field: getattr(BATCH, field).replace("Q", "Q bf16") for field in ("source", "target")}
    moves = "cache kc : BMK_xQ bf16\nk1 : BMKQ bf16 = all-gather(x) kc"
    case = replace(BATCH, **narrow, moves=moves, given="B=1 M=6144", there="B=8 M=6144")
    made = Module(case.passes, case.mesh, (case.hand_over,))
    found = verify_hand_over(made, 0, made.text)
    assert found.agrees, differences_of(found)
    assert [row.compiled for row in found.matched.rows] == [6144 * 6 * 4]
    assert [str(note) for note in found.matched.recognised] == ["k1: bf16 carried as f32"]
    assert found.memory.stored == 2 * 6144 * (6 * 4 + 12 * 4)
    assert found.memory.widened


def test_what_is_loaded_hands_over() -> None:
    text = BATCH.text
    prefill, decode = (loaded(text, "handed", p, (), None) for p in ("prefill", "decode"))
    module = prefill.module
    new, old = caches(module, "prefill", 1), caches(module, "decode", 2)
    held = (*on_chips(module, "prefill", new), *on_chips(module, "decode", old))
    found = prefill.hand_over(*held, 5)
    np.testing.assert_array_equal(found, filled(new[0], old[0], 5, batch=0))
    with pytest.raises(WrongCall, match="no caches are handed over from decode to another phase"):
        _ = decode.hand_over
