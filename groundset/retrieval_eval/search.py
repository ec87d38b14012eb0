"""Searching the questions of a run with several retrievers; chunks, vectors and scores are computed once."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from groundset.corpus.corpus import CorpusOptions, cut_documents
from groundset.engine.embedding import embed_texts
from groundset.engine.preparation import Phases
from groundset.executors import LOCAL, Executor
from groundset.retrieval.index import SEARCH_DEPTH
from groundset.retrieval.reranker import Pair
from groundset.retrieval.stores import open_store
from groundset.retrieval_eval.configs import RetrieverConfig
from groundset.retrieval_eval.existing.base import ChunkFinder, ExistingStore, StoreTask
from groundset.retrieval_eval.rankings import read_rankings
from groundset.retrieval_eval.retrievers import RETRIEVERS
from groundset.retrieval_eval.retrievers.base import Ranking, SearchTask
from groundset.run import Run
from programs.errors import InputError
from programs.types import Chunk

Vectors = NDArray[np.float32]

_NEEDS_EMBEDDER = ("semantic", "token")


class SearchMonitor(Phases, Protocol):
    """Progress display of a comparison."""

    def note(self, message: str) -> None:
        """Show one line."""
        ...


class SearchOptions(NamedTuple):
    """How retrievers are searched.

    Attributes:
        load_embedder: loads an embedder by its name.
        load_reranker: loads a reranker by its name.
        vector_store: the store that vectors are searched in.
        rerank_depth: the number of first chunks that are reranked.
        payload_key: the payload key of existing stores that holds the id or the text of a chunk.
        executor: where documents are chunked and chunks embedded.
    """

    load_embedder: Callable[[str], Any]
    load_reranker: Callable[[str], Any]
    vector_store: str = "faiss"
    rerank_depth: int = SEARCH_DEPTH
    payload_key: str = "chunk_id"
    executor: Executor = LOCAL


class Searched(NamedTuple):
    """The rankings of one retriever.

    Attributes:
        rankings: a ranking of chunks for each question.
        embedding: seconds to embed the chunks; None if they were embedded before.
        searching: seconds to search and rerank all questions.
    """

    rankings: list[Ranking]
    embedding: float | None
    searching: float


class RetrieverSearch:
    """The search of one run with several retrievers.

    Attributes:
        remarks: lines on entries of existing stores that are not chunks of the run.
    """

    def __init__(
        self, run: Run, configs: Sequence[RetrieverConfig], options: SearchOptions, monitor: SearchMonitor
    ) -> None:
        """Load all models, so that a missing one is reported before the work starts."""
        self.remarks: list[str] = []
        self._run, self._options, self._monitor = run, options, monitor
        self._own = configs[0]
        self._questions = [sample.question for sample in run.samples]
        self._question_vectors = {run.settings["configuration"]["embedder"]: run.question_vectors}
        self._cuts: dict[CorpusOptions | None, Sequence[Chunk]] = {self._own.options: run.chunks}
        self._embedded: dict[tuple[str, CorpusOptions | None], tuple[Vectors, float | None]] = {
            (self._own.embedder, self._own.options): (run.chunk_vectors, None)
        }
        self._searched: dict[RetrieverConfig, Searched] = {}
        self._rankings = {
            config.ranking: read_rankings(config.ranking, run.samples, run.chunks, SEARCH_DEPTH)
            for config in configs
            if config.ranking
        }
        others = [config for config in configs if replace(config, reranker="") != self._own]
        needed = [config.embedder for config in others if config.embedder]
        if any(config.options != self._own.options and config.chunker in _NEEDS_EMBEDDER for config in others):
            needed.append(self._own.embedder)
        self._embedders = {name: options.load_embedder(name) for name in dict.fromkeys(needed)}
        own = self._embedders.get(self._own.embedder)
        if own is not None and own.sha256 != run.settings["models"]["embedder"].get("sha256"):
            raise InputError(f"{self._own.embedder}: its weights differ from those used for the run {run.folder}")
        rerankers = dict.fromkeys(config.reranker for config in configs if config.reranker)
        self._rerankers = {name: options.load_reranker(name) for name in rerankers}
        self._pair_scores: dict[str, dict[Pair, float]] = {name: {} for name in rerankers}

    def chunks(self, config: RetrieverConfig) -> Sequence[Chunk]:
        """Return the chunks that a retriever searches.

        Raises:
            InputError: its chunker leaves none.
        """
        options = config.options
        if options not in self._cuts and options is not None:
            self._monitor.note(f"Chunking {len(self._run.documents)} documents: {config.chunker}, {config.size}.")
            # Always with the run's own embedder, so that all embedders are compared on the same chunks.
            own = self._embedders.get(self._own.embedder)
            cut = cut_documents(
                self._run.documents,
                options,
                embed=own.encode_corpus if own else None,
                tokenizer=own.tokenizer if own and options.chunker == "token" else None,
                executor=self._options.executor,
            )
            if not cut.chunks:
                raise InputError(f"no chunks left with --chunker {config.chunker} at {config.size}")
            self._cuts[options] = cut.chunks
        return self._cuts[options]

    def search(self, config: RetrieverConfig) -> Searched:
        """Search every question with one retriever."""
        if config not in self._searched:
            self._searched[config] = self._rerank(config) if config.reranker else self._search(config)
        return self._searched[config]

    def _search(self, config: RetrieverConfig) -> Searched:
        embedding = None if config.store or not config.embedder else self._embed(config)[1]
        started = time.monotonic()
        if config.ranking:
            rankings = self._rankings[config.ranking]
        elif config.store:
            rankings = self._search_store(config, config.store)
        else:
            task = SearchTask([chunk.text for chunk in self.chunks(config)], self._questions, self._dense(config))
            rankings = RETRIEVERS[config.retriever].search(task, SEARCH_DEPTH)
        return Searched(rankings, embedding, time.monotonic() - started)

    def _dense(self, config: RetrieverConfig) -> Callable[[int], list[Ranking]]:
        def search(depth: int) -> list[Ranking]:
            vectors, questions = self._embed(config)[0], self._question_vectors[config.embedder]
            ids = [chunk.chunk_id for chunk in self.chunks(config)]
            with open_store(self._options.vector_store, ids, vectors) as opened:
                rankings: list[Ranking] = opened.search(questions, depth).indexes.tolist()
                return rankings

        return search

    def _search_store(self, config: RetrieverConfig, store: ExistingStore) -> list[Ranking]:
        task = StoreTask(
            location=config.location,
            key=self._options.payload_key,
            embedder=config.embedder,
            questions=self._embed_questions(config.embedder),
            chunks=ChunkFinder(self.chunks(config)),
            notify=self._monitor.note,
        )
        answer = store.search(task, SEARCH_DEPTH)
        self.remarks += [answer.remark] if answer.remark and answer.remark not in self.remarks else []
        return answer.rankings

    def _rerank(self, config: RetrieverConfig) -> Searched:
        """Sort the first chunks of each ranking by the scores of a cross-encoder; the others follow as they were."""
        name, depth = config.reranker, self._options.rerank_depth
        before = self.search(replace(config, reranker=""))
        started = time.monotonic()
        texts, scores = [chunk.text for chunk in self.chunks(config)], self._pair_scores[name]
        ranked = list(zip(self._questions, before.rankings, strict=True))
        pairs = dict.fromkeys((question, texts[index]) for question, ranking in ranked for index in ranking[:depth])
        new = [pair for pair in pairs if pair not in scores]
        with self._monitor.phase(f"Reranking {config.retriever} with {name}", len(new)) as advance:
            scores.update(zip(new, self._rerankers[name].score(new, on_done=advance).tolist(), strict=True))

        def rerank(question: str, ranking: Ranking) -> Ranking:
            return sorted(ranking[:depth], key=lambda index: -scores[question, texts[index]]) + ranking[depth:]

        rankings = [rerank(question, ranking) for question, ranking in ranked]
        return before._replace(rankings=rankings, searching=before.searching + time.monotonic() - started)

    def _embed(self, config: RetrieverConfig) -> tuple[Vectors, float | None]:
        """Embed the chunks of a configuration and the questions, each once; return the vectors and the seconds."""
        embedder, key = config.embedder, (config.embedder, config.options)
        if key not in self._embedded:
            texts = [chunk.text for chunk in self.chunks(config)]
            started = time.monotonic()
            with self._monitor.phase(f"Embedding chunks with {embedder}", len(texts)) as advance:
                encode = self._embedders[embedder].encode_corpus
                vectors = embed_texts(texts, encode, self._options.executor, advance)
            self._embedded[key] = vectors, time.monotonic() - started
        vectors, seconds = self._embedded[key]
        if self._embed_questions(embedder).shape[1] != vectors.shape[1]:
            with self._run.opened() as store:
                raise store.damaged(f"its vectors do not have the dimension of {embedder}")
        return vectors, seconds

    def _embed_questions(self, embedder: str) -> Vectors:
        if embedder not in self._question_vectors:
            self._question_vectors[embedder] = self._embedders[embedder].encode_corpus(self._questions)
        return self._question_vectors[embedder]
