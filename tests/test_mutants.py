"""A fault planted in an emitted program is found, and the statement is named."""

from __future__ import annotations

from collections import Counter

import pytest
import samples
from mutants import OPERATORS, Mutant, mutants
from texts import read
from verified import faults

from layoutc.codegen.emit import emit

MESH = {"x": 2, "y": 2, "z": 3}
SUBTLE = {
    "an order lost", "an all-reduce for a reduce-scatter", "doubled", "a gather for an all-to-all",
    "another reduction", "rounded on the way",
}  # fmt: skip
"""Those that JAX takes without a word: of the larger programs they are enough."""

PROGRAMS = {name: read(getattr(samples, name), "planted") for name in ("FFN", "MOVES", "BLOCKS")}


def planted(sample: str) -> list[Mutant]:
    program = PROGRAMS[sample]
    labels = {axis.label or axis.name: MESH[axis.name] for axis in program.axes}
    found = mutants(emit(program, MESH), "planted", labels)
    return [m for m in found if sample == "FFN" or m.what in SUBTLE]


EACH = [(sample, mutant) for sample in PROGRAMS for mutant in planted(sample)]


def test_there_are_enough_and_of_every_kind() -> None:
    assert len(EACH) >= 50
    assert set(Counter(mutant.what for _, mutant in EACH)) == set(OPERATORS)


@pytest.mark.parametrize("sample", PROGRAMS)
def test_without_a_fault_nothing_is_found(sample: str) -> None:
    program = PROGRAMS[sample]
    assert faults(program, MESH, emit(program, MESH)) == []


@pytest.mark.parametrize(
    ("sample", "mutant"), EACH, ids=[f"{s}-{i}-{m.what}-{m.name}" for i, (s, m) in enumerate(EACH)]
)
def test_it_is_found_and_named(sample: str, mutant: Mutant) -> None:
    found = faults(PROGRAMS[sample], MESH, mutant.text)
    assert any(said.startswith(f"{mutant.name}: ") for said in found), found
