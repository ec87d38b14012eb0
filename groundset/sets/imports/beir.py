"""BEIR's folder: `corpus.jsonl`, `queries.jsonl` and `qrels/<split>.tsv`, ours or anybody's.

BEIR only lists the relevant chunks of each question. So any of them will do, the one judged most relevant first; a
judgement of 0 is none. Where `metadata` of a question has `retrieval_gt`, as in our own exports, that holds the groups
of chunks that are needed. Answers are in `metadata` too (`answer`, or a list `answers`); BEIR has none.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from groundset.rows import jsonl_rows, metadata_of, optional, required, span_of
from groundset.sets.imports.base import ForeignChunk, ForeignQuestion, ForeignSet, ImportFormat, listed, named
from programs.errors import InputError
from programs.untrusted import numbered_lines

_CORPUS, _QUERIES, _QRELS = "corpus.jsonl", "queries.jsonl", "qrels"
_HEADER = ("query-id", "corpus-id", "score")


def read_beir(paths: Sequence[Path]) -> ForeignSet:
    """Read a folder.

    Chunks without text and questions without a relevant chunk, which such sets often hold, are left out.
    """
    folder = paths[0]
    if len(paths) > 1 or not _knows(paths):
        raise InputError(f"{named(paths)}: beir is one folder with {_CORPUS}, {_QUERIES} and {_QRELS}/*.tsv")
    tables = sorted(file for file in listed([folder / _QRELS]) if file.suffix.lower() == ".tsv")
    if not tables:
        raise InputError(f"{folder / _QRELS} holds no .tsv file")
    judged: dict[str, _Relevant] = {}
    for table in tables:
        _read_judgements(table, judged)
    chunks = [chunk for where, fields in jsonl_rows(folder / _CORPUS) if (chunk := _chunk(where, fields))]
    known = {chunk.chunk_id for chunk in chunks}
    rows = list(jsonl_rows(folder / _QUERIES))
    questions = [question for row in rows if (question := _question(*row, judged, known, splits=len(tables) > 1))]
    left_out = len(rows) - len(questions)
    notes = [f"{left_out} questions without a relevant chunk were left out."] if left_out else []
    if unknown := judged.keys() - {str(fields["_id"]) for _, fields in rows}:
        notes.append(f"{len(unknown)} questions that {_QRELS} judges are not in {_QUERIES}, {min(unknown)} among them.")
    files = [(folder / _CORPUS, 0), (folder / _QUERIES, len(questions)), *((table, 0) for table in tables)]
    return ForeignSet(chunks, questions, folder / _CORPUS, files, notes)


class _Relevant:
    """The judgements of one question in one table."""

    def __init__(self, table: Path, where: str) -> None:
        self.table = table
        self.where = where
        self.scores: dict[str, float] = {}

    def ids(self) -> list[str]:
        """Return the ids of the relevant chunks, best first."""
        return sorted((name for name, score in self.scores.items() if score > 0), key=lambda name: -self.scores[name])


def _read_judgements(table: Path, judged: dict[str, _Relevant]) -> None:
    rows = csv.reader((f"{line.decode()}\n" for _, line in numbered_lines(table)), delimiter="\t")
    try:
        for row in rows:
            if not row or (rows.line_num == 1 and tuple(row) == _HEADER):
                continue
            question, chunk, score = row
            found = judged.setdefault(question, _Relevant(table, f"{table}, line {rows.line_num}"))
            if found.table != table:
                problem = f"question {question} is in {found.table.name} too, and can be of one split only"
                raise InputError(f"{table}, line {rows.line_num}: {problem}")
            found.scores[chunk] = float(score)
    except UnicodeDecodeError as error:
        raise InputError(f"{table}, line {rows.line_num + 1}: not UTF-8 text") from error
    except (ValueError, csv.Error) as error:
        problem = f"must be {', '.join(_HEADER)}, with tabs between them"
        raise InputError(f"{table}, line {rows.line_num}: {problem}") from error


def _chunk(where: str, fields: Mapping[str, Any]) -> ForeignChunk | None:
    text = fields.get("text")
    if isinstance(text, str) and not text.strip():
        return None
    metadata = metadata_of(where, fields)
    own = ("doc_id", "path", "start", "end", "start_end_idx")
    return ForeignChunk(
        where=where,
        chunk_id=required(where, fields, "_id"),
        text=required(where, fields, "text"),
        source=optional(where, metadata, "doc_id"),
        path=optional(where, metadata, "path"),
        title=optional(where, fields, "title"),
        span=span_of(where, metadata),
        metadata={name: value for name, value in metadata.items() if name not in own},
    )


def _question(
    where: str, fields: Mapping[str, Any], judged: Mapping[str, _Relevant], known: set[str], *, splits: bool
) -> ForeignQuestion | None:
    name = required(where, fields, "_id")
    relevant = judged.get(name)
    ids = relevant.ids() if relevant else []
    if relevant is None or not ids:
        return None
    missing = [chunk for chunk in ids if chunk not in known]
    if missing:
        raise InputError(f"{relevant.where}: chunk {missing[0]} is not in {_CORPUS}, or is empty there")
    metadata = metadata_of(where, fields)
    answers = _answers(where, metadata)
    own = ("answer", "answers", "evolution", "language", "retrieval_gt")
    extra = {key: value for key, value in metadata.items() if key not in own and value is not None}
    return ForeignQuestion(
        where=where,
        question_id=name,
        question=required(where, fields, "text"),
        answer=answers[0] if answers else "",
        groups=_groups(metadata.get("retrieval_gt"), ids),
        evolution=optional(where, metadata, "evolution") or "imported",
        language=optional(where, metadata, "language"),
        split=relevant.table.stem if splits else None,
        metadata={**extra, **({"other_answers": answers[1:]} if len(answers) > 1 else {})},
    )


def _answers(where: str, metadata: Mapping[str, Any]) -> list[str]:
    several = metadata.get("answers") or []
    found = [metadata.get("answer"), *(several if isinstance(several, list) else [several])]
    if not all(answer is None or isinstance(answer, str) for answer in found):
        raise InputError(f"{where}, column metadata: answers must be texts")
    return list(dict.fromkeys(answer for answer in found if answer and answer.strip()))


def _groups(value: Any, ids: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return the groups in the metadata if they hold exactly the relevant chunks, else one group of all of them."""
    if isinstance(value, list) and all(isinstance(group, list) and group for group in value):
        groups = tuple(tuple(map(str, group)) for group in value)
        if {name for group in groups for name in group} == set(ids):
            return groups
    return (tuple(ids),)


def _knows(paths: Sequence[Path]) -> bool:
    return len(paths) == 1 and all((paths[0] / name).exists() for name in (_CORPUS, _QUERIES, _QRELS))


IMPORT = ImportFormat("beir", "a folder with corpus.jsonl, queries.jsonl and qrels", _knows, read_beir)
