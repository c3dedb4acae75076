"""How dims and layouts go through the operations of a Transformer layer, and what they refuse."""

from __future__ import annotations

import pytest
from checking import right, wrong
from head_of_layer import last, second, source


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("e = embed[V](table, ids)", "BLE"),
        ("e = embed[V](table, pos)", "BE"),
        ("e : EBL = embed[V](table, ids)", "EBL"),
        ("e = embed[V](t_xy, ids)", "BLE(partialsum-xy)"),
        ("e = embed[V](t_e, ids)", "BLE_x"),
        ("e = embed[V](table, ids_x)", "B_xLE"),
        ("e = embed[E](table, ids)", "BLV"),
        ("n = rmsnorm[E](a)", "BLE"),
        ("n = rmsnorm[E, eps=1e-5](a, g)", "BLE"),
        ("n = rmsnorm[L](a_xy, g)", "B_zLE_xy"),
        ("n = rmsnorm[L](a_xy, g_x)", "B_zLE_xy"),
        ("n = layernorm[L](a_x, g_x, g)", "BLE_x"),
        ("n = layernorm[E](a, g)", "BLE"),
        ("r = rope[Q](q, pos)", "BLKGQ"),
        ("r = rope[Q, theta=500000](q, 0)", "BLKGQ"),
        ("r = rope[Q](k_x, pos_x)", "B_xLK_yQ"),
        ("r = rope[Q](k_x, 7)", "B_xLK_yQ"),
        ("r = rope[Q](q, ids)", "BLKGQ"),
        ("r = rope[F](p, pos)", "BLF(partialsum-x)"),
        ("k1 = write[M](kc, k, pos)", "BMKQ"),
        ("k1 = write[M](kc, k, 1e1)", "BMKQ"),
        ("k1 = write[M](kc_x, k, pos)", "B_xMK_yQ"),
        ("k1 = write[M](kc_x, k_x, pos_x)", "B_xMK_yQ"),
        ("k1 = write[M](kc_m, k, pos)", "BM_xKQ"),
        ("k1 : B_xMK_yQ = write[M](kc_x, k, pos)", "B_xMK_yQ"),
        ("k1 = write[M](kc, k, pos)\nk2 = write[M](k1, k, pos)", "BMKQ"),
        ("s1 = scale[Q](s_x)", "B_yLKGM_x"),
        ("s1 = scale[Q](p)", "BLF(partialsum-x)"),
        ("s1 = causal[L, M](s_x, pos)", "B_yLKGM_x"),
        ("s1 = causal[L, M](s, 0)", "BLKGM"),
        ("s1 = causal[L, M](s, ids)", "BLKGM"),
        ("s1 = valid[M](s_x, pos)", "B_yLKGM_x"),
        ("s1 = valid[M](s, ids)", "BLKGM"),
        ("s1 = valid[M](s, 12)", "BLKGM"),
        ("p1 = softmax[M](s)", "BLKGM"),
        ("p1 = softmax[L](s_x)", "B_yLKGM_x"),
        ("p1 : B_yLKGM_x f32 = softmax[L](s_x)", "B_yLKGM_x"),
        ("r = rename[M -> F](s_x)", "B_yLKGF_x"),
        ("r = rename[F -> M](p)", "BLM(partialsum-x)"),
        ("r = rename[L -> K](m)", "BK(partialmax-x)"),
    ],
)
def test_layouts_that_follow(text: str, shape: str) -> None:
    program = right(source(text))
    assert str(list(program.types.values())[-1].shape) == shape
    assert program.explicit


