"""Files of timings: read back as they were written, and what is said of those that are none."""

from itertools import product
from math import prod
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timings import Known, timings

from layoutc.codegen.measure.groups import grid, groups
from layoutc.codegen.measure.points import elements, most, points
from layoutc.codegen.measure.present import in_order, seen
from layoutc.codegen.measure.steps import turned
from layoutc.dsl.program import DTYPES
from layoutc.solver.hardware.samples import (
    KINDS,
    MOVES,
    Sample,
    Samples,
    Seen,
    Setting,
    group,
    head,
    line,
    misplaced,
    spelled,
)
from layoutc.solver.hardware.samples_reading import read_samples
from layoutc.solver.hardware.tier import Wraparound
from layoutc.solver.hardware.timing import Run

TORUS = Seen("ICI", "torus", (4, 4, 8), Wraparound(4, together=True))
SWITCH = Seen("NVLink", "switch", (8,))
OUTER = Seen("InfiniBand", "switch", (4,))

RIGHT = """\
# device: H100
# devices: 8
# memory_bytes: 80e9
# tier: NVLink, switch, 8
kind,group,dtype,work,seconds
all-gather,8,bf16,65536,2.1e-5
matmul,,bf16,2e9,5e-6
memory,,bf16,1e8,4e-5
"""


def text(samples: Samples) -> str:
    return head(samples.setting) + "".join(map(line, samples.samples))


@pytest.mark.parametrize("tiers", [(SWITCH,), (TORUS,), (SWITCH, OUTER), (TORUS, OUTER)])
def test_what_is_written_is_read(tiers: tuple[Seen, ...]) -> None:
    known = [Known(tier, 1e9, 1e-6, 1e-5) for tier in tiers]
    samples, _ = timings(known, [spelled(where) for where in groups(tiers)])
    found = read_samples(text(samples))
    assert isinstance(found, Samples)
    assert found.setting == samples.setting
    assert [s.point for s in found.samples] == [s.point for s in samples.samples]
    assert text(found) == text(samples)


@given(
    st.lists(
        st.lists(st.builds(Run, st.integers(1, 64), st.integers(1, 64)), min_size=1, max_size=3),
        min_size=1,
        max_size=3,
    )
)
def test_a_group_is_what_it_spells(runs: list[list[Run]]) -> None:
    where = tuple(map(tuple, runs))
    assert group(spelled(where)) == where


def test_columns_in_any_order_and_what_is_left_out() -> None:
    found = read_samples(
        "# taken by hand: no matmul yet\n# memory_bytes: 1e9\n"
        'seconds, work ,dtype,kind,group\n2e-5,1024,f32,"all-reduce","4"\n\n1e-5,1e6,f32,memory,\n'
    )
    assert isinstance(found, Samples)
    assert found.samples[0] == Sample("all-reduce", ((Run(4),),), "f32", 1024.0, 2e-5)
    assert found.setting.seen == (Seen("network", "switch", (4,)),)
    assert found.setting.source == "timings of 4 × unnamed chips"


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "message"),
    [
        ("all-gather", "all-gater", 6, 1, "there is no kind 'all-gater'"),
        ("8,bf16,65536", "8,bf17,65536", 6, 14, "there is no dtype 'bf17'"),
        ("8,bf16,65536", "8,bf16,-1", 6, 19, "work is '-1', not a positive number"),
        ("2.1e-5", "21 µs", 6, 25, "seconds is '21 µs', not a positive number"),
        ("2.1e-5", "inf", 6, 25, "seconds is 'inf', not a positive number"),
        ("2.1e-5", "2.1e-5,1", 6, 1, "there are 6 cells, and 5 columns"),
        (",8,bf16", ",8 of them,bf16", 6, 12, "'8 of them' is no group of chips"),
        (",8,bf16", ",3,bf16", 6, 12, "3 is no group of this machine: 3 is no part of the 8 of"),
        (",8,bf16", ",2@8,bf16", 6, 12, "2@8 is no group of this machine: 2@8 is no part of"),
        (",8,bf16", ",1,bf16", 6, 12, "1 is no group of this machine: it is of one chip"),
        (",8,bf16", ",4x2,bf16", 6, 12, "4x2 is no group of this machine: NVLink has 1 axis"),
        (",8,bf16", ",8*2,bf16", 6, 12, "8*2 is no group of this machine: it is of 2 tiers"),
        ("matmul,,", "matmul,8,", 7, 8, "only a move has a group of chips"),
        ("kind,group", "kind,groups", 5, 1, "the columns are kind,group,dtype,work,seconds"),
        ("# devices: 8", "# devices: some", 2, 12, "devices is 'some', not a whole number"),
        ("# devices: 8", "# devices: 16", 2, 12, "there are 16 devices, and tiers for 8"),
        ("# memory_bytes: 80e9\n", "", 1, 1, "the memory of a chip is not said"),
        ("# device: H", "# devise: H", 1, 3, "a machine has no devise"),
        ("NVLink, switch, 8", "NVLink, star, 8", 4, 9, "this is no tier"),
        ("NVLink, switch, 8", "NVLink, switch, 2x4", 4, 9, "a switch has no axes"),
        ("switch, 8\n", "switch, 8\n# tier: NVLink, switch, 1\n", 5, 9, "two tiers are called"),
    ],
)
def test_what_is_wrong_is_said_where_it_is(
    old: str, new: str, line: int, column: int, message: str
) -> None:
    assert old in RIGHT
    found = read_samples(RIGHT.replace(old, new, 1))
    assert isinstance(found, list)
    first = found[0]
    assert (first.span.line, first.span.start) == (line, column), first
    assert first.message.startswith(message)


