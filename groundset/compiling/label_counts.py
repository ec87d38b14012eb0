"""Counts of labels and gold rows, and the agreement of annotators."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from optimizers.gold import GoldRow, read_annotated
from optimizers.labels import SPLITS, Label, QuestionLabel

_Row = TypeVar("_Row", bound=Label | GoldRow)


def count_rows(files: Sequence[Path]) -> dict[str, Any]:
    """Count the labels (None without labels) and the gold rows of each step in files.

    Raises:
        LabelError: a file cannot be read or has an invalid row.
    """
    rows = read_annotated(files)
    labels = [row for row in rows if not isinstance(row, GoldRow)]
    gold: dict[str, list[GoldRow]] = {}
    for row in rows:
        if isinstance(row, GoldRow):
            gold.setdefault(row.step, []).append(row)
    by_step = {step: _gold_counts(of_step) for step, of_step in gold.items()}
    return {"labels": _label_counts(labels) if labels else None, "gold": by_step}


def _label_counts(labels: Sequence[Label]) -> dict[str, Any]:
    """Count the labels of the first annotation pass."""
    first = [label for label in labels if label.annotation_pass == 1]
    questions = [label for label in first if isinstance(label, QuestionLabel)]
    return {
        "rows": len(first),
        "documents": len({label.document for label in first}),
        "reasons": _counts(first, lambda label: label.reason),
        "languages": _counts(first, lambda label: label.language),
        "origins": _counts(questions, lambda label: label.origin),
        "answers": dict(Counter(label.answer.label for label in questions if label.answer).most_common()),
        "agreement": _agreement(labels),
    }


def _gold_counts(rows: Sequence[GoldRow]) -> dict[str, Any]:
    return {
        "rows": len(rows),
        "documents": len({source for row in rows for source in row.sources}),
        "kinds": _counts(rows, lambda row: row.kind),
        "languages": _counts(rows, lambda row: row.language),
    }


def _counts(rows: Sequence[_Row], value: Callable[[_Row], str]) -> dict[str, dict[str, int]]:
    """Count rows by value and split, the most frequent value first."""
    cells = Counter((value(row), str(row.split)) for row in rows)
    totals = Counter(value(row) for row in rows)
    return {
        name: {**{split: cells[name, split] for split in SPLITS}, "all": total} for name, total in totals.most_common()
    }


def _agreement(labels: Sequence[Label]) -> dict[str, float | None] | None:
    """Return the number of rows labelled twice and their Cohen's kappas, None without such rows."""
    passes = {(label.id, label.annotation_pass): label for label in labels}
    pairs = [(passes[name, 1], label) for (name, turn), label in passes.items() if turn == 2 and (name, 1) in passes]
    if not pairs:
        return None
    return {
        "rows": len(pairs),
        "verdicts": _kappa([one.label for one, _ in pairs], [two.label for _, two in pairs]),
        "reasons": _kappa([one.reason for one, _ in pairs], [two.reason for _, two in pairs]),
    }


def _kappa(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Return Cohen's kappa, None if all annotations are equal."""
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score(first, second)) if len({*first, *second}) > 1 else None