@pytest.mark.parametrize(
    ("text", "column", "message", "origin"),
    [
        ("p1 = softmax[E](s)", 14, "s has no dim E; its dims are BLKGM", "s"),
        ("s1 = causal[E, F](s, pos)", 13, "s has no dims E and F; its dims are BLKGM", "s"),
        ("s1 = valid[E](s, pos)", 12, "s has no dim E; its dims are BLKGM", "s"),
        (
            "n = rmsnorm[E](a, q)",
            19,
            "q has the dims K, G and Q; beside a, rmsnorm takes dims B, L and E at most",
            "q",
        ),
        (
            "n = layernorm[E](a, q, g)",
            21,
            "q has the dims K, G and Q; beside a, layernorm takes dims B, L and E at most",
            "q",
        ),
        (
            "n = layernorm[E](a, g, q)",
            24,
            "q has the dims K, G and Q; beside a, layernorm takes dims B, L and E at most",
            "q",
        ),
        (
            "r = rope[Q](q, many)",
            16,
            "many has the dims M, V and Q; beside q, rope takes dims B, L, K and G at most",
            "many",
        ),
        (
            "k1 = write[M](kc, k, ids)",
            22,
            "ids has the dim L; beside kc, write takes dims B, K and Q at most",
            "ids",
        ),
        ("k1 = write[L](kc, k, pos)", 12, "kc has no dim L; its dims are BMKQ", "kc"),
        (
            "k1 = write[M](kc, a, pos)",
            19,
            (
                "what is written to kc of BMKQ has dims B, K and Q, and one for the new tokens "
                "in place of M; a has BLE"
            ),
            "a",
        ),
        (
            "k1 = write[M](kc, kc, pos)",
            15,
            (
                "what is written to kc of BMKQ has dims B, K and Q, and one for the new tokens "
                "in place of M; kc has BMKQ"
            ),
            "kc",
        ),
        ("e = embed[F](table, ids)", 11, "table has no dim F; its dims are VE", "table"),
        (
            "e = embed[V](table, many)",
            21,
            "many has the dim V; ids say where along V, and have other dims",
            "many",
        ),
        ("e = embed[M](kc, pos)", 18, "pos has the dim B of kc; a row is looked up whole", "pos"),
        ("r = rename[E -> M](k)", 12, "k has no dim E; its dims are BLKQ", "k"),
        ("r = rename[L -> K](k)", 12, "k of BLKQ has a dim K already", "k"),
        ("p1 : BLKGE = softmax[M](s)", 6, "softmax[M](s) has the dims BLKGM, not BLKGE", ""),
        ("p1 : LBKGM = softmax[M](s)", 6, "softmax[M](s) has the dims BLKGM, not LBKGM", ""),
        ("e : BLV = embed[V](table, ids)", 5, "embed[V](table, ids) has the dims BLE, not BLV", ""),
        (
            "e = embed[V](table, a)",
            21,
            "a is bf16; embed takes the numbers of rows, which are int32",
            "a",
        ),
        ("r = rope[Q](q, g)", 16, "g is bf16; rope takes positions, which are int32", "g"),
        ("s1 = valid[M](s, s)", 15, "s is bf16; valid takes lengths, which are int32", "s"),
        (
            "k1 = write[M](kc, k_f32, pos)",
            19,
            "k_f32 is f32, and kc, to which it is written, bf16",
            "k_f32",
        ),
        (
            "k1 : BMKQ f32 = write[M](kc, k, pos)",
            11,
            "write[M](kc, k, pos) is bf16, as kc is, not f32",
            "kc",
        ),
        (
            "r : BLKGQ f32 = rope[Q, theta=500](q, pos)",
            11,
            "rope[Q, theta=500](q, pos) is bf16, as q is, not f32",
            "q",
        ),
    ],
)
def test_dims_and_dtypes_that_are_refused(
    text: str, column: int, message: str, origin: str
) -> None:
    error = last(text)
    assert (error.span.start, error.message, second(text)) == (column, message, origin)


