"""XLA's texts: what is read of them, in the forms of several versions and backends."""

from __future__ import annotations

from fractions import Fraction

import pytest
from texts import read

from layoutc.codegen.compiled import groups, hlo
from layoutc.codegen.compiled.collectives import Collective, collectives
from layoutc.codegen.verify.expected import expected
from layoutc.codegen.verify.live import values
from layoutc.codegen.verify.match import Matched, match

# Groups of devices.

MESH = {"x": 4, "y": 2, "z": 3}


@pytest.mark.parametrize(
    ("text", "axes"),
    [
        ("{{0,1,2},{3,4,5},{6,7,8},{9,10,11},{12,13,14},{15,16,17},{18,19,20},{21,22,23}}", "z"),
        ("[8,3]<=[24]", "z"),
        ("[4,6]<=[24]", "yz"),
        ("[6,4]<=[4,6]T(1,0)", "x"),
        ("[2,12]<=[4,2,3]T(1,0,2)", "xz"),
        ("[2,12]<=[4,2,3]T(1,2,0)", "zx"),
        ("{}", "xyz"),
        ("{{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23}}", "xyz"),
        ("mesh['x'=4,'y'=2,'z'=3] {'y','z'}", "yz"),
        ("mesh['x'=4,'y'=2,'z'=3] {'z','y'}", "zy"),
        ("mesh['a'=4,'b'=6] {'b':(1)2}", "y"),
        ("mesh['a'=4,'b'=6] {'a','b':(2)3}", "xz"),
        ("mesh['a'=1,'b'=6,'c'=4] device_ids=([4,6]T(1,0)) {'b'}", "yz"),
        ("mesh['a'=6,'b'=4] device_ids=([4,6]T(1,0)) {'b'}", "x"),
    ],
)
def test_groups_in_every_form(text: str, axes: str) -> None:
    assert groups.read(text, 24) == groups.along(MESH, axes)
    assert groups.axes_of(groups.read(text, 24), MESH) == tuple(axes)


def test_devices_in_an_order_that_is_written_out() -> None:
    found = groups.read("mesh['a'=2,'b'=2] device_ids=(0,2,1,3) {'b'}", 4)
    assert found == {(0, 2), (1, 3)}


def test_groups_that_are_no_axes() -> None:
    assert groups.axes_of(frozenset({(0, 3), (1, 2)}), {"x": 2, "y": 2}) is None


def test_axes_of_size_1_are_not_seen() -> None:
    assert groups.axes_of(groups.along({"x": 1, "y": 2}, "xy"), {"x": 1, "y": 2}) == ("y",)


@pytest.mark.parametrize("text", ["nonsense", "[8,3]=[24]", "{a,b}"])
def test_a_form_that_is_not_known_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="not known"):
        groups.read(text, 24)


def test_pairs_of_a_permutation_leave_out_who_keeps_his_own() -> None:
    assert groups.pairs("{{0,0},{1,2},{2,1}}") == {(1, 2), (2, 1)}


# Programs.

HEAD = """HloModule jit_f, is_scheduled=true, num_partitions=4

FileNames
1 "/a/main.py"
2 "/a/layer.py"

FunctionNames
1 "<module>"
2 "layer"

FileLocations
1 {file_name_id=1 function_name_id=1 line=9 end_line=9 column=2 end_column=2}
2 {file_name_id=2 function_name_id=2 line=3 end_line=4 column=9 end_column=9}

StackFrames
1 {file_location_id=1 PARENT_OF_ROOT}
2 {file_location_id=2 parent_frame_id=PARENT}

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}

"""
SHIFTED = HEAD.replace("PARENT_OF_ROOT", "parent_frame_id=1").replace("PARENT", "2")
PLAIN = HEAD.replace(" PARENT_OF_ROOT", "").replace("PARENT", "1")


@pytest.mark.parametrize("head", [SHIFTED, PLAIN], ids=["numbered one too high", "plain"])
def test_places_are_the_lines_of_the_sources_innermost_first(head: str) -> None:
    module = hlo.parse(
        head
        + """ENTRY %main (p: f32[4]) -> f32[4] {
  ROOT %p = f32[4]{0} parameter(0), metadata={op_name="jit(f)/a \\"b\\"" stack_frame_id=2}
}
"""
    )
    (instruction,) = module.computations["main"].instructions
    assert module.places(instruction) == (("/a/layer.py", 3), ("/a/main.py", 9))
    assert module.scheduled


def test_what_is_no_program_is_said() -> None:
    with pytest.raises(ValueError, match="no ENTRY"):
        hlo.parse("HloModule nothing\n")