def test_the_example_of_the_docs_is_one() -> None:
    page = (Path(__file__).parent.parent / "docs" / "calibrate.md").read_text(encoding="utf-8")
    found = read_samples(page.partition("```csv\n")[2].partition("```")[0])
    assert isinstance(found, Samples), found
    assert {sample.kind for sample in found.samples} == {"all-gather", "matmul", "memory"}


def test_every_error_is_found() -> None:
    wrong = RIGHT.replace("2e9", "none").replace("1e8", "nan").replace("memory,", "memry,")
    found = read_samples(wrong)
    assert isinstance(found, list)
    assert [(d.span.line, d.span.start) for d in found] == [(7, 14), (8, 1), (8, 13)]


def test_nothing_at_all() -> None:
    found = read_samples("")
    assert isinstance(found, list)
    said = [diagnostic.message for diagnostic in found]
    assert said == ["there are no samples", "the memory of a chip is not said"]


def test_machines_are_told_apart() -> None:
    own = Setting("H100", "gpu", 8, "0.10", "2030-01-31", 8, (SWITCH,))
    later = Setting("H100", "gpu", 8, "0.10", "2030-02-01", 9, (SWITCH,))
    other = Setting("H200", "gpu", 8, "0.11", "2030-01-31", 8, (OUTER,))
    assert own.differences(later) == []
    assert own.differences(other) == [
        "device H100, here H200",
        "JAX 0.10, here 0.11",
        "network NVLink, switch, 8, here InfiniBand, switch, 4",
    ]


# What is timed.


def test_groups_of_a_switch_of_a_torus_and_of_two_tiers() -> None:
    assert [spelled(g) for g in groups([SWITCH])] == ["8", "4", "4@2", "2", "2@4"]
    assert len(groups([TORUS])) == 7
    both = [spelled(g) for g in groups([SWITCH, OUTER])]
    assert both[:5] == ["8*1", "4*1", "4@2*1", "2*1", "2@4*1"]
    assert {"8*4", "1*4", "8*2", "1*2"} < set(both)
    for tiers in ([SWITCH], [TORUS], [SWITCH, OUTER], [Seen("ring", "torus", (6,)), OUTER]):
        assert not any(misplaced(where, tiers) for where in groups(tiers))


