"""Documents that the chunks of a set stand in, as far as a set lets them be known.

Where every chunk of a document has offsets that do not contradict each other, its text is put together from them; what
no chunk holds is line ends. Else the chunks stand one after the other, and the offsets that the set has for them are
kept in their metadata as ``start_end_idx``, None where it has none, so that they go out again as they came.
"""

from collections.abc import Collection, Sequence
from datetime import UTC
from typing import NamedTuple

from groundset.corpus.documents import document_id
from groundset.corpus.parsing.text import name_title
from groundset.run import unused_id
from groundset.sets.exports.autorag import neighbour_ids
from groundset.sets.imports.base import ForeignChunk
from programs.types import Chunk, Document

_SEPARATOR = "\n\n"
_SPARSEST = 20  # a text may be so many times as long as what is known of it; offsets beyond that are taken for wrong
_NEIGHBOURS = ("prev_id", "next_id")
_TIME = "last_modified_datetime"


class LaidOut(NamedTuple):
    """Documents, and the chunks in the order of the set."""

    documents: list[Document]
    chunks: list[Chunk]


def lay_out(pieces: Sequence[ForeignChunk], corpus: str) -> LaidOut:
    """Return the documents of a set and its chunks in them; ``corpus`` stands for the path of a chunk without one."""
    sources: dict[tuple[str, str], list[ForeignChunk]] = {}
    for piece in pieces:
        key = ("id", piece.source) if piece.source else ("path", piece.path) if piece.path else ("", piece.chunk_id)
        sources.setdefault(key, []).append(piece)
    documents: dict[str, Document] = {}
    by_id: dict[str, Chunk] = {}
    for members in sources.values():
        document, chunks = _document(members, corpus, documents)
        documents[document.doc_id] = document
        by_id |= {chunk.chunk_id: chunk for chunk in chunks}
    ordered = [by_id[piece.chunk_id] for piece in pieces]
    around = neighbour_ids(ordered)
    return LaidOut(list(documents.values()), [_without(chunk, around[chunk.chunk_id]) for chunk in ordered])


def _without(chunk: Chunk, neighbours: tuple[str | None, str | None]) -> Chunk:
    """Return a chunk whose metadata does not repeat who its neighbours are."""
    derived = dict(zip(_NEIGHBOURS, neighbours, strict=True))
    said = {name: value for name, value in chunk.metadata.items() if name not in derived or derived[name] != value}
    return chunk if said == chunk.metadata else chunk.model_copy(update={"metadata": said})


def _document(pieces: Sequence[ForeignChunk], corpus: str, taken: Collection[str]) -> tuple[Document, list[Chunk]]:
    first = pieces[0]
    text = _restored(pieces)
    is_restored = text is not None
    starts = [piece.span[0] for piece in pieces if piece.span] if is_restored else _one_after_the_other(pieces)
    if text is None:
        text = _SEPARATOR.join(piece.text for piece in pieces)
    path = first.path or corpus
    derived = name_title(first.path) if first.path else ""
    title = derived if first.title is None else first.title
    doc_id = unused_id(first.source or (document_id(first.path, text) if first.path else first.chunk_id), taken)
    modified = max((piece.modified for piece in pieces if piece.modified), default=None)
    chunks = []
    for piece, start in zip(pieces, starts, strict=True):
        said = dict(piece.metadata)
        if not is_restored:
            said["start_end_idx"] = None if piece.span is None else list(piece.span)
        if piece.modified != modified:
            said[_TIME] = None if piece.modified is None else piece.modified.astimezone(UTC).isoformat()
        chunks.append(
            Chunk(
                chunk_id=piece.chunk_id,
                doc_id=doc_id,
                path=piece.path or path,
                title=title if piece.title is None else piece.title,
                headings=piece.headings,
                start=start,
                end=start + len(piece.text),
                text=piece.text,
                metadata=said,
            )
        )
    return Document(doc_id=doc_id, path=path, title=title, text=text, last_modified=modified), chunks


def _restored(pieces: Sequence[ForeignChunk]) -> str | None:
    """Return the text that all pieces stand in by their offsets, None if there is none."""
    spans = [(*piece.span, piece.text) for piece in pieces if piece.span]
    if len(spans) < len(pieces) or any(start < 0 or end - start != len(text) for start, end, text in spans):
        return None
    if max(end for _, end, _ in spans) > _SPARSEST * sum(len(text) for _, _, text in spans):
        return None
    whole = ""
    for start, end, text in sorted(spans):
        if start > len(whole):
            whole += "\n" * (start - len(whole))
        shared = whole[start:end]
        if not text.startswith(shared):
            return None
        whole += text[len(shared) :]
    return whole


def _one_after_the_other(pieces: Sequence[ForeignChunk]) -> list[int]:
    starts, start = [], 0
    for piece in pieces:
        starts.append(start)
        start += len(piece.text) + len(_SEPARATOR)
    return starts
