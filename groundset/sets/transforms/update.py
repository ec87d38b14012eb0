"""Update a run to changed documents: map its samples to the new chunks, or reject them."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from groundset.corpus.corpus import Corpus, build_corpus
from groundset.corpus.documents import document_id
from groundset.corpus.user_chunks import CHUNK_SUFFIXES
from groundset.engine.config import RunConfig, make_config
from groundset.engine.embedding import embed_texts
from groundset.engine.identity import hash_sources
from groundset.executors import Executor, open_executor
from groundset.progress import Progress, counted
from groundset.run import Run, reject_sample, save_run, unanswerable_note
from groundset.sets.measuring import with_ranks
from groundset.sources import Url
from groundset.store.folder import check_free
from groundset.store.lineage import Lineage, Parent
from groundset.store.tables import Vectors
from programs.errors import DamagedRunError, InputError
from programs.text import plain
from programs.types import Chunk, Document, Sample

STEP = "update"  # step of the rejects
_NEEDS_EMBEDDER = ("semantic", "token")


class Updated(NamedTuple):
    """The result of an update.

    Attributes:
        lines: the summary of the new run.
        kept: number of samples kept.
        cut_anew: number of kept samples whose chunk texts changed.
        dropped: dropped samples with the reason.
        documents: numbers of ``unchanged``, ``renamed``, ``changed``, ``new`` and ``gone`` documents.
    """

    lines: list[str]
    kept: int
    cut_anew: int
    dropped: list[tuple[Sample, str]]
    documents: dict[str, int]


def update_run(
    folder: Path, docs: Sequence[Path | Url], out: Path, *, engine: str = "local", quiet: bool = False
) -> Updated:
    """Write a new run with the documents ``docs`` and the samples that they still support.

    Documents are chunked with the configuration of the run. Samples whose passage still exists are mapped to the new
    chunks and ranked among all of them. The others become rejects. ``engine`` says where documents are read and chunks
    embedded; see :func:`groundset.executors.open_executor`.

    Raises:
        InputError: no sample would be left, or a document, a folder or an option is invalid.
        ModelError: the embedder cannot be loaded.
        RunError: the new run cannot be written.
    """
    check_free(out)
    run = Run.loaded(folder)
    configuration = run.settings["configuration"]
    if configuration.get("chunker", "") is None and any(path.suffix.lower() not in CHUNK_SUFFIXES for path in docs):
        raise InputError(
            f"{folder} was imported, or merged from runs with different chunking options; give a file of chunks "
            f"({', '.join(sorted(CHUNK_SUFFIXES))}), or update the merged runs and merge them again"
        )
    config = make_config({**configuration, "documents": tuple(docs), "chunks": None})
    with Progress(quiet=quiet) as progress, open_executor(engine) as executor:
        embedder = _Embedder(run, folder, progress, executor)
        corpus = _read(config, run.documents, embedder, progress, executor)
        old = CorpusTexts(run.documents, run.chunks)
        new = reuse_ids(old, CorpusTexts(corpus.documents, corpus.chunks))
        chunk_vectors = embedder.vectors(new.chunks)
    kept, dropped = _remapped(run, Remap(old, new))
    if not kept.samples:
        reasons = Counter(reason.split(":")[0] for _, reason in dropped)
        counts = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
        raise InputError(f"all {counted(len(dropped), 'sample')} of {folder} would be dropped: {counts}")
    updated = kept.replace(
        chunks=new.chunks,
        chunk_vectors=chunk_vectors,
        documents=new.documents,
        rejects=[*run.rejects, *(reject_sample(sample, STEP, reason) for sample, reason in dropped)],
        settings={
            **run.settings,
            "configuration": {**configuration, "documents": [str(path.absolute()) for path in docs], "chunks": None},
            "corpus": corpus.counts.model_dump(mode="json"),
            "skipped": [file.model_dump(mode="json") for file in corpus.skipped],
        },
    )
    texts = {sample.id: [chunk.text for chunk in sample.contexts] for sample in run.samples}
    cut_anew = sum(texts[sample.id] != [chunk.text for chunk in sample.contexts] for sample in kept.samples)
    sources = (Parent(name=path.absolute().name, identity=hash_sources([path]), samples=0) for path in docs)
    lines = save_run(out, with_ranks(updated), Lineage(command="update", parents=(*run.parents, *sources)))
    if {chunk.text for chunk in new.chunks} - {chunk.text for chunk in old.chunks}:
        lines += unanswerable_note(kept.samples)
    return Updated(lines, len(kept.samples), cut_anew, dropped, _count_documents(old, new))


class _Embedder:
    """The embedder of a run, loaded lazily; reuses the vectors of the run."""

    def __init__(self, run: Run, folder: Path, progress: Progress, executor: Executor) -> None:
        self._folder, self._progress, self._executor = folder, progress, executor
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
                raise InputError(f"the weights of {name} have changed since the run in {self._folder} was made")
            self._loaded = loaded
        return self._loaded

    def vectors(self, chunks: Sequence[Chunk]) -> Vectors:
        """Return a row for each chunk."""
        texts = list(dict.fromkeys(chunk.text for chunk in chunks if chunk.text not in self._known))
        if texts:
            with self._progress.phase("Embedding chunks", len(texts)) as advance:
                rows = embed_texts(texts, self.model.encode_corpus, self._executor, advance)
            if rows.shape[1] != self._length:
                raise DamagedRunError(f"{self._folder} is damaged: its vectors and its embedder differ in length")
            self._known |= dict(zip(texts, rows, strict=True))
        return np.stack([self._known[chunk.text] for chunk in chunks])


def _read(
    config: RunConfig, known: Sequence[Document], embedder: _Embedder, progress: Progress, executor: Executor
) -> Corpus:
    options = config.corpus_options()
    embed = tokenizer = None
    if options.chunker in _NEEDS_EMBEDDER:
        embed, tokenizer = embedder.model.encode_corpus, embedder.model.tokenizer
    with progress.waiting("Reading documents"):
        corpus = build_corpus(config.sources, options, embed=embed, tokenizer=tokenizer, known=known, executor=executor)
    progress.read(corpus, every_file=False)
    return corpus


class CorpusTexts(NamedTuple):
    """Documents and their chunks."""

    documents: Sequence[Document]
    chunks: Sequence[Chunk]


class NewContexts(NamedTuple):
    """The new chunks of a sample, and their ids in groups as in ``retrieval_gt``."""

    contexts: tuple[Chunk, ...]
    groups: tuple[tuple[str, ...], ...]


def reuse_ids(old: CorpusTexts, new: CorpusTexts) -> CorpusTexts:
    """Return the new corpus, in which renamed documents and their chunks keep their old ids.

    Only ids derived from path and text are replaced; ids in the user's own chunk files stay.
    """
    by_text = {document.text: document for document in reversed(old.documents)}
    renamed = {
        document.doc_id: by_text[document.text].doc_id
        for document in new.documents
        if document.text in by_text and document.doc_id == document_id(document.path, document.text)
    }
    documents = [
        document.model_copy(update={"doc_id": renamed.get(document.doc_id, document.doc_id)})
        for document in new.documents
    ]
    return CorpusTexts(documents, [_renamed(chunk, renamed.get(chunk.doc_id, chunk.doc_id)) for chunk in new.chunks])


def _renamed(chunk: Chunk, doc_id: str) -> Chunk:
    prefix = f"{chunk.doc_id}-"  # of chunk ids made by groundset
    name = f"{doc_id}-{chunk.chunk_id.removeprefix(prefix)}" if chunk.chunk_id.startswith(prefix) else chunk.chunk_id
    return chunk.model_copy(update={"doc_id": doc_id, "chunk_id": name})


class Remap:
    """Maps old chunks to new ones.

    Documents match if (1) their texts are equal, whatever the path, else (2) their paths are equal, unless the new text
    is that of another old document. Chunks match if (1) their texts are equal, preferably in the matching document,
    else (2) the new chunk is in the matching document and contains the sentence asked about, or the whole old chunk if
    the sample names no sentence of it. Of several matches the nearest is used.
    """

    def __init__(self, old: CorpusTexts, new: CorpusTexts) -> None:
        """Match the documents of two corpora."""
        by_text = {document.text: document for document in new.documents}
        known = {document.text for document in old.documents}
        by_path = {document.path: document for document in new.documents if document.text not in known}
        self._old_chunks = {chunk.chunk_id: chunk for chunk in old.chunks}
        self._new_documents = {
            document.doc_id: by_text.get(document.text) or by_path.get(document.path) for document in old.documents
        }
        self._by_text: defaultdict[str, list[Chunk]] = defaultdict(list)
        self._by_document: defaultdict[str, list[Chunk]] = defaultdict(list)
        for chunk in new.chunks:
            self._by_text[chunk.text].append(chunk)
            self._by_document[chunk.doc_id].append(chunk)
        self._normalised_texts: dict[str, str] = {}

    def remap(self, sample: Sample) -> NewContexts | str:
        """Return the new chunks of a sample, or the reason why they are missing."""
        focus = sample.metadata.get("focus") or ()
        sentences = [focus] if isinstance(focus, str) else list(focus)
        contexts: dict[str, Chunk] = {}
        for chunk in sample.contexts:
            match = self._find(chunk, sentences)
            if match is None:
                return self._missing_reason(chunk, sentences)
            contexts[match.chunk_id] = match
        groups: dict[tuple[str, ...], None] = {}
        for group in sample.retrieval_gt:
            ids = [match.chunk_id for name in group if (match := self._find(self._old_chunks[name], sentences))]
            if not ids:
                return self._missing_reason(self._old_chunks[group[0]], sentences)
            groups[tuple(dict.fromkeys(ids))] = None
        return NewContexts(tuple(contexts.values()), tuple(groups))

    def _find(self, chunk: Chunk, sentences: Sequence[str]) -> Chunk | None:
        document = self._new_documents[chunk.doc_id]
        candidates = self._by_document[document.doc_id] if document else []
        matches = [other for other in candidates if other.text == chunk.text] or self._by_text[chunk.text]
        if not matches:
            required = self._required_text(chunk, sentences)
            matches = [other for other in candidates if required in self._cached(other.chunk_id, other.text)]
        return min(matches, key=lambda other: abs(other.start - chunk.start), default=None)

    def _required_text(self, chunk: Chunk, sentences: Sequence[str]) -> str:
        """Return the first of the sentences that a chunk contains, else its whole text."""
        text = _normalised(chunk.text)
        return next((sentence for sentence in map(_normalised, sentences) if sentence and sentence in text), text)

    def _missing_reason(self, chunk: Chunk, sentences: Sequence[str]) -> str:
        """Return why a chunk has no match; the path follows a colon, so that reasons can be counted."""
        document = self._new_documents[chunk.doc_id]
        if document is None:
            return f"document gone: {chunk.path}"
        required = self._required_text(chunk, sentences)
        if required in self._cached(f"document {document.doc_id}", document.text):
            return f"passage in no one chunk any more: {document.path}"
        return f"passage gone from its document: {document.path}"

    def _cached(self, name: str, text: str) -> str:
        if name not in self._normalised_texts:
            self._normalised_texts[name] = _normalised(text)
        return self._normalised_texts[name]


def _normalised(text: str) -> str:
    """Remove markup and collapse white space, as in stored foci."""
    return " ".join(plain(text).split())


def _remapped(run: Run, remap: Remap) -> tuple[Run, list[tuple[Sample, str]]]:
    """Return the run with remapped samples, and the dropped samples with reasons."""
    indices, samples, dropped = [], [], []
    for index, sample in enumerate(run.samples):
        result = remap.remap(sample)
        if isinstance(result, NewContexts):
            indices.append(index)
            samples.append(sample.model_copy(update={"contexts": result.contexts, "retrieval_gt": result.groups}))
        else:
            dropped.append((sample, result))
    return run.only(indices).replace(samples=samples), dropped


def _count_documents(old: CorpusTexts, new: CorpusTexts) -> dict[str, int]:
    old_paths = {document.text: document.path for document in old.documents}
    paths = {document.path for document in old.documents}
    counts = Counter(
        ("unchanged" if old_paths[document.text] == document.path else "renamed")
        if document.text in old_paths
        else ("changed" if document.path in paths else "new")
        for document in new.documents
    )
    # A document moved to the path of another does not count as a change of the other.
    new_texts = {document.text for document in new.documents}
    changed = {document.path for document in new.documents if document.text not in old_paths}
    gone = sum(document.text not in new_texts and document.path not in changed for document in old.documents)
    return {name: counts[name] for name in ("unchanged", "renamed", "changed", "new")} | {"gone": gone}