@pytest.mark.parametrize("tiers", [[SWITCH], [TORUS], [SWITCH, OUTER]])
def test_the_chips_of_a_group_are_an_axis_of_its_mesh(tiers: list[Seen]) -> None:
    """Counted by hand: chips of one group differ along the run alone, by its stride."""
    total = prod(size for one in tiers for size in one.extents)
    for where in groups(tiers):
        at = grid(where, tiers)
        sizes = dict(zip(at.names, at.shape, strict=True))
        assert prod(at.shape) == total
        assert prod(sizes[name] for name in at.along) == prod(r.size for g in where for r in g)
        runs = [run for tier in reversed(where) for run in tier]
        for run, cut in zip(runs, zip(*[iter(at.shape)] * 3, strict=True), strict=True):
            assert cut[1:] == (run.size, run.stride)


def test_every_size_can_be_cut_for_every_kind() -> None:
    machine = Setting("chip", "gpu", 6, "0", "", 2**36, (Seen("NVLink", "switch", (6,)),))
    found = points(machine, 2**20)
    assert {point.kind for point in found} == set(KINDS)
    for point in found:
        chips = prod(run.size for runs in point.group for run in runs)
        assert point.kind not in MOVES or point.extent % chips**2 == 0
        assert point.kind not in MOVES or point.work <= 2**20 + 36 * DTYPES[point.dtype]
    assert len({(p.kind, p.group, p.dtype, p.extent) for p in found}) == len(found)


def test_sizes_stay_within_memory() -> None:
    small = Setting("chip", "gpu", 2, "0", "", 2**24, (Seen("NVLink", "switch", (2,)),))
    assert max(p.work for p in points(small, most(small)) if p.kind in MOVES) <= 2**20
    assert elements(1000, "f32", 8) % 64 == 0


@pytest.mark.parametrize("chips", range(2, 17))
def test_a_permute_is_one_and_moves_something(chips: int) -> None:
    pairs = turned(chips)
    assert sorted(source for source, _ in pairs) == list(range(chips))
    assert sorted(target for _, target in pairs) == list(range(chips))
    assert any(source != target for source, target in pairs)


# Devices, as JAX would describe them.


def device(number: int, process: int = 0, **said: object) -> SimpleNamespace:
    known = {"platform": "gpu", "device_kind": "H100", "process_index": process, "id": number}
    return SimpleNamespace(**(known | said))


def test_devices_of_one_host_are_a_switch() -> None:
    assert seen([device(i) for i in range(4)]) == (Seen("NVLink or PCIe", "switch", (4,)),)


def test_devices_of_several_hosts_are_two_tiers() -> None:
    devices = [device(i, process=i % 3) for i in range(6)]
    found = seen(devices)
    assert found == (Seen("NVLink or PCIe", "switch", (2,)), Seen("network", "switch", (3,)))
    assert [d.process_index for d in in_order(devices)] == [0, 0, 1, 1, 2, 2]


def test_devices_with_coordinates_are_a_torus() -> None:
    boxes = product(range(4), range(4), range(8))
    devices = [
        device(i, platform="tpu", device_kind="TPU v4", coords=[z, y, x])
        for i, (x, y, z) in enumerate((x, y, z) for y, x, z in boxes)
    ]
    (found,) = seen(devices)
    assert found == Seen("ICI", "torus", (8, 4, 4), Wraparound(4, together=True))
    assert found.tier.rings(found.extents) == (True, True, True)
    assert [d.coords for d in in_order(devices)][:3] == [[0, 0, 0], [0, 0, 1], [0, 0, 2]]


def test_coordinates_with_holes_are_no_torus() -> None:
    devices = [device(i, platform="tpu", coords=[i, i, 0]) for i in range(4)]
    assert seen(devices) == (Seen("ICI", "switch", (4,)),)


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from layoutc.cli import main

    output = tmp_path / "mine.toml"
    assert main(["calibrate", "-o", str(output), "--from", str(tmp_path / "none.csv")]) == 1
    assert "none.csv:1:1: error: can't be read: no such file" in capsys.readouterr().err
    assert not output.exists()


def test_the_order_of_a_samples_cells() -> None:
    assert line(Sample("matmul", (), "int8", 2e9, 1 / 3)) == "matmul,,int8,2000000000,0.333333\n"
