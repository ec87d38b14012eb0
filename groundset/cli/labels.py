"""`groundset labels`: are files of labels and gold rows right, and what do they hold?"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from groundset.cli.tables import print_table
from optimizers.gold import check, read_annotated
from optimizers.gold_rows import GoldRow
from optimizers.labels import Label, QuestionLabel
from programs.errors import InputError

app = typer.Typer(name="labels", help="Check and count labels and gold rows.", no_args_is_help=True)

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="Files of labels or gold rows in JSONL.", show_default=False)
]
_SPLITS = ("train", "dev", "test")
_SHOWN = 50
_Row = TypeVar("_Row", bound=Label | GoldRow)


@app.command("check")
def check_files(files: Files) -> None:
    """Name everything that is wrong with files of labels and gold rows.

    Checks every row against the schema of its kind (a row that names a step is a gold row), ids that occur twice,
    and documents that lie in two splits. Prints one line for each problem, and ends with status 2 if there are any.
    """
    problems = check(files)
    for problem in problems[:_SHOWN]:
        typer.echo(str(problem))
    if problems:
        raise InputError(f"{len(problems)} problems in {len(files)} files; mend the rows named above.")
    typer.echo(f"{len(read_annotated(files))} rows in {len(files)} files: nothing wrong.")


@app.command("stats")
def stats(files: Files) -> None:
    """Count labels and gold rows by kind, language and split.

    The kinds of labels are their reasons. Where labels were given twice (the same id in a second annotation pass),
    the agreement of the two passes is given as Cohen's kappa.
    """
    rows = read_annotated(files)
    labels = [row for row in rows if not isinstance(row, GoldRow)]
    gold = [row for row in rows if isinstance(row, GoldRow)]
    if labels:
        _label_stats(labels)
    for step in dict.fromkeys(row.step for row in gold):
        if labels or step != gold[0].step:
            typer.echo()
        _gold_stats(step, [row for row in gold if row.step == step])


def _label_stats(labels: Sequence[Label]) -> None:
    first = [label for label in labels if label.annotation_pass == 1]
    documents = {label.document for label in first}
    typer.echo(f"{len(first)} labels of {len(documents)} documents.\n")
    print_table(("reason", *_SPLITS, "all"), _counts(first, lambda label: label.reason))
    typer.echo()
    print_table(("language", *_SPLITS, "all"), _counts(first, lambda label: label.language))
    questions = [label for label in first if isinstance(label, QuestionLabel)]
    if questions:
        typer.echo()
        print_table(("origin", *_SPLITS, "all"), _counts(questions, lambda label: label.origin))
        answers = Counter(label.answer.label for label in questions if label.answer)
        typer.echo(f"\nAnswers: {', '.join(f'{name} {count}' for name, count in answers.most_common()) or 'none'}.")
    typer.echo(f"\n{_agreement(labels)}")


def _gold_stats(step: str, rows: Sequence[GoldRow]) -> None:
    documents = {source for row in rows for source in row.sources}
    typer.echo(f"{len(rows)} gold rows of {len(documents)} documents for step {step}.\n")
    if any(row.kind for row in rows):
        print_table(("kind", *_SPLITS, "all"), _counts(rows, lambda row: row.kind))
        typer.echo()
    print_table(("language", *_SPLITS, "all"), _counts(rows, lambda row: row.language))


def _counts(rows: Sequence[_Row], value: Callable[[_Row], str]) -> list[tuple[str, ...]]:
    found = Counter((value(row), str(row.split)) for row in rows)
    totals = Counter(value(row) for row in rows)
    return [(name, *(str(found[name, split]) for split in _SPLITS), str(total)) for name, total in totals.most_common()]


def _agreement(labels: Sequence[Label]) -> str:
    from optimizers.measures import kappa

    passes = {(label.id, label.annotation_pass): label for label in labels}
    pairs = [(passes[name, 1], label) for (name, turn), label in passes.items() if turn == 2 and (name, 1) in passes]
    if not pairs:
        return "No row was labelled twice."
    verdicts = kappa([one.label for one, _ in pairs], [two.label for _, two in pairs])
    reasons = kappa([one.reason for one, _ in pairs], [two.reason for _, two in pairs])
    told = f"Cohen's kappa {verdicts:.2f} for good or bad, {reasons:.2f} for reasons"
    return f"{len(pairs)} rows were labelled twice: {told}."
