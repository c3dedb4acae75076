"""The command `model`: a name or a configuration in, a file, a table, a document or errors out."""

import io
import json
import sys
from pathlib import Path

import pytest

from layoutc.cli import main
from layoutc.dsl.models.catalogue import catalogue

CONFIGS = Path(__file__).parent / "data" / "configs"


def test_what_it_prints_is_right_and_canonical(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", "llama-3.1-8b"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# Llama 3.1 8B, a whole model: 8,030,261,248 weights, 32 layers.")
    path = tmp_path / "llama.layout"
    path.write_text(text)
    assert main(["check", str(path)]) == 0
    assert main(["fmt", "--check", str(path)]) == 0


def test_a_file_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "gpt2.layout"
    assert main(["model", "gpt2", "-o", str(path)]) == 0
    said = f"wrote {path}; compile it: layoutc compile {path} --chips N\n"
    assert capsys.readouterr() == (said, "")
    assert main(["model", "gpt2", "-o", "-"]) == 0
    assert capsys.readouterr().out == path.read_text()
    assert [one.name for one in tmp_path.iterdir()] == ["gpt2.layout"]


def test_a_model_as_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "gemma-2-9b", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(["model", "gemma-2-9b"]) == 0
    assert found["text"] == capsys.readouterr().out
    assert found["model"] == "gemma-2-9b"
    assert (found["parameters"], found["published_parameters"]) == (9_241_705_984, 9.24e9)
    assert found["source"].startswith("config.json of google/gemma-2-9b on Hugging Face")
    a = found["architecture"]
    assert (a["layers"], a["d_model"], a["d_ff"], a["vocabulary"]) == (42, 3584, 14336, 256000)
    assert (a["attention"], a["heads"], a["kv_heads"], a["head_size"]) == ("grouped", 16, 8, 256)
    assert (a["activation"], a["gated"], a["norm"], a["norms"]) == ("gelu", True, "rmsnorm", 4)
    assert (a["biases"], a["tied"], a["window"], a["places"]) == ([], True, 4096, None)
    assert [clause.split(";")[0] for clause in found["not_expressed"]] == [
        "in 21 of 42 layers a token sees the last 4,096 alone",
        "norms multiply by one more than the published weights: add 1 to them",
    ]


def test_the_catalogue_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == [
        "name", "weights", "layers", "d_model", "d_ff", "heads", "kv", "size", "words",
        "feedforward", "gaps",
    ]  # fmt: skip
    assert [line.split()[0] for line in lines] == list(catalogue())
    (palm,) = (line.split() for line in lines if line.startswith("  palm-540b "))
    assert palm == ["palm-540b", "540", "B", "118", "18432", "73728", "48", "1", "256", "256000",
                    "gated", "silu"]  # fmt: skip
    assert max(map(len, lines)) <= 100
    assert main(["model", "--json"]) == 0
    models = json.loads(capsys.readouterr().out)["models"]
    assert [one["model"] for one in models] == list(catalogue())


def test_a_configuration_is_a_file_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CONFIGS)
    assert main(["model", "qwen2-7b.json"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# A model of type qwen2, a whole model: 7,615,616,512 weights, 28")
    assert "Figures: qwen2-7b.json.\n" in text
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("gpt2.json").read_bytes())))
    assert main(["model", "-"]) == 0
    assert "Figures: <stdin>.\n" in capsys.readouterr().out


def test_what_a_file_calls_itself_stays_in_its_comment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = json.loads((CONFIGS / "gpt2.json").read_text())
    path = tmp_path / "config.json"
    for name, title in {"me/mine": "me/mine", "x\ninput y : E": "A model of type gpt2"}.items():
        path.write_text(json.dumps({**config, "_name_or_path": name}))
        assert main(["model", str(path)]) == 0
        assert capsys.readouterr().out.startswith(f"# {title}, a whole model: ")


def test_a_configuration_that_is_wrong_is_shown_as_a_program_would_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = json.loads((CONFIGS / "gpt2.json").read_text())
    Path("config.json").write_text(json.dumps({**config, "n_head": 7, "n_layer": 0}, indent=2))
    assert main(["model", "config.json"]) == 1
    assert capsys.readouterr() == (
        "",
        "config.json:15:13: error: 7 heads don't divide n_embd=768\n"
        '  15 |   "n_head": 7,\n'
        "     |             ^\n"
        '  "head_dim": ...  says what a head has\n'
        "config.json:16:14: error: n_layer is 0, not a whole number from 1 up\n"
        '  16 |   "n_layer": 0,\n'
        "     |              ^\n"
        "2 errors\n",
    )
    assert main(["model", "config.json", "--json"]) == 1
    first, _ = json.loads(capsys.readouterr().out)["errors"]
    assert (first["file"], first["line"], first["column"]) == ("config.json", 15, 13)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"model_type": "gpt2",', "1:23: error: a key is missing here, in double quotes"),
        (b"\xff", "1:1: error: this is not text: byte 1 is not UTF-8"),
        (None, "1:1: error: can't be read: no such file or directory"),
    ],
)
def test_a_file_that_is_no_configuration(
    data: bytes | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    if data is not None:
        path.write_bytes(data)
    assert main(["model", str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"{path}:{said}\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gemma-2-9"], "there is no model called gemma-2-9; did you mean gemma-2-9b?"),
        (["gpt2", "-o", "gpt2.py"], "-o gpt2.py: a program's file ends in .layout"),
        (["-o", "a.layout"], "-o a.layout: of which model? layoutc model NAME -o FILE.layout"),
        (["gpt2", "-o", "no/such/a.layout"],
         "can't write no/such/a.layout: no such file or directory"),
    ],
)  # fmt: skip
def test_a_command_line_that_is_wrong(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", *words]) == 2
    assert capsys.readouterr() == ("", f"layoutc: error: {said}\n")
