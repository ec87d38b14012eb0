"""Retrievers that are compared: dense, BM25, both fused, and rankings that another system wrote.

A ranking is a list of ids of chunks, the best first. BM25 is Lucene's, by bm25s, with k1 = 1.5 and
b = 0.75, over runs of letters and digits, casefolded and composed, without stemming or stop words,
so that all languages are treated alike.
Source: S. Robertson and H. Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from math import isfinite
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from groundset.printing import counted
from groundset.programs.errors import InputError
from groundset.programs.text import words_in
from groundset.programs.untrusted import numbered_lines
from groundset.retrieval.index import SEARCH_DEPTH
from groundset.rows import jsonl_rows, required

Ranking = list[str]

RETRIEVERS = ("dense", "bm25", "hybrid")
_FUSION = 60  # added to ranks
# Where it stands, question, chunk, score and rank; no chunk if the search found nothing.
_Line = tuple[str, str, str | None, float, int]


def bm25(texts: Mapping[str, str]) -> Callable[[str], Ranking]:
    """Return a search of texts by BM25, without those that share no word with the query; ties keep
    their order.
    """
    import bm25s

    ids = list(texts)
    # One object for each word: half of the memory.
    words = [list(map(sys.intern, words_in(text))) for text in texts.values()]
    known = set(chain(*words))
    index = bm25s.BM25(method="lucene")
    if known:
        index.index(words, show_progress=False)

    def ranked(question: str) -> Ranking:
        asked = [word for word in words_in(question) if word in known]
        scores = index.get_scores(asked) if asked else np.zeros(len(ids))
        order = np.argsort(-scores, kind="stable")[:SEARCH_DEPTH]
        return [ids[place] for place in order if scores[place] > 0]

    return ranked


def fuse(*rankings: Ranking) -> Ranking:
    """Fuse rankings by reciprocal ranks; ties keep the order of the first ranking.

    Source: G. V. Cormack et al., Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods (2009).
    """
    scores: defaultdict[str, float] = defaultdict(float)
    for ranking in rankings:
        for rank, chunk_id in enumerate(ranking, 1):
            scores[chunk_id] += 1 / (_FUSION + rank)
    return sorted(scores, key=lambda chunk_id: -scores[chunk_id])[:SEARCH_DEPTH]


def read_ranking(
    file: Path, questions: Sequence[str], chunks: Collection[str], others: Collection[str] = ()
) -> list[Ranking]:
    """Return the ranking of each question. Questions and chunks are those of a run, by id; rankings
    of its ``others`` are passed over.

    The file is a TREC run (``question Q0 chunk rank score tag``, ids percent-encoded as in
    exports), or with the suffix .jsonl lines with ``id`` of a question and ``chunk_ids``, the best
    first.

    Raises:
        InputError: a question has no ranking, or a line is malformed, repeats a question or a
            chunk, or has one that is not in the run.
    """
    known = {*questions, *others}
    found: dict[str, dict[str, tuple[float, int]]] = {}
    read = _read_lines if file.suffix.lower() == ".jsonl" else _read_trec
    for where, question, chunk, score, rank in read(file):
        if question not in known:
            raise InputError(f"{where}: no question {question} in the run")
        ranked = found.setdefault(question, {})
        if chunk is None:
            continue
        if chunk not in chunks:
            raise InputError(f"{where}: no chunk {chunk} in the run")
        if chunk in ranked:
            raise InputError(f"{where}: chunk {chunk} is ranked twice for question {question}")
        ranked[chunk] = (-score, rank)
    if missing := [question for question in questions if question not in found]:
        raise InputError(
            f"{file}: has no ranking of {len(missing)} of {counted(len(questions), 'question')}"
            f" ({', '.join(missing[:3])}{', …' * (len(missing) > 3)}); a .jsonl line with empty"
            " chunk_ids says that nothing was found"
        )
    # As trec_eval does, by score; the rank decides between equal scores.
    rankings = (found[question] for question in questions)
    return [sorted(ranked, key=ranked.__getitem__)[:SEARCH_DEPTH] for ranked in rankings]


def _read_lines(file: Path) -> Iterator[_Line]:
    seen = set()
    for where, fields in jsonl_rows(file):
        question, ids = required(where, fields, "id"), fields.get("chunk_ids")
        if question in seen:
            raise InputError(f"{where}: question {question} is ranked twice")
        seen.add(question)
        if not isinstance(ids, list) or not all(isinstance(chunk, str) for chunk in ids):
            raise InputError(f"{where}, column chunk_ids: must be a list of chunk ids")
        yield from ((where, question, chunk, 0.0, rank) for rank, chunk in enumerate(ids or [None]))


def _read_trec(file: Path) -> Iterator[_Line]:
    for number, line in numbered_lines(file):
        where = f"{file}, line {number}"
        try:
            fields = line.decode().split()
            if not fields:
                continue
            question, _, chunk, rank, score, _ = fields
            if not isfinite(float(score)):
                raise InputError(f"{where}: the score {score} is no finite number")
            yield where, unquote(question), unquote(chunk), float(score), int(rank)
        except ValueError as error:
            raise InputError(
                f"{where}: not a line of a TREC run (question Q0 chunk rank score tag)"
            ) from error
