"""`groundset labels stats`: count labels and gold rows."""

from pathlib import Path
from typing import Any

from groundset.commands.declare import Command, Json
from groundset.commands.output.tables import print_json, print_line, print_table
from groundset.options import CommandOptions, option
from groundset.printing import say


class LabelsStatsOptions(CommandOptions):
    """Count labels and gold rows by kind, language and split.

    The kinds of labels are their reasons. Where labels were given twice (the same id in a second annotation pass),
    the agreement of the two passes is given as Cohen's kappa.
    """

    files: tuple[Path, ...] = option(..., "Files of labels or gold rows in JSONL.", metavar="FILE", argument=True)
    as_json: Json


def stats(options: LabelsStatsOptions) -> None:
    """Print the counts."""
    from groundset.compiling.label_counts import count_rows

    counted = count_rows(options.files)
    if options.as_json:
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


COMMAND = Command("labels stats", LabelsStatsOptions, stats, rank=26)
