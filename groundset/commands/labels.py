"""`groundset labels`: are files of labels and gold rows right, what do they hold, and what did reviewers say?"""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from groundset.commands.output.tables import print_json, print_line, print_table
from groundset.commands.output.targets import check_out, name_of, new_file, tell
from groundset.printing import say
from programs.errors import InputError

app = typer.Typer(name="labels", help="Check and count labels and gold rows; make labels.", no_args_is_help=True)

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="Files of labels or gold rows in JSONL.", show_default=False)
]
_SHOWN = 50


@app.command("check")
def check_files(files: Files) -> None:
    """Name everything that is wrong with files of labels and gold rows.

    Checks every row against the schema of its kind (a row that names a step is a gold row), ids that occur twice,
    and documents that lie in two splits. Prints one line for each problem, and ends with status 2 if there are any.
    """
    from optimizers.gold import check, read_annotated

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
    from groundset.compiling.labels import labels_from
    from groundset.files import write_rows
    from groundset.store.record import run_files

    check_out(out, (file for run in runs for file in run_files(run)))
    labels, left_out = labels_from(runs)
    reasons = ", ".join(f"{count} {why}" for why, count in left_out.most_common())
    if not labels:
        named = ", ".join(map(str, runs))
        raise InputError(
            f"nothing that was read in {named} becomes a label ({reasons})"
            if left_out
            else f"nothing was read yet in {named}; `groundset review` shows it and keeps what you say"
        )
    write_rows(out, (label.model_dump(exclude_none=True, exclude={"chunk"}) for label in labels))
    good, splits = sum(label.good for label in labels), Counter(label.split for label in labels)
    counts = ", ".join(f"{splits[split]} {split}" for split in ("train", "dev", "test"))
    documents = len({label.document for label in labels})
    tell(
        f"{len(labels)} labels of {documents} documents: {good} good, {len(labels) - good} bad; {counts}. "
        f"Labels: {name_of(out)}.",
        out,
    )
    if left_out:
        tell(f"Left out: {reasons}.", out)
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
    from groundset.compiling.labels import count_rows

    counted = count_rows(files)
    if as_json:
        print_json(counted)
        return
    if counted["labels"]:
        _print_labels(counted["labels"])
    for number, (step, counts) in enumerate(counted["gold"].items()):
        if counted["labels"] or number:
            say()
        print_line(f"{counts['rows']} gold rows of {counts['documents']} documents for step {step}.")
        if any(counts["kinds"]):
            _print_counts("kind", counts["kinds"])
        _print_counts("language", counts["languages"])


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
        kappa = f"Cohen's kappa {verdicts} for good or bad, {reasons} for reasons"
        print_line(f"{agreement['rows']} rows were labelled twice: {kappa}.")
    else:
        print_line("No row was labelled twice.")


def _print_counts(heading: str, counts: dict[str, dict[str, int]]) -> None:
    say()
    splits = ("train", "dev", "test", "all")
    print_table((heading, *splits), [(name, *(str(of[split]) for split in splits)) for name, of in counts.items()])
