"""Measure critics on labelled rows: area under the ROC curve, and what passes by reason.

    python benchmarks/critics.py [FILE.jsonl ...] [--compiled shipped|none|DIR] [--critic head|lm] [--lm NAME]

Without files the test rows of data/labels/ are measured. Rows hold `text`, or `question` and `passage`, with `label`
and `reason`; of rows with a `split` only test counts, and rows whose `confidence` is `borderline` are measured with and
without. Nothing is fitted.
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
            decide(rows[:1])  # what a first call loads is not a decision's time
            started = time.perf_counter()
            found = decide(rows)
            first = time.perf_counter() - started
            decide(rows)
            again = time.perf_counter() - started - first
        print(f"{kind}, critic {arguments.critic}, compiled {arguments.compiled}")
        report("all rows", rows, found, range(len(rows)))
        clear = [n for n, row in enumerate(rows) if row.get("confidence") != "borderline"]
        if len(clear) < len(rows):
            report("without borderline rows", rows, found, clear)
        each = 1000 / len(rows)
        print(f"{each * first:.1f} ms for each row, {each * again:.1f} ms once its texts are embedded\n")


def report(name: str, rows: Sequence[dict[str, Any]], found: Sequence[Decision], places: Sequence[int]) -> None:
    """Print the figures over some of the rows."""
    good = [rows[n]["label"] == "good" for n in places]
    probability = [found[n].probability for n in places]
    print(f"{name}: n={len(places)}, AUC {bootstrap(area_under_roc, good, probability)}, ", end="")
    print(f"average precision {bootstrap(average_precision, good, probability)}")
    for reason in sorted({rows[n]["reason"] for n in places}):
        of_reason = [n for n in places if rows[n]["reason"] == reason]
        told = (
            f"  {reason:20} n={len(of_reason):<4} passed {share(sum(found[n].good for n in of_reason), len(of_reason))}"
        )
        if reason != "ok":
            both = [n for n in places if rows[n]["reason"] in (reason, "ok")]
            good = [rows[n]["reason"] == "ok" for n in both]
            told += f", AUC {bootstrap(area_under_roc, good, [found[n].probability for n in both])}"
        print(told)


if __name__ == "__main__":
    main()
