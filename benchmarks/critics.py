"""Measure critics on labelled rows: area under the ROC curve, and what passes by reason.

    python benchmarks/critics.py chunks|questions FILE.jsonl [--compiled shipped|none|DIR] [--critic head|lm] [--lm NAME]

Rows hold `text`, or `question` and `passage`, with `label` and `reason`; rows whose `confidence` is `borderline` are
measured with and without. Nothing is fitted.
"""

import argparse
import json
import time
from pathlib import Path

from groundset import privacy

privacy.set_defaults()

from groundset.cli.judge import open_judge, read_rows  # noqa: E402  privacy must be set before any library is imported
from optimizers.measures import area_under_roc, average_precision, bootstrap, share  # noqa: E402


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["chunks", "questions"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--compiled", default="shipped")
    parser.add_argument("--critic", default="head")
    parser.add_argument("--lm", default=None)
    parser.add_argument("--misses", type=int, default=0, help="print this many rows that were decided wrongly")
    arguments = parser.parse_args()
    fields = ("text",) if arguments.kind == "chunks" else ("question", "passage")
    rows = read_rows(arguments.file, fields)
    with open_judge(arguments.kind, arguments.critic, arguments.lm, "all-minilm-l6-v2", arguments.compiled) as decide:
        started = time.perf_counter()
        found = decide(rows)
        seconds = time.perf_counter() - started
    clear = [n for n, row in enumerate(rows) if row.get("confidence") != "borderline"]
    for name, places in (("all rows", list(range(len(rows)))), ("without borderline", clear)):
        good = [rows[n]["label"] == "good" for n in places]
        probability = [found[n][0] for n in places]
        print(f"{name}: n={len(places)}, AUC {bootstrap(area_under_roc, good, probability)}, ", end="")
        print(f"average precision {bootstrap(average_precision, good, probability)}")
        for reason in sorted({rows[n]["reason"] for n in places}):
            of_reason = [n for n in places if rows[n]["reason"] == reason]
            told = f"  {reason:20} passed {share(sum(found[n][1] for n in of_reason), len(of_reason))}"
            if reason != "ok":
                both = [n for n in places if rows[n]["reason"] in (reason, "ok")]
                good = [rows[n]["reason"] == "ok" for n in both]
                told += f", AUC {bootstrap(area_under_roc, good, [found[n][0] for n in both])}"
            print(told)
    print(f"{1000 * seconds / len(rows):.1f} ms for each row, embedding included")
    wrong = [n for n, row in enumerate(rows) if found[n][1] != (row["label"] == "good")]
    for n in sorted(wrong, key=lambda n: -abs(found[n][0] - 0.5))[: arguments.misses]:
        print(json.dumps({"probability": round(found[n][0], 3), **rows[n]}, ensure_ascii=False))


if __name__ == "__main__":
    main()
