"""Comparison of retrievers on the questions of a run, with significance tests."""

import time
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from groundset.corpus import CorpusOptions, cut_documents
from groundset.engine.preparation import Phases
from groundset.retrieval.index import SEARCH_DEPTH
from groundset.retrieval.stores import open_store
from groundset.retrieval_eval.configs import RetrieverConfig
from groundset.retrieval_eval.passages import PassageFinder, source_passages
from groundset.retrieval_eval.rankings import read_rankings
from groundset.retrieval_eval.retrievers import RETRIEVERS
from groundset.retrieval_eval.retrievers.base import Ranking, SearchTask
from groundset.run import Run
from groundset.stats import (
    ALPHA,
    Estimate,
    Units,
    Values,
    bootstrap_mean,
    detectable_gain,
    holm,
    mcnemar,
    permutation,
    resampling_units,
)
from programs.errors import InputError
from programs.types import Chunk, Sample

Vectors = NDArray[np.float32]

HIT, RECIPROCAL = "hit@1", "mean reciprocal rank"
_EARLY = 5
_NEEDS_EMBEDDER = ("semantic", "token")


class Monitor(Phases, Protocol):
    """Progress display of a comparison."""

    def note(self, message: str) -> None:
        """Show one line."""
        ...


class Finding(NamedTuple):
    """The search result of one question.

    Attributes:
        first: top-ranked chunk; None if the retriever found none.
        score: 1 if it contains a passage of the question, else 0.
        rank: rank of the passage, from 1; the largest if several are needed; None if one is beyond the search depth.
    """

    first: Chunk | None
    score: int
    rank: int | None


class Scores(NamedTuple):
    """The scores of one retriever for each question: hit (1 or 0) and reciprocal rank."""

    hits: Values
    reciprocal: Values


class Result(NamedTuple):
    """The result of one retriever.

    Attributes:
        left_out: number of questions whose passage is in no chunk.
        embedding: seconds to embed the chunks; None for chunks embedded by the run.
        searching: seconds to search all questions.
    """

    config: RetrieverConfig
    chunks: int
    findings: list[Finding]
    left_out: int
    embedding: float | None
    searching: float

    @property
    def scores(self) -> Scores:
        """Return the scores of every question."""
        return Scores(
            np.array([finding.score for finding in self.findings], dtype=float),
            np.array([1 / finding.rank if finding.rank else 0.0 for finding in self.findings]),
        )

    def estimates(self, units: Units) -> dict[str, Estimate]:
        """Return hit@1, hit@5 and the mean reciprocal rank with their intervals."""
        early = [finding.rank is not None and finding.rank <= _EARLY for finding in self.findings]
        return {
            "hit_at_1": bootstrap_mean(self.scores.hits, units),
            "hit_at_5": bootstrap_mean(np.array(early, dtype=float), units),
            "reciprocal_rank": bootstrap_mean(self.scores.reciprocal, units),
        }

    @property
    def median_rank(self) -> float | None:
        """Return the median rank; None beyond the search depth."""
        median = float(np.median([finding.rank or np.inf for finding in self.findings]))
        return median if np.isfinite(median) else None

    def rows(self, samples: Sequence[Sample]) -> list[dict[str, Any]]:
        """Return the findings as rows, one for each question."""
        return [
            {
                "id": sample.id,
                "question": sample.question,
                "context": "\n\n".join(chunk.text for chunk in sample.contexts),
                "retrieved_content": finding.first.text if finding.first else "",
                "retrieved_id": finding.first.chunk_id if finding.first else "",
                "score": finding.score,
                "rank": finding.rank,
                "reciprocal_rank": round(1 / finding.rank, 6) if finding.rank else 0.0,
            }
            for sample, finding in zip(samples, self.findings, strict=True)
        ]


class Difference(NamedTuple):
    """The gain of retriever ``better`` over ``worse``, given as indices.

    Attributes:
        p: p-value corrected for all tests of the comparison.
        is_significant: whether p is below 0.05 and the interval of ``gain`` excludes zero.
        detectable: minimum detectable gain.
    """

    measure: str
    better: int
    worse: int
    gain: Estimate
    p: float
    is_significant: bool
    detectable: float


