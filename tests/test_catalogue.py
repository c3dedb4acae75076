"""The catalogue: each figure has a source, and adds up to what is published of whole systems."""

import tomllib
from pathlib import Path

import pytest

from layoutc.solver.hardware.catalogue import catalogue, load_machine
from layoutc.solver.hardware.shapes import Shape
from layoutc.solver.hardware.tier import most, nearest, slices

FILES = Path(__file__).parent.parent / "solver" / "machines"

TPUS = ["tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-v7"]
GPUS = ["a100-80gb", "b200", "gb200-nvl72", "h100", "h200", "mi300x"]
ACCELERATORS = TPUS + GPUS
OTHERS = ["cpu", "tpu-v4-flat", "wafer-mesh"]


def shapes_of(name: str, chips: int) -> list[tuple[Shape, ...]]:
    return list(slices(load_machine(name).tiers, chips))


def rings(name: str, *shape: int) -> tuple[bool, ...]:
    """Which axes of a shape are closed, the shape being one that can be had."""
    (tier,) = load_machine(name).tiers
    assert tier.shapes.has(shape)
    return tier.rings(shape)


# Sources.


def test_these_machines_come_with_the_compiler() -> None:
    assert catalogue() == tuple(sorted(ACCELERATORS + OTHERS))


@pytest.mark.parametrize("name", catalogue())
def test_every_figure_says_where_it_is_from(name: str) -> None:
    machine = load_machine(name)
    assert machine.name == name
    assert machine.title
    for figure in machine.figures:
        assert len(figure.source) > 10, figure
        assert figure.unit, figure


@pytest.mark.parametrize("name", catalogue())
def test_what_can_be_had_says_where_it_is_from(name: str) -> None:
    """Shapes and rings are no figures, but no less to be doubted."""
    table = tomllib.loads((FILES / f"{name}.toml").read_text())
    for tier in table["network"]:
        for key in ("shapes", "wraparound"):
            assert len(tier.get(key, {"source": "not said at all"})["source"]) > 10


@pytest.mark.parametrize("name", sorted({*catalogue()} - {"tpu-v4-flat"}))
def test_every_link_has_a_latency(name: str) -> None:
    for tier in load_machine(name).tiers:
        assert tier.hop > 0
        assert tier.start > 0


def test_an_assumption_is_no_source_of_speed() -> None:
    """What is not published of an accelerator may be assumed of its latencies alone."""
    for name in ACCELERATORS:
        for figure in load_machine(name).figures:
            if "assumed" in figure.source:
                assert figure.name.endswith((".hop", ".start")), figure


# What is published of whole pods, nodes and racks.


@pytest.mark.parametrize(
    ("name", "chips", "all_reduce"),
    [("tpu-v4", 4096, 1.1e15), ("tpu-v5e", 256, 51.2e12), ("tpu-v6e", 256, 102.4e12)],
)
def test_links_of_a_pod_add_up(name: str, chips: int, all_reduce: float) -> None:
    """Google's all-reduce bandwidth of a pod is that of all its chips' links, one direction."""
    assert chips * load_machine(name).network_bandwidth == pytest.approx(all_reduce, rel=0.01)


@pytest.mark.parametrize(
    ("name", "bisection"), [("tpu-v4", 24e12), ("tpu-v5e", 1.6e12), ("tpu-v6e", 3.2e12)]
)
def test_links_across_the_middle_add_up(name: str, bisection: float) -> None:
    """A torus of 16 chips a side is cut through two faces of it."""
    (tier,) = load_machine(name).tiers
    links = 2 * 16 ** (tier.shapes.axes - 1)
    assert links * tier.bandwidth == pytest.approx(bisection, rel=0.05)


def test_links_of_a_chip_add_up() -> None:
    assert load_machine("tpu-v4").network_bandwidth == 270e9
    # Tables that count in bits, one direction.
    assert 8 * load_machine("tpu-v5e").network_bandwidth == 1600e9
    assert 8 * load_machine("tpu-v5p").network_bandwidth == 4800e9
    # The bandwidth of all six links, both directions.
    assert 2 * load_machine("tpu-v7").network_bandwidth == 1200e9


@pytest.mark.parametrize(
    ("name", "chips", "dtype", "peak"),
    [
        ("tpu-v4", 4096, "bf16", 1.1e18),
        ("tpu-v5e", 256, "bf16", 50.63e15),
        ("tpu-v5e", 256, "int8", 100e15),
        ("tpu-v5p", 8960, "bf16", 4.1e18),
        ("tpu-v6e", 256, "bf16", 234.9e15),
        ("tpu-v7", 9216, "f8e4m3", 42.5e18),
        # Of GPUs it is that with sparsity, twice the dense one.
        ("a100-80gb", 8, "bf16", 5e15 / 2),
        ("h100", 8, "f8e4m3", 32e15 / 2),
        ("h200", 8, "f8e4m3", 32e15 / 2),
        ("b200", 8, "f8e4m3", 72e15 / 2),
        ("gb200-nvl72", 72, "f8e4m3", 720e15 / 2),
        ("gb200-nvl72", 72, "f32", 180e15 / 2),
        ("mi300x", 8, "bf16", 20.9e15 / 2),
    ],
)
def test_peaks_add_up(name: str, chips: int, dtype: str, peak: float) -> None:
    found = {figure.name: figure.value for figure in load_machine(name).figures}
    assert chips * found[f"peak_flops.{dtype}"] == pytest.approx(peak, rel=0.03)


