"""Measure the shipped heads on labelled rows: area under the ROC curve, and what passes.

    python benchmarks/judges.py [FILE ...]

A row has `label` (good or bad) and either `text` (a chunk) or `question` and `passage`. Without
files, the test rows of data/labels/ are taken.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

from groundset.files import data_path
from groundset.options import DEFAULT_EMBEDDER
from groundset.programs.heads import HeadJudge, load_heads
from groundset.programs.outcome import verdict
from groundset.programs.stats import area_under_curve, wilson
from groundset.retrieval.embed import open_embedder


def rows_of(file: Path) -> list[dict[str, str]]:
    """Return the labelled rows of a file; of the shipped labels, the test rows."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    is_shipped = file.parent == data_path("labels")
    return [
        row
        for row in rows
        if row.get("label") in ("good", "bad") and (not is_shipped or row["split"] == "test")
    ]


def main(files: list[Path]) -> None:
    """Print a row of a Markdown table for each file."""
    embedder = open_embedder(DEFAULT_EMBEDDER)
    print("| rows | step | n | AUC | good that pass | bad that pass | ms a row |")
    print("|---|---|---|---|---|---|---|")
    for file in files or [
        data_path("labels", name) for name in ("chunks.jsonl", "questions.jsonl", "strong.jsonl")
    ]:
        rows = rows_of(file)
        step = "judge" if "question" in rows[0] else "score"
        judge = HeadJudge(step, load_heads(data_path("compiled", "head", f"{step}.json")), embedder)
        inputs = [
            {
                "topic": "",
                "passage": row.get("passage") or row["text"],
                "question": row.get("question", ""),
            }
            for row in rows
        ]
        began = time.perf_counter()
        verdicts = [verdict(each) for each in judge.batch(inputs)]
        spent = 1000 * (time.perf_counter() - began) / len(rows)
        good = [row["label"] == "good" for row in rows]
        passed = [
            [each.good for each, is_good in zip(verdicts, good, strict=True) if is_good is label]
            for label in (True, False)
        ]
        shares = " | ".join(str(wilson(sum(each), len(each))) for each in passed)
        probability = np.array([each.probability or 0.0 for each in verdicts])
        area = area_under_curve(np.array(good), probability, range(len(rows)))
        print(
            f"| {file.parent.name}/{file.name} | {step} | {len(rows)} | {area} | {shares} |"
            f" {spent:.1f} |"
        )


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]])
