"""`groundset import`: an evaluation set of another tool becomes a run.

A format is read as rows of questions, which name chunks, and rows of chunks, from which documents
are rebuilt; see :mod:`groundset.corpus.own`. Values of questions that a run has no place for are
kept in the metadata, as ``imported``.
"""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from groundset.corpus.corpus import Corpus
from groundset.corpus.own import rebuilt
from groundset.files import encodable
from groundset.options import DEFAULT_EMBEDDER, Options, option
from groundset.printing import Progress, counted, say
from groundset.programs.errors import InputError
from groundset.programs.faq import ANSWERED, ASKED
from groundset.programs.languages import language_of
from groundset.programs.text import MAX_READ, plain, text_id
from groundset.programs.types import Chunk, Sample
from groundset.programs.untrusted import first_fault
from groundset.retrieval import embed
from groundset.retrieval.index import UNRANKED
from groundset.rows import (
    Row,
    csv_rows,
    jsonl_rows,
    metadata_of,
    optional,
    parquet_rows,
    required,
)
from groundset.run.folder import check_new
from groundset.run.preparing import save_ranked
from groundset.run.run import Run

# Files of questions and of chunks, and how their rows are read.
_TABLES = {
    "autorag": ("qa.parquet", "corpus.parquet", parquet_rows),
    "csv": ("questions.csv", "corpus.csv", csv_rows),
}
# Usual names of columns.
_USUAL = {
    **dict.fromkeys(ASKED, "question"),
    **dict.fromkeys((*ANSWERED, "generation_gt"), "answer"),
    **dict.fromkeys(("qid", "query_id"), "id"),
}
_NEEDED = ("question", "answer", "retrieval_gt or chunk_ids")  # columns of a table of questions
# Columns that have a place, or say what others do.
_KNOWN = {*Sample.model_fields, "chunk_ids", "passage", "paths", "split", "answerable", "rank"}


class ImportOptions(Options):
    """Make a run from an evaluation set of another tool.

    Chunks are embedded and questions are ranked; all questions are kept. The run can be shown,
    reported, measured and exported like any other.
    """

    files: tuple[Path, ...] = option(
        ..., "The files of the set, or their folder.", metavar="FILES...", argument=True
    )
    out: Path = option(..., "The folder of the new run.", metavar="RUN")
    format: Literal["autorag", "csv", "jsonl"] = option(
        ...,
        "autorag: qa.parquet and corpus.parquet, or their folder; csv: questions.csv and corpus.csv"
        " of an export; jsonl: samples.jsonl of a run, or rows with question, answer and contexts.",
    )
    embedder: str = option(
        DEFAULT_EMBEDDER, "The model that embeds chunks and questions.", metavar="MODEL"
    )
    quiet: bool = option(False, "Print nothing but errors.", short="-q")


def import_set(options: ImportOptions) -> None:
    """Import a set and print what the new run holds."""
    run = import_files(options)
    if not options.quiet:
        counts = f"{len(run)} samples on {len(run.chunks)} chunks of {len(run.documents)} documents"
        say(f"{counts}: {options.out}")


def import_files(options: ImportOptions) -> Run:
    """Make a run from an evaluation set of another tool, as `groundset import` does.

    Raises:
        InputError: a file, a row or an option is wrong; the message names it, and nothing was
            written.
        ModelError: the embedder cannot be loaded.
    """
    check_new(options.out)
    files = ", ".join(map(str, options.files))
    names = [encodable(file.name) for file in options.files]
    with Progress(quiet=options.quiet) as progress:
        progress.phase("Reading the set")
        read = _read_tables if options.format in _TABLES else _read_jsonl
        asked, passages = read(options, files)
        documents, chunks = rebuilt(passages, names[0])
        by_id = {chunk.chunk_id: chunk for chunk in chunks}
        samples: dict[str, Sample] = {}
        for where, fields in asked:
            sample = _sample(where, fields, by_id)
            if sample is not None and samples.setdefault(sample.id, sample) is not sample:
                raise InputError(f"{where}: question {sample.id} is there twice")
        if not samples:
            raise InputError(f"{files}: there is no question")
        if left_out := len(asked) - len(samples):
            progress.note(f"left out, because no chunk is named: {counted(left_out, 'question')}")
        return save_ranked(
            options.out,
            embed.open_embedder(options.embedder),
            progress,
            Corpus({document.doc_id: document for document in documents}, chunks),
            list(samples.values()),
            record={"source": {"format": options.format, "files": names}},
        )


def _read_tables(options: ImportOptions, files: str) -> tuple[list[Row], list[Row]]:
    """Return the rows of a table of questions and of one of chunks, named or in a folder."""
    questions, corpus, rows_of = _TABLES[options.format]
    given = chain.from_iterable(
        [path / questions, path / corpus] if path.is_dir() else [path] for path in options.files
    )
    named = {file.name: file for file in given if file.exists()}
    if named.keys() != {questions, corpus}:
        raise InputError(
            f"{files}: {options.format} is two files, {questions} and {corpus}; name both"
        )
    passages = list(rows_of(named[corpus]))
    asked: list[Row] = [(where, _usual(fields)) for where, fields in rows_of(named[questions])]
    there = {name for _, fields in asked for name in fields}
    missing = [name for name in _NEEDED if there.isdisjoint(name.split(" or "))]
    if asked and missing:
        raise InputError(
            f"{named[questions]}: there is no column {', '.join(missing)}; name them so"
        )
    return asked, passages


