"""Which layout wins where: the paper's figure 3, and what the command says and refuses."""

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from texts import read

from layoutc.cli import main
from layoutc.solver.chips import Meeting, curve
from layoutc.solver.contender import Sweep
from layoutc.solver.crossing import crossing
from layoutc.solver.formula import communication
from layoutc.solver.hardware.catalogue import load_machine
from layoutc.solver.monomial import Cost, Monomial
from layoutc.solver.regimes import regimes
from layoutc.solver.solve import solve

ROOT = Path(__file__).parent.parent
FIGURE3 = ROOT / "examples" / "ffn_figure3.layout"
E, F = 16_384, 65_536
CUBE = ("--mesh", "x=4,y=4,z=4")
TOKENS = ("--over", "B=1..16777216")

PAPERS = {
    "WS": "2D weight-stationary",
    "X-WG": "X-weight-gathered",
    "XY-WG": "XY-weight-gathered",
    "XYZ-WG": "XYZ-weight-gathered",
}

Run = Callable[..., dict[str, Any]]


def published() -> list[dict[str, str]]:
    lines = (ROOT / "tests" / "data" / "fig3_ffn_communication.csv").read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


# The paper's figure.


def test_all_points_of_figure_3(answered: Run) -> None:
    document = answered("regimes", FIGURE3, *CUBE, *TOKENS)
    bytes_of = {
        c["layout"]: {tokens: 2 * elements for tokens, elements in c["points"]}
        for c in document["contenders"]
    }
    assert list(bytes_of) == list(PAPERS.values())
    points = published()
    assert len(points) == 70
    for point in points:
        tokens, gigabytes = int(point["tokens"]), float(point["gigabytes"])
        mine = (
            min(each[tokens] for each in bytes_of.values())
            if point["layout"] == "Min"
            else bytes_of[PAPERS[point["layout"]]][tokens]
        )
        assert mine / 1e9 == pytest.approx(gigabytes, rel=1e-3), point


def test_the_switches_of_figure_3(answered: Run) -> None:
    document = answered("regimes", FIGURE3, *CUBE, *TOKENS)
    assert [r["layout"] for r in document["regimes"]] == list(PAPERS.values())
    assert [(r["from"], r["to"]) for r in document["regimes"]] == [
        (1, E), (E, F), (F, 12 * F), (12 * F, 16_777_216),
    ]  # fmt: skip
    switches = [(s["at"], s["formula"], s["exact"]) for s in document["switches"]]
    assert switches == [(E, "E", E), (F, "F", F), (12 * F, "12*F", 16 * F)]
    assert [s["exact_formula"] for s in document["switches"]] == ["E", "F", "16*F"]
    assert [r["layout"] for r in document["regimes_exact"]] == list(PAPERS.values())
    assert [s["at"] for s in document["switches_exact"]] == [E, F, 16 * F]


