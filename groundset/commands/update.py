"""`groundset update`: update a run to changed documents."""

from pathlib import Path

from groundset.commands.declare import Command, Json, NewRun, RunFolder
from groundset.options import CommandOptions, option
from groundset.printing import say


class UpdateOptions(CommandOptions):
    """Bring a run up to date with its documents.

    Reads and cuts the documents as RUN did. A sample is kept if its chunk is there still, or if a chunk of the same
    document holds the sentence that it asks about; its chunks and ranks are then those of today. The others are
    printed, and kept with the rejects. A document with the same text is the same, whatever its file is called. No
    language model is needed; for questions about what is new, use `groundset generate` and `groundset merge`.
    """

    run: RunFolder
    docs: tuple[Path, ...] = option(
        ..., "All documents of today: files, folders or globs.", metavar="DOCS...", argument=True
    )
    out: NewRun
    as_json: Json
    quiet: bool = option(False, "Show no progress.", only="python")


def update(options: UpdateOptions) -> None:
    """Update the run and print what became of its samples."""
    from groundset.sets.transforms.update import update_run

    updated = update_run(options.run, options.docs, options.out, quiet=options.quiet)
    if options.as_json:
        from groundset.commands.output.tables import print_json

        gone = [{"id": sample.id, "question": sample.question, "reason": reason} for sample, reason in updated.dropped]
        counts = {"documents": updated.documents, "kept": updated.kept, "cut_anew": updated.cut_anew}
        print_json({"run": str(options.out), **counts, "dropped": gone})
        return
    say(f"Documents: {', '.join(f'{count} {fate}' for fate, count in updated.documents.items())}.")
    total = updated.kept + len(updated.dropped)
    say(f"Kept {updated.kept} of {total} samples, {updated.cut_anew} of them on a passage that was cut anew.")
    for sample, reason in updated.dropped:
        say(f"Dropped {sample.id} ({reason}): {sample.question}")
    for line in updated.lines:
        say(line)


COMMAND = Command("update", UpdateOptions, update, rank=16)
