"""From a score to "correct" or "incorrect": the paper's bins, a threshold fitted on human labels, or one of the
user's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from smile_lite.errors import UsageError
from smile_lite.signature import short

if TYPE_CHECKING:
    from smile_lite.manifest import Calibration

__all__ = ["PAPER_THRESHOLD", "VerdictRule", "verdict_rule"]

Verdict = Literal["correct", "incorrect"]
PAPER_THRESHOLD = (
    4 / 6
)  # bin 4 of six; at w = 0.3 this is containment and nothing else (README, "What the score means")


@dataclass(frozen=True, slots=True)
class VerdictRule:
    """Correct at `threshold` and above. `kind`: "calibrated", "paper" or "threshold" (the user's)."""

    kind: str
    threshold: float

    def __call__(self, score: float) -> Verdict:
        """The verdict on a score in [0, 1]."""
        return "correct" if score >= self.threshold else "incorrect"

    @property
    def name(self) -> str:
        """What a signature calls it: calibrated@0.55, paper, threshold@0.8."""
        return self.kind if self.kind == "paper" else f"{self.kind}@{short(self.threshold)}"


def verdict_rule(
    kind: str | None, *, threshold: float | None = None, calibration: Calibration | None = None
) -> VerdictRule:
    """The rule for `kind` ("calibrated", "paper"), or for a `threshold` of the user's, which goes before it.

    None means calibrated where the model carries a calibration for the metric as it is set, else paper. Raises
    UsageError for a calibration that is not there, for a threshold outside [0, 1], for an unknown kind.
    """
    if threshold is not None:
        if kind is not None:
            raise UsageError("a verdict is by --verdict or by --threshold, not by both")
        if not isinstance(threshold, (int, float)) or not 0 <= threshold <= 1:
            raise UsageError(f"a threshold lies between 0 and 1, not at {threshold!r}")
        return VerdictRule("threshold", threshold)
    if kind is None:
        kind = "calibrated" if calibration else "paper"
    if kind == "paper":
        return VerdictRule("paper", PAPER_THRESHOLD)
    if kind != "calibrated":
        raise UsageError(f"no verdict is called {kind!r}: there are calibrated and paper")
    if calibration is None:
        raise UsageError(
            "there is no calibration for this model, precision, profile and weight: use --verdict paper or --threshold"
        )
    return VerdictRule("calibrated", calibration.threshold)
