"""The options of a run, in a module that is quick to import.

The command line, the Python parameters, ``--config``, the documentation and the identity of a run are made from them.
:mod:`groundset.engine.config` checks their combinations.
"""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from groundset.options import DEFAULT_EMBEDDER, DEFAULT_LM, DEFAULT_PARSER, MAX_WORKERS, ChunkingOptions, option
from groundset.sources import Source


def _as_several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _filled(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value or not all(value):
        raise ValueError("must not be empty")
    return value


Models = Annotated[tuple[str, ...], BeforeValidator(_as_several), AfterValidator(_filled)]
"""A language model: one specification, or several of one model on servers."""


class RunOptions(ChunkingOptions):
    """The options of a run that do not belong to a recipe.

    The default of ``size`` depends on the recipe, those of ``mode`` and ``critic`` on the model; see
    :mod:`groundset.engine.config`.
    """

    documents: tuple[Source, ...] = option(
        (),
        "Files, folders or globs, or their URLs: txt, md, html, pdf, docx and more.",
        metavar="DOCS...",
        argument=True,
        parameter="docs",
    )
    chunks: Source | None = option(
        None, "Your own chunks, JSONL or parquet: doc_id and contents or text. Used unchanged.", metavar="FILE"
    )
    size: int | None = option(None, "How many samples to make.", show_default="20; roundtrip: one for each chunk", ge=1)
    recipe: str = option("evolved", "The program that makes the samples.")
    lm: Models = option(
        (DEFAULT_LM,),
        "The language model: a name from `groundset models list`, a .gguf file, hf/<owner>/<repo>/<file>.gguf, "
        "openai/<model>@<base url> or provider/model. Repeat it for several servers of one model, or name a .txt file "
        "of their base URLs: openai/<model>@<file>.",
        metavar="MODEL",
        show_default=DEFAULT_LM,
    )
    mode: str | None = option(
        None,
        "How the model is prompted: guided (the parser begins each question), sentence (the model reads one sentence) "
        "or free (it reads the whole passage).",
        show_default="the mode measured for the model, else free",
        min_length=1,
    )
    critic: str | None = option(
        None,
        "Judges the questions: head (fast), lm, ensemble, or verdict (gives reasons).",
        show_default="head; verdict in mode free",
    )
    critic_lm: Models = option(
        (),
        "Another language model for the critics lm, ensemble and verdict, and for --panel; named like --lm.",
        metavar="MODEL",
        show_default="the model of --lm",
    )
    panel: bool = option(
        False,
        "Three critics (accuracy, clarity, practical use) review each finished question with its answer, in one round "
        "or two; the majority decides. They ask the language model of --critic-lm, by default that of --lm.",
    )
    least_score: float = option(
        1.5,
        "Minimum mean score of a chunk (clarity, depth, structure and relevance, each 0 to 2), with the critics lm and "
        "verdict.",
        ge=0,
        le=2,
    )
    language: str | None = option(
        None,
        "The language of questions and answers: an ISO 639-1 code such as de, fr or es. In mode free, chunks in other "
        "languages are asked about too.",
        metavar="CODE",
        show_default="the language of each chunk",
    )
    compiled: str = option(
        "shipped",
        "Compiled states: shipped, champion (see promote), none, or a folder.",
        metavar="WHICH",
        min_length=1,
    )
    embedder: str = option(DEFAULT_EMBEDDER, "The embedding model.", min_length=1)
    parser: str = option(DEFAULT_PARSER, "The spaCy model that parses English, or none.", min_length=1)
    stratify: str = option(
        "document",
        "What chunks are drawn from in turn: document, cluster (of embeddings; waits for all of them) or column=NAME "
        "(metadata of your own chunks).",
        metavar="WHAT",
    )
    seed: int = option(0, "Seed of all random choices.", ge=0, lt=2**63)
    workers: int = option(
        1,
        "Parallel attempts, up to 256; about half of the missing samples run at once at most, but at least 8. With 1, "
        "a local model makes the same run again, to the byte.",
        ge=1,
        le=MAX_WORKERS,
    )
    timeout: float = option(600, "Seconds to wait for an answer of a model server.", metavar="SECONDS", gt=0, le=86_400)
    retries: int = option(
        2, "How often to send a request again to a model server that fails, after a pause.", metavar="N", ge=0, le=1000
    )
    budget_calls: int | None = option(
        None,
        "End the run after this many language model calls, counted over all processes; a larger budget continues it.",
        ge=1,
        exclude=True,
    )
    budget_tokens: int | None = option(
        None, "The same for prompt and generated tokens; calls in flight may exceed it.", ge=1, exclude=True
    )
    price: str | None = option(
        None,
        "The prices of a million prompt and generated tokens, such as 0.5,1.5, in any currency, to show costs.",
        metavar="IN,OUT",
        exclude=True,
    )
    vector_store: str = option("faiss", "The vector store: faiss, qdrant, qdrant:FOLDER or qdrant:URL.", min_length=1)
