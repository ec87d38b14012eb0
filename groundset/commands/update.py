"""`groundset update`: a set brought up to date with its documents."""

from pathlib import Path
from typing import Annotated

import typer

from groundset.commands.outputs import NewRunOption, RunArgument
from groundset.printing import say


def update(
    run: RunArgument,
    docs: Annotated[
        list[Path], typer.Argument(metavar="DOCS...", help="All documents of today: files, folders or globs.")
    ],
    out: NewRunOption,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Bring a run up to date with its documents.

    Reads and cuts the documents as RUN did. A sample is kept if its chunk is there still, or if a chunk of the same
    document holds the sentence that it asks about; its chunks and ranks are then those of today. The others are
    printed, and kept with the rejects. A document with the same text is the same, whatever its file is called. No
    language model is needed; for questions about what is new, use `groundset generate` and `groundset merge`.
    """
    from groundset.sets.transforms.update import update_run

    updated = update_run(run, docs, out)
    if as_json:
        from groundset.commands.tables import print_json

        gone = [{"id": sample.id, "question": sample.question, "reason": reason} for sample, reason in updated.dropped]
        told = {"run": str(out), "documents": updated.documents, "kept": updated.kept, "cut_anew": updated.cut_anew}
        print_json({**told, "dropped": gone})
        return
    say(f"Documents: {', '.join(f'{count} {fate}' for fate, count in updated.documents.items())}.")
    all_ = updated.kept + len(updated.dropped)
    say(f"Kept {updated.kept} of {all_} samples, {updated.cut_anew} of them on a passage that was cut anew.")
    for sample, reason in updated.dropped:
        say(f"Dropped {sample.id} ({reason}): {sample.question}")
    for line in updated.lines:
        say(line)
