"""`groundset labels from`: make labels from reviews."""

from collections import Counter
from pathlib import Path

from groundset.commands.declare import Command, NewFile
from groundset.commands.output.targets import check_out, name_of, note
from groundset.options import CommandOptions, option
from programs.errors import InputError


class LabelsFromOptions(CommandOptions):
    """Make labels of what people read.

    They are rows for `groundset compile --labels`. What a reader signed is good, in the words in which it was signed;
    what was refused is bad, for the reason that was given. Samples and rejects count alike. Left out is what readers
    disagree on, what was refused without a reason and what ships as a label already. All rows of a document are in one
    split, which its name decides.
    """

    runs: tuple[Path, ...] = option(..., "The folders of runs that were read.", metavar="RUN", argument=True)
    out: NewFile = option(..., "Where the labels go; - is standard output.", metavar="FILE.jsonl")


def from_runs(options: LabelsFromOptions) -> None:
    """Write the labels and print how many there are."""
    from groundset.compiling.labels import labels_from
    from groundset.files import write_rows
    from groundset.store.record import run_files

    check_out(options.out, (file for run in options.runs for file in run_files(run)))
    labels, left_out = labels_from(options.runs)
    reasons = ", ".join(f"{count} {why}" for why, count in left_out.most_common())
    if not labels:
        named = ", ".join(map(str, options.runs))
        raise InputError(
            f"nothing that was read in {named} becomes a label ({reasons})"
            if left_out
            else f"nothing was read yet in {named}; `groundset review` shows it and keeps what you say"
        )
    write_rows(options.out, (label.model_dump(exclude_none=True, exclude={"chunk"}) for label in labels))
    good, splits = sum(label.good for label in labels), Counter(label.split for label in labels)
    counts = ", ".join(f"{splits[split]} {split}" for split in ("train", "dev", "test"))
    documents = len({label.document for label in labels})
    note(
        f"{len(labels)} labels of {documents} documents: {good} good, {len(labels) - good} bad; {counts}. "
        f"Labels: {name_of(options.out)}.",
        options.out,
    )
    if left_out:
        note(f"Left out: {reasons}.", options.out)
    if not splits["train"]:
        note(
            "None is in the split train, so nothing is learned from them: read samples of more documents.", options.out
        )


COMMAND = Command("labels from", LabelsFromOptions, from_runs, rank=25)
