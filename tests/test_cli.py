"""The command line: exit statuses, what goes where, files that are whole or untouched."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from layoutc import files, terminal
from layoutc.cli import main
from layoutc.solver import units

RIGHT = """\
dims   B=8 E=16 F=32
mesh   x y
input  x : BE?
weight w : EF!
h : BF? = x * w
output h
"""
WRONG = RIGHT.replace("x * w", "x * v").replace("output h", "output k")


@pytest.fixture
def right(tmp_path: Path) -> str:
    path = tmp_path / "right.layout"
    path.write_text(RIGHT)
    return str(path)


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    path = tmp_path / "wrong.layout"
    path.write_text(WRONG)
    return str(path)


def test_check_says_nothing_of_what_is_right(
    right: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", right]) == 0
    assert capsys.readouterr() == ("", "")


def test_check_reports_every_file(
    right: str, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", right, wrong, "missing.layout"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{wrong}:5:15: error: v is not defined" in err
    assert "missing.layout:1:1: error: can't be read: no such file or directory" in err
    assert err.endswith("3 errors\n")


@pytest.mark.parametrize("command", [["check"], ["compile", "--chips", "4"], ["derive"], ["fmt"]])
def test_a_wrong_file_is_one_document(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.layout"
    path.write_text("dims B=8\nmesh x\ninput x : \noutput x\n")
    assert main([*command, str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["errors"][0]["line"] == 3
    assert set(found["errors"][0]) == {"file", "line", "column", "message", "hint"}


def test_compile_as_a_document(right: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", right, "--chips", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["program"] == "right"
    assert found["chips"] == 4
    assert found["bound"] == pytest.approx(found["seconds"], rel=1e-12)
    phase = found["phases"]["main"]
    assert phase["layouts"]["w"] in phase["text"]
    keys = {"statement", "op", "axes", "operand", "from", "to", "times", "elements", "bytes"}
    assert all(keys <= set(c) for c in phase["collectives"])
    assert phase["communication"]["bytes"] == sum(c["bytes"] for c in phase["collectives"])


def test_a_program_alone(right: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", right, "--chips", "4", "-o", "-"]) == 0
    out = capsys.readouterr().out
    assert out.startswith('"""right')
    compile(out, "right.py", "exec")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--chips", "4", "--set", "Q=2"], "has no dim Q"),
        (["--chips", "4", "--set", "B=x"], "write it like --set B=512"),
        (["--chips", "4", "--set", "B=0"], "a whole number from 1 to 2^62"),
        (["--mesh", "x=2,x=2"], "--mesh gives x twice"),
        (["--mesh", "q=2"], "no mesh axis q"),
        ([], "how many chips? --chips N, or --mesh x=...,y=..."),
        (["--chips", "4", "--hardware", "tpu-v4-flt"], "did you mean tpu-v4-flat?"),
        (["--chips", "4", "-o", "/nowhere/at/all.py"], "can't write /nowhere/at/all.py"),
    ],
)
def test_a_wrong_call(
    right: str, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", right, *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err


@pytest.mark.parametrize("chips", ["0", "-1", "1.5", "1e3", "9999999999"])
def test_chips_are_counted(right: str, chips: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["compile", right, "--chips", chips])
    assert caught.value.code == 2


def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(WRONG.encode())))
    assert main(["check", "-"]) == 1
    assert "<stdin>:5:15: error:" in capsys.readouterr().err


def test_fmt_in_place_and_then_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "loose.layout"
    path.write_text("dims B=8\nmesh   x\ninput x:BE_x # kept\n\n\n\noutput   x\n")
    assert main(["fmt", "--check", str(path)]) == 1
    assert "layoutc fmt" in capsys.readouterr().err
    assert main(["fmt", str(path)]) == 0
    assert "# kept" in path.read_text()
    assert main(["fmt", "--check", str(path)]) == 0


def test_fmt_leaves_what_it_can_not_read(tmp_path: Path) -> None:
    path = tmp_path / "broken.layout"
    path.write_text("dims   B=8\ninput ??\n")
    assert main(["fmt", str(path)]) == 1
    assert path.read_text() == "dims   B=8\ninput ??\n"


def test_a_reader_that_leaves_early(right: str) -> None:
    """No traceback when the pipe closes."""
    script = "import sys; from layoutc.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "compile", right, "--chips", "4", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


# Files.


def test_writing_keeps_permissions_and_links(tmp_path: Path) -> None:
    target, link = tmp_path / "target.py", tmp_path / "link.py"
    target.write_text("old")
    target.chmod(0o750)
    link.symlink_to(target)
    files.write(str(link), "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o750


def test_a_write_that_fails_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "target.py"
    target.write_text("old")

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        files.write(str(target), "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


# Text.


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colour_only_where_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = "a.layout:1:2: error: h : BLF_yz is 4 MB of it\n"
    seen, plain = Terminal(), io.StringIO()
    terminal.show(text, seen)
    terminal.show(text, plain)
    assert "\x1b[" in seen.getvalue()
    assert plain.getvalue() == text
    monkeypatch.setenv("NO_COLOR", "1")
    asked = Terminal()
    terminal.show(text, asked)
    assert asked.getvalue() == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (384, "384 B"), (999.6, "1.00 kB"), (294912, "295 kB"), (42467328, "42.5 MB")],
)
def test_sizes(count: float, text: str) -> None:
    assert units.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 ns"), (16.384e-6, "16.4 µs"), (2.17e-4, "217 µs"), (1.5, "1.50 s")]
)
def test_durations(seconds: float, text: str) -> None:
    assert units.duration(seconds) == text
