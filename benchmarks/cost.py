"""Print what an accepted sample costs in runs: attempts, calls, prompt tokens and seconds.

python benchmarks/cost.py RUN [RUN ...]
"""

import sys
from collections import Counter

from groundset.run.run import open_run


def main(folders: list[str]) -> None:
    """Print a row of a Markdown table for each run."""
    print("| run | model | samples | attempts | calls a sample | prompt tokens a sample | seconds a sample | forms |")
    print("|---|---|---|---|---|---|---|---|")
    for folder in folders:
        run = open_run(folder)
        record, count = run.record, max(1, len(run))
        forms = ", ".join(f"{name} {number}" for name, number in Counter(each.evolution for each in run).most_common())
        each = (record[name] / count for name in ("calls", "prompt_tokens", "seconds"))
        figures = " | ".join(f"{figure:,.1f}" for figure in each)
        model = record["configuration"]["lm"]
        print(f"| {run.folder.name} | {model} | {len(run)} | {record['attempts']} | {figures} | {forms} |")


if __name__ == "__main__":
    main(sys.argv[1:])
