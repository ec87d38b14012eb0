"""Gold files: rows of what steps should write, of one step or several."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from optimizers.gold_rows import ComparedGold, GoldRow
from optimizers.labels import AnsweredLabel, ChunkLabel, Label, Labelled, QuestionLabel, parse_label, read_labels
from optimizers.rows import Problem, first_fault, refuse_problems, valid_rows
from optimizers.steps import COMPILABLE
from optimizers.steps.base import Decided

GOLD: Mapping[str, type[GoldRow]] = {name: each.gold for name, each in COMPILABLE.items() if each.gold is not None}
_Gold = TypeVar("_Gold", bound=GoldRow)


def read_decided(kind: Decided, files: Sequence[Path]) -> Sequence[Labelled]:
    """Return the rows of files that the critic of one step can be fitted to.

    Raises:
        LabelError: a file cannot be read or breaks a rule.
    """
    if kind is ChunkLabel:
        return read_labels(ChunkLabel, files)
    if issubclass(kind, ComparedGold):
        return read_gold(kind, files)
    questions = read_labels(QuestionLabel, files)
    return questions if kind is QuestionLabel else [*filter(None, map(AnsweredLabel.of, questions))]


def read_gold(kind: type[_Gold], files: Sequence[Path]) -> list[_Gold]:
    """Return the gold rows of one kind, in their order. Other rows of the files are passed over.

    Raises:
        LabelError: a file cannot be read or breaks a rule.
    """
    return [row for row in read_annotated(files) if isinstance(row, kind)]


def read_annotated(files: Sequence[Path]) -> list[Label | GoldRow]:
    """Return the rows of all files, labels and gold.

    Raises:
        LabelError: the first problem of the files.
    """
    found: tuple[list[Label | GoldRow], list[Problem]] = valid_rows(files, _parse)
    rows, problems = found
    refuse_problems(problems)
    return rows


def check(files: Sequence[Path]) -> list[Problem]:
    """Return everything that is wrong with files of labels and gold: rows, repeated ids, documents in two splits.

    Raises:
        LabelError: a file cannot be read at all.
    """
    return valid_rows(files, _parse)[1]


def _parse(row: dict[str, Any]) -> Label | GoldRow | str:
    if "step" not in row:
        return parse_label(row)
    kind = GOLD.get(str(row["step"]))
    if kind is None:
        return f"step: no gold rows are known of {row['step']!r}; there are {', '.join(GOLD)}"
    try:
        return kind.model_validate(row)
    except ValidationError as error:
        return first_fault(error)
