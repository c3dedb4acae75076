"""Every example with attention: found by the search on eight chips, held against its prediction,
and run in both of its dtypes."""

from __future__ import annotations

import re

import pytest
from shipped import EXAMPLES, MESHES, WITH_ATTENTION, on_eight

import layoutc
from layoutc import pipeline
from layoutc.codegen.run import load
from layoutc.verify import differences

every_example = pytest.mark.parametrize("stem", [path.stem for path in WITH_ATTENTION])


def test_all_of_them_are_here() -> None:
    assert {p.stem for p in EXAMPLES if "softmax[" in p.read_text()} == set(MESHES)


@every_example
def test_each_phase_and_hand_over_is_what_was_predicted(stem: str) -> None:
    """In f32, at small sizes, values are the reference's; at full sizes collectives are compared,
    and memory."""
    plan = on_eight(stem)
    found = pipeline.verified(plan.answer)
    assert list(found) == [*plan.phases, *map(str, plan.answer.hand_overs)]
    assert differences(found) == []
    for verdict in found.values():
        assert not isinstance(verdict, Exception)
        assert verdict.values
        assert verdict.values.error <= 1e-5
        assert 0.75 < verdict.memory.peak / verdict.memory.predicted_peak < 1.25


@every_example
def test_its_script_is_right_in_bf16(stem: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = load(on_eight(stem).source, stem)
    assert module.main([]) == 0
    out = capsys.readouterr().out
    found = re.findall(r"^(?:(.*): )?error (\S+) \(max", out, re.MULTILINE)
    phases = list(module.PHASES) if len(module.PHASES) > 1 else [""]
    parts = [*phases, *(f"hand_over {name}" for name in vars(module).get("HAND_OVERS", ()))]
    assert [part for part, _ in found] == parts
    assert all(float(error) <= 2e-2 for _, error in found)


@every_example
def test_each_phase_compiles_to_itself(stem: str) -> None:
    plan = on_eight(stem)
    for name, phase in plan.phases.items():
        again = layoutc.compile_text(phase.text, name=stem, mesh=plan.mesh)
        assert list(again.phases) == [name]
        assert again.phases[name].text == phase.text
        assert again.phases[name].costs == phase.costs


@pytest.mark.parametrize("stem", ["llama", "llama_layer", "megatron_layer", "palm_layer"])
def test_prefill_hands_its_caches_to_decode(stem: str) -> None:
    """One request's into one place of many."""
    plan = on_eight(stem)
    (handed,) = plan.answer.hand_overs
    assert str(handed) == "prefill -> decode"
    assert [cache for cache, _ in handed.caches()] == ["kc", "vc"]
    assert handed.resized(plan.phases["decode"].answer.program)[0] == "B"


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_palms_two_branches_are_reduced_as_one(phase: str) -> None:
    """Their sum is taken while both are partial sums."""
    layouts = on_eight("palm_layer").phases[phase].layouts
    assert "partialsum" in layouts["af"]


def test_the_encoder_has_one_phase_and_no_cache() -> None:
    plan = on_eight("encoder_layer")
    assert list(plan.phases) == ["main"]
    assert plan.answer.hand_overs == ()
