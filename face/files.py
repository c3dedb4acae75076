"""Writing files so that a reader never finds half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write(path: str, content: str | bytes) -> None:
    """Writes `content` aside, then renames it to `path`; a link keeps pointing where it did.

    A file that is there keeps its permissions. Raises `OSError` with the old file untouched.
    """
    target = Path(path).resolve()
    handle, aside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.chmod(aside, target.stat().st_mode if target.exists() else 0o666 & ~_umask())
        os.replace(aside, target)
    except BaseException:
        os.unlink(aside)
        raise


def _umask() -> int:
    """The process' umask; it can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
