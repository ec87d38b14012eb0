"""Measure critics on labelled rows: area under the ROC curve (AUC), and accepted rows by reason.

    python benchmarks/critics.py [FILE.jsonl ...] [--compiled shipped|none|DIR] [--critic head|lm] [--lm NAME]

Without files the test rows of data/labels/ are used. Rows have `text`, or `question` and `passage`, with `label` and
`reason`. Of rows with a `split` only test rows are used, and the figures are printed with and without rows whose
`confidence` is `borderline`.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from groundset.commands.judge import read_rows
from groundset.engine.judging import Kind, open_judge
from optimizers.measures import area_under_roc, average_precision, bootstrap, share
from programs.deciding import Decision

_LABELS = [Path("data/labels/chunks.jsonl"), Path("data/labels/questions.jsonl")]


def main() -> None:
    """Print the figures of each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=_LABELS)
    parser.add_argument("--compiled", default="shipped")
    parser.add_argument("--critic", default="head")
    parser.add_argument("--lm", default=None)
    arguments = parser.parse_args()
    for file in arguments.files:
        rows = [row for row in read_rows(file, ("label", "reason")) if row.get("split", "test") == "test"]
        kind: Kind = "questions" if "question" in rows[0] else "chunks"
        with open_judge(kind, arguments.critic, arguments.lm, "all-minilm-l6-v2", arguments.compiled) as decide:
            decide(rows[:1])  # loads the models
            started = time.perf_counter()
            decisions = decide(rows)
            first = time.perf_counter() - started
            decide(rows)
            again = time.perf_counter() - started - first
        print(f"{kind}, critic {arguments.critic}, compiled {arguments.compiled}")
        report("all rows", list(zip(rows, decisions, strict=True)))
        clear = [pair for pair in zip(rows, decisions, strict=True) if pair[0].get("confidence") != "borderline"]
        if len(clear) < len(rows):
            report("without borderline rows", clear)
        each = 1000 / len(rows)
        print(f"{each * first:.1f} ms for each row, {each * again:.1f} ms with embedded texts\n")


def report(name: str, judged: Sequence[tuple[dict[str, Any], Decision]]) -> None:
    """Print the figures of rows with their decisions."""
    good = [row["label"] == "good" for row, _ in judged]
    probabilities = [decision.probability for _, decision in judged]
    print(f"{name}: n={len(judged)}, AUC {bootstrap(area_under_roc, good, probabilities)}, ", end="")
    print(f"average precision {bootstrap(average_precision, good, probabilities)}")
    for reason in sorted({row["reason"] for row, _ in judged}):
        accepted = [decision.good for row, decision in judged if row["reason"] == reason]
        line = f"  {reason:20} n={len(accepted):<4} passed {share(sum(accepted), len(accepted))}"
        if reason != "ok":
            both = [(row, decision) for row, decision in judged if row["reason"] in (reason, "ok")]
            good = [row["reason"] == "ok" for row, _ in both]
            line += f", AUC {bootstrap(area_under_roc, good, [decision.probability for _, decision in both])}"
        print(line)


if __name__ == "__main__":
    main()