@pytest.mark.parametrize(
    ("name", "chips", "nvlink"),
    [
        ("a100-80gb", 8, 4.8e12),
        ("h100", 8, 7.2e12),
        ("h200", 8, 7.2e12),
        ("b200", 8, 14.4e12),
        ("gb200-nvl72", 72, 130e12),
        ("mi300x", 8, 8 * 896e9),
    ],
)
def test_links_inside_a_node_add_up(name: str, chips: int, nvlink: float) -> None:
    """A system's bandwidth is that of all its GPUs, both directions."""
    inner, outer = load_machine(name).tiers
    assert inner.shapes.most == chips
    assert 2 * chips * inner.bandwidth == pytest.approx(nvlink, rel=0.01)
    assert outer.bandwidth == (25e9 if name == "a100-80gb" else 50e9)


@pytest.mark.parametrize(
    ("name", "chips", "bytes_", "rate"),
    [
        ("a100-80gb", 8, 640e9, 16.3e12),
        ("h200", 8, 1128e9, 38.4e12),
        ("b200", 8, 1440e9, 64e12),
        ("gb200-nvl72", 72, 13.4e12, 576e12),
        ("mi300x", 8, 1536e9, 42.4e12),
    ],
)
def test_memories_add_up(name: str, chips: int, bytes_: float, rate: float) -> None:
    machine = load_machine(name)
    assert chips * machine.memory_bytes == pytest.approx(bytes_, rel=0.01)
    assert chips * machine.memory_bandwidth == pytest.approx(rate, rel=0.01)


def test_the_cores_of_a_wafer_add_up() -> None:
    machine = load_machine("wafer-mesh")
    cores, links_in_and_out, bits = 850_000, 2 * 4, 8
    (tier,) = machine.tiers
    assert cores * machine.peak("f16") == pytest.approx(7.5e15, rel=0.01)
    assert cores * machine.memory_bytes == pytest.approx(40e9, rel=0.01)
    assert cores * machine.memory_bandwidth == pytest.approx(20e15, rel=0.01)
    assert cores * links_in_and_out * bits * tier.bandwidth == pytest.approx(220e15, rel=0.01)


@pytest.mark.parametrize("name", ACCELERATORS)
def test_no_figure_is_out_of_proportion(name: str) -> None:
    """A slip of bits for bytes or of gigabytes for terabytes would stand out."""
    machine = load_machine(name)
    assert 150 < machine.peak_flops / machine.memory_bandwidth < 570
    assert 4 < machine.memory_bandwidth / machine.network_bandwidth < 13
    assert 1 < machine.memory_bytes / (16 * machine.memory_bandwidth * 1e-3) < 5
    assert machine.peak("f32") <= machine.peak_flops <= machine.peak("int8")
    if machine.price is not None:
        assert 2 < machine.price / (machine.peak_flops / 1e15) < 12


# What can be had.


def test_tpu_v4_comes_in_cubes() -> None:
    tiers = load_machine("tpu-v4").tiers
    assert shapes_of("tpu-v4", 48) == []
    assert nearest(tiers, 48) == (32, 64)
    assert shapes_of("tpu-v4", 64) == [((4, 4, 4),)]
    assert set(shapes_of("tpu-v4", 512)) == {((8, 8, 8),), ((4, 8, 16),), ((4, 4, 32),)}
    assert most(tiers) == 4096
    assert rings("tpu-v4", 4, 4, 8) == (True, True, True)
    assert rings("tpu-v4", 2, 4, 4) == (False, False, False)


@pytest.mark.parametrize("name", ["tpu-v5e", "tpu-v6e"])
def test_flat_pods_wrap_where_an_axis_is_whole(name: str) -> None:
    assert rings(name, 16, 16) == (True, True)
    assert rings(name, 8, 16) == (False, True)
    assert rings(name, 8, 8) == (False, False)
    assert shapes_of(name, 64) == [((8, 8),)]
    assert nearest(load_machine(name).tiers, 100) == (64, 128)
    assert nearest(load_machine(name).tiers, 257) == (256, 0)


@pytest.mark.parametrize(
    ("name", "chips", "shape"), [("tpu-v5p", 6144, (16, 16, 24)), ("tpu-v7", 9216, (16, 24, 24))]
)
def test_the_largest_job_is_that_of_the_documents(name: str, chips: int, shape: Shape) -> None:
    tiers = load_machine(name).tiers
    assert (shape,) in shapes_of(name, chips)
    assert rings(name, *shape) == (True, True, True)
    assert nearest(tiers, chips + 64) == (chips, 0)


@pytest.mark.parametrize("name", GPUS)
def test_gpus_come_in_whole_nodes(name: str) -> None:
    tiers = load_machine(name).tiers
    node = tiers[0].shapes.most
    assert node == (72 if name == "gb200-nvl72" else 8)
    assert shapes_of(name, node // 2) == [((node // 2,), (1,))]
    assert shapes_of(name, 3 * node) == [((node,), (3,))]
    assert nearest(tiers, node + node // 2) == (node, 2 * node)


def test_any_rectangle_of_a_wafer_can_be_had() -> None:
    tiers = load_machine("wafer-mesh").tiers
    assert ((32, 32),) in shapes_of("wafer-mesh", 1024)
    assert ((750, 994),) in shapes_of("wafer-mesh", 745_500)
    assert rings("wafer-mesh", 750, 994) == (False, False)
    assert shapes_of("wafer-mesh", 1021) == []  # a prime, and longer than either side
    assert nearest(tiers, 1021) == (1020, 1022)