def test_types_operands_and_attributes() -> None:
    module = hlo.parse(
        HEAD
        + """ENTRY %main (p: (f32[2,3], s32[])) -> f32[2,3] {
  %p = (f32[2,3]{1,0:T(8,128)(2,1)S(1)}, /*index=1*/s32[]) parameter(0)
  %c = s32[2,2]{1,0} constant({ { 1, 2 },
    { 3, 4 } }), sharding={replicated}
  ROOT %g = f32[2,3]{1,0} get-tuple-element(%p), index=0, backend_config={"a":{"b":"},{"},"c":[1]}
}
"""
    )
    p, c, g = module.computations["main"].instructions
    assert p.types == (("f32", (2, 3)), ("s32", ()))
    assert [array.elements for array in p.types] == [6, 1]
    assert c.text.replace(" ", "") == "{{1,2},{3,4}}"
    assert c.attributes == {"sharding": "{replicated}"}
    assert g.operands == ("p",)
    assert g.attributes == {"index": "0", "backend_config": '{"a":{"b":"},{"},"c":[1]}'}
    assert module.computations["main"].result is g


def found(body: str, devices: int = 4) -> list[Collective]:
    return collectives(hlo.parse(HEAD + body), devices)


def test_what_was_joined_counts_by_its_operands() -> None:
    one, two = found(
        """ENTRY %main (p: f32[8], q: bf16[6]) -> (f32[8], bf16[6]) {
  %p = f32[8]{0} parameter(0)
  %q = bf16[6]{0} parameter(1)
  ROOT %r = (f32[8]{0}, bf16[6]{0}) all-reduce(%p, %q), replica_groups=[2,2]<=[4], to_apply=%add
}
"""
    )
    assert (one.elements, two.elements) == (8, 6)
    assert (one.dtype, two.dtype) == ("f32", "bf16")
    assert one.joined == two.joined == 2
    assert one.reduction == "sum"


def test_what_is_started_here_and_done_there_counts_once() -> None:
    (one,) = found(
        """ENTRY %main (p: f32[8]) -> f32[32] {
  %p = f32[8]{0} parameter(0)
  %s = (f32[8]{0}, f32[32]{0}) all-gather-start(%p), replica_groups={{0,1,2,3}}, dimensions={0}
  ROOT %d = f32[32]{0} all-gather-done(%s)
}
"""
    )
    assert (one.kind, one.elements, one.times) == ("all-gather", 24, 1)


def test_what_is_wrapped_to_run_beside_is_found_inside() -> None:
    (one,) = found(
        """%wrapped (p: f32[8]) -> f32[2] {
  %p = f32[8]{0} parameter(0)
  ROOT %r = f32[2]{0} reduce-scatter(%p), replica_groups={{0,1,2,3}}, dimensions={0}, to_apply=%add
}

ENTRY %main (p: f32[8]) -> f32[2] {
  %q = f32[8]{0} parameter(0)
  %s = ((f32[8]{0}), f32[2]{0}, s32[]) async-start(%q), calls=%wrapped
  ROOT %d = f32[2]{0} async-done(%s)
}
"""
    )
    assert (one.kind, one.elements, one.reduction) == ("reduce-scatter", 6, "sum")


def test_an_all_to_all_of_pieces_is_one() -> None:
    pieces = ", ".join(f"%p{i}" for i in range(4))
    lines = "\n".join(f"  %p{i} = f32[1,5]{{1,0}} parameter({i})" for i in range(4))
    tuple_ = ", ".join(["f32[1,5]{1,0}"] * 4)
    (one,) = found(
        f"""ENTRY %main (p: f32[1,5]) -> f32[1,5] {{
{lines}
  ROOT %r = ({tuple_}) all-to-all({pieces}), replica_groups={{{{0,1,2,3}}}}
}}
"""
    )
    assert (one.elements, one.joined) == (15, 1)


LOOP = """%body (s: (s32[], f32[6])) -> (s32[], f32[6]) {
  %s = (s32[], f32[6]{0}) parameter(0)
  %v = f32[6]{0} get-tuple-element(%s), index=1
  %r = f32[6]{0} collective-permute(%v), source_target_pairs={{0,1},{1,0},{2,2},{3,3}}
  ROOT %t = (s32[], f32[6]{0}) tuple(%v, %r)
}

%below (s: (s32[], f32[6])) -> pred[] {
  %s = (s32[], f32[6]{0}) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %n = s32[] constant(5)
  ROOT %c = pred[] compare(%i, %n), direction=LT
}

ENTRY %main (p: (s32[], f32[6])) -> (s32[], f32[6]) {
  %p = (s32[], f32[6]{0}) parameter(0)
  ROOT %w = (s32[], f32[6]{0}) while(%p), condition=%below, body=%bodyKNOWN
}
"""


