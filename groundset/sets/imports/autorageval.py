"""Auto RAG Eval: `benchmark.json`, rows with `context`, `Question`, `Answer` and a profile.

The file has neither chunks nor documents, so each distinct context becomes a chunk. The profile of a question is kept
in its metadata.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groundset.rows import array_rows, metadata_of, optional, required
from groundset.sets.imports.base import ForeignChunk, ForeignQuestion, ForeignSet, ImportFormat, named, text_digest
from programs.errors import InputError

_MOST = 64 << 20  # bytes of a file; it is held in memory whole
_PROFILE = "Q&A Gen Profile"
_OWN = ("context", "Question", "Answer", _PROFILE)


def read_autorageval(paths: Sequence[Path]) -> ForeignSet:
    """Read one file.

    Rows without question, answer or context are skipped, as by the published transformer.
    """
    if len(paths) > 1 or not paths[0].is_file():
        raise InputError(f"{named(paths)}: autorageval is one JSON file")
    [file] = paths
    chunks: dict[str, ForeignChunk] = {}
    questions: list[ForeignQuestion] = []
    rows = list(array_rows(file, _MOST))
    for where, row in rows:
        if not all(row.get(name) for name in ("context", "Question", "Answer")):
            continue
        text = required(where, row, "context")
        chunk_id = text_digest(text)
        chunks.setdefault(chunk_id, ForeignChunk(where=where, chunk_id=chunk_id, text=text))
        questions.append(_question(where, row, chunk_id))
    left_out = len(rows) - len(questions)
    notes = [f"{left_out} rows without question, answer or context were left out."] if left_out else []
    return ForeignSet(list(chunks.values()), questions, file, [(file, len(questions))], notes)


def _question(where: str, row: Mapping[str, Any], chunk_id: str) -> ForeignQuestion:
    question, answer = required(where, row, "Question"), optional(where, row, "Answer") or ""
    profile = row.get(_PROFILE)
    rest = {name: value for name, value in row.items() if name not in _OWN}
    found = ({"profile": profile} if profile else {}) | ({"imported": rest} if rest else {})
    return ForeignQuestion(
        where=where,
        question_id=text_digest(question, answer, chunk_id),
        question=question,
        answer=answer,
        groups=((chunk_id,),),
        metadata=metadata_of(where, {"metadata": found}),
    )


def _matches(paths: Sequence[Path]) -> bool:
    return len(paths) == 1 and paths[0].suffix.lower() == ".json" and paths[0].is_file()


IMPORT = ImportFormat("autorageval", "benchmark.json of Auto RAG Eval", _matches, read_autorageval)
