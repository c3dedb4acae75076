"""Machines: the catalogue, files of one's own, and what is said of those that are not."""

from pathlib import Path

import pytest

from layoutc.solver.hardware.catalogue import BrokenMachine, UnknownMachine, catalogue, load_machine

MACHINE = """\
name = "mine"
[peak_flops]
value = 1e12
source = "measured"
[memory_bytes]
value = 1_000
source = "measured"
[memory_bandwidth]
value = 1e9
source = "measured"
[network_bandwidth]
value = 1e8
source = "measured"
"""


def test_the_default_is_the_papers_machine() -> None:
    machine = load_machine()
    assert machine.name == "tpu-v4-flat"
    assert machine.peak_flops == 275e12
    assert machine.memory_bytes == 32 * 2**30
    assert machine.memory_bandwidth == 1200e9
    assert machine.network_bandwidth == 270e9


@pytest.mark.parametrize("name", catalogue())
def test_every_figure_of_the_catalogue_has_its_source(name: str) -> None:
    machine = load_machine(name)
    assert machine.name == name
    assert len(machine.sources) == 4
    assert all(source for _, source in machine.sources)


def test_a_path_is_a_machine_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MACHINE)
    machine = load_machine(str(path))
    assert (machine.name, machine.network_bandwidth) == ("mine", 1e8)


def test_a_name_nearly_right_is_guessed() -> None:
    with pytest.raises(UnknownMachine, match="did you mean tpu-v4-flat"):
        load_machine("tpu-v4-fat")
    with pytest.raises(UnknownMachine, match=r"no machine called abacus$"):
        load_machine("abacus")
    with pytest.raises(UnknownMachine):
        load_machine("nowhere/mine.toml")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "mine"', "", "does not say"),
        ("value = 1e12", "value = 0", "not a positive number"),
        ("value = 1e12", "value = true", "not a positive number"),
        ("value = 1e12", "value = inf", "not a positive number"),
        ('source = "measured"', "", "its source"),
        ("[peak_flops]", "[peak", "not TOML"),
        ("[peak_flops]", 'network = "ring"\n[peak_flops]', "unknown kind"),
    ],
)
def test_a_broken_file_is_explained(old: str, new: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MACHINE.replace(old, new))
    with pytest.raises(BrokenMachine, match=said):
        load_machine(str(path))
