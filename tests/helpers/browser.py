"""A page opened in Chromium without a display, as QtWebEngine brings it: its complaints, a script's
answer, and a picture.

Run as a script: `browser.py PAGE.html WIDTH light|dark PICTURE.png SCRIPT.js`. It prints a line of
JSON, and ends with 3 where a library of the system is missing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

MISSING = 3

SETTLES = 1000
"""Milliseconds after which a window that was resized has been drawn."""


class Seen(NamedTuple):
    """What came of a page: what the console said, what the script answered, and the picture's size
    and number of colours."""

    console: list[str]
    answer: Any
    size: list[int]
    colours: int


def look(page: Path, picture: Path, script: str, width: int, dark: bool) -> Seen:
    """Opens a page from its file, in a window so wide and as high as the page."""
    source = picture.with_suffix(".js")
    source.write_text(script)
    words = [str(page), str(width), "dark" if dark else "light", str(picture), str(source)]
    ended = subprocess.run(
        [sys.executable, __file__, *words], capture_output=True, text=True, timeout=120
    )
    if ended.returncode == MISSING:
        pytest.skip(
            f"Chromium lacks a library of the system: {ended.stderr.strip()}. On Debian:  "
            "apt-get install libnss3 libegl1 libxkbcommon0 libxkbfile1 libasound2 libxcomposite1 "
            "libxdamage1 libxrandr2 libxtst6 libdbus-1-3 libfontconfig1"
        )
    assert ended.returncode == 0, ended.stderr
    return Seen(**json.loads(ended.stdout.splitlines()[-1]))


def _run(page: str, width: int, scheme: str, picture: str, script: str) -> None:
    """In a process of its own: the scheme is a setting of the whole browser."""
    os.environ |= {
        "QT_QPA_PLATFORM": "offscreen",
        "QT_QUICK_BACKEND": "software",
        "QTWEBENGINE_DISABLE_SANDBOX": "1",  # which can't be had as root
        "QTWEBENGINE_CHROMIUM_FLAGS": "--disable-gpu --blink-settings=preferredColorScheme="
        f"{0 if scheme == 'dark' else 1}",
    }
    try:
        from PySide6.QtCore import QTimer, QUrl
        from PySide6.QtWebEngineCore import QWebEnginePage
        from PySide6.QtWebEngineWidgets import QWebEngineView
        from PySide6.QtWidgets import QApplication
    except ModuleNotFoundError:
        raise
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(MISSING)

    console: list[str] = []

    class Page(QWebEnginePage):
        def javaScriptConsoleMessage(self, _: Any, said: str, line: int, source: str) -> None:
            console.append(f"{source}:{line}: {said}")

    application = QApplication([])
    view = QWebEngineView()
    opened = Page(view)
    view.setPage(opened)

    def resized(height: int, then: Any) -> None:
        view.resize(width, height)
        QTimer.singleShot(SETTLES, then)

    def loaded(well: bool) -> None:
        assert well, page
        tall = "document.documentElement.scrollHeight"
        resized(900, lambda: opened.runJavaScript(tall, measured))

    def measured(height: float) -> None:
        source = Path(script).read_text()
        resized(min(int(height), 8_000), lambda: opened.runJavaScript(source, answered))

    def answered(answer: str) -> None:
        try:
            image = view.grab().toImage()
            image.save(picture)
            wide, high = image.width(), image.height()
            places = ((x, y) for x in range(0, wide, 7) for y in range(0, high, 7))
            print(json.dumps({
                "console": console, "answer": json.loads(answer), "size": [wide, high],
                "colours": len({image.pixel(x, y) for x, y in places}),
            }))  # fmt: skip
        finally:
            # Without an answer there would be no end, either.
            application.quit()

    opened.loadFinished.connect(loaded)
    view.show()
    view.load(QUrl.fromLocalFile(str(Path(page).resolve())))
    application.exec()


if __name__ == "__main__":
    _run(sys.argv[1], int(sys.argv[2]), *sys.argv[3:6])
