"""`groundset import`: an evaluation set of another tool becomes a run.

Documents are rebuilt from their chunks; see :mod:`groundset.corpus.own`. Values that a run has no
place for are kept in the metadata, of questions as ``imported``.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path, PureWindowsPath
from typing import Any, Literal

from pydantic import ValidationError

from groundset.corpus.own import OFFSETS, chunk_of, rebuilt
from groundset.exports.autorag import OWN
from groundset.files import encodable
from groundset.options import DEFAULT_EMBEDDER, Options, option
from groundset.printing import Progress, say
from groundset.programs.errors import InputError
from groundset.programs.faq import ANSWERED, ASKED
from groundset.programs.languages import language_of
from groundset.programs.text import MAX_READ, plain, text_id
from groundset.programs.types import COLUMNS, Chunk, Sample
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
from groundset.run.ranked import save_ranked
from groundset.run.run import Run
from groundset.run.store import check_new

_QA: tuple[str, ...] = ("qid", "query", "retrieval_gt", "generation_gt")
# Usual names of columns.
_USUAL = {
    **dict.fromkeys(ASKED, "question"),
    **dict.fromkeys(ANSWERED, "answer"),
    **dict.fromkeys(("qid", "query_id"), "id"),
}
_ROW: tuple[str, ...] = (
    "id",
    "question",
    "answer",
    "contexts",
    "passage",
    "evolution",
    "language",
    "metadata",
)


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
    with Progress(quiet=options.quiet) as progress:
        progress.phase("Reading the set")
        found = _READERS[options.format](options.files)
        if not found.samples:
            raise InputError(f"{', '.join(map(str, options.files))}: there is no question")
        names = [encodable(file.name) for file in options.files]
        documents, chunks = rebuilt(found.chunks, names[0])
        by_id = {chunk.chunk_id: chunk for chunk in chunks}
        samples = [
            sample.model_copy(
                update={"contexts": tuple(by_id[chunk.chunk_id] for chunk in sample.contexts)}
            )
            for sample in found.samples.values()
        ]
        return save_ranked(
            options.out,
            embed.open_embedder(options.embedder),
            progress,
            samples=samples,
            chunks=chunks,
            record={"source": {"format": options.format, "files": names}},
            documents=documents,
        )


class _ForeignSet:
    """Samples and chunks as they are read; the offsets of a chunk are only in its metadata."""

    def __init__(self) -> None:
        self.chunks: dict[str, Chunk] = {}
        self.samples: dict[str, Sample] = {}

    def add_chunk(self, where: str, chunk: Chunk, own: Container[str] = ()) -> Chunk:
        """Keep a chunk, and return it; it may come again, as a context of several questions.

        ``own`` are names of its metadata that a format needs; they are left out, like those without
        a value.
        """
        path, facts = chunk.path, chunk.metadata
        others = {
            key: value
            for key, value in facts.items()
            if not own or (key not in own and value is not None)
        }
        has_title = chunk.title or (own and facts.get("title") == "")
        about = {
            "doc_id": chunk.doc_id or (text_id(path) if path else chunk.chunk_id),
            # Knows both kinds of slashes.
            "title": chunk.title if has_title else PureWindowsPath(path).stem,
            "metadata": others | {OFFSETS: facts.get(OFFSETS)},
        }
        kept = self.chunks.setdefault(chunk.chunk_id, chunk.model_copy(update=about))
        if kept.text != chunk.text:
            raise InputError(f"{where}: chunk {chunk.chunk_id} has another text than before")
        return kept

    def add_sample(
        self, where: str, fields: Mapping[str, Any], contexts: Sequence[Chunk], **more: Any
    ) -> None:
        """Keep the question of a row; its language is by default that of its first context."""
        question = required(where, fields, "question")
        answer = optional(where, fields, "answer") or ""
        ids = [chunk.chunk_id for chunk in contexts]
        name = optional(where, fields, "id") or text_id(question, answer, *ids)
        language = optional(where, fields, "language")
        if name in self.samples:
            raise InputError(f"{where}: question {name} is there twice")
        if not answer:
            raise InputError(
                f"{where}: question {name} has no answer; add one, or leave the row out"
            )
        try:
            self.samples[name] = Sample(
                id=name,
                question=question,
                answer=answer,
                evolution=optional(where, fields, "evolution") or "imported",
                language=language or language_of(plain(contexts[0].text[:MAX_READ])),
                contexts=tuple(contexts),
                retrieval=UNRANKED,
                **more,
            )
        except ValidationError as error:
            raise InputError(f"{where}: {first_fault(error)}") from error

    def add_row(self, where: str, fields: Mapping[str, Any], corpus: Path, **more: Any) -> bool:
        """Keep the question of a table, and return whether it has chunks; else it is left out.

        Raises:
            InputError: a value is wrong, or there is no such chunk in the corpus.
        """
        named = fields.get("chunk_ids") or []
        if not isinstance(named, list):
            raise InputError(f"{where}, column chunk_ids: must be a list of chunk ids")
        groups = _groups(where, fields.get("retrieval_gt", [[name] for name in named]))
        ids = named or [group[0] for group in groups]
        try:
            known = {name: self.chunks[name] for name in chain(ids, *groups)}
        except (KeyError, TypeError) as error:
            raise InputError(f"{where}: there is no chunk {error.args[0]} in {corpus}") from error
        if ids:
            contexts = [known[name] for name in dict.fromkeys(ids)]
            self.add_sample(where, fields, contexts, retrieval_gt=groups, **more)
        return bool(ids)


def _tables(files: Sequence[Path], format: str, *names: str) -> Iterator[Path]:
    """Yield the files of these names, which are given, or their folder."""
    given = chain(*([path / name for name in names] if path.is_dir() else [path] for path in files))
    named = {file.name: file for file in given if file.exists()}
    if sorted(named) != sorted(names):
        raise InputError(
            f"{', '.join(map(str, files))}: {format} is two files, {' and '.join(names)}; name both"
        )
    return map(named.__getitem__, names)


def _read_autorag(files: Sequence[Path]) -> _ForeignSet:
    """Read AutoRAG's tables, named or in a folder.

    As in AutoRAG, ``retrieval_gt`` may also be an id or a list of ids, and ``generation_gt`` a
    text. The first of several answers is the answer. Questions without a relevant chunk are left
    out, unless an export of groundset names the chunks that they were made from.
    """
    (qa, corpus), found = _tables(files, "autorag", "qa.parquet", "corpus.parquet"), _ForeignSet()
    for where, fields in parquet_rows(corpus):
        chunk = chunk_of(where, {**fields, "chunk_id": None})
        if chunk.chunk_id in found.chunks:
            raise InputError(f"{where}: chunk {chunk.chunk_id} is in the table twice")
        found.add_chunk(where, chunk, OWN)
    for where, fields in parquet_rows(qa):
        given = fields.get("generation_gt")
        answers = [given] if isinstance(given, str) else given or []
        if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
            raise InputError(f"{where}, column generation_gt: must be a list of texts")
        others = {"answer_variants": answers[1:]} if answers[1:] else {}
        row = {
            "id": required(where, fields, "qid"),
            "question": required(where, fields, "query"),
            "answer": "".join(answers[:1]),
        }
        found.add_row(
            where,
            row | {name: fields.get(name) for name in ("retrieval_gt", "chunk_ids")},
            corpus,
            metadata=_others(where, fields, (*_QA, "chunk_ids")) | others,
        )
    return found


def _read_csv(files: Sequence[Path]) -> _ForeignSet:
    """Read the tables of an export as csv."""
    (questions, corpus), found = _tables(files, "csv", "questions.csv", "corpus.csv"), _ForeignSet()
    asked = [
        (where, {_USUAL.get(name.casefold(), name): value for name, value in fields.items()})
        for where, fields in csv_rows(questions)
    ]
    chunks = list(csv_rows(corpus))
    _check_columns(questions, asked, "question", "answer", "retrieval_gt|chunk_ids")
    _check_columns(corpus, chunks, "chunk_id", "text|contents")
    for where, fields in chunks:
        found.add_chunk(
            where, chunk_of(where, {**fields, "chunk_id": required(where, fields, "chunk_id")})
        )
    for where, fields in asked:
        is_kept = found.add_row(
            where,
            fields,
            corpus,
            probability=fields.get("probability"),
            metadata={name: fields[name] for name in ("kind", "conversation") if fields.get(name)},
        )
        if not is_kept:
            raise InputError(f"{where}, column chunk_ids: must be a list of chunk ids")
    return found


def _check_columns(file: Path, rows: Sequence[Row], *names: str) -> None:
    """Refuse a table that lacks columns, naming all of them; ``|`` stands between alternatives."""
    for _, there in rows[:1]:
        missing = [name for name in names if there.keys().isdisjoint(name.split("|"))]
        if told := ", ".join(missing).replace("|", " or "):
            raise InputError(f"{file}: there is no column {told}; name them so")


def _groups(where: str, value: Any) -> tuple[tuple[str, ...], ...]:
    """Parse groups of ids; a single id or a flat list is one group, ``[]`` or ``[[]]`` is none."""
    value = [value] if isinstance(value, str) else value
    if isinstance(value, list) and value and not any(isinstance(group, list) for group in value):
        value = [value]
    if value in ([], [[]]):
        return ()
    if not isinstance(value, list) or not all(isinstance(group, list) and group for group in value):
        raise InputError(f"{where}, column retrieval_gt: must be lists of chunk ids")
    names = [
        [required(where, {"retrieval_gt id": name}, "retrieval_gt id") for name in group]
        for group in value
    ]
    return tuple(tuple(dict.fromkeys(group)) for group in names)


def _read_jsonl(files: Sequence[Path]) -> _ForeignSet:
    """Read `samples.jsonl` of a run, or rows with `question`, `answer` and `contexts` (or one text
    as `passage`).

    `contexts` holds texts, or objects with `text` and optionally `chunk_id`, `doc_id`, `path`,
    `title`, `headings`, `start`, `end` and `metadata`. The distinct contexts are the corpus.
    Samples of a run keep their ids, kinds, trails and probabilities.
    """
    found = _ForeignSet()
    rows = [row for file in files for row in jsonl_rows(file)]
    contexts = [_contexts(where, fields, found) for where, fields in rows]
    for (where, fields), chunks in zip(rows, contexts, strict=True):
        groups: tuple[tuple[str, ...], ...] = tuple((chunk.chunk_id,) for chunk in chunks)
        known, more = _ROW, {}
        with suppress(ValidationError):  # it is no row of a run
            row = {key: value for key, value in fields.items() if key in COLUMNS}
            sample, known = Sample.model_validate(row), COLUMNS
            # Groups may name chunks that are in no row.
            kept = tuple(
                tuple(filter(found.chunks.__contains__, group)) for group in sample.retrieval_gt
            )
            groups = kept if all(kept) else groups
            more = {"probability": sample.probability, "trail": sample.trail}
        found.add_sample(
            where,
            fields,
            chunks,
            retrieval_gt=groups,
            metadata=_others(where, fields, known),
            **more,
        )
    return found


def _contexts(where: str, fields: Mapping[str, Any], found: _ForeignSet) -> list[Chunk]:
    given = fields.get("contexts", fields.get("passage"))
    listed = given if isinstance(given, list) else [given]
    contexts = [{"text": each} if isinstance(each, str) else each for each in listed]
    if not contexts or not all(isinstance(each, dict) for each in contexts):
        raise InputError(
            f"{where}, column contexts: must be a list of texts, or of objects with `text`"
        )
    chunks: dict[str, Chunk] = {}
    where = f"{where}, contexts"
    for context in contexts:
        name = optional(where, context, "chunk_id") or text_id(str(context.get("text")))
        chunk = found.add_chunk(where, chunk_of(where, {**context, "chunk_id": name}))
        chunks[chunk.chunk_id] = chunk
    return list(chunks.values())


def _others(where: str, fields: Mapping[str, Any], known: Container[str]) -> dict[str, Any]:
    """Return the metadata of a row; columns that are not known are its ``imported``."""
    metadata = metadata_of(where, fields)
    unknown = {
        name: value for name, value in fields.items() if name not in known and value is not None
    }
    extra, earlier = metadata_of(where, {"metadata": unknown}), metadata.get("imported")
    imported = earlier | extra if isinstance(earlier, dict) else extra
    return metadata | ({"imported": imported} if extra else {})


_READERS: Mapping[str, Callable[[Sequence[Path]], _ForeignSet]] = {
    "autorag": _read_autorag,
    "csv": _read_csv,
    "jsonl": _read_jsonl,
}
