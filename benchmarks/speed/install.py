"""Sizes on disk and the time to a first score, each in a fresh process.

python -m benchmarks.speed.install --write
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks.record import write_result

FIRST_SCORE = (
    "from smile_lite import Smile; Smile.from_pretrained('minilm', threads=1).score('It is Paris.', 'Paris', 'Q?')"
)
PEAK = "; import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"


def main() -> None:
    """Measure and print; with --write also write results/speed_install.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    doctor = json.loads(output("-m", "smile_lite", "doctor", "--json"))
    figures: dict[str, Any] = {
        "runtime_mb": round(doctor["installed"]["runtime_bytes"] / 1e6, 1),
        "runtime_parts_mb": {name: round(size / 1e6, 1) for name, size in doctor["installed"]["parts"].items()},
        "model_and_tokenizer_mb": round(doctor["models"]["minilm"]["bytes"] / 1e6, 1),
        "first_score_seconds": spread(arguments.runs, "-c", FIRST_SCORE),
        "help_seconds": spread(arguments.runs, "-m", "smile_lite", "--help"),
        "first_score_peak_mb": round(int(output("-c", FIRST_SCORE + PEAK)) / 1024, 1),
    }
    print(json.dumps(figures, indent=1))
    if arguments.write:
        print(write_result("speed_install", figures))


def output(*words: str) -> str:
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True).stdout


def spread(runs: int, *words: str) -> list[float]:
    """[min, median, max] wall seconds of a fresh process, after one run that is not counted."""
    seconds = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        output(*words)
        seconds.append(time.perf_counter() - start)
    counted = seconds[1:]
    return [round(min(counted), 2), round(statistics.median(counted), 2), round(max(counted), 2)]


if __name__ == "__main__":
    main()
