"""A set brought up to date with documents that have changed."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from groundset.corpus import Corpus, CorpusOptions, build_corpus
from groundset.corpus.own_chunks import CHUNK_SUFFIXES
from groundset.engine.config import RunConfig, make_config
from groundset.engine.identity import hash_sources
from groundset.progress import Progress
from groundset.run import Run, reject_sample, save_run
from groundset.sets.measuring import with_ranks
from groundset.sets.transforms.remap import Moved, Remap, Texts, with_known_ids
from groundset.store.folder import check_free
from groundset.store.lineage import Lineage, Parent
from groundset.store.tables import Vectors
from programs.errors import DamagedRunError, InputError
from programs.types import Chunk, Sample

STEP = "update"  # what the samples that went are rejects of
_NEEDS_EMBEDDER = ("semantic", "token")


class Updated(NamedTuple):
    """What became of a set.

    Attributes:
        lines: what the new run is.
        kept: how many samples there are still.
        cut_anew: how many of them rest on chunks with another text than before.
        dropped: the samples that went, each with the reason.
        documents: how many are ``unchanged``, ``renamed``, ``changed``, ``new`` and ``gone``.
    """

    lines: list[str]
    kept: int
    cut_anew: int
    dropped: list[tuple[Sample, str]]
    documents: dict[str, int]


def update_run(folder: Path, docs: Sequence[Path], out: Path, *, quiet: bool = False) -> Updated:
    """Write a new run with the documents of today, and those samples that still rest on them.

    Documents are read and cut with the configuration of the run. A sample whose passage is there still is kept, with
    the chunks of today; its ranks are measured among all of them. The others become rejects.

    Args:
        folder: the folder of a run.
        docs: files, folders or globs: all documents, whether they have changed or not.
        out: the new folder.
        quiet: show no progress.

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
    made = kept.replace(
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
    lineage = Lineage(command="update", parents=(*run.parents, *map(_parent, docs)))
    lines = save_run(out, with_ranks(made), lineage)
    return Updated(lines, len(kept.samples), cut_anew, dropped, _documents(before, now))


def _moved(run: Run, remap: Remap) -> tuple[Run, list[tuple[Sample, str]]]:
    """Return the run with those samples that have something to rest on, on it, and the others with reasons."""
    places, samples, dropped = [], [], []
    for place, sample in enumerate(run.samples):
        found = remap.move(sample)
        if isinstance(found, Moved):
            places.append(place)
            samples.append(sample.model_copy(update={"contexts": found.contexts, "retrieval_gt": found.groups}))
        else:
            dropped.append((sample, found))
    return run.only(places).replace(samples=samples), dropped


class _Embedder:
    """The embedder of a run, loaded when it is needed first; what the run has embedded is not embedded again."""

    def __init__(self, run: Run, folder: Path, progress: Progress) -> None:
        self._folder, self._progress = folder, progress
        self._named = run.settings["models"]["embedder"]
        self._length = run.chunk_vectors.shape[1]
        self._known = {chunk.text: row for chunk, row in zip(run.chunks, run.chunk_vectors, strict=True)}
        self._loaded: Any = None

    @property
    def model(self) -> Any:
        """Return it.

        Raises:
            InputError: it has other weights than the one of the run.
        """
        if self._loaded is None:
            from groundset.retrieval.embedder import load_embedder

            name = self._named["name"]
            loaded = load_embedder(name)
            if loaded.sha256 != self._named.get("sha256"):
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
    options: CorpusOptions = config.corpus_options()
    embed = tokenizer = None
    if options.chunker in _NEEDS_EMBEDDER:
        embed, tokenizer = embedder.model.encode_corpus, embedder.model.tokenizer.backend_tokenizer
    with progress.waiting("Reading documents"):
        corpus = build_corpus(config.sources, options, embed=embed, tokenizer=tokenizer)
    progress.read(corpus, every_file=False)
    return corpus


def _parent(docs: Path) -> Parent:
    return Parent(name=docs.absolute().name, identity=hash_sources([docs]), samples=0)


def _documents(before: Texts, now: Texts) -> dict[str, int]:
    """Return how many documents there are of each fate."""
    texts = {document.text: document.path for document in before.documents}
    paths = {document.path for document in before.documents}
    fates = Counter(
        ("unchanged" if texts[document.text] == document.path else "renamed")
        if document.text in texts
        else ("changed" if document.path in paths else "new")
        for document in now.documents
    )
    # A path that another known document has taken over says nothing of the one that had it.
    here = {document.text for document in now.documents}
    anew = {document.path for document in now.documents if document.text not in texts}
    gone = sum(document.text not in here and document.path not in anew for document in before.documents)
    return {name: fates[name] for name in ("unchanged", "renamed", "changed", "new")} | {"gone": gone}
