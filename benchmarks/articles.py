"""Measure a run on real documents: seconds, calls and tokens for each accepted sample, and peak memory.

    python benchmarks/articles.py [DOCS] [--out RUN] [--size N] [--lm NAME] [--candidates N]

Without DOCS the sample documents are used. The run folder is kept, to read its samples with `groundset show RUN`.
"""

import argparse
import json
import resource
import time
from pathlib import Path

from groundset.engine.config import make_config
from groundset.engine.generation import run_generation
from groundset.progress import Progress


def main() -> None:
    """Generate a run and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", nargs="*", type=Path, default=[Path("data/samples")])
    parser.add_argument("--out", type=Path, default=Path(f"out/bench-{time.strftime('%Y%m%d-%H%M%S')}"))
    parser.add_argument("--size", type=int, default=20)
    parser.add_argument("--lm", default="qwen2.5-coder-0.5b")
    parser.add_argument("--candidates", type=int, default=2)
    arguments = parser.parse_args()
    options = {"size": arguments.size, "lm": arguments.lm, "candidates": arguments.candidates}
    config = make_config({"documents": tuple(arguments.docs), **options})
    started = time.perf_counter()
    result = run_generation(config, arguments.out, progress=Progress())
    seconds = time.perf_counter() - started
    record = json.loads((arguments.out / "run.json").read_text(encoding="utf-8"))
    samples = sum(1 for _ in (arguments.out / "samples.jsonl").open(encoding="utf-8"))
    print(*result.summary, sep="\n")
    print(f"{samples} of {arguments.size} samples in {seconds:.0f} s ({seconds / max(1, samples):.1f} s each)")
    print(json.dumps({key: value for key, value in record.items() if "token" in key or "call" in key}, indent=2))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"peak memory {peak:.2f} GiB")


if __name__ == "__main__":
    main()
