"""`groundset push`: publish a run on the Hugging Face Hub."""

from groundset.commands.declare import Command, NewFolder, RunFolder, Signed
from groundset.options import CommandOptions, option
from groundset.printing import say


class PushOptions(CommandOptions):
    """Put a run on the Hugging Face Hub: questions, corpus and a dataset card.

    The token is that of HF_TOKEN or of `hf auth login`. One commit brings what has changed; the same run again brings
    none. Other files of the dataset stay, and so does what a person wrote on its card.
    """

    run: RunFolder
    repo: str = option(..., "The dataset; made if it is not there.", metavar="OWNER/NAME")
    licence: str = option(
        ..., "The licence of the texts, by the Hub's identifier: cc-by-4.0, apache-2.0, other ...", metavar="ID"
    )
    private: bool = option(False, "Make it a private dataset.")
    branch: str = option("main", "The branch; made if it is not there.", metavar="NAME")
    signed: Signed
    dry_run: NewFolder | None = option(
        None, "Write everything that would be sent to this folder, and send nothing.", metavar="DIR"
    )


def push(options: PushOptions) -> None:
    """Push the run and print where it is and what has changed."""
    from groundset.sets.hub.push import push_run

    pushed = push_run(**dict(options), notify=lambda line: say(line, err=True))
    what = f"{pushed.questions} questions and {pushed.chunks} chunks"
    if pushed.url is None:
        say(f"{what}, as they would go to {options.repo}: {options.dry_run}.")
        return
    seen = "private" if pushed.private else "public"
    say(f"{what}: {pushed.url} ({seen}).")
    say(f"Changed: {', '.join(pushed.changed)}." if pushed.changed else "Nothing has changed; there is no new commit.")


COMMAND = Command("push", PushOptions, push, rank=6)