class Comparison(NamedTuple):
    """The results of all retrievers, the run's own first.

    Intervals resample ``units``: documents if ``by_document``, else questions. ``unanswerable`` questions are left out.
    """

    samples: list[Sample]
    results: list[Result]
    units: Units
    by_document: bool
    differences: list[Difference]
    unanswerable: int = 0

    @property
    def documents(self) -> int:
        """Return the number of documents that the questions use."""
        return len({sample.contexts[0].doc_id for sample in self.samples})


def compare(
    run: Run,
    configs: Sequence[RetrieverConfig],
    *,
    vector_store: str,
    load_embedder: Callable[[str], Any],
    monitor: Monitor,
) -> Comparison:
    """Search the questions of a run with every retriever; the first is the run's own.

    Raises:
        InputError: the run's embedder now has other weights, a chunker leaves no chunk, or no question is answerable.
        DamagedRunError: the vectors of the run do not have the dimension of its embedder.
    """
    left_out = sum(not sample.answerable for sample in run.samples)
    run = run.only(place for place, sample in enumerate(run.samples) if sample.answerable)
    if not run.samples:
        raise InputError(f"{run.folder}: every question is unanswerable, so there is nothing to be found")
    samples = list(run.samples)
    search = _Search(run, configs, load_embedder, vector_store, monitor)
    results = [search.measure(config) for config in configs]
    units, by_document = resampling_units([sample.contexts[0].doc_id for sample in samples])
    found = differences([result.scores for result in results], units)
    return Comparison(samples, results, units, by_document, found, left_out)


def differences(scores: Sequence[Scores], units: Units) -> list[Difference]:
    """Compare all pairs of retrievers."""
    found = []
    for one, other in combinations(range(len(scores)), 2):
        before, after = scores[one], scores[other]
        gains = after.hits - before.hits
        found.append((HIT, one, other, gains, mcnemar(gains)))
        p = permutation(before.reciprocal, after.reciprocal, units)
        found.append((RECIPROCAL, one, other, after.reciprocal - before.reciprocal, p))
    corrected = []
    for (measure, one, other, gains, _), p in zip(found, holm([p for *_, p in found]), strict=True):
        better, worse = (other, one) if gains.sum() >= 0 else (one, other)
        gain = bootstrap_mean(gains if better == other else -gains, units, lowest=-1.0)
        least = detectable_gain(gain, len(gains), len(found), counted=measure == HIT)
        corrected.append(Difference(measure, better, worse, gain, p, p < ALPHA and gain.low > 0, least))
    return corrected


