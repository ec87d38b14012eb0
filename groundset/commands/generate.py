"""`groundset generate`: documents in, an evaluation set out."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from groundset.commands import starting
from groundset.commands.chunk import ChunkerChoice
from groundset.commands.tracking import TrackingOption
from groundset.printing import say

_STATUS = {"complete": 0, "short": 3}
_SIGNALLED = 128


def _usable(out: Path) -> Path:
    from groundset.store.folder import check_usable

    check_usable(out)
    return out


def generate(
    out: Annotated[
        Path, typer.Option(metavar="RUN", help="The folder of the run.", show_default=False, callback=_usable)
    ],
    docs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DOCS...", help="Files, folders or globs: txt, md, html, pdf, docx and more."),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(help="How many samples to make.", show_default="20; roundtrip: one for each chunk"),
    ] = None,
    recipe: Annotated[str | None, typer.Option(help="The program that makes them.", show_default="evolved")] = None,
    lm: Annotated[
        str | None,
        typer.Option(
            help="The language model: a name from `groundset models list`, a .gguf file, "
            "hf/<owner>/<repo>/<file>.gguf, openai/<model>@<base url> or provider/model.",
            show_default="qwen2.5-coder-0.5b",
        ),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            help="How the model is asked: guided (syntax begins each question), sentence, or free (it reads the "
            "passage and writes everything).",
            show_default="what was measured for the model; free for any other",
        ),
    ] = None,
    critic: Annotated[
        str | None,
        typer.Option(
            help="Who decides what is good: head (fast), lm, ensemble, or verdict, which says why.",
            show_default="head; verdict in mode free",
        ),
    ] = None,
    critic_lm: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="A second language model that judges, for the critics lm, ensemble and verdict; named as --lm is.",
            show_default="the one of --lm",
        ),
    ] = None,
    least_score: Annotated[
        float | None,
        typer.Option(
            help="Of a chunk: the least mean of clarity, depth, structure and relevance, each 0 to 2, where the "
            "critic is lm or verdict.",
            show_default="1.5",
        ),
    ] = None,
    compiled: Annotated[
        str | None,
        typer.Option(
            metavar="WHICH",
            help="Compiled states: shipped, champion (see promote), none or a folder of your own.",
            show_default="shipped",
        ),
    ] = None,
    embedder: Annotated[str | None, typer.Option(help="The embedding model.", show_default="all-minilm-l6-v2")] = None,
    parser: Annotated[
        str | None,
        typer.Option(
            help="What reads the syntax of English sentences; none goes without.", show_default="en-core-web-sm"
        ),
    ] = None,
    chunker: Annotated[
        ChunkerChoice | None, typer.Option(help="How documents are cut.", show_default="recursive")
    ] = None,
    chunk_size: Annotated[
        int | None,
        typer.Option(
            help="Size in characters (recursive, sentence, semantic), words (word) or tokens (token).",
            show_default="1000 characters, 200 words, 256 tokens",
        ),
    ] = None,
    chunk_overlap: Annotated[
        int | None, typer.Option(help="Shared by neighbours, same unit.", show_default="0")
    ] = None,
    merge: Annotated[int | None, typer.Option(help="Join this many consecutive chunks.", show_default="1")] = None,
    min_length: Annotated[
        int | None, typer.Option(help="Drop shorter chunks, in characters.", show_default="200; roundtrip: 100")
    ] = None,
    chunks: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Your own chunks, JSONL or parquet: doc_id and contents or text. Taken as they are."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Fixes what chance would decide.", show_default="0")] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Attempts at the same time, up to 8. With one, a run can be repeated to the letter.",
            show_default="1",
        ),
    ] = None,
    vector_store: Annotated[
        str | None,
        typer.Option(help="What searches the chunks: faiss, qdrant or qdrant:FOLDER.", show_default="faiss"),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Options from a TOML file or the run.json of a former run."),
    ] = None,
    track: Annotated[bool, typer.Option("--track/--no-track", help="Log the run in MLflow.")] = True,
    track_texts: Annotated[
        bool,
        typer.Option("--track-texts", help="Send the samples to a tracking server too, with their passages."),
    ] = False,
    tracking: TrackingOption = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Name every file; let the runtime's log through.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    **options: str | None,
) -> None:
    """Make an evaluation set of questions, contexts and answers from documents.

    RUN then holds samples.jsonl, rejects.jsonl, run.json and run.sqlite. Ctrl-C stops cleanly, and the same
    command goes on where a run was stopped, even if it was killed. With a larger --size, or --ask all after easy,
    it adds to what is there. Exit status: 0 all samples were made, 3 fewer were possible, 2 the input or an option
    is wrong, 130 interrupted, 1 anything else.
    """
    started = starting.began()
    from groundset.engine.making import make_run
    from groundset.engine.stop import quit_hard

    given = {
        "documents": tuple(docs or ()),
        "chunks": chunks,
        "size": size,
        "recipe": recipe,
        "lm": lm,
        "mode": mode,
        "critic": critic,
        "critic_lm": critic_lm,
        "least_score": least_score,
        "compiled": compiled,
        "embedder": embedder,
        "parser": parser,
        "chunker": chunker,
        "chunk_size": chunk_size,
        "chunk_overlap": chunk_overlap,
        "merge": merge,
        "min_length": min_length,
        "seed": seed,
        "workers": workers,
        "vector_store": vector_store,
        **options,
    }
    made = make_run(
        given,
        out,
        config=config,
        track=track,
        track_texts=track_texts,
        tracking=tracking,
        verbose=verbose,
        quiet=quiet,
        again=quit_hard,
        started=started,
    )
    result = made.result
    if not quiet:
        for line in result.summary:
            say(line)
    if made.untracked:
        say(made.untracked, err=True)
    elif made.tracked and not quiet:
        from groundset.tracking.place import where

        left = f", without the samples: --track-texts sends them to {made.tracked.kept_from}"
        told = where(made.tracked.uri, usual=made.tracked.usual) + (left if made.tracked.kept_from else "")
        say(f"Tracked as {made.tracked.run_id}{told}.")
    status = _STATUS[result.ending] if result.signal is None else _SIGNALLED + result.signal
    if not result.has_ended:
        # The runtime would crash if this process took it apart in the middle of a call.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    if status:
        raise typer.Exit(status)