def _usual(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a row by the names that we have for them; who uses ours goes first."""
    given = {name: value for name, value in fields.items() if value is not None}
    usual = {_USUAL.get(name.casefold(), name): value for name, value in given.items()}
    return usual | {name: given[name] for name in usual if name in given}


def _read_jsonl(options: ImportOptions, _: str) -> tuple[list[Row], list[Row]]:
    """Return rows with `question`, `answer` and `contexts` (or one text as `passage`), such as
    those of `samples.jsonl` of a run, and their contexts.
    """
    asked: list[Row] = []
    passages: list[Row] = []
    for where, fields in chain.from_iterable(map(jsonl_rows, options.files)):
        contexts = _contexts(where, fields)
        passages += [(f"{where}, contexts", context) for context in contexts]
        asked.append((where, {**fields, "chunk_ids": [each["chunk_id"] for each in contexts]}))
    return asked, passages


def _contexts(where: str, fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the contexts of a row, which are texts or objects with the keys of a chunk."""
    given = fields.get("contexts", fields.get("passage"))
    listed = given if isinstance(given, list) else [given]
    contexts = [{"text": each} if isinstance(each, str) else each for each in listed]
    if not contexts or not all(isinstance(each, dict) for each in contexts):
        raise InputError(
            f"{where}, column contexts: must be a list of texts, or of objects with `text`"
        )
    return [
        {**each, "chunk_id": each.get("chunk_id") or text_id(str(each.get("text")))}
        for each in contexts
    ]


def _sample(where: str, fields: Mapping[str, Any], chunks: Mapping[str, Chunk]) -> Sample | None:
    """Return the question of a row, or None if it names no chunk; its language is by default that
    of its first chunk.

    Of several answers the first is the answer.
    """
    named = _ids(where, "chunk_ids", fields.get("chunk_ids", []))
    groups = _groups(where, fields.get("retrieval_gt", [[name] for name in named]), chunks)
    ids = named or [group[0] for group in groups]
    if missing := [name for name in chain(ids, *groups) if name not in chunks]:
        raise InputError(f"{where}: there is no chunk {missing[0]}")
    if not ids:
        return None
    contexts = [chunks[name] for name in dict.fromkeys(ids)]
    question, given = required(where, fields, "question"), fields.get("answer")
    answer, *others = (given or [None]) if isinstance(given, list) else [given]
    answer = optional(where, {"answer": answer}, "answer") or ""
    name = optional(where, fields, "id") or text_id(question, answer, *ids)
    if not answer:
        raise InputError(f"{where}: question {name} has no answer; add one, or leave the row out")
    variants = {"answer_variants": others} if others else {}
    own = {
        "evolution": "imported",
        "language": language_of(plain(contexts[0].text[:MAX_READ])),
        **{each: fields[each] for each in Sample.model_fields if fields.get(each) is not None},
        "id": name,
        "answer": answer,
        "contexts": contexts,
        "retrieval_gt": groups,
        "retrieval": UNRANKED,
        "metadata": _metadata(where, fields) | variants,
    }
    try:
        return Sample.model_validate(own)
    except ValidationError as error:
        raise InputError(f"{where}: {first_fault(error)}") from error


def _groups(where: str, value: Any, chunks: Mapping[str, Chunk]) -> list[list[str]]:
    """Return groups of ids; a single id or a flat list is one group, ``[]`` or ``[[]]`` is none.

    Of the alternatives in a group those are kept that there are.
    """
    value = [value] if isinstance(value, str) else value
    if isinstance(value, list) and value and not any(isinstance(group, list) for group in value):
        value = [value]
    if value in ([], [[]]):
        return []
    if not isinstance(value, list) or not all(value):
        raise InputError(f"{where}, column retrieval_gt: must be lists of chunk ids")
    groups = [_ids(where, "retrieval_gt", group) for group in value]
    return [[name for name in group if name in chunks] or group for group in groups]


def _ids(where: str, column: str, value: Any) -> list[str]:
    """Return a list of ids, each once."""
    if not isinstance(value, list):
        raise InputError(f"{where}, column {column}: must be a list of chunk ids")
    return list(dict.fromkeys(required(where, {"chunk id": name}, "chunk id") for name in value))


def _metadata(where: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a row; columns without a place are its ``imported``."""
    metadata = metadata_of(where, fields)
    unknown = {
        name: value for name, value in fields.items() if name not in _KNOWN and value is not None
    }
    extra, earlier = metadata_of(where, {"metadata": unknown}), metadata.get("imported")
    imported = earlier | extra if isinstance(earlier, dict) else extra
    return metadata | ({"imported": imported} if extra else {})