class _Search:
    """Searches with all retrievers of a comparison; caches chunks and question vectors."""

    def __init__(
        self,
        run: Run,
        configs: Sequence[RetrieverConfig],
        load_embedder: Callable[[str], Any],
        vector_store: str,
        monitor: Monitor,
    ) -> None:
        """Load all embedders, so that a missing one is reported before the work starts."""
        self._run, self._vector_store, self._monitor = run, vector_store, monitor
        self._own = configs[0]
        known = {chunk.chunk_id: chunk for chunk in run.chunks}
        self._passages = [source_passages(sample, known) for sample in run.samples]
        self._questions = [sample.question for sample in run.samples]
        self._question_vectors = {run.settings["configuration"]["embedder"]: run.question_vectors}
        self._cuts: dict[CorpusOptions | None, Sequence[Chunk]] = {self._own.options: run.chunks}
        self._embedded: dict[tuple[str, CorpusOptions | None], tuple[Vectors, float | None]] = {
            (self._own.embedder, self._own.options): (run.chunk_vectors, None)
        }
        self._rankings = {
            config.ranking: read_rankings(config.ranking, run.samples, run.chunks, SEARCH_DEPTH)
            for config in configs
            if config.ranking
        }
        needed = [config.embedder for config in configs[1:] if config.embedder]
        if any(config.options != self._own.options and config.chunker in _NEEDS_EMBEDDER for config in configs[1:]):
            needed.append(self._own.embedder)
        self._embedders = {name: load_embedder(name) for name in dict.fromkeys(needed)}
        own = self._embedders.get(self._own.embedder)
        if own is not None and own.sha256 != run.settings["models"]["embedder"].get("sha256"):
            raise InputError(f"{self._own.embedder}: its weights differ from those used for the run {run.folder}")

    def measure(self, config: RetrieverConfig) -> Result:
        """Search every question with one retriever."""
        chunks = self._cut(config)
        seconds = self._embed(config)[1] if config.embedder else None
        started = time.monotonic()
        rankings = self._rankings[config.ranking] if config.ranking else self._search(config, chunks)
        searching = time.monotonic() - started
        finder = PassageFinder(chunks)
        relevant = [[frozenset().union(*map(finder.find, group)) for group in groups] for groups in self._passages]
        findings = [_finding(chunks, row, groups) for row, groups in zip(rankings, relevant, strict=True)]
        return Result(config, len(chunks), findings, sum(not all(groups) for groups in relevant), seconds, searching)

    def _search(self, config: RetrieverConfig, chunks: Sequence[Chunk]) -> list[Ranking]:
        def dense(depth: int) -> list[Ranking]:
            vectors, questions = self._embed(config)[0], self._question_vectors[config.embedder]
            with open_store(self._vector_store, [chunk.chunk_id for chunk in chunks], vectors) as opened:
                rankings: list[Ranking] = opened.search(questions, depth).indexes.tolist()
                return rankings

        task = SearchTask([chunk.text for chunk in chunks], self._questions, dense)
        return RETRIEVERS[config.retriever].search(task, SEARCH_DEPTH)

    def _cut(self, config: RetrieverConfig) -> Sequence[Chunk]:
        options = config.options
        if options not in self._cuts and options is not None:
            self._monitor.note(f"Chunking {len(self._run.documents)} documents: {config.chunker}, {config.size}.")
            # Always with the run's own embedder, so that all embedders are compared on the same chunks.
            own = self._embedders.get(self._own.embedder)
            cut = cut_documents(
                self._run.documents,
                options,
                embed=own.encode_corpus if own else None,
                tokenizer=own.tokenizer.backend_tokenizer if own and options.chunker == "token" else None,
            )
            if not cut.chunks:
                raise InputError(f"no chunks left with --chunker {config.chunker} at {config.size}")
            self._cuts[options] = cut.chunks
        return self._cuts[options]

    def _embed(self, config: RetrieverConfig) -> tuple[Vectors, float | None]:
        """Embed the chunks of a configuration and the questions, each once; return the vectors and the seconds."""
        embedder, key = config.embedder, (config.embedder, config.options)
        if key not in self._embedded:
            texts = [chunk.text for chunk in self._cut(config)]
            started = time.monotonic()
            with self._monitor.phase(f"Embedding chunks with {embedder}", len(texts)) as advance:
                vectors = self._embedders[embedder].encode_corpus(texts, on_done=advance)
            self._embedded[key] = vectors, time.monotonic() - started
        if embedder not in self._question_vectors:
            self._question_vectors[embedder] = self._embedders[embedder].encode_corpus(self._questions)
        vectors, seconds = self._embedded[key]
        if self._question_vectors[embedder].shape[1] != vectors.shape[1]:
            with self._run.opened() as store:
                raise store.damaged(f"its vectors do not have the dimension of {embedder}")
        return vectors, seconds


def _finding(chunks: Sequence[Chunk], places: Sequence[int], groups: Sequence[frozenset[int]]) -> Finding:
    ranks = [next((rank for rank, place in enumerate(places, 1) if place in group), None) for group in groups]
    found = [rank for rank in ranks if rank is not None]
    return Finding(
        first=chunks[places[0]] if places else None,
        score=int(bool(places) and any(places[0] in group for group in groups)),
        rank=max(found) if len(found) == len(ranks) else None,
    )