def test_one_operand_that_was_mistaken_is_one_error() -> None:
    assert len(wrong(source("r = rope[Q](q, g)"))) == 1


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "k1 = write[M](kc, k, ids)",
            "it says where the first token goes; the others follow it",
        ),
        ("k1 = write[M](kc, a, pos)", "BLKQ would do"),
        ("r = rope[Q](q, g)", "declare it so, or cast it:  NAME : SHAPE int32 = cast(g)"),
        ("k1 = write[M](kc, k_f32, pos)", "cast it:  NAME : SHAPE bf16 = cast(k_f32)"),
    ],
)
def test_fixes(text: str, hint: str) -> None:
    assert last(text).hint == hint


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        (
            "n = rmsnorm[B](p)",
            5,
            "p is a partial sum over x; rmsnorm needs the sum itself",
            "add before it:  p1 : BLF_x = reduce-scatter(x) p",
        ),
        (
            "p1 = softmax[F](p)",
            6,
            "p is a partial sum over x; softmax needs the sum itself",
            "add before it:  p1 : BLF_x = reduce-scatter(x) p",
        ),
        (
            "s1 = causal[L, F](p, pos)",
            6,
            "p is a partial sum over x; causal needs the sum itself",
            "add before it:  p1 : BLF_x = reduce-scatter(x) p",
        ),
        (
            "s1 = valid[F](p, pos)",
            6,
            "p is a partial sum over x; valid needs the sum itself",
            "add before it:  p1 : BLF_x = reduce-scatter(x) p",
        ),
        (
            "s1 = scale[Q](m)",
            6,
            "m is a partial maximum over x; scale needs the maximum itself",
            "add before it:  m1 : BL = all-reduce(x) m",
        ),
        (
            "r = rope[L](m, pos)",
            5,
            "m is a partial maximum over x; rope needs the maximum itself",
            "add before it:  m1 : BL = all-reduce(x) m",
        ),
        (
            "n = rmsnorm[E](a, g_x)",
            19,
            (
                "E is split over x in g_x and not in a: a chip needs all of g_x that goes with "
                "its part of a"
            ),
            "add before it:  g_x1 : E = all-gather(x) g_x",
        ),
        (
            "n = layernorm[L](a_xy, g_yx, g_x)",
            24,
            (
                "E is split over yx in g_yx and over xy in a_xy: a chip needs all of g_yx that "
                "goes with its part of a_xy"
            ),
            "add before it:  g_yx1 : E = all-gather(yx) g_yx",
        ),
        (
            "r = rope[Q](q_x, pos)",
            13,
            "rope turns pairs of Q, and q_x is split over x there",
            "add before it:  q_x1 : BLK_yGQ = all-gather(x) q_x",
        ),
        (
            "r = rope[Q](q, pos_x)",
            16,
            (
                "B is split over x in pos_x and not in q: a chip needs all of pos_x that goes "
                "with its part of q"
            ),
            "add before it:  pos_x1 : B = all-gather(x) pos_x",
        ),
        (
            "s1 = valid[M](s_x, pos_x)",
            20,
            (
                "B is split over x in pos_x and over y in s_x: a chip needs all of pos_x that "
                "goes with its part of s_x"
            ),
            "add before it:  pos_x1 : B = all-gather(x) pos_x",
        ),
        (
            "k1 = write[M](kc, k_x, pos)",
            19,
            (
                "K is split over y in k_x and not in kc: a chip needs all of k_x that goes with"
                " its part of kc"
            ),
            "add before it:  k_x1 : BLKQ = all-gather(xy) k_x",
        ),
        (
            "k1 = write[M](kc_x, k_l, pos)",
            21,
            "write needs all of L on a chip, and k_l is split over x there",
            "add before it:  k_l1 : BLKQ = all-gather(x) k_l",
        ),
        (
            "k1 = write[M](kc, k, pos_x)",
            22,
            (
                "B is split over x in pos_x and not in kc: a chip needs all of pos_x that goes "
                "with its part of kc"
            ),
            "add before it:  pos_x1 : B = all-gather(x) pos_x",
        ),
        (
            "k1 : BMKQ = write[M](kc_x, k, pos)",
            6,
            (
                "this gives B_xMK_yQ, not BMKQ: it follows from kc_x : B_xMK_yQ and k : BLKQ "
                "and pos : B"
            ),
            "write B_xMK_yQ; a change of layout is a statement of its own",
        ),
        (
            "e : BLE = embed[V](t_xy, ids)",
            5,
            "this gives BLE(partialsum-xy), not BLE: it follows from t_xy : V_xyE and ids : BL",
            (
                "write BLE(partialsum-xy) and reduce it in a statement of its own: reduce-"
                "scatter(xy) or all-reduce(xy)"
            ),
        ),
        (
            "e = embed[V](t_xy, ids_x)",
            20,
            "ids_x is split over x on B and t_xy on V: no chip holds B and V of the same place",
            "add before it:  ids_x1 : BL = all-gather(x) ids_x",
        ),
        (
            "e = embed[V](t_e, ids_x)",
            19,
            "ids_x is split over x on B and t_e on E: no chip holds B and E of the same place",
            "add before it:  ids_x1 : BL = all-gather(x) ids_x",
        ),
        (
            "i = sum[B](ids_x)\ne = embed[V](table, i)",
            5,
            "i is a partial sum over x; embed needs the sum itself",
            "add before it:  i1 : L_x = reduce-scatter(x) i",
        ),
        (
            "e = embed[V](t_xy, ids)\nf = gelu(e)",
            5,
            "e is a partial sum over xy; gelu needs the sum itself",
            "add before it:  e1 : BLE_xy = reduce-scatter(xy) e",
        ),
    ],
)
def test_layouts_that_are_refused(text: str, column: int, message: str, hint: str) -> None:
    error = last(text)
    assert (error.span.start, error.message, error.hint) == (column, message, hint)
    assert second(text) or error.message.startswith("this gives")


def test_a_lookup_says_why_it_is_a_partial_sum() -> None:
    ((_, note),) = last("e = embed[V](t_xy, ids)\nf = gelu(e)").notes
    assert note == "made here: V is split over x in t_xy, V is split over y in t_xy"


def test_what_is_split_over_two_dims_is_gathered_in_one_statement() -> None:
    errors = wrong(source("k1 = write[M](kc, k_x, pos)"))
    assert [error.message.partition(" in ")[0] for error in errors] == [
        "B is split over x",
        "K is split over y",
    ]
    assert {error.hint for error in errors} == {"add before it:  k_x1 : BLKQ = all-gather(xy) k_x"}