def test_a_loop_counts_as_often_as_it_runs() -> None:
    known = ', backend_config={"known_trip_count":{"n":"5"}}'
    (one,) = found(LOOP.replace("KNOWN", known))
    assert (one.kind, one.elements, one.times) == ("permute", 6, 5)


def test_a_loop_whose_count_is_not_known_is_said_to_be_one() -> None:
    (one,) = found(LOOP.replace("KNOWN", ""))
    assert one.times is None


def test_before_xla_has_seen_it_a_scan_says_its_count_itself() -> None:
    text = (HEAD + LOOP.replace("KNOWN", "")).replace("is_scheduled=true, ", "")
    (one,) = collectives(hlo.parse(text), 4)
    assert one.times == 5


def test_collectives_among_single_devices_move_nothing() -> None:
    assert not found(
        """ENTRY %main (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %r = f32[8]{0} all-reduce(%p), replica_groups={{0},{1},{2},{3}}, to_apply=%add
}
"""
    )


# Held against a program.

PROGRAM = read(
    """
    dims B=8 E=6
    mesh x y
    dtype bf16
    input a : B_xE_y
    s  : B(partialsum-y)  = sum[E](a)
    t  : B_y              = reduce-scatter(y) s
    a1 : BE_y             = all-gather(x) a
    output a1
    """.replace("s  : B(", "s  : B_x(").replace("t  : B_y ", "t  : B_xy")
    + "    output t\n"
)
GROUPS = {"x": "{{0,2},{1,3}}", "y": "{{0,1},{2,3}}"}
BODY = """ENTRY %main (a: f32[4,3], s: f32[4]) -> f32[2] {
  %a = f32[4,3]{1,0} parameter(0)
  %s = DTYPE[4]{0} parameter(1)
  %g = f32[8,3]{1,0} all-gather(%a), replica_groups=GATHER, dimensions={0}
  ROOT %r = DTYPE[OUT]{0} REDUCTION(%s), replica_groups={{0,1},{2,3}}, to_apply=%add, \
metadata={op_name="jit(f)/PRIMITIVE"}
}
"""


def matched(
    gather: str = GROUPS["x"],
    reduction: str = "reduce-scatter",
    primitive: str = "reduce_scatter",
    dtype: str = "f32",
) -> Matched:
    out = "2" if reduction == "reduce-scatter" else "4"
    text = BODY.replace("GATHER", gather).replace("REDUCTION", reduction).replace("OUT", out)
    text = text.replace("PRIMITIVE", primitive).replace("DTYPE", dtype)
    mesh = {"x": 2, "y": 2}
    owners = {"g": "a1", "r": "t"}
    return match(
        expected(PROGRAM, mesh), found(text), lambda c: owners[c.name], values(PROGRAM), mesh
    )


def test_what_was_predicted_is_found_and_widening_is_said() -> None:
    result = matched()
    assert result.equal
    assert [str(note) for note in result.recognised] == [
        "t: bf16 carried as f32", "a1: bf16 carried as f32",
    ]  # fmt: skip
    assert [(row.predicted, row.compiled) for row in result.rows] == [(2, 2), (12, 12)]


def test_a_reduce_scatter_that_the_backend_makes_an_all_reduce_is_recognised() -> None:
    result = matched(reduction="all-reduce")
    assert result.equal
    said = "t: a reduce-scatter done as an all-reduce and a slice, which brings twice"
    assert said in map(str, result.recognised)
    assert (result.rows[0].predicted, result.rows[0].compiled) == (2, 4)


def test_an_all_reduce_that_the_program_itself_says_is_a_difference() -> None:
    result = matched(reduction="all-reduce", primitive="psum")
    assert not result.equal
    assert result.rows[0].fault == (
        "reduce-scatter(y) of 2 elements was predicted, "
        "and it became all-reduce(y) of 4 elements (r)"
    )


def test_a_wrong_axis_is_a_difference() -> None:
    result = matched(gather=GROUPS["y"])
    assert result.rows[1].fault == (
        "all-gather(x) of 12 elements was predicted, and it became all-gather(y) of 12 elements (g)"
    )


def test_a_narrower_type_is_a_difference() -> None:
    result = matched(dtype="f8e4m3fn")
    assert result.rows[0].fault == "bf16 was predicted, and f8e4m3fn is moved"


def test_elements_of_an_all_reduce_may_be_no_whole_number() -> None:
    (one,) = found(
        """ENTRY %main (p: f32[5]) -> f32[5] {
  %p = f32[5]{0} parameter(0)
  ROOT %r = f32[5]{0} all-reduce(%p), replica_groups={{0,1,2,3}}, to_apply=%add
}
"""
    )
    assert one.elements == Fraction(15, 2)
