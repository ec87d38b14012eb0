"""Import a BEIR folder: `corpus.jsonl`, `queries.jsonl` and `qrels/<split>.tsv`.

The chunks with a judgement above 0 become one group of `retrieval_gt`, most relevant first, unless the `metadata` of
the question has `retrieval_gt`, as in groundset's own exports, which also mark unanswerable questions there. BEIR has
no answers; they are read from `metadata` (`answer`, or a list `answers`).
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groundset.rows import jsonl_rows, metadata_of, optional, required, span_of
from groundset.sets.imports.base import (
    ForeignChunk,
    ForeignQuestion,
    ForeignSet,
    ImportFormat,
    listed,
    named,
    unanswerable_sources,
)
from programs.errors import InputError
from programs.untrusted import numbered_lines

_CORPUS, _QUERIES, _QRELS = "corpus.jsonl", "queries.jsonl", "qrels"
_HEADER = ("query-id", "corpus-id", "score")


def read_beir(paths: Sequence[Path]) -> ForeignSet:
    """Read a folder, without empty chunks and questions without a relevant chunk."""
    from groundset.progress import counted

    folder = paths[0]
    if len(paths) > 1 or not _matches(paths):
        raise InputError(f"{named(paths)}: beir is one folder with {_CORPUS}, {_QUERIES} and {_QRELS}/*.tsv")
    tables = sorted(file for file in listed([folder / _QRELS]) if file.suffix.lower() == ".tsv")
    if not tables:
        raise InputError(f"{folder / _QRELS} holds no .tsv file")
    judged: dict[str, _Judgements] = {}
    for table in tables:
        _read_judgements(table, judged)
    chunks = [chunk for where, fields in jsonl_rows(folder / _CORPUS) if (chunk := _chunk(where, fields))]
    known = {chunk.chunk_id for chunk in chunks}
    rows = list(jsonl_rows(folder / _QUERIES))
    questions = [question for row in rows if (question := _question(*row, judged, known, splits=len(tables) > 1))]
    left_out = len(rows) - len(questions)
    notes = [f"Left out {counted(left_out, 'question')} without a relevant chunk."] if left_out else []
    if unknown := judged.keys() - {str(fields["_id"]) for _, fields in rows}:
        questions_in_qrels = counted(len(unknown), "question")
        notes.append(f"Left out {questions_in_qrels} of {_QRELS} missing from {_QUERIES}, for example {min(unknown)}.")
    files = [(folder / _CORPUS, 0), (folder / _QUERIES, len(questions)), *((table, 0) for table in tables)]
    return ForeignSet(chunks, questions, folder / _CORPUS, files, notes)


class _Judgements:
    """The judgements of a question in one table."""

    def __init__(self, table: Path, where: str) -> None:
        self.table = table
        self.where = where
        self.scores: dict[str, float] = {}

    def ids(self) -> list[str]:
        """Return the ids of the relevant chunks, best first."""
        return sorted((name for name, score in self.scores.items() if score > 0), key=lambda name: -self.scores[name])


def _read_judgements(table: Path, judged: dict[str, _Judgements]) -> None:
    rows = csv.reader((f"{line.decode()}\n" for _, line in numbered_lines(table)), delimiter="\t")
    try:
        for row in rows:
            if not row or (rows.line_num == 1 and tuple(row) == _HEADER):
                continue
            question, chunk, score = row
            judgements = judged.setdefault(question, _Judgements(table, f"{table}, line {rows.line_num}"))
            if judgements.table != table:
                problem = f"question {question} is also in {judgements.table.name}; a question can have one split only"
                raise InputError(f"{table}, line {rows.line_num}: {problem}")
            judgements.scores[chunk] = float(score)
    except UnicodeDecodeError as error:
        raise InputError(f"{table}, line {rows.line_num + 1}: not UTF-8 text") from error
    except (ValueError, csv.Error) as error:
        problem = f"must be {', '.join(_HEADER)}, separated by tabs"
        raise InputError(f"{table}, line {rows.line_num}: {problem}") from error


def _chunk(where: str, fields: Mapping[str, Any]) -> ForeignChunk | None:
    text = fields.get("text")
    if isinstance(text, str) and not text.strip():
        return None
    metadata = metadata_of(where, fields)
    known = ("doc_id", "path", "start", "end", "start_end_idx")
    return ForeignChunk(
        where=where,
        chunk_id=required(where, fields, "_id"),
        text=required(where, fields, "text"),
        source=optional(where, metadata, "doc_id"),
        path=optional(where, metadata, "path"),
        title=optional(where, fields, "title"),
        span=span_of(where, metadata),
        metadata={name: value for name, value in metadata.items() if name not in known},
    )


def _question(
    where: str, fields: Mapping[str, Any], judged: Mapping[str, _Judgements], chunk_ids: set[str], *, splits: bool
) -> ForeignQuestion | None:
    name = required(where, fields, "_id")
    relevant = judged.get(name)
    ids = relevant.ids() if relevant else []
    metadata = metadata_of(where, fields)
    sources = () if ids else unanswerable_sources(metadata)
    if not ids and not sources:
        return None
    missing = [chunk for chunk in ids if chunk not in chunk_ids]
    if relevant and missing:
        raise InputError(f"{relevant.where}: chunk {missing[0]} is missing from {_CORPUS}, or empty")
    answers = _answers(where, metadata)
    known = {"answer", "answers", "evolution", "language", "retrieval_gt"}
    if sources:
        known |= {"chunk_ids", "split"}
    extra = {key: value for key, value in metadata.items() if key not in known and value is not None}
    return ForeignQuestion(
        where=where,
        question_id=name,
        question=required(where, fields, "text"),
        answer=answers[0] if answers else "",
        groups=_groups(metadata.get("retrieval_gt"), ids),
        sources=sources,
        evolution=optional(where, metadata, "evolution") or "imported",
        language=optional(where, metadata, "language"),
        split=(relevant.table.stem if relevant else optional(where, metadata, "split")) if splits else None,
        metadata={**extra, **({"answer_variants": answers[1:]} if len(answers) > 1 else {})},
    )


def _answers(where: str, metadata: Mapping[str, Any]) -> list[str]:
    others = metadata.get("answers") or []
    answers = [metadata.get("answer"), *(others if isinstance(others, list) else [others])]
    if not all(answer is None or isinstance(answer, str) for answer in answers):
        raise InputError(f"{where}, column metadata: answers must be strings")
    return list(dict.fromkeys(answer for answer in answers if answer and answer.strip()))


def _groups(value: Any, ids: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the groups in the metadata if they hold exactly the relevant chunks, else a single group."""
    if isinstance(value, list) and all(isinstance(group, list) and group for group in value):
        groups = tuple(tuple(map(str, group)) for group in value)
        if {name for group in groups for name in group} == set(ids):
            return groups
    return (tuple(ids),) if ids else ()


def _matches(paths: Sequence[Path]) -> bool:
    return len(paths) == 1 and all((paths[0] / name).exists() for name in (_CORPUS, _QUERIES, _QRELS))


IMPORT = ImportFormat("beir", "a folder with corpus.jsonl, queries.jsonl and qrels", _matches, read_beir)
