"""Documents as they are parsed, and the chunks that they are cut into."""

import tempfile
from functools import cache
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import BertPreTokenizer

from groundset.corpus.chunks import chunk_document
from groundset.corpus.options import ChunkerName, CorpusOptions
from groundset.corpus.parsing import parse
from groundset.programs.types import Chunk, Document

CHUNKERS: list[ChunkerName] = ["recursive", "word", "token"]


def document(text: str, suffix: str = ".md") -> Document:
    parsed = parse(text.encode(), suffix)
    parts = {"headings": tuple(parsed.headings), "captions": tuple(parsed.captions)}
    parts |= {"title": parsed.title or "D", "text": parsed.text}
    return Document(doc_id="d", path=f"d{suffix}", **parts)


@cache
def words_and_marks() -> tempfile.TemporaryDirectory[str]:
    """Return the folder of an embedder whose tokens are words and marks, and which reads two."""
    folder = tempfile.TemporaryDirectory(prefix="groundset-tokens-")
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.enable_truncation(2)
    tokenizer.save(f"{folder.name}/tokenizer.json")
    return folder


def cut(
    source: Document,
    chunker: ChunkerName = "recursive",
    size: int = 300,
    overlap: int = 0,
    **sizes: int,
) -> tuple[list[Chunk], list[str]]:
    """Return the chunks, which match their offsets, and what was too short for one."""
    how: dict[str, Any] = {"min_length": 0, "embedder": words_and_marks().name} | sizes
    options = CorpusOptions(chunker=chunker, chunk_size=size, chunk_overlap=overlap, **how)
    found, dropped = chunk_document(source, options)
    assert all(chunk.text == source.text[chunk.start : chunk.end] for chunk in found)
    assert len({chunk.chunk_id for chunk in found}) == len(found)
    return found, dropped


def chunks(source: Document | str, *how: Any, **sizes: Any) -> list[Chunk]:
    return cut(document(source) if isinstance(source, str) else source, *how, **sizes)[0]
