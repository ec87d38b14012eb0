"""`groundset push`: a run on the Hugging Face Hub."""

from pathlib import Path
from typing import Annotated

import typer

from groundset.commands.outputs import new_folder
from groundset.printing import say


def push(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    repo: Annotated[
        str, typer.Option(metavar="OWNER/NAME", help="The dataset; made if it is not there.", show_default=False)
    ],
    licence: Annotated[
        str,
        typer.Option(
            metavar="ID",
            help="The licence of the texts, by the Hub's identifier: cc-by-4.0, apache-2.0, other ...",
            show_default=False,
        ),
    ],
    private: Annotated[bool, typer.Option("--private", help="Make it a private dataset.")] = False,
    branch: Annotated[str, typer.Option(metavar="NAME", help="The branch; made if it is not there.")] = "main",
    signed: Annotated[bool, typer.Option("--signed", help="Only samples that a reader signed.")] = False,
    dry_run: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write everything that would be sent to this folder, and send nothing.",
            show_default=False,
            callback=new_folder,
        ),
    ] = None,
) -> None:
    """Put a run on the Hugging Face Hub: questions, corpus and a dataset card.

    The token is that of HF_TOKEN or of `hf auth login`. One commit brings what has changed; the same run again brings
    none. Other files of the dataset stay, and so does what a person wrote on its card.
    """
    from groundset.sets.hub.push import push_run

    pushed = push_run(
        run,
        repo,
        licence=licence,
        private=private,
        branch=branch,
        signed=signed,
        dry_run=dry_run,
        tell=lambda line: say(line, err=True),
    )
    what = f"{pushed.questions} questions and {pushed.chunks} chunks"
    if pushed.url is None:
        say(f"{what}, as they would go to {repo}: {dry_run}.")
        return
    seen = "private" if pushed.private else "public"
    say(f"{what}: {pushed.url} ({seen}).")
    say(f"Changed: {', '.join(pushed.changed)}." if pushed.changed else "Nothing has changed; there is no new commit.")
