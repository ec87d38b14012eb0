"""`groundset push`: publish a run on the Hugging Face Hub."""

from groundset.commands.declare import Command, NewFolder, RunFolder, Signed
from groundset.options import CommandOptions, option
from groundset.printing import say


class PushOptions(CommandOptions):
    """Publish a run on the Hugging Face Hub.

    Uploads the questions, the corpus and a dataset card. The token is read from HF_TOKEN or from the file written by
    `hf auth login`. Changed files are uploaded in one commit; without changes there is no commit. Other files of the
    dataset and manual edits of its card are kept.
    """

    run: RunFolder
    repo: str = option(..., "The dataset; created if missing.", metavar="OWNER/NAME")
    licence: str = option(
        ..., "The licence of the texts, as the Hub's identifier: cc-by-4.0, apache-2.0, other ...", metavar="ID"
    )
    private: bool = option(False, "Create a private dataset.")
    branch: str = option("main", "The branch; created if missing.", metavar="NAME")
    signed: Signed
    dry_run: NewFolder | None = option(None, "Write all files to this folder instead of uploading them.", metavar="DIR")


def push(options: PushOptions) -> None:
    """Push the run and print its address and the changed files."""
    from groundset.sets.hub.push import push_run

    pushed = push_run(**dict(options), notify=lambda line: say(line, err=True))
    counts = f"{pushed.questions} questions and {pushed.chunks} chunks"
    if pushed.url is None:
        say(f"Dry run for {options.repo}, {counts}: {options.dry_run}.")
        return
    visibility = "private" if pushed.private else "public"
    say(f"{counts}: {pushed.url} ({visibility}).")
    say(f"Changed: {', '.join(pushed.changed)}." if pushed.changed else "No changes; no new commit.")


COMMAND = Command("push", PushOptions, push, rank=6)
