"""Where the passages of questions lie once documents have changed."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from groundset.corpus.documents import document_id
from programs.text import plain
from programs.types import Chunk, Document, Sample


class Texts(NamedTuple):
    """Documents and the chunks that they were cut into."""

    documents: Sequence[Document]
    chunks: Sequence[Chunk]


class Moved(NamedTuple):
    """What a question rests on now: its chunks, and ids of chunks in groups as ``retrieval_gt`` has them."""

    contexts: tuple[Chunk, ...]
    groups: tuple[tuple[str, ...], ...]


def with_known_ids(before: Texts, now: Texts) -> Texts:
    """Return documents and chunks of now, with the ids of before for those documents that have got another name only.

    Only ids that follow from path and text are replaced: whoever brings chunks of their own has named them.
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
    own = f"{chunk.doc_id}-"  # what we call chunks begins so
    name = f"{doc_id}-{chunk.chunk_id.removeprefix(own)}" if chunk.chunk_id.startswith(own) else chunk.chunk_id
    return chunk.model_copy(update={"doc_id": doc_id, "chunk_id": name})


class Remap:
    """Finds the chunks of now that stand for chunks of before.

    A chunk stands for another that has the same text, of the same document if there is one. Else it must be of the same
    document, and hold the sentence that was asked about, or all of the other's text where no sentence of it was noted.
    A document is the same if it has the same text, whatever it is called, or else the same path, unless the text there
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
        """Return what a sample rests on now, or why it has nothing to rest on any more."""
        noted = sample.metadata.get("focus") or ()
        sentences = [noted] if isinstance(noted, str) else list(noted)
        contexts: dict[str, Chunk] = {}
        for chunk in sample.contexts:
            found = self._find(chunk, sentences)
            if found is None:
                return self._why(chunk, sentences)
            contexts[found.chunk_id] = found
        groups: dict[tuple[str, ...], None] = {}
        for group in sample.retrieval_gt:
            ids = [found.chunk_id for name in group if (found := self._find(self._before[name], sentences))]
            if not ids:
                return self._why(self._before[group[0]], sentences)
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

    def _why(self, chunk: Chunk, sentences: Sequence[str]) -> str:
        """Return why nothing stands for a chunk; what follows a colon is about this one alone."""
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
    """Return a text as a sentence was read off it: without markup, and with single spaces."""
    return " ".join(plain(text).split())
