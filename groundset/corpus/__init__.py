"""Turn documents into chunks: find files, parse, chunk, drop duplicates and draw."""

from groundset.corpus.chunkers import CHUNKERS, Embed
from groundset.corpus.chunks import draw_order
from groundset.corpus.corpus import (
    Corpus,
    CorpusOptions,
    Counts,
    build_corpus,
    cut_documents,
    documents_path,
    write_chunks,
)
from groundset.corpus.documents import read_documents
from groundset.corpus.files import SkippedFile, find_documents

__all__ = [
    "CHUNKERS",
    "Corpus",
    "CorpusOptions",
    "Counts",
    "Embed",
    "SkippedFile",
    "build_corpus",
    "cut_documents",
    "documents_path",
    "draw_order",
    "find_documents",
    "read_documents",
    "write_chunks",
]
