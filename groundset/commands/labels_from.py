"""`groundset labels from`: make labels from reviews."""

from collections import Counter
from pathlib import Path

from groundset.commands.declare import Command, NewFile
from groundset.commands.output.targets import check_out, name_of, note
from groundset.options import CommandOptions, option
from programs.errors import InputError


class LabelsFromOptions(CommandOptions):
    """Create labels from reviews.

    They are rows for `groundset compile --labels`. Accepted samples and rejects become good labels, with the reviewer's
    corrections; rejected ones become bad labels with the given reason. Skipped are items on which reviewers disagree,
    rejections without a reason, and shipped labels. All rows of a document are in one split, which depends on its name.
    """

    runs: tuple[Path, ...] = option(..., "Folders of reviewed runs.", metavar="RUN", argument=True)
    out: NewFile = option(..., "The file for the labels; - is standard output.", metavar="FILE.jsonl")


def from_runs(options: LabelsFromOptions) -> None:
    """Write the labels and print how many there are."""
    from groundset.compiling.review_labels import labels_from
    from groundset.files import write_rows
    from groundset.store.record import run_files

    check_out(options.out, (file for run in options.runs for file in run_files(run)))
    labels, left_out = labels_from(options.runs)
    reasons = ", ".join(f"{reason} ({count})" for reason, count in left_out.most_common())
    if not labels:
        named = ", ".join(map(str, options.runs))
        raise InputError(
            f"no review of {named} becomes a label: {reasons}"
            if left_out
            else f"{named}: no reviews yet; run `groundset review` first"
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
        note(f"Skipped: {reasons}.", options.out)
    if not splits["train"]:
        note(
            "No label is in the split train, so none is used for fitting; review samples of more documents.",
            options.out,
        )


COMMAND = Command("labels from", LabelsFromOptions, from_runs, rank=25)
