"""Grade answers to questions on a CPU: the SMILE metric (arXiv 2511.17432) without torch, GPU or API key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {  # loaded when first asked for, so that `smile-lite --help` imports neither numpy nor onnxruntime
    "Encoder": "smile_lite.encoder",
    "OnnxEncoder": "smile_lite.encoder",
    "PreparedSet": "smile_lite.prepared",
    "ReadOptions": "smile_lite.rows",
    "Report": "smile_lite.report",
    "Row": "smile_lite.rows",
    "RowScore": "smile_lite.report",
    "Smile": "smile_lite.metric",
    "SmileLiteError": "smile_lite.errors",
    "join_prepared": "smile_lite.prepared",
    "open_prepared": "smile_lite.prepared",
    "read_rows": "smile_lite.rows",
}

__all__ = [
    "Encoder",
    "OnnxEncoder",
    "PreparedSet",
    "ReadOptions",
    "Report",
    "Row",
    "RowScore",
    "Smile",
    "SmileLiteError",
    "__version__",
    "join_prepared",
    "open_prepared",
    "read_rows",
]

if TYPE_CHECKING:
    from smile_lite.encoder import Encoder, OnnxEncoder
    from smile_lite.errors import SmileLiteError
    from smile_lite.metric import Smile
    from smile_lite.prepared import PreparedSet, join_prepared, open_prepared
    from smile_lite.report import Report, RowScore
    from smile_lite.rows import ReadOptions, Row, read_rows


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
