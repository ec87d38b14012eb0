"""The comparison: the questions of a run, searched under every setting."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from groundset.corpus import CorpusOptions, cut_documents
from groundset.engine.preparation import Phases
from groundset.retrieval.index import SEARCH_DEPTH
from groundset.retrieval.stores import open_store
from groundset.retrieval_eval.differences import Difference, differences
from groundset.retrieval_eval.figures import Units, units_of
from groundset.retrieval_eval.passages import Holders, asked_about
from groundset.retrieval_eval.results import Finding, Result
from groundset.retrieval_eval.settings import RetrievalSetting
from groundset.store.references import check_references
from groundset.store.run_store import RunStore
from programs.errors import InputError
from programs.types import Chunk, Sample

Vectors = NDArray[np.float32]

_NEEDS_EMBEDDER = ("semantic", "token")


class Teller(Phases, Protocol):
    """Says how far a comparison is."""

    def note(self, message: str) -> None:
        """Say one line."""
        ...


class Comparison(NamedTuple):
    """All settings over one corpus, the run's own first.

    ``units`` are what intervals draw: documents if ``by_document``, else questions.
    """

    samples: list[Sample]
    results: list[Result]
    units: Units
    by_document: bool
    differences: list[Difference]

    @property
    def documents(self) -> int:
        """Return how many documents the questions are about."""
        return len({sample.contexts[0].doc_id for sample in self.samples})


def compare(
    store: RunStore,
    settings: Sequence[RetrievalSetting],
    *,
    vector_store: str,
    load_embedder: Callable[[str], Any],
    teller: Teller,
) -> Comparison:
    """Search the questions of a run under every setting; the first is the run's own.

    Raises:
        InputError: the run holds no samples, or an embedder is not the one that it was made with.
    """
    samples = list(store.results.samples())
    if not samples:
        raise InputError(f"the run in {store.folder} holds no samples")
    bench = _Bench(store, samples, vector_store, teller)
    bench.load_embedders(settings, load_embedder)
    results = [bench.measure(setting) for setting in settings]
    units, by_document = units_of([sample.contexts[0].doc_id for sample in samples])
    found = differences([result.scores for result in results], units)
    return Comparison(samples, results, units, by_document, found)


class _Bench:
    """What the settings of one comparison share; what was cut or embedded once is kept."""

    def __init__(self, store: RunStore, samples: Sequence[Sample], vector_store: str, teller: Teller) -> None:
        self._store = store
        self._vector_store = vector_store
        self._teller = teller
        self._own_embedder = store.told("models", "embedder")
        self._own_name = store.told("configuration", "embedder")
        chunks = store.chunks()
        check_references(store, samples, chunks, store.documents())
        known = {chunk.chunk_id: chunk for chunk in chunks}
        self._questions = [sample.question for sample in samples]
        self._asked = [asked_about(sample, known) for sample in samples]
        self._embedders: dict[str, Any] = {}
        self._question_vectors = {self._own_name: np.stack(list(store.results.vectors()))}
        self._own: RetrievalSetting | None = None
        self._cuts: dict[CorpusOptions | None, list[Chunk]] = {}
        self._own_chunks = chunks

    def load_embedders(self, settings: Sequence[RetrievalSetting], load: Callable[[str], Any]) -> None:
        """Load what the settings need, before anything takes long."""
        own, *others = settings
        self._own = own
        self._cuts[own.options] = self._own_chunks
        needed = [setting.embedder for setting in others]
        if any(each.options != own.options and each.chunker in _NEEDS_EMBEDDER for each in others):
            needed.append(own.embedder)
        for name in dict.fromkeys(needed):
            self._embedders[name] = load(name)
        opened = self._embedders.get(own.embedder)
        if opened is not None and opened.sha256 != self._own_embedder.get("sha256"):
            raise InputError(f"{own.embedder} has other weights now than when the run in {self._store.folder} was made")

    def measure(self, setting: RetrievalSetting) -> Result:
        """Search every question under one setting."""
        chunks = self._cut(setting)
        seconds: float | None = None
        if setting == self._own:
            vectors = self._store.vectors()
        else:
            vectors, seconds = self._embed(setting, [chunk.text for chunk in chunks])
        questions = self._embed_questions(setting.embedder)
        if questions.shape[1] != vectors.shape[1]:
            raise self._store.damaged(f"its vectors are of another length than those of {setting.embedder}")
        started = time.monotonic()
        with open_store(self._vector_store, [chunk.chunk_id for chunk in chunks], vectors) as opened:
            places = opened.search(questions, SEARCH_DEPTH).places
        searching = time.monotonic() - started
        holders = Holders(chunks)
        held = [[frozenset().union(*map(holders.of, group)) for group in groups] for groups in self._asked]
        findings = [_finding(chunks, row, groups) for row, groups in zip(places.tolist(), held, strict=True)]
        left_out = sum(not all(groups) for groups in held)
        return Result(setting, len(chunks), findings, left_out, seconds, searching)

    def _cut(self, setting: RetrievalSetting) -> list[Chunk]:
        options = setting.options
        if options not in self._cuts and options is not None:
            documents = self._store.documents()
            self._teller.note(f"Cutting {len(documents)} documents: {setting.chunker}, {setting.size}.")
            # Chunks are the same for all embedders, so that nothing else differs between these.
            own = self._embedders.get(self._own_name)
            cut = cut_documents(
                documents,
                options,
                embed=own.encode_corpus if own else None,
                tokenizer=own.tokenizer.backend_tokenizer if own and options.chunker == "token" else None,
            )
            if not cut.chunks:
                raise InputError(f"no chunk is left when documents are cut by {setting.chunker} at {setting.size}")
            self._cuts[options] = cut.chunks
        return self._cuts[options]

    def _embed(self, setting: RetrievalSetting, texts: Sequence[str]) -> tuple[Vectors, float]:
        started = time.monotonic()
        with self._teller.phase(f"Embedding chunks with {setting.embedder}", len(texts)) as advance:
            vectors = self._embedders[setting.embedder].encode_corpus(texts, on_done=advance)
        return vectors, time.monotonic() - started

    def _embed_questions(self, embedder: str) -> Vectors:
        if embedder not in self._question_vectors:
            self._question_vectors[embedder] = self._embedders[embedder].encode_corpus(self._questions)
        return self._question_vectors[embedder]


def _finding(chunks: Sequence[Chunk], places: Sequence[int], groups: Sequence[frozenset[int]]) -> Finding:
    ranks = [next((rank for rank, place in enumerate(places, 1) if place in group), None) for group in groups]
    found = [rank for rank in ranks if rank is not None]
    return Finding(
        first=chunks[places[0]],
        score=int(any(places[0] in group for group in groups)),
        rank=max(found) if len(found) == len(ranks) else None,
    )
