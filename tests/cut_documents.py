"""Documents as they are parsed, and the chunks that they are cut into."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from groundset.corpus.chunks import chunk_document
from groundset.corpus.options import ChunkerName, CorpusOptions
from groundset.corpus.parsing import parse
from groundset.programs.types import Chunk, Document

CHUNKERS: list[ChunkerName] = ["recursive", "sentence", "word", "token", "semantic"]


def document(text: str, suffix: str = ".md") -> Document:
    parsed = parse(text.encode(), suffix)
    parts = {"headings": tuple(parsed.headings), "captions": tuple(parsed.captions)}
    parts |= {"title": parsed.title or "D", "text": parsed.text}
    return Document(doc_id="d", path=f"d{suffix}", **parts)


def embed(texts: Sequence[str]) -> np.ndarray[Any, Any]:
    """Tell cats, dogs and tables apart."""
    return np.array([[*map(text.count, ("cat", "dog", "|")), 0.1] for text in texts])


def cut(
    source: Document,
    chunker: ChunkerName = "recursive",
    size: int = 300,
    overlap: int = 0,
    tools: Any = None,
    **sizes: int,
) -> tuple[list[Chunk], list[str]]:
    """Return the chunks, which match their offsets, and what was too short for one."""
    options = CorpusOptions(
        chunker=chunker, chunk_size=size, chunk_overlap=overlap, **{"min_length": 0} | sizes
    )
    encoder = SimpleNamespace(encode=embed, tokenizer=None)
    found, dropped = chunk_document(source, options, tools or encoder)
    assert all(chunk.text == source.text[chunk.start : chunk.end] for chunk in found)
    assert len({chunk.chunk_id for chunk in found}) == len(found)
    return found, dropped


def chunks(source: Document | str, *how: Any, **sizes: Any) -> list[Chunk]:
    return cut(document(source) if isinstance(source, str) else source, *how, **sizes)[0]
