"""`groundset labels`: are files of labels and gold rows right, what do they hold, and what did readers say?"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from groundset.commands.outputs import check_out, name_of, new_file, tell
from groundset.commands.tables import print_json, print_line, print_table
from groundset.printing import say
from optimizers.gold import check, read_annotated
from optimizers.gold_rows import GoldRow
from optimizers.labels import SPLITS, Label, QuestionLabel
from programs.errors import InputError

app = typer.Typer(name="labels", help="Check and count labels and gold rows; make labels.", no_args_is_help=True)

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="Files of labels or gold rows in JSONL.", show_default=False)
]
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
        say(str(problem))
    if problems:
        raise InputError(f"{len(problems)} problems in {len(files)} files; mend the rows named above.")
    say(f"{len(read_annotated(files))} rows in {len(files)} files: nothing wrong.")


@app.command("from")
def from_runs(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="The folders of runs that were read.", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE.jsonl",
            help="Where the labels go; - is standard output.",
            show_default=False,
            callback=new_file,
        ),
    ],
) -> None:
    """Make labels of what people read.

    They are rows for `groundset compile --labels`. What a reader signed is good, in the words in which it was signed;
    what was refused is bad, for the reason that was given. Samples and rejects count alike. Left out is what readers
    disagree on, what was refused without a reason and what ships as a label already. All rows of a document are in one
    split, which its name decides.
    """
    from groundset.compiling.own_labels import labels_from
    from groundset.files import write_rows
    from groundset.store.record import run_files

    check_out(out, (file for run in runs for file in run_files(run)))
    labels, left_out = labels_from(runs)
    told = ", ".join(f"{count} {why}" for why, count in left_out.most_common())
    if not labels:
        named = ", ".join(map(str, runs))
        raise InputError(
            f"nothing that was read in {named} becomes a label ({told})"
            if left_out
            else f"nothing was read yet in {named}; `groundset review` shows it and keeps what you say"
        )
    write_rows(out, (label.model_dump(exclude_none=True, exclude={"chunk"}) for label in labels))
    good, splits = sum(label.good for label in labels), Counter(label.split for label in labels)
    documents = len({label.document for label in labels})
    tell(
        f"{len(labels)} labels of {documents} documents: {good} good, {len(labels) - good} bad; "
        f"{', '.join(f'{splits[split]} {split}' for split in SPLITS)}. Labels: {name_of(out)}.",
        out,
    )
    if left_out:
        tell(f"Left out: {told}.", out)
    if not splits["train"]:
        tell("None is in the split train, so nothing is learned from them: read samples of more documents.", out)


@app.command("stats")
def stats(
    files: Files,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Count labels and gold rows by kind, language and split.

    The kinds of labels are their reasons. Where labels were given twice (the same id in a second annotation pass),
    the agreement of the two passes is given as Cohen's kappa.
    """
    rows = read_annotated(files)
    labels = [row for row in rows if not isinstance(row, GoldRow)]
    gold = [row for row in rows if isinstance(row, GoldRow)]
    of_labels = _label_counts(labels) if labels else None
    of_steps = {
        step: _gold_counts([row for row in gold if row.step == step])
        for step in dict.fromkeys(row.step for row in gold)
    }
    if as_json:
        print_json({"labels": of_labels, "gold": of_steps})
        return
    if of_labels:
        _print_labels(of_labels)
    for number, (step, counts) in enumerate(of_steps.items()):
        if of_labels or number:
            say()
        print_line(f"{counts['rows']} gold rows of {counts['documents']} documents for step {step}.")
        if any(counts["kinds"]):
            _print_counts("kind", counts["kinds"])
        _print_counts("language", counts["languages"])


def _label_counts(labels: Sequence[Label]) -> dict[str, Any]:
    """Return what ``labels stats`` says of labels, where they were given twice of the first pass."""
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
    """Return what ``labels stats`` says of the gold rows of a step."""
    return {
        "rows": len(rows),
        "documents": len({source for row in rows for source in row.sources}),
        "kinds": _counts(rows, lambda row: row.kind),
        "languages": _counts(rows, lambda row: row.language),
    }


def _counts(rows: Sequence[_Row], value: Callable[[_Row], str]) -> dict[str, dict[str, int]]:
    """Return for each value, the most frequent first, how many rows of each split and of all have it."""
    found = Counter((value(row), str(row.split)) for row in rows)
    totals = Counter(value(row) for row in rows)
    return {
        name: {**{split: found[name, split] for split in SPLITS}, "all": total} for name, total in totals.most_common()
    }


def _agreement(labels: Sequence[Label]) -> dict[str, float | None] | None:
    """Return over how many rows two passes agree how well, None where no row was labelled twice."""
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
    """Return Cohen's kappa, None where all annotations are the same and it is not defined."""
    from optimizers.measures import kappa

    return kappa(first, second) if len({*first, *second}) > 1 else None


def _print_labels(counts: dict[str, Any]) -> None:
    print_line(f"{counts['rows']} labels of {counts['documents']} documents.")
    _print_counts("reason", counts["reasons"])
    _print_counts("language", counts["languages"])
    if counts["origins"]:
        _print_counts("origin", counts["origins"])
        answers = ", ".join(f"{name} {count}" for name, count in counts["answers"].items())
        say()
        print_line(f"Answers: {answers or 'none'}.")
    say()
    if agreement := counts["agreement"]:
        verdicts, reasons = (
            "undefined" if agreement[name] is None else f"{agreement[name]:.2f}" for name in ("verdicts", "reasons")
        )
        told = f"Cohen's kappa {verdicts} for good or bad, {reasons} for reasons"
        print_line(f"{agreement['rows']} rows were labelled twice: {told}.")
    else:
        print_line("No row was labelled twice.")


def _print_counts(heading: str, counts: dict[str, dict[str, int]]) -> None:
    say()
    print_table((heading, *SPLITS, "all"), [(name, *map(str, of.values())) for name, of in counts.items()])
