"""Update a run to documents that have changed: its samples move to the chunks of today, or become rejects."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from groundset.corpus import Corpus, build_corpus
from groundset.corpus.documents import document_id
from groundset.corpus.user_chunks import CHUNK_SUFFIXES
from groundset.engine.config import RunConfig, make_config
from groundset.engine.identity import hash_sources
from groundset.progress import Progress
from groundset.run import Run, reject_sample, save_run
from groundset.sets.measuring import with_ranks
from groundset.store.folder import check_free
from groundset.store.lineage import Lineage, Parent
from groundset.store.tables import Vectors
from programs.errors import DamagedRunError, InputError
from programs.text import plain
from programs.types import Chunk, Document, Sample

STEP = "update"  # of the rejects that dropped samples become
_NEEDS_EMBEDDER = ("semantic", "token")


class Updated(NamedTuple):
    """The result of an update.

    Attributes:
        lines: the summary of the new run.
        kept: how many samples are left.
        cut_anew: how many of them have chunks with another text than before.
        dropped: the samples that went, each with the reason.
        documents: how many are ``unchanged``, ``renamed``, ``changed``, ``new`` and ``gone``.
    """

    lines: list[str]
    kept: int
    cut_anew: int
    dropped: list[tuple[Sample, str]]
    documents: dict[str, int]


def update_run(folder: Path, docs: Sequence[Path], out: Path, *, quiet: bool = False) -> Updated:
    """Write a new run with the documents of today, ``docs``, and the samples that they still support.

    Documents are read and cut with the configuration of the run. A sample whose passage is still there is kept with
    the chunks of today; its ranks are measured among all of them. The others become rejects.

    Raises:
        InputError: nothing would be left, or a document, a folder or an option is wrong.
        ModelError: the embedder cannot be loaded.
        RunError: the new run cannot be written.
    """
    check_free(out)
    run = Run.loaded(folder)
    own = run.settings["configuration"]
    if own.get("chunker", "") is None and any(path.suffix.lower() not in CHUNK_SUFFIXES for path in docs):
        raise InputError(
            f"{folder} was imported, or merged from runs with different chunking options, so its documents cannot be "
            f"chunked as before: give a file of chunks ({', '.join(sorted(CHUNK_SUFFIXES))}), or update the runs that "
            "were merged, and merge them again"
        )
    config = make_config({**own, "documents": tuple(docs), "chunks": None})
    with Progress(quiet=quiet) as progress:
        embedder = _Embedder(run, folder, progress)
        corpus = _read(config, embedder, progress)
        before = Texts(run.documents, run.chunks)
        now = with_known_ids(before, Texts(corpus.documents, corpus.chunks))
        chunk_vectors = embedder.vectors(now.chunks)
    kept, dropped = _moved(run, Remap(before, now))
    if not kept.samples:
        reasons = Counter(reason.split(":")[0] for _, reason in dropped)
        counts = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        raise InputError(f"no question of {folder} rests on these documents ({counts}), and nothing would be left")
    updated = kept.replace(
        chunks=now.chunks,
        chunk_vectors=chunk_vectors,
        documents=now.documents,
        rejects=[*run.rejects, *(reject_sample(sample, STEP, reason) for sample, reason in dropped)],
        settings={
            **run.settings,
            "configuration": {**own, "documents": [str(path.absolute()) for path in docs], "chunks": None},
            "corpus": corpus.counts.model_dump(mode="json"),
            "skipped": [file.model_dump(mode="json") for file in corpus.skipped],
        },
    )
    texts = {sample.id: [chunk.text for chunk in sample.contexts] for sample in run.samples}
    cut_anew = sum(texts[sample.id] != [chunk.text for chunk in sample.contexts] for sample in kept.samples)
    sources = (Parent(name=path.absolute().name, identity=hash_sources([path]), samples=0) for path in docs)
    lines = save_run(out, with_ranks(updated), Lineage(command="update", parents=(*run.parents, *sources)))
    return Updated(lines, len(kept.samples), cut_anew, dropped, _count_documents(before, now))


class _Embedder:
    """The embedder of a run, loaded when it is first needed; texts that the run has embedded are not embedded again."""

    def __init__(self, run: Run, folder: Path, progress: Progress) -> None:
        self._folder, self._progress = folder, progress
        self._record = run.settings["models"]["embedder"]
        self._known = {chunk.text: row for chunk, row in zip(run.chunks, run.chunk_vectors, strict=True)}
        self._length = run.chunk_vectors.shape[1]
        self._loaded: Any = None

    @property
    def model(self) -> Any:
        """Return the loaded model."""
        if self._loaded is None:
            from groundset.retrieval.embedder import load_embedder

            name = self._record["name"]
            loaded = load_embedder(name)
            if loaded.sha256 != self._record.get("sha256"):
                raise InputError(f"{name} has other weights now than when the run in {self._folder} was made")
            self._loaded = loaded
        return self._loaded

    def vectors(self, chunks: Sequence[Chunk]) -> Vectors:
        """Return a row for each chunk."""
        texts = list(dict.fromkeys(chunk.text for chunk in chunks if chunk.text not in self._known))
        if texts:
            with self._progress.phase("Embedding chunks", len(texts)) as advance:
                rows = self.model.encode_corpus(texts, on_done=advance)
            if rows.shape[1] != self._length:
                raise DamagedRunError(f"{self._folder} is damaged: its embedder makes vectors of another length")
            self._known |= dict(zip(texts, rows, strict=True))
        return np.stack([self._known[chunk.text] for chunk in chunks])


def _read(config: RunConfig, embedder: _Embedder, progress: Progress) -> Corpus:
    options = config.corpus_options()
    embed = tokenizer = None
    if options.chunker in _NEEDS_EMBEDDER:
        embed, tokenizer = embedder.model.encode_corpus, embedder.model.tokenizer.backend_tokenizer
    with progress.waiting("Reading documents"):
        corpus = build_corpus(config.sources, options, embed=embed, tokenizer=tokenizer)
    progress.read(corpus, every_file=False)
    return corpus


class Texts(NamedTuple):
    """Documents and their chunks."""

    documents: Sequence[Document]
    chunks: Sequence[Chunk]


class Moved(NamedTuple):
    """The chunks that a question needs now, and their ids in groups as in ``retrieval_gt``."""

    contexts: tuple[Chunk, ...]
    groups: tuple[tuple[str, ...], ...]


def with_known_ids(before: Texts, now: Texts) -> Texts:
    """Return documents and chunks of now; those that only have another path keep the ids of before.

    Only ids that follow from path and text are replaced, not those of people who bring chunks of their own.
    """
    by_text = {document.text: document for document in reversed(before.documents)}
    renamed = {
        document.doc_id: by_text[document.text].doc_id
        for document in now.documents
        if document.text in by_text and document.doc_id == document_id(document.path, document.text)
    }
    documents = [
        document.model_copy(update={"doc_id": renamed.get(document.doc_id, document.doc_id)})
        for document in now.documents
    ]
    return Texts(documents, [_renamed(chunk, renamed.get(chunk.doc_id, chunk.doc_id)) for chunk in now.chunks])


def _renamed(chunk: Chunk, doc_id: str) -> Chunk:
    own = f"{chunk.doc_id}-"  # chunk ids that groundset gives begin so
    name = f"{doc_id}-{chunk.chunk_id.removeprefix(own)}" if chunk.chunk_id.startswith(own) else chunk.chunk_id
    return chunk.model_copy(update={"doc_id": doc_id, "chunk_id": name})


class Remap:
    """Finds the chunks of now that stand for chunks of before.

    A chunk stands for another that has the same text, of the same document if there is one. Else it must be of the same
    document, and hold the sentence that was asked about, or all of the other's text where no sentence of it was noted.
    A document is the same if it has the same text, whatever its path, or else the same path, unless the text there
    now is that of another one of before.
    """

    def __init__(self, before: Texts, now: Texts) -> None:
        """Compare texts of before with those of now."""
        by_text = {document.text: document for document in now.documents}
        known = {document.text for document in before.documents}
        by_path = {document.path: document for document in now.documents if document.text not in known}
        self._before = {chunk.chunk_id: chunk for chunk in before.chunks}
        self._same = {
            document.doc_id: by_text.get(document.text) or by_path.get(document.path) for document in before.documents
        }
        self._by_text: defaultdict[str, list[Chunk]] = defaultdict(list)
        self._by_document: defaultdict[str, list[Chunk]] = defaultdict(list)
        for chunk in now.chunks:
            self._by_text[chunk.text].append(chunk)
            self._by_document[chunk.doc_id].append(chunk)
        self._flat: dict[str, str] = {}

    def move(self, sample: Sample) -> Moved | str:
        """Return the chunks that a sample needs now, or the reason why there are none."""
        focus = sample.metadata.get("focus") or ()
        sentences = [focus] if isinstance(focus, str) else list(focus)
        contexts: dict[str, Chunk] = {}
        for chunk in sample.contexts:
            found = self._find(chunk, sentences)
            if found is None:
                return self._why_gone(chunk, sentences)
            contexts[found.chunk_id] = found
        groups: dict[tuple[str, ...], None] = {}
        for group in sample.retrieval_gt:
            ids = [found.chunk_id for name in group if (found := self._find(self._before[name], sentences))]
            if not ids:
                return self._why_gone(self._before[group[0]], sentences)
            groups[tuple(dict.fromkeys(ids))] = None
        return Moved(tuple(contexts.values()), tuple(groups))

    def _find(self, chunk: Chunk, sentences: Sequence[str]) -> Chunk | None:
        document = self._same[chunk.doc_id]
        own = self._by_document[document.doc_id] if document else []
        alike = [other for other in own if other.text == chunk.text] or self._by_text[chunk.text]
        if not alike:
            needed = self._needed(chunk, sentences)
            alike = [other for other in own if needed in self._flattened(other.chunk_id, other.text)]
        return min(alike, key=lambda other: abs(other.start - chunk.start), default=None)

    def _needed(self, chunk: Chunk, sentences: Sequence[str]) -> str:
        """Return what must still be there of a chunk: the first of the sentences that it holds, or all of it."""
        whole = _flat(chunk.text)
        return next((flat for flat in map(_flat, sentences) if flat and flat in whole), whole)

    def _why_gone(self, chunk: Chunk, sentences: Sequence[str]) -> str:
        """Return why no chunk stands for this one; the path follows a colon, so that reasons can be counted."""
        document = self._same[chunk.doc_id]
        if document is None:
            return f"document gone: {chunk.path}"
        needed = self._needed(chunk, sentences)
        if needed in self._flattened(f"document {document.doc_id}", document.text):
            return f"passage in no one chunk any more: {document.path}"
        return f"passage gone from its document: {document.path}"

    def _flattened(self, name: str, text: str) -> str:
        if name not in self._flat:
            self._flat[name] = _flat(text)
        return self._flat[name]


def _flat(text: str) -> str:
    """Return a text without markup and with single spaces, as sentences are noted."""
    return " ".join(plain(text).split())


def _moved(run: Run, remap: Remap) -> tuple[Run, list[tuple[Sample, str]]]:
    """Return the run with the samples that can be moved, and the others with reasons."""
    places, samples, dropped = [], [], []
    for place, sample in enumerate(run.samples):
        found = remap.move(sample)
        if isinstance(found, Moved):
            places.append(place)
            samples.append(sample.model_copy(update={"contexts": found.contexts, "retrieval_gt": found.groups}))
        else:
            dropped.append((sample, found))
    return run.only(places).replace(samples=samples), dropped


def _count_documents(before: Texts, now: Texts) -> dict[str, int]:
    texts = {document.text: document.path for document in before.documents}
    paths = {document.path for document in before.documents}
    counts = Counter(
        ("unchanged" if texts[document.text] == document.path else "renamed")
        if document.text in texts
        else ("changed" if document.path in paths else "new")
        for document in now.documents
    )
    # A path that another known document has taken over says nothing of the one that had it.
    here = {document.text for document in now.documents}
    anew = {document.path for document in now.documents if document.text not in texts}
    gone = sum(document.text not in here and document.path not in anew for document in before.documents)
    return {name: counts[name] for name in ("unchanged", "renamed", "changed", "new")} | {"gone": gone}
