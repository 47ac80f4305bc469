"""What every benchmark shares: describing the machine and writing a result down."""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from smile_lite.machine import cpu_features, cpu_name
from smile_lite.session import available_cpus

__all__ = ["RESULTS", "write_result"]

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, Any]:
    """The processor, its features and the versions that decide a figure."""
    names = ("smile-lite", "onnxruntime", "tokenizers", "numpy")
    return {
        "processor": cpu_name(),
        "features": cpu_features(),
        "usable_cpus": available_cpus(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in names},
    }


def write_result(name: str, figures: dict[str, Any]) -> Path:
    """Write `figures` to results/<name>.json with command, date and machine; returns the path."""
    command = " ".join(["python -m", _module(), *(os.path.basename(word) for word in sys.argv[1:])])  # noqa: PTH119
    result = {"command": command, "date": f"{datetime.now(UTC):%Y-%m-%d}", "machine": machine(), **figures}
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def _module() -> str:
    spec = sys.modules["__main__"].__spec__
    return spec.name if spec else Path(sys.argv[0]).stem