def test_tokens_are_batch_times_length(answered: Run) -> None:
    document = answered("regimes", FIGURE3, *CUBE, "--over", "B=64..262144", "--set", "L=64")
    assert [s["formula"] for s in document["switches"]] == ["E/L", "F/L", "12*F/L"]
    assert [s["at"] for s in document["switches"]] == [E // 64, F // 64, 12 * F // 64]


def test_over_another_dim(answered: Run) -> None:
    document = answered("regimes", FIGURE3, *CUBE, "--over", "L=64..16777216", "--set", "B=1")
    assert [s["formula"] for s in document["switches"]] == ["E", "F", "12*F"]


BETWEEN = "weights gathered over z, 2D over x and y"


@pytest.mark.parametrize(
    ("width", "layouts", "switches", "exactly"),
    [
        # Under 3E the layout in between moves less than X-weight-gathered wherever that wins.
        (2 * E, [BETWEEN], ["F/3", "3*E", "12*F"], ["F/4", "4*E", "16*F"]),
        # From 3E to 4E only exactly so: the (K-1)/K favour many small groups.
        (3.5 * E, ["X-weight-gathered"], ["E", "F", "12*F"], ["F/4", "4*E", "16*F"]),
        (4 * E, ["X-weight-gathered"], ["E", "F", "12*F"], ["E", "F", "16*F"]),
    ],
)
def test_narrow_layers_have_a_layout_in_between(
    width: float, layouts: list[str], switches: list[str], exactly: list[str], answered: Run
) -> None:
    document = answered("regimes", FIGURE3, *CUBE, *TOKENS, "--set", f"F={int(width)}")
    assert [r["layout"] for r in document["regimes"]][1:2] == layouts
    assert [s["formula"] for s in document["switches"]] == switches
    assert [s["formula"] for s in document["switches_exact"]] == exactly


# What the race is made of.


def test_every_regime_is_what_the_search_finds_inside_it() -> None:
    program = read(FIGURE3.read_text().replace("mesh   x y z", "mesh   x=4 y=4 z=4"))
    machine = load_machine()
    found = regimes(Sweep(program, "B", 1, 1 << 24, 64, machine))
    for value in (1, 2, 32, 8192, 32_768, 131_072, 524_288, 1 << 22):
        sized = found.sweep.sized(program, value)
        plan = solve(sized, 64, machine, "communication", large=True)
        winner = next(r.contender for r in found.regimes if r.low <= value <= r.high)
        sizes = {d: n or 0 for d, n in sized.dims.items()}
        moved = communication(plan.only.program, plan.mesh).exact({**sizes, **plan.mesh})
        measure = winner.measure(value)
        assert measure is not None
        assert measure.rank == (plan.only.prices.compute.flops, moved)


def test_a_contender_counts_only_where_it_divides(answered: Run) -> None:
    document = answered("regimes", FIGURE3, *CUBE, *TOKENS)
    first = {c["layout"]: c["points"][0][0] for c in document["contenders"]}
    assert list(first.values()) == [1, 4, 16, 64]


def test_crossings_of_lines() -> None:
    one = Cost.of(Monomial.of("BE", "", 3), Monomial.of("F"))
    other = Cost.of(Monomial.of("BF", "", 4), Monomial.of("E"))
    crossed = crossing(one, other, "B")
    assert crossed.value({"E": 4, "F": 2}) == pytest.approx(2 / (3 * 4 - 4 * 2))
    assert crossed.formula() == "(E - F)/(3*E - 4*F)"
    assert crossing(one, one, "B").value({"E": 4, "F": 2}) is None


def test_the_least_over_meshes_is_of_two_terms_that_balance() -> None:
    flat = curve(Cost.of(Monomial.of("BE", "", 2)), ("x", "y"))
    square = curve(Cost.of(Monomial.of("BE", "x", 2), Monomial.of("BF", "y", 2)), ("x", "y"))
    assert flat is not None
    assert square is not None
    assert str(square.root) == "4*B*sqrt(E)*sqrt(F)"
    assert Meeting(flat, square).formula() == "4*F/E"
    assert Meeting(flat, square).value({"B": 3, "E": 5, "F": 20}) == 16
    assert Meeting(flat, flat).value({"B": 3, "E": 5}) is None
    assert curve(Cost.of(Monomial.of("BE", "x"), Monomial.of("BF", "x")), ("x", "y")) is None
    assert curve(Cost.of(Monomial.of("BE", "xx"), Monomial.of("BF", "y")), ("x", "y")) is None


# Chips, and explicit programs.


def test_over_chips_the_paper_goes_from_1d_to_2d(answered: Run) -> None:
    document = answered("regimes", ROOT / "examples" / "ffn.layout", "--over", "n=4..64")
    assert document["chips"] is None
    reach = [(r["from"], r["to"], r["layout"]) for r in document["regimes"]]
    assert reach == [(4, 16, "1D weight-stationary"), (16, 64, "2D weight-stationary")]
    assert document["switches"] == [
        {"at": 16, "crosses": True, "formula": "4*F/E", "exact": 4, "exact_formula": "F/E"}
    ]
    exactly = [(r["from"], r["to"], r["layout"]) for r in document["regimes_exact"]]
    assert exactly == [(4, 8, "1D weight-stationary"), (16, 64, "2D weight-stationary")]
    points = {c["layout"]: dict(c["points"]) for c in document["contenders"]}
    # At 4F/E = 16 chips they cost the same, K large.
    assert points["1D weight-stationary"][16] == points["2D weight-stationary"][16]


def test_an_explicit_program_is_the_only_contender(answered: Run) -> None:
    path = ROOT / "examples" / "ffn_xy_weight_gathered.layout"
    document = answered("regimes", path, *CUBE, "--over", "B=16..4096")
    assert [r["layout"] for r in document["regimes"]] == ["XY-weight-gathered"]
    assert document["switches"] == []
    assert (document["regimes"][0]["from"], document["regimes"][0]["to"]) == (16, 4096)


def test_a_mesh_left_open_is_part_of_the_answer(answered: Run) -> None:
    path = ROOT / "examples" / "ffn_2d_weight_stationary.layout"
    document = answered("regimes", path, "--chips", "16", "--over", "F=256..4194304")
    meshes = [tuple(r["mesh"].values()) for r in document["regimes"]]
    assert len(meshes) == len(set(meshes)) > 1
    assert all(x * y * z == 16 for x, y, z in meshes)
    assert len({c["layout"] for c in document["contenders"]}) == len(document["contenders"])


# On machines with a network.


def test_seconds_cross_where_layouts_change_places() -> None:
    """Off a flat network starting takes its time too, and a crossing is a number."""
    program = read((ROOT / "examples" / "ffn.layout").read_text())
    found = regimes(Sweep(program, "B", 8, 1 << 20, 8, load_machine("tpu-v4")))
    crossed = [switch for switch in found.switches if switch.cross]
    assert crossed
    for switch in crossed:
        assert switch.formula is None
        before, after = (c.moved(switch.at) for c in (switch.before, switch.after))
        assert float(before) == pytest.approx(float(after))
    for points in found.points:
        for _, measure in points:
            assert measure.moved < 1 < measure.elements


def test_only_slices_are_tried(answered: Run) -> None:
    """Of 2 chips and of 24 tpu-v4 has none."""
    path = ROOT / "examples" / "ffn.layout"
    document = answered("regimes", path, "--over", "n=2..24", "--hardware", "tpu-v4")
    assert document["regimes"][0]["from"] == 4
    assert document["regimes"][-1]["to"] == 16
    assert {n for c in document["contenders"] for n, _ in c["points"]} == {4, 8, 16}
    assert all(r["placement"]["slice"] for r in document["regimes"])


def test_the_report_of_a_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = ROOT / "examples" / "ffn_x_weight_gathered.layout", tmp_path / "figure.svg"
    options = ["--over", "B=64..65536", "--hardware", "h100", "--mesh", "x=2,y=2,z=2"]
    assert main(["regimes", str(path), *options, "--plot", str(out)]) == 0
    said = capsys.readouterr().out
    assert "ffn_x_weight_gathered on 8 chips (h100)" in said
    assert "2 of NVLink" in said
    assert "Time that moving takes" in said
    assert out.read_bytes().startswith(b"<?xml")


# What is said.


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["regimes", str(FIGURE3), *CUBE, *TOKENS]) == 0
    out = capsys.readouterr().out
    assert "a → b   16,384   E        16,384 = E" in out
    assert "c → d   786,432  12·F     1,048,576 = 16·F" in out
    assert re.search(r"(?m)^ +d  786,432 to 16,777,216  XYZ-weight-gathered .* 2·E·F$", out)
    assert "With every (K-1)/K kept" not in out


