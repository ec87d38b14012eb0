"""`groundset roundtrip`: compare retrievers on the questions of a run."""

import csv
import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from groundset.commands.declare import Command, Engine, Json, NewFile, RunFolder
from groundset.commands.output.targets import check_inputs
from groundset.options import CommandOptions, option
from groundset.printing import say, say_lines
from groundset.retrieval_eval.retrievers import RETRIEVERS
from programs.errors import InputError

if TYPE_CHECKING:
    from groundset.retrieval_eval.compare import Comparison

_SETTINGS = ("retriever", "embedder", "reranker", "chunker", "size", "chunks")
_HEADINGS = (*_SETTINGS, "hit@1", "hit@5", "reciprocal rank", "median rank", "seconds")
_STORES = "faiss:FILE, qdrant:URL#COLLECTION"  # their table would slow down the help
_DEPTH = 50  # of searches
_SUFFIXES = (".csv", ".jsonl")


class RoundtripOptions(CommandOptions):
    """Compare retrievers on the questions of a run.

    Chunks and embeds the run's documents again for every combination of retriever, embedder, chunker and chunk size,
    searches every question, and tests which differences are significant. Existing stores and rankings of other systems
    are compared on the run's chunks. The run's own retriever comes first. No language model is needed.
    """

    run: RunFolder
    retriever: str | None = option(
        None,
        f"Retrievers: {', '.join(RETRIEVERS)}; or existing stores: {_STORES}.",
        metavar="NAME,...",
        show_default="dense",
    )
    embedder: str | None = option(None, "Embedding models.", metavar="NAME,...", show_default="the run's")
    chunk_size: str | None = option(
        None, "Chunk sizes, in the unit of the chunker.", metavar="N,...", show_default="the run's"
    )
    chunker: str | None = option(
        None, "Chunkers: recursive, sentence, word, token, semantic.", metavar="NAME,...", show_default="the run's"
    )
    rerank: str | None = option(
        None,
        "Compare all again with their first chunks reranked by cross-encoders of sentence-transformers.",
        metavar="MODEL,...",
    )
    rerank_depth: int = option(_DEPTH, "Number of first chunks that are reranked.", metavar="N", ge=1, le=_DEPTH)
    payload_key: str = option(
        "chunk_id", "Payload key of a Qdrant collection with the id or the text of a chunk.", metavar="KEY"
    )
    ranking: tuple[Path, ...] = option(
        (),
        "Rankings of another system over the chunks of the run: a TREC run, or .jsonl with `id` and `chunk_ids`.",
        metavar="FILE",
    )
    vector_store: str = option(
        "faiss",
        "Vector store: faiss, qdrant (in memory), qdrant:FOLDER or qdrant:URL. All give the same ranks.",
        metavar="STORE",
    )
    engine: Engine
    out: NewFile | None = option(
        None, "Write the results of the run's own retriever for each question: .csv or .jsonl.", metavar="FILE"
    )
    as_json: Json


def roundtrip(options: RoundtripOptions) -> None:
    """Compare the retrievers and print or write the results."""
    from groundset.engine.config import make_config
    from groundset.executors import open_executor
    from groundset.files import whole_text
    from groundset.progress import Progress
    from groundset.retrieval.embedder import load_embedder
    from groundset.retrieval.reranker import load_reranker
    from groundset.retrieval.stores import check_store, receiving_host
    from groundset.retrieval_eval.compare import compare
    from groundset.retrieval_eval.configs import retriever_configs
    from groundset.retrieval_eval.report import conclusions, notes, to_dict
    from groundset.retrieval_eval.search import SearchOptions
    from groundset.run import Run
    from groundset.store.record import run_files

    sizes = _sizes(options.chunk_size)
    if options.out is not None:
        if options.out.suffix.lower() not in _SUFFIXES:
            raise InputError(f"--out {options.out}: must end with {' or '.join(_SUFFIXES)}")
        check_inputs(run_files(options.run), options.out)
    progress = Progress()
    if host := receiving_host(options.vector_store):
        progress.note(f"Vectors and chunk ids go to {host}.")
    check_store(options.vector_store)
    run = Run.loaded(options.run)
    with (
        whole_text(options.out) if options.out else nullcontext() as stream,
        open_executor(options.engine) as executor,
    ):
        configuration = run.settings["configuration"]
        config, mixed = make_config(configuration), configuration.get("chunker", "") is None  # None in merged runs
        configs = retriever_configs(
            config,
            _names(options.embedder),
            _names(options.chunker),
            sizes,
            retrievers=_names(options.retriever),
            rankings=options.ranking,
            rerankers=_names(options.rerank),
            mixed=mixed,
        )
        search = SearchOptions(
            load_embedder, load_reranker, options.vector_store, options.rerank_depth, options.payload_key, executor
        )
        comparison = compare(run, configs, search, monitor=progress)
        if options.out and stream:
            _write_rows(comparison.results[0].rows(comparison.samples), stream, options.out.suffix.lower())
    if options.as_json:
        say_lines(json.dumps(to_dict(comparison, config), ensure_ascii=False, indent=2))
        return
    _print(comparison)
    for line in (*conclusions(comparison), *notes(comparison, config)):
        say(line)


def _write_rows(rows: Sequence[dict[str, Any]], stream: TextIO, suffix: str) -> None:
    """Write rows as CSV with a header, or as JSON lines."""
    from groundset.files import json_line

    if suffix == ".jsonl":
        stream.writelines(json_line(row) for row in rows)
        return
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _print(comparison: "Comparison") -> None:
    from groundset.commands.output.tables import print_table
    from groundset.retrieval.index import SEARCH_DEPTH

    rows = []
    for result in comparison.results:
        median = result.median_rank
        rows.append(
            (
                result.config.retriever,
                result.config.embedder or "-",
                result.config.reranker or "-",
                result.config.chunker,
                result.config.size,
                f"{result.chunks:,}",
                *map(str, result.estimates(comparison.units).values()),
                f"{median:g}" if median is not None else f"over {SEARCH_DEPTH}",
                f"{(result.embedding or 0) + result.searching:.1f}",
            )
        )
    if any(result.config.reranker for result in comparison.results):
        print_table(_HEADINGS, rows)
    else:
        shown = [index for index, heading in enumerate(_HEADINGS) if heading != "reranker"]
        print_table([_HEADINGS[index] for index in shown], [[row[index] for index in shown] for row in rows])


def _names(text: str | None) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in (text or "").split(",") if name.strip()))


def _sizes(text: str | None) -> list[int]:
    for name in _names(text):
        if not (name.isdecimal() and int(name)):
            raise InputError(f"--chunk-size {text}: {name!r} is not a positive whole number")
    return [int(name) for name in _names(text)]


COMMAND = Command("roundtrip", RoundtripOptions, roundtrip, rank=7)
