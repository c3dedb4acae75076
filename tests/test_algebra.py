"""Formulas of explicit programs, against the paper's appendix A."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy
from formulas import formula, program
from hypothesis import given
from hypothesis import strategies as st

from layoutc.solver.algebra import communication, expression, moved, speller, symbol
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.hardware.fabric import uniform
from layoutc.solver.monomial import Cost, Monomial
from layoutc.solver.price import price
from layoutc.solver.spelling import Speller
from layoutc.solver.surd import Sum, Surd

HEAD = "dims  B L E F\nmesh  x y z\n"


def costs(body: str, head: str = HEAD) -> tuple[str, str]:
    """The large-K and the exact formula of a program."""
    found = program(head + body)
    spell = speller(found)
    large, exact = (communication(found, exact) for exact in (False, True))
    return spell.sum(Sum.from_cost(large)), spell.sum(Sum.from_cost(exact))


GATHER = "input x : BLE_x\ny : BLE = all-gather(x) x\noutput y\n"
SCATTER = (
    "input x : BLE_x\nweight w : E_xF\nh : BLF(partialsum-x) = x * w\n"
    "y : BLF_x = reduce-scatter(x) h\noutput y\n"
)
REDUCE = (
    "input x : BLE_x\nweight w : E_xF\nh : BLF(partialsum-x) = x * w\n"
    "y : BLF = all-reduce(x) h\noutput y\n"
)

EXCHANGE = "input x : BL_xE\ny : B_xLE = all-to-all(x) x\noutput y\n"
PERMUTE = "input x : BLE_xy\ny : BLE_yx = permute(xy) x\noutput y\n"
SLICE = "input x : BLE\ny : BLE_x = slice(x) x\noutput y\n"


@pytest.mark.parametrize(
    ("body", "large", "exact"),
    [
        (GATHER, "B*L*E", "B*L*E*(1 - 1/X)"),
        (SCATTER, "B*L*F", "B*L*F*(1 - 1/X)"),
        (REDUCE, "2*B*L*F", "2*B*L*F*(1 - 1/X)"),
        (EXCHANGE, "B*L*E/X", "B*L*E*(1/X - 1/X**2)"),
        (PERMUTE, "B*L*E/(X*Y)", "B*L*E/(X*Y)"),
        (SLICE, "0", "0"),
    ],
    ids=["all-gather", "reduce-scatter", "all-reduce", "all-to-all", "permute", "slice"],
)  # fmt: skip
def test_each_move_costs_what_the_appendix_says(body: str, large: str, exact: str) -> None:
    assert costs(body) == (large, exact)


def test_a_move_over_several_axes_costs_its_steps() -> None:
    one = "input x : BLE_xyz\ny : BLE = all-gather(xyz) x\noutput y\n"
    steps = (
        "input x : BLE_xyz\na : BLE_xy = all-gather(z) x\nb : BLE_x = all-gather(y) a\n"
        "y : BLE = all-gather(x) b\noutput y\n"
    )
    assert costs(one)[1] == costs(steps)[1]


def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather() -> None:
    steps = SCATTER.replace("output y", "z : BLF = all-gather(x) y\noutput z")
    assert costs(REDUCE) == costs(steps)


def test_repetitions_multiply() -> None:
    body = (
        "input x : BLE_x\nrepeat 7 {\n  a : BLE = all-gather(x) x\n"
        "  b : BLE_x = slice(x) a\n  next x = b\n}\noutput x\n"
    )
    assert costs(body)[0] == "7*B*L*E"


def test_another_dtype_counts_by_its_size() -> None:
    body = "input x : BLE_x\ninput w : EF_x int8\ny : BLE = all-gather(x) x\n"
    body += "v : EF = all-gather(x) w\noutput y, v\n"
    assert costs(body)[0] == "E*(2*B*L + F)/2"
    assert costs(body, HEAD + "dtype f32\n")[0] == "E*(4*B*L + F)/4"


def test_an_axis_of_one_chip_costs_nothing() -> None:
    head = HEAD.replace("mesh  x", "mesh  x=1")
    assert costs(GATHER, head) == ("0", "0")
    assert costs(GATHER, HEAD.replace("mesh  x", "mesh  x=4"))[0] == "B*L*E"


def test_sizes_in_the_file_do_not_enter() -> None:
    assert costs(GATHER, "dims  B=512 L=1 E=18432 F=1\nmesh  x y z\n") == costs(GATHER)


FFN = """\
input  x     : BLE_xyz
weight w_in  : E_xF_yz
weight w_out : F_yzE_x
x1 : BLE_x                = all-gather(yz) x
h  : BLF_yz(partialsum-x) = x1 * w_in
h1 : BLF_yzx              = reduce-scatter(x) h
g  : BLF_yzx              = gelu(h1)
g1 : BLF_yz               = all-gather(x) g
p  : BLE_x(partialsum-yz) = g1 * w_out
y  : BLE_xyz              = reduce-scatter(yz) p
output y -> x
"""


def test_each_statement_has_its_own_term() -> None:
    found = program(HEAD + FFN)
    spell = speller(found)
    terms = [(m.define.name, spell.sum(Sum.from_cost(m.large))) for m in moved(found)]
    assert terms == [
        ("x1", "B*L*E/X"), ("h1", "B*L*F/(Y*Z)"), ("g1", "B*L*F/(Y*Z)"), ("y", "B*L*E/X"),
    ]  # fmt: skip


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6))
def test_the_exact_formula_is_the_price(x: int, y: int, z: int) -> None:
    """On every mesh, axes of one chip among them."""
    mesh = {"x": 2**x, "y": 2**y, "z": 2**z}
    found = program("dims  B=512 L=1 E=262144 F=1048576\nmesh  x y z\n" + FFN)
    values = {"B": 512, "L": 1, "E": 262144, "F": 1048576, "X": 2**x, "Y": 2**y, "Z": 2**z}
    elements = price(found, uniform(mesh, load_machine())).communication.elements
    assert communication(found, exact=True).exact(values) == elements


@given(st.integers(2, 40))
def test_exact_formulas_approach_those_for_large_k(power: int) -> None:
    """What is left out falls like 1/K."""
    found, k = program(HEAD + FFN), 2**power
    values = dict.fromkeys("BLEF", 1) | dict.fromkeys("XYZ", k)
    large = communication(found).exact(values)
    exact = communication(found, exact=True).exact(values)
    assert 0 < large - exact <= 2 * large / k


def test_sympy_has_the_same_expression() -> None:
    found = program(HEAD + FFN)
    b, ell, e, f, x, y, z = map(symbol, "BLEFXYZ")
    assert sympy.expand(
        expression(communication(found))
    ) == 2 * b * ell * e / x + 2 * b * ell * f / (y * z)
    assert all(s.is_positive for s in expression(communication(found)).free_symbols)


# Spelling.

bases = st.sampled_from(["E", "F", "n", 2, 3, 5])
exponents = st.fractions(min_value=-3, max_value=3, max_denominator=3)
surds = st.builds(
    Surd.of,
    st.fractions(min_value=Fraction(1, 9), max_value=9, max_denominator=9),
    st.dictionaries(bases, exponents, max_size=4),
)


@given(st.lists(st.tuples(surds, st.sampled_from([1, -1])), min_size=1, max_size=3))
def test_what_is_spelled_reads_back(terms: list[tuple[Surd, int]]) -> None:
    total = Sum.of(*(surd * Surd(Fraction(sign)) for surd, sign in terms))
    values = {"E": 2.5, "F": 7.0, "n": 11.0}
    text = Speller("python", ("E", "F", "n")).sum(total)
    read = float(formula(text).subs({s: values[s.name] for s in formula(text).free_symbols}))
    size = sum(abs(term.value(values)) for term in total.terms)
    assert read == pytest.approx(total.value(values), rel=1e-9, abs=1e-9 * size)


@given(surds, surds, exponents.filter(bool))
def test_surds_multiply_and_have_roots(one: Surd, other: Surd, power: Fraction) -> None:
    values = {"E": 2.5, "F": 7.0, "n": 11.0}
    assert (one * other).value(values) == pytest.approx(one.value(values) * other.value(values))
    assert (one**power).value(values) == pytest.approx(one.value(values) ** float(power))
    assert (one**power) ** (1 / power) == one


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("python", "2*B*(E/X + F**2/(Y*Z))/bandwidth"),
        ("unicode", "2·B·(E/X + F²/(Y·Z))/bandwidth"),
        ("latex", r"\frac{2 B \left(\frac{E}{X} + \frac{F^{2}}{Y Z}\right)}{\mathrm{bandwidth}}"),
    ],
)
def test_three_styles(style: str, text: str) -> None:
    cost = Cost.of(Monomial.of("BE", "X", 2), Monomial.of("BFF", "YZ", 2))
    spell = Speller(style, tuple("BEFXYZ"))  # type: ignore[arg-type]
    assert spell.sum(Sum.from_cost(cost), ("bandwidth",)) == text
