"""`make bench`: the benchmarks that need nothing but this checkout, and with `--data DIR` those on human-labelled
files.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

SAMPLE = Path(__file__).parent.parent / "smile_lite" / "sample.jsonl"


def main() -> None:
    """Run them one after another; their figures go to standard output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, help="folder with evouna_nq_tune.jsonl, nq301_unique.jsonl, smile_human225.jsonl"
    )
    parser.add_argument("--write", action="store_true", help="write the results to benchmarks/results")
    arguments = parser.parse_args()
    write = ["--write"] if arguments.write else []
    rows = arguments.data / "nq301_unique.jsonl" if arguments.data else SAMPLE
    run("benchmarks.speed.plan", "--rows", str(rows), *write)
    run("benchmarks.speed.install", *write)
    if arguments.data:
        reports = [
            word
            for name in ("nq301_unique", "smile_human225")
            for word in ("--report", str(arguments.data / f"{name}.jsonl"))
        ]
        tune = str(arguments.data / "evouna_nq_tune.jsonl")
        run("benchmarks.quality.threshold", "--fit", tune, *reports, *write)
        run("benchmarks.quality.guards", "--tune", tune, "--report", str(rows), *write)


def run(module: str, *words: str) -> None:
    """Run one benchmark in a process of its own."""
    print(f"== {module}", flush=True)
    subprocess.run([sys.executable, "-m", module, *words], check=True)


main()
