"""The user's own questions: read from a file, grouped with their counts, searched for, and asked
one by one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groundset.corpus.corpus import Corpus
from groundset.models.catalogue import file_sha256
from groundset.privacy import without_secrets
from groundset.programs.forms import SIMPLE
from groundset.programs.given import NEAREST, no_question
from groundset.programs.recipe import Search
from groundset.programs.types import Hit
from groundset.retrieval.embed import Reranker
from groundset.retrieval.index import Index
from groundset.retrieval.retrievers import bm25, fuse
from groundset.rows import questions_in
from groundset.run.engine import Asked, Duplicates
from groundset.run.plan import Plan, Task
from groundset.run.store import Attempt, Store
from groundset.run.values import names_traces, questions_of_traces

_CANDIDATES = 50  # that a cross-encoder reads


def read_questions(source: Path | str) -> Counter[str]:
    """Return how often each question of a file, or of the traces of an experiment, was asked, in
    their order.

    Raises:
        InputError: it cannot be read, has no such column, no questions or too many.
    """
    if names_traces(source):
        return Counter(questions_of_traces(str(source)))
    return Counter(question for _, question, _ in questions_in(Path(source), "--questions"))


def source_identity(source: Path | str) -> str:
    """Return what stays the same of a source while a run on it goes on: the content of a file, the
    address of traces, which become more.
    """
    return without_secrets(str(source)) if names_traces(source) else file_sha256(Path(source))


def grouped(questions: Mapping[str, int], encoder: Any) -> dict[str, int]:
    """Return questions with their counts; those of duplicates are added to that of the first."""
    known, weights = Duplicates(), Counter[str]()
    for text, vector in zip(questions, encoder.encode(list(questions)), strict=True):
        first = known.find(asked := Asked(text, vector))
        if first is None:
            known.add(asked)
        weights[text if first is None else first] += questions[text]
    return dict(weights)


def hybrid(corpus: Corpus, index: Index) -> Search:
    """Return a search of a corpus by meaning and by words, both fused."""
    chunks = corpus.by_id
    by_words = bm25({name: f"{chunk.topic}\n{chunk.text}" for name, chunk in chunks.items()})

    def search(query: str, limit: int) -> Sequence[Hit]:
        dense = {hit.chunk_id: hit for hit in index.search(query)}
        found = [chunks[name] for name in fuse(list(dense), by_words(query))[:limit]]
        return [
            dense.get(each.chunk_id) or Hit(each.chunk_id, each.passage, each.topic, 0.0)
            for each in found
        ]

    return search


def reranked(search: Search, reranker: Reranker) -> Search:
    """Return a search whose best candidates are put in order by a model that reads both texts."""

    def ordered(query: str, limit: int) -> Sequence[Hit]:
        hits = search(query, max(limit, _CANDIDATES))
        scores = reranker.scores(query, [f"{hit.topic}\n{hit.passage}" for hit in hits])
        order = sorted(range(len(hits)), key=lambda place: -scores[place])
        return [hits[place] for place in order[:limit]]

    return ordered


def planned(
    own: Mapping[str, int], size: int | None, encoder: Any, store: Store, search: Search
) -> "Questions":
    """Return the plan of a run on the user's own questions, which are grouped once."""
    if (found := store.meta("questions")) is None:
        store.set_meta("questions", found := grouped(own, encoder))
    return Questions(found, size or len(found), search)


class Questions(Plan):
    """The plan of a run on the user's own questions: each is asked once, in their order."""

    def __init__(self, questions: Mapping[str, int], size: int, search: Search) -> None:
        """Begin with nothing made; ``size`` is the most samples."""
        super().__init__({}, size=size, mix={SIMPLE: 1})
        self._left, self._search = dict(questions), search

    @property
    def missing(self) -> int:
        """Return how many samples are missing and can still be made."""
        return min(super().missing, len(self._left))

    def next(self) -> Task | None:
        """Return the attempt on the next question; None if enough are in flight or none is left."""
        flying = {task.question for task in self._flying.values()}
        text = next((each for each in self._left if each not in flying), None)
        if text is None or super().missing <= self.in_flight:
            return None
        self._number = number = self._number + 1
        chunks = (
            tuple(hit.chunk_id for hit in self._search(text, NEAREST))
            if no_question(text) is None
            else ()
        )
        task = Task(
            number,
            chunks,
            beyond=True,
            question=text,
            weight=self._left[text],
        )
        self._flying[number] = task
        return task

    def record(self, attempt: Attempt) -> None:
        """Take in a finished attempt; what `align` has lost is asked again."""
        self._flying.pop(attempt.number, None)
        self._number = max(self._number, attempt.number)
        sample, rejects = attempt.result.sample, attempt.result.rejects
        done = [reject.question or "" for reject in rejects if reject.step != "align"]
        for question in [sample.question] if sample else done:
            self._left.pop(question, None)
        if sample and attempt.state == "accepted":
            self.accepted[sample.evolution] += 1
