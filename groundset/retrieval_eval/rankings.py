"""Rankings of other systems: TREC run files and JSON lines.

A TREC run has lines of `question Q0 chunk rank score tag` (TREC, `trec_eval`); its ids are percent-encoded as
by `groundset export --format trec`. JSON lines have `id` (a question) and `chunk_ids`, best first.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from groundset.retrieval_eval.retrievers.base import Ranking
from groundset.rows import jsonl_rows, required
from programs.errors import InputError
from programs.types import Chunk, Sample
from programs.untrusted import numbered_lines

_COLUMNS = 6


def read_rankings(file: Path, samples: Sequence[Sample], chunks: Sequence[Chunk], depth: int) -> list[Ranking]:
    """Return the ranking of each sample down to a depth; empty if the file has none.

    Raises:
        InputError: a line is malformed, or has a question or chunk that is not in the run.
    """
    indices = {chunk.chunk_id: index for index, chunk in enumerate(chunks)}
    known = {sample.id for sample in samples}
    try:
        found = (_read_lines if file.suffix.lower() == ".jsonl" else _read_trec)(file, known, indices)
    except OSError as error:
        raise InputError(f"--ranking {file}: {error.strerror or error}") from error
    if not found:
        raise InputError(f"--ranking {file}: no rankings found")
    return [found.get(sample.id, [])[:depth] for sample in samples]


def _read_lines(file: Path, known: set[str], indices: Mapping[str, int]) -> dict[str, Ranking]:
    found: dict[str, Ranking] = {}
    for where, fields in jsonl_rows(file):
        name, ids = required(where, fields, "id"), fields.get("chunk_ids")
        if not isinstance(ids, list):
            raise InputError(f"{where}, column chunk_ids: must be a list of chunk ids")
        _check(where, name, known, "question")
        found[name] = list(dict.fromkeys(indices[_check(where, str(chunk), indices, "chunk")] for chunk in ids))
    return found


def _read_trec(file: Path, known: set[str], indices: Mapping[str, int]) -> dict[str, Ranking]:
    scored: defaultdict[str, dict[int, tuple[float, int]]] = defaultdict(dict)
    for number, line in numbered_lines(file):
        where = f"{file}, line {number}"
        try:
            fields = line.decode().split()
        except UnicodeDecodeError as error:
            raise InputError(f"{where}: not UTF-8 text") from error
        if not fields:
            continue
        if len(fields) != _COLUMNS:
            raise InputError(f"{where}: {_COLUMNS} columns are expected (question Q0 chunk rank score tag)")
        name, chunk = unquote(fields[0]), unquote(fields[2])
        _check(where, name, known, "question")
        index = indices[_check(where, chunk, indices, "chunk")]
        try:
            rank, score = int(fields[3]), float(fields[4])
        except ValueError as error:
            raise InputError(f"{where}: rank and score must be numbers") from error
        if math.isnan(score):
            raise InputError(f"{where}: rank and score must be numbers")
        scored[name].setdefault(index, (-score, rank))
    # As trec_eval does, by score; the rank decides between equal scores.
    return {name: sorted(found, key=found.__getitem__) for name, found in scored.items()}


def _check(where: str, name: str, known: set[str] | Mapping[str, int], what: str) -> str:
    if name not in known:
        raise InputError(f"{where}: no {what} {name} in the run")
    return name
