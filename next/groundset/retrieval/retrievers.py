"""Retrievers that are compared: dense, BM25, both fused, and rankings that another system wrote.

A ranking is a list of places of chunks, the best first. BM25 is Lucene's, by bm25s, with k1 = 1.5 and b = 0.75, over
runs of letters and digits in lower case, without stemming or stop words, so that all languages are treated alike.
Source: S. Robertson and H. Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
"""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from groundset.retrieval.index import SEARCH_DEPTH
from groundset.rows import jsonl_rows, required
from programs.errors import InputError
from programs.untrusted import numbered_lines

Ranking = list[int]

RETRIEVERS = ("dense", "bm25", "hybrid")
_WORD = re.compile(r"\w+")
_FUSION = 60  # added to ranks
_COLUMNS = 6  # of a TREC run: question Q0 chunk rank score tag


def bm25(texts: Sequence[str], questions: Sequence[str]) -> list[Ranking]:
    """Rank by BM25; chunks that share no word with the question are left out, and ties keep the order of the chunks."""
    import bm25s

    words = [_WORD.findall(text.lower()) for text in texts]
    known = {word for text in words for word in text}
    if not known:
        return [[] for _ in questions]
    index = bm25s.BM25(method="lucene")
    index.index(words, show_progress=False)
    rankings = []
    for question in questions:
        asked = [word for word in _WORD.findall(question.lower()) if word in known]
        scores = index.get_scores(asked) if asked else np.zeros(len(texts))
        order = np.argsort(-scores, kind="stable")[:SEARCH_DEPTH]
        rankings.append([int(place) for place in order if scores[place] > 0])
    return rankings


def fuse(*rankings: Ranking) -> Ranking:
    """Fuse rankings by reciprocal ranks; ties keep the order of the first ranking.

    Source: G. V. Cormack et al., Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods
    (2009).
    """
    scores: defaultdict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, place in enumerate(ranking, 1):
            scores[place] += 1 / (_FUSION + rank)
    return sorted(scores, key=lambda place: -scores[place])[:SEARCH_DEPTH]


def read_ranking(file: Path, questions: Sequence[str], chunks: Sequence[str]) -> list[Ranking]:
    """Return the ranking of each question; empty if the file has none.

    Args:
        file: a TREC run (``question Q0 chunk rank score tag``, ids percent-encoded as in exports), or with the suffix
            .jsonl lines with ``id`` of a question and ``chunk_ids``, the best first.
        questions: the ids of the questions.
        chunks: the ids of the chunks of the run.

    Raises:
        InputError: a line is malformed, repeats a question or a chunk, or has one that is not in the run.
    """
    places = {chunk_id: place for place, chunk_id in enumerate(chunks)}
    read = _read_lines if file.suffix.lower() == ".jsonl" else _read_trec
    try:
        found = read(file, frozenset(questions), places)
    except OSError as error:
        raise InputError(f"--ranking {file}: {error.strerror or error}") from error
    if not found:
        raise InputError(f"--ranking {file}: holds no rankings of questions of the run")
    return [found.get(question, [])[:SEARCH_DEPTH] for question in questions]


def _read_lines(file: Path, questions: frozenset[str], places: Mapping[str, int]) -> dict[str, Ranking]:
    found: dict[str, Ranking] = {}
    for where, fields in jsonl_rows(file):
        name, ids = required(where, fields, "id"), fields.get("chunk_ids")
        if not isinstance(ids, list) or not all(isinstance(chunk, str) for chunk in ids):
            raise InputError(f"{where}, column chunk_ids: must be a list of chunk ids")
        _check(where, name, questions, "question")
        if name in found or len(set(ids)) < len(ids):
            raise InputError(f"{where}: question {name} is ranked twice, or one of its chunks is")
        found[name] = [places[_check(where, chunk, places, "chunk")] for chunk in ids]
    return found


def _read_trec(file: Path, questions: frozenset[str], places: Mapping[str, int]) -> dict[str, Ranking]:
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
        name, chunk = _check(where, unquote(fields[0]), questions, "question"), unquote(fields[2])
        place = places[_check(where, chunk, places, "chunk")]
        try:
            rank, score = int(fields[3]), float(fields[4])
        except ValueError:
            rank, score = 0, math.nan
        if math.isnan(score):
            raise InputError(f"{where}: rank and score must be numbers")
        if place in scored[name]:
            raise InputError(f"{where}: chunk {chunk} is ranked twice for question {name}")
        scored[name][place] = (-score, rank)
    # As trec_eval does, by score; the rank decides between equal scores.
    return {name: sorted(found, key=found.__getitem__) for name, found in scored.items()}


def _check(where: str, name: str, known: frozenset[str] | Mapping[str, int], what: str) -> str:
    if name not in known:
        raise InputError(f"{where}: no {what} {name} in the run")
    return name
