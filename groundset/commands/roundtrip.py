"""`groundset roundtrip`: the questions of a run, searched again by other retrievers."""

import csv
import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from groundset.commands.outputs import check_inputs, new_file
from groundset.printing import say, say_lines
from programs.errors import InputError

if TYPE_CHECKING:
    from groundset.retrieval_eval.compare import Comparison

_HEADINGS = ("embedder", "chunker", "size", "chunks", "hit@1", "hit@5", "reciprocal rank", "median rank", "seconds")
_SUFFIXES = (".csv", ".jsonl")


def roundtrip(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    embedder: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Embedding models.", show_default="the run's")
    ] = None,
    chunk_size: Annotated[
        str | None,
        typer.Option(metavar="N,...", help="Sizes of chunks, in the chunker's unit.", show_default="the run's"),
    ] = None,
    chunker: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Chunkers: recursive, sentence, word, token, semantic.",
            show_default="the run's",
        ),
    ] = None,
    vector_store: Annotated[
        str,
        typer.Option(
            metavar="STORE",
            help="Where vectors are searched: faiss, qdrant (in memory) or qdrant:FOLDER. All give the same ranks.",
        ),
    ] = "faiss",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what each question found with the run's own retriever: .csv or .jsonl.",
            callback=new_file,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Compare retrievers by the questions of a run.

    Cuts and embeds the run's documents again for every combination of embedder, chunker and chunk size, searches every
    question, and says which differences are real. The run's own retriever comes first. No language model is needed.
    """
    from groundset.engine.config import make_config
    from groundset.files import whole_text
    from groundset.progress import Progress
    from groundset.retrieval.embedder import load_embedder
    from groundset.retrieval.stores import check_store
    from groundset.retrieval_eval.compare import compare
    from groundset.retrieval_eval.configs import retriever_configs
    from groundset.retrieval_eval.report import conclusions, notes, to_dict
    from groundset.store.record import run_files
    from groundset.store.run_store import RunStore

    sizes = _sizes(chunk_size)
    if out is not None:
        if out.suffix.lower() not in _SUFFIXES:
            raise InputError(f"--out {out}: the name must end with {' or '.join(_SUFFIXES)}")
        check_inputs(run_files(run), out)
    check_store(vector_store)
    with RunStore.read(run) as store, whole_text(out) if out else nullcontext() as stream:
        configuration = store.told("configuration")
        config, mixed = make_config(configuration), configuration.get("chunker", "") is None  # runs that were merged
        configs = retriever_configs(config, _names(embedder), _names(chunker), sizes, mixed=mixed)
        comparison = compare(store, configs, vector_store=vector_store, load_embedder=load_embedder, monitor=Progress())
        if out and stream:
            _write_rows(comparison.results[0].rows(comparison.samples), stream, out.suffix.lower())
    if as_json:
        say_lines(json.dumps(to_dict(comparison, config), ensure_ascii=False, indent=2))
        return
    _print(comparison)
    for line in (*conclusions(comparison), *notes(comparison, config)):
        say(line)


def _write_rows(rows: Sequence[dict[str, Any]], stream: TextIO, suffix: str) -> None:
    """Write rows to a stream, as CSV with a line of headings or as JSON lines."""
    from groundset.files import json_line

    if suffix == ".jsonl":
        stream.writelines(json_line(row) for row in rows)
        return
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _print(comparison: "Comparison") -> None:
    from groundset.commands.tables import print_table
    from groundset.retrieval.index import SEARCH_DEPTH

    rows = []
    for result in comparison.results:
        median = result.median_rank
        rows.append(
            (
                result.config.embedder,
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
            raise InputError(f"--chunk-size {text}: {name!r} is no whole number above 0")
    return [int(name) for name in _names(text)]
