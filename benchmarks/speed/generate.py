"""What making synthetic answers costs: seconds a row and a reference, peak memory, how many pass the checks.

python -m benchmarks.speed.generate --set TUNE.jsonl [--rows 200] [--generator smollm2-135m-instruct] --write
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.record import write_result
from smile_lite.generate.known import Settings, load_generator
from smile_lite.prepare import prepare
from smile_lite.rows import Row, read_rows


def main() -> None:
    """Make them for the first so many questions of a file, by themselves; print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--generator", default="smollm2-135m-instruct")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write results/speed_generate_<generator>.json")
    arguments = parser.parse_args()
    first: dict[str | None, Row] = {}
    for row in read_rows(arguments.set):
        first.setdefault(row.question, replace(row, synthetic=(None,) * len(row.references)))
    rows = list(first.values())[: arguments.rows]
    started = time.perf_counter()
    generator = load_generator(arguments.generator, Settings(threads=arguments.threads))
    loaded = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        made = prepare(rows, Path(scratch) / "made", generator=generator)
        counts = made.manifest["counts"]
        refused = made.manifest["refused"]
    seconds = time.perf_counter() - loaded
    processor = time.process_time()
    figures = {
        "file": arguments.set.name,
        "generator": made.synthetic_name,
        "threads": arguments.threads,
        "rows": len(rows),
        "references": counts["references"],
        "shares": {how: round(counts[how] / counts["references"], 4) for how in ("first", "retry", "fallback")},
        "refused": refused,
        "load_seconds": round(loaded - started, 2),
        "seconds_a_row": round(seconds / len(rows), 3),
        "seconds_a_reference": round(seconds / counts["references"], 3),
        "cpu_seconds_of_the_process": round(processor, 1),
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    print(figures)
    if arguments.write:
        print(write_result(f"speed_generate_{arguments.generator}", figures))


if __name__ == "__main__":
    main()
