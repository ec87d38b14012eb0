"""Import JSON lines: `samples.jsonl` of a run, or rows with `question`, `answer` and `contexts`.

`contexts` holds strings, or objects with `text`, and optionally `chunk_id`, `doc_id`, `path`, `title`, `headings`,
`start`, `end` and `metadata`; `passage` may hold a single string instead. The distinct contexts are the corpus. Samples
of a run keep their ids, kinds, trails and probabilities.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from groundset.rows import headings_of, is_missing, jsonl_rows, metadata_of, optional, required, span_of
from groundset.sets.imports.base import (
    ForeignChunk,
    ForeignQuestion,
    ForeignSet,
    ImportFormat,
    listed,
    named,
    text_digest,
)
from programs.errors import InputError
from programs.types import Sample

_SUFFIX = ".jsonl"
_OWN = ("id", "question", "answer", "contexts", "passage", "evolution", "language", "split", "metadata")


def read_jsonl(paths: Sequence[Path]) -> ForeignSet:
    """Read one or more files."""
    files = [path for path in listed(paths) if path.suffix.lower() == _SUFFIX and path in paths]
    if not files:
        raise InputError(f"{named(paths)}: not {_SUFFIX} files")
    chunks: dict[str, ForeignChunk] = {}
    questions: list[ForeignQuestion] = []
    counts: list[tuple[Path, int]] = []
    for file in files:
        before = len(questions)
        for where, fields in jsonl_rows(file):
            questions.append(_question(where, fields, [_add(chunk, chunks) for chunk in _contexts(where, fields)]))
        counts.append((file, len(questions) - before))
    # Groups may name chunks that are in no row.
    kept = [
        replace(question, groups=tuple(tuple(filter(chunks.__contains__, group)) for group in question.groups))
        for question in questions
    ]
    return ForeignSet(list(chunks.values()), kept, files[0], counts)


def _add(chunk: ForeignChunk, chunks: dict[str, ForeignChunk]) -> str:
    """Add a chunk unless its id is known, and return the id."""
    first = chunks.setdefault(chunk.chunk_id, chunk)
    if first.text != chunk.text:
        raise InputError(f"{chunk.where}: the text of chunk {chunk.chunk_id} differs from that in {first.where}")
    return chunk.chunk_id


def _contexts(where: str, fields: Mapping[str, Any]) -> list[ForeignChunk]:
    contexts = fields.get("contexts")
    if contexts is None:
        if fields.get("passage") is None:
            raise InputError(f"{where}: column contexts is missing")
        contexts = [fields["passage"]]
    if isinstance(contexts, str):
        contexts = [contexts]
    if not isinstance(contexts, list) or not contexts:
        raise InputError(f"{where}, column contexts: must be a non-empty list of strings, or of objects with `text`")
    return [_chunk(where, {"text": context} if isinstance(context, str) else context) for context in contexts]


def _chunk(where: str, context: Any) -> ForeignChunk:
    where = f"{where}, contexts"
    if not isinstance(context, dict):
        raise InputError(f"{where}: must be strings, or objects with `text`")
    text = required(where, context, "text")
    return ForeignChunk(
        where=where,
        chunk_id=optional(where, context, "chunk_id") or text_digest(text),
        text=text,
        source=optional(where, context, "doc_id"),
        path=optional(where, context, "path"),
        title=optional(where, context, "title"),
        headings=headings_of(where, context),
        span=span_of(where, context),
        metadata=metadata_of(where, context),
    )


def _question(where: str, fields: Mapping[str, Any], ids: Sequence[str]) -> ForeignQuestion:
    question, answer = required(where, fields, "question"), optional(where, fields, "answer") or ""
    needed = tuple((name,) for name in dict.fromkeys(ids))
    try:
        sample = Sample.model_validate({name: value for name, value in fields.items() if name in Sample.model_fields})
    except ValidationError:
        return ForeignQuestion(
            where=where,
            question_id=optional(where, fields, "id") or text_digest(question, answer, *ids),
            question=question,
            answer=answer,
            groups=needed,
            evolution=optional(where, fields, "evolution") or "imported",
            language=optional(where, fields, "language"),
            split=optional(where, fields, "split"),
            metadata=_metadata(where, fields, _OWN),
        )
    groups = sample.retrieval_gt
    unanswerable = not groups and sample.metadata.get("answerable") is False
    are_known = unanswerable or (groups and all(map(set(ids).intersection, groups)))
    return ForeignQuestion(
        where=where,
        question_id=sample.id,
        question=question,
        answer=answer,
        groups=groups if are_known else needed,
        sources=tuple(dict.fromkeys(ids)) if unanswerable else (),
        metadata=_metadata(where, fields, Sample.model_fields),
        **{name: getattr(sample, name) for name in ("evolution", "language", "split", "probability", "trail")},
    )


def _metadata(where: str, fields: Mapping[str, Any], known: Container[str]) -> dict[str, Any]:
    """Return the metadata of a row; unknown columns are added to ``imported``."""
    metadata = metadata_of(where, fields)
    unknown = {name: value for name, value in fields.items() if name not in known and not is_missing(value)}
    if not unknown:
        return metadata
    earlier = metadata.get("imported")
    extra = metadata_of(where, {"metadata": unknown})
    return metadata | {"imported": earlier | extra if isinstance(earlier, dict) else extra}


def _matches(paths: Sequence[Path]) -> bool:
    return bool(paths) and all(path.suffix.lower() == _SUFFIX and path.is_file() for path in paths)


IMPORT = ImportFormat("jsonl", "samples.jsonl, or rows with question, answer and contexts", _matches, read_jsonl)
