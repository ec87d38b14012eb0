"""`groundset labels`: are label files right, and what do they hold?"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from groundset.cli.tables import print_table
from optimizers.labels import Label, QuestionLabel, check, read_all
from programs.errors import InputError

app = typer.Typer(name="labels", help="Check and count annotated chunks and questions.", no_args_is_help=True)

Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Label files in JSONL.", show_default=False)]
_SPLITS = ("train", "dev", "test")
_SHOWN = 50


@app.command("check")
def check_files(files: Files) -> None:
    """Name everything that is wrong with label files.

    Checks every row against the schema, ids that occur twice, and documents that lie in two splits. Prints one
    line for each problem, and ends with status 2 if there are any.
    """
    problems = check(files)
    for problem in problems[:_SHOWN]:
        typer.echo(str(problem))
    if problems:
        raise InputError(f"{len(problems)} problems in {len(files)} label files; mend the rows named above.")
    typer.echo(f"{len(read_all(files))} labels in {len(files)} files: nothing wrong.")


@app.command("stats")
def stats(files: Files) -> None:
    """Count labels by reason, language and split.

    Where rows were labelled twice (the same id in a second annotation pass), the agreement of the two passes is
    given as Cohen's kappa.
    """
    labels = read_all(files)
    first = [label for label in labels if label.annotation_pass == 1]
    documents = {label.document for label in first}
    typer.echo(f"{len(first)} labels of {len(documents)} documents.\n")
    print_table(("reason", *_SPLITS, "all"), _counts(first, lambda label: label.reason))
    typer.echo()
    print_table(("language", *_SPLITS, "all"), _counts(first, lambda label: label.language))
    questions = [label for label in first if isinstance(label, QuestionLabel)]
    if questions:
        typer.echo()
        print_table(("origin", *_SPLITS, "all"), _counts(questions, lambda label: getattr(label, "origin", "")))
        answers = Counter(label.answer.label for label in questions if label.answer)
        typer.echo(f"\nAnswers: {', '.join(f'{name} {count}' for name, count in answers.most_common()) or 'none'}.")
    typer.echo(f"\n{_agreement(labels)}")


def _counts(labels: Sequence[Label], value: Callable[[Label], str]) -> list[tuple[str, ...]]:
    found = Counter((value(label), str(label.split)) for label in labels)
    totals = Counter(value(label) for label in labels)
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
