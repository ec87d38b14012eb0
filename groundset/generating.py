"""Evaluation sets from Python: :func:`generate`, the same run that the command makes."""

import inspect
import signal
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any, ParamSpec

from groundset.api import open_run
from groundset.engine.config import RunConfig
from groundset.engine.making import make_run
from groundset.opened import OpenedRun
from groundset.options import as_parameters, for_python, paths_of, recipe_options
from groundset.store.record import run_files

_P = ParamSpec("_P")
_WIDTH = 120


def _with_recipe_options(function: Callable[_P, OpenedRun]) -> Callable[_P, OpenedRun]:
    """Name the options of recipes in the signature and the help of a function, made from the table of recipes."""
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    added, told = [], []
    for name, (field, owners) in recipe_options().items():
        kind: Any = field.annotation
        added.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind | None))
        line = f"{name}: of {', '.join(owners)}: {field.description} Default: {field.default!r}."
        told.append(fill(line, _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12))
    function.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    before, mark, after = str(function.__doc__).partition("        **options: ")
    function.__doc__ = "\n".join((before.rstrip(), *told, "", after.partition("\n\n")[2])) if mark else before
    return function


@_with_recipe_options
@for_python
def generate(
    docs: str | Path | Iterable[str | Path] = (),
    *,
    out: str | Path,
    size: int | None = None,
    recipe: str | None = None,
    lm: str | None = None,
    mode: str | None = None,
    critic: str | None = None,
    critic_lm: str | None = None,
    least_score: float | None = None,
    compiled: str | Path | None = None,
    embedder: str | None = None,
    parser: str | None = None,
    chunker: str | None = None,
    chunk_size: int | None = None,
    chunk_overlap: int | None = None,
    merge: int | None = None,
    min_length: int | None = None,
    chunks: str | Path | None = None,
    seed: int | None = None,
    workers: int | None = None,
    vector_store: str | None = None,
    config: str | Path | None = None,
    track: bool = True,
    track_texts: bool = False,
    tracking: str | Path | None = None,
    verbose: bool = False,
    quiet: bool = False,
    **options: Any,
) -> OpenedRun:
    """Make an evaluation set of questions, contexts and answers from documents.

    The run is a folder; the same call goes on where it was stopped, even if it was killed, and returns a finished one
    at once. Ctrl-C, or a notebook's stop button, ends it after the running call of the language model and returns what
    there is: see ``Run.is_complete``. A second one does not wait. Before there is a folder, it is the usual
    ``KeyboardInterrupt``. Fewer samples than were asked for are no error; ``Run.summary`` says why.

    Args:
        docs: a file, folder or glob, or several of them: txt, md, html, pdf, docx and more.
        out: the folder of the run.
        size: how many samples to make; by default 20, with the recipe roundtrip one for each chunk.
        recipe: the program that makes them: evolved (the default), single, multi or roundtrip.
        lm: the language model: a name of the catalogue (by default qwen2.5-coder-0.5b), a .gguf file,
            ``hf/<owner>/<repo>/<file>.gguf``, ``openai/<model>@<base url>`` or ``provider/model``.
        mode: how the model is asked: guided, sentence or free; by default what was measured for it, free for any other.
        critic: who decides what is good: head (fast), lm, ensemble, or verdict, which says why; by default head, in
            mode free verdict.
        critic_lm: a second language model that judges, for the critics lm, ensemble and verdict; named as ``lm`` is,
            which judges by default.
        least_score: of a chunk, the least mean of clarity, depth, structure and relevance, each from 0 to 2, where the
            critic is lm or verdict; by default 1.5.
        compiled: compiled states: shipped (the default), champion, none or a folder of your own.
        embedder: the embedding model; by default all-minilm-l6-v2.
        parser: what reads the syntax of English sentences, by default en-core-web-sm; none goes without.
        chunker: how documents are cut: recursive (the default), sentence, word, token or semantic.
        chunk_size: size of a chunk in the chunker's unit; by default 1000 characters, 200 words or 256 tokens.
        chunk_overlap: shared by neighbours, in the same unit; by default 0.
        merge: join this many consecutive chunks; by default 1.
        min_length: drop shorter chunks, in characters; by default 200, with the recipe roundtrip 100.
        chunks: your own chunks, JSONL or parquet with ``doc_id`` and ``contents`` or ``text``, taken as they are.
        seed: fixes what chance would decide; by default 0.
        workers: attempts at the same time, up to 8; with 1, the default, a run can be repeated to the letter.
        vector_store: what searches the chunks: faiss (the default), qdrant or ``qdrant:FOLDER``.
        config: options from a TOML file or the run.json of a former run.
        track: log the run in MLflow. One that cannot be logged is a warning.
        track_texts: send the samples to a tracking server too, with their passages.
        tracking: the MLflow store, an address or a folder, unless ``MLFLOW_TRACKING_URI`` names one; by default
            ``mlruns/`` if that folder is in the working directory, else one for all your projects.
        verbose: name every file; let the runtime's log through.
        quiet: show no progress.
        **options: those of recipes.

    Raises:
        InputError: the input, an option or the folder is wrong; the message names it, and nothing was written.
        GroundsetError: the run cannot go on; what was done is stored.
    """
    if clash := sorted(options.keys() & RunConfig.model_fields.keys()):
        raise TypeError(f"generate() got an unexpected keyword argument {clash[0]!r}")
    (folder,) = paths_of("out", out)
    given: Mapping[str, Any] = {
        "documents": paths_of("documents", docs),
        "chunks": chunks,
        "size": size,
        "recipe": recipe,
        "lm": lm,
        "mode": mode,
        "critic": critic,
        "critic_lm": critic_lm,
        "least_score": least_score,
        "compiled": None if compiled is None else str(compiled),
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
    file = None if config is None else Path(config)
    try:
        store = None if tracking is None else str(tracking)
        made = make_run(
            given,
            folder,
            config=file,
            track=track,
            track_texts=track_texts,
            tracking=store,
            verbose=verbose,
            quiet=quiet,
        )
    except KeyboardInterrupt:
        if not run_files(folder).record.is_file():
            raise
        return open_run(folder)
    ended_by = made.result.signal
    if ended_by is not None and ended_by != signal.SIGINT:
        signal.raise_signal(ended_by)  # somebody ends this process; the run is stored
    if made.untracked:
        warnings.warn(as_parameters(made.untracked), stacklevel=3)
    return open_run(folder)
