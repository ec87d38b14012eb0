"""`groundset update`: update a run to changed documents."""

from groundset.commands.declare import Command, Engine, Json, NewRun, RunFolder
from groundset.options import CommandOptions, option
from groundset.printing import say
from groundset.sources import Source


class UpdateOptions(CommandOptions):
    """Update a run to changed documents.

    Documents are chunked with the options of RUN. A sample is kept if its chunk still exists, or if a chunk of the same
    document contains the sentence asked about; its chunks and ranks are updated. The others are printed and become
    rejects. Documents are matched by text, else by path. No language model is used; for questions about new texts, use
    `groundset generate` and `groundset merge`.
    """

    run: RunFolder
    docs: tuple[Source, ...] = option(
        ..., "All current documents: files, folders or globs, or their URLs.", metavar="DOCS...", argument=True
    )
    engine: Engine
    out: NewRun
    as_json: Json
    quiet: bool = option(False, "Show no progress.", only="python")


def update(options: UpdateOptions) -> None:
    """Update the run and print the dropped samples and the summary of the new run."""
    from groundset.sets.transforms.update import update_run

    updated = update_run(options.run, options.docs, options.out, engine=options.engine, quiet=options.quiet)
    if options.as_json:
        from groundset.commands.output.tables import print_json

        rows = [{"id": sample.id, "question": sample.question, "reason": reason} for sample, reason in updated.dropped]
        counts = {"documents": updated.documents, "kept": updated.kept, "cut_anew": updated.cut_anew}
        print_json({"run": str(options.out), **counts, "dropped": rows})
        return
    say(f"Documents: {', '.join(f'{count} {state}' for state, count in updated.documents.items())}.")
    total = updated.kept + len(updated.dropped)
    say(f"Kept {updated.kept} of {total} samples; the chunks of {updated.cut_anew} changed.")
    for sample, reason in updated.dropped:
        say(f"Dropped {sample.id} ({reason}): {sample.question}")
    for line in updated.lines:
        say(line)


COMMAND = Command("update", UpdateOptions, update, rank=16)
