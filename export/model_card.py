"""What the model card (README.md) of a checkpoint says of it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["card_licence"]


def card_licence(folder: Path) -> str:
    """The licence in the front matter of a checkpoint's README.md."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
        for line in lines[1:] if lines[:1] == ["---"] else []:
            if line.startswith("---"):
                break
            if line.startswith("license:"):
                return line.partition(":")[2].strip().strip("'\"") or "unknown"
    return "unknown"
