"""Whether a model computes what it should on this machine: its vectors against those that its manifest knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from smile_lite.encoder import OnnxEncoder
from smile_lite.errors import ModelIntegrityError
from smile_lite.models import graph_name

if TYPE_CHECKING:
    from smile_lite.store import PulledModel

__all__ = ["GOLDEN_TOLERANCE", "check_golden"]

GOLDEN_TOLERANCE = {"fp32": 1e-5, "int8": 0.02, "int8-token": 0.03}


def check_golden(model: PulledModel, *, precision: str = "fp32", threads: int = 1) -> float | None:
    """The largest difference of a number or a cosine from the manifest's known ones; None where it has none.

    Raises ModelIntegrityError where it is larger than the precision allows: this processor's kernels or this version of
    onnxruntime compute something else, and its scores must not be trusted.
    """
    golden = model.manifest.golden
    if golden is None or graph_name(precision) not in model.files:
        return None
    vectors = OnnxEncoder(model, precision=precision, threads=threads).encode(golden.texts).astype(np.float64)
    cosines = vectors @ vectors.T
    worst = 0.0
    for index, (head, known) in enumerate(zip(golden.heads, golden.cosines, strict=True)):
        worst = max(worst, float(np.abs(vectors[index, : len(head)] - head).max()))
        if known:
            worst = max(worst, float(np.abs(cosines[index, : len(known)] - known).max()))
    if worst > GOLDEN_TOLERANCE[precision]:
        raise ModelIntegrityError(
            f"{model.manifest.name} ({precision}) is off its known vectors by {worst:.2e}, more than "
            f"{GOLDEN_TOLERANCE[precision]:.0e}: this machine's kernels or this onnxruntime compute something else; "
            f"convert it here (`smile-lite models pull {model.manifest.name} --force`) or take --precision fp32"
        )
    return worst