def test_the_report_says_where_exact_counts_disagree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["regimes", str(FIGURE3), *CUBE, *TOKENS, "--set", "F=57344"]) == 0
    assert "With every (K-1)/K kept" in capsys.readouterr().out


@pytest.mark.parametrize(("kind", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_the_figure_is_written(
    kind: str, begins: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / f"figure.{kind}"
    command = ["regimes", str(FIGURE3), *CUBE, "--over", "B=2048..262144", "--plot", str(out)]
    assert main(command) == 0
    assert f"wrote {out}" in capsys.readouterr().out
    assert out.read_bytes().startswith(begins)
    again = out.read_bytes()
    assert main(command) == 0
    assert out.read_bytes() == again


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--over", "Q=1..4", *CUBE], "has no dim Q"),
        (["--over", "B=4..1", *CUBE], "B=4..1"),
        (["--over", "B=4..4", *CUBE], "B=4..4"),
        (["--over", "B=0..4", *CUBE], "B=0..4"),
        (["--over", "B=4", *CUBE], "B=1..16777216"),
        (["--over", "n=1..99999999"], "n=1..99999999"),
        (["--over", "B=1..4"], "how many chips"),
        (["--over", "n=1..4", *CUBE], "sizes of all mesh axes"),
        (["--over", "n=1..4", "--chips", "4"], "--chips does not go with it"),
        (["--over", "B=1..4", *CUBE, "--plot", "figure.pdf"], ".svg or .png"),
        (["--over", "B=1..4", *CUBE, "--set", "Q=4"], "has no dim Q"),
    ],
)
def test_a_wrong_call(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(["regimes", str(FIGURE3), *options])
    except SystemExit as ended:
        status = int(str(ended.code))
    assert status == 2
    assert words in capsys.readouterr().err


def test_a_program_without_a_layout_is_at_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "narrow.layout"
    path.write_text("dims B E=3\nmesh x=4\ninput a : BE_x\nb : BE_x = relu(a)\noutput b\n")
    assert main(["regimes", str(path), "--over", "B=1..64"]) == 1
    assert "error:" in capsys.readouterr().err
