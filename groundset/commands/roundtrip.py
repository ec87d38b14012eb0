"""`groundset roundtrip`: compare retrievers on the questions of a run."""

import csv
import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from groundset.commands.declare import Command, Json, NewFile, RunFolder
from groundset.commands.output.targets import check_inputs
from groundset.options import CommandOptions, option
from groundset.printing import say, say_lines
from groundset.retrieval_eval.retrievers import RETRIEVERS
from programs.errors import InputError

if TYPE_CHECKING:
    from groundset.retrieval_eval.compare import Comparison

_SETTINGS = ("retriever", "embedder", "chunker", "size", "chunks")
_HEADINGS = (*_SETTINGS, "hit@1", "hit@5", "reciprocal rank", "median rank", "seconds")
_SUFFIXES = (".csv", ".jsonl")


class RoundtripOptions(CommandOptions):
    """Compare retrievers on the questions of a run.

    Chunks and embeds the run's documents again for every combination of retriever, embedder, chunker and chunk size,
    searches every question, and tests which differences are significant. The run's own retriever comes first, rankings
    of other systems last. No language model is needed.
    """

    run: RunFolder
    retriever: str | None = option(
        None, f"Retrievers: {', '.join(RETRIEVERS)}.", metavar="NAME,...", show_default="dense"
    )
    embedder: str | None = option(None, "Embedding models.", metavar="NAME,...", show_default="the run's")
    chunk_size: str | None = option(
        None, "Chunk sizes, in the unit of the chunker.", metavar="N,...", show_default="the run's"
    )
    chunker: str | None = option(
        None, "Chunkers: recursive, sentence, word, token, semantic.", metavar="NAME,...", show_default="the run's"
    )
    ranking: tuple[Path, ...] = option(
        (),
        "Rankings of another system over the chunks of the run: a TREC run, or .jsonl with `id` and `chunk_ids`.",
        metavar="FILE",
    )
    vector_store: str = option(
        "faiss",
        "Vector store: faiss, qdrant (in memory) or qdrant:FOLDER. All give the same ranks.",
        metavar="STORE",
    )
    out: NewFile | None = option(
        None, "Write the results of the run's own retriever for each question: .csv or .jsonl.", metavar="FILE"
    )
    as_json: Json


def roundtrip(options: RoundtripOptions) -> None:
    """Compare the retrievers and print or write the results."""
    from groundset.engine.config import make_config
    from groundset.files import whole_text
    from groundset.progress import Progress
    from groundset.retrieval.embedder import load_embedder
    from groundset.retrieval.stores import check_store
    from groundset.retrieval_eval.compare import compare
    from groundset.retrieval_eval.configs import retriever_configs
    from groundset.retrieval_eval.report import conclusions, notes, to_dict
    from groundset.run import Run
    from groundset.store.record import run_files

    sizes = _sizes(options.chunk_size)
    if options.out is not None:
        if options.out.suffix.lower() not in _SUFFIXES:
            raise InputError(f"--out {options.out}: must end with {' or '.join(_SUFFIXES)}")
        check_inputs(run_files(options.run), options.out)
    check_store(options.vector_store)
    run = Run.loaded(options.run)
    with whole_text(options.out) if options.out else nullcontext() as stream:
        configuration = run.settings["configuration"]
        config, mixed = make_config(configuration), configuration.get("chunker", "") is None  # None in merged runs
        configs = retriever_configs(
            config,
            _names(options.embedder),
            _names(options.chunker),
            sizes,
            retrievers=_names(options.retriever),
            rankings=options.ranking,
            mixed=mixed,
        )
        comparison = compare(
            run, configs, vector_store=options.vector_store, load_embedder=load_embedder, monitor=Progress()
        )
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
                result.config.chunker,
                result.config.size,
                f"{result.chunks:,}",
                *map(str, result.estimates(comparison.units).values()),
                f"{median:g}" if median is not None else f"over {SEARCH_DEPTH}",
                f"{(result.embedding or 0) + result.searching:.1f}",
            )
        )
    print_table(_HEADINGS, rows)


def _names(text: str | None) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in (text or "").split(",") if name.strip()))


def _sizes(text: str | None) -> list[int]:
    for name in _names(text):
        if not (name.isdecimal() and int(name)):
            raise InputError(f"--chunk-size {text}: {name!r} is not a positive whole number")
    return [int(name) for name in _names(text)]


COMMAND = Command("roundtrip", RoundtripOptions, roundtrip, rank=7)
