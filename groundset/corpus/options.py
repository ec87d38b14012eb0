"""The options of a corpus: which documents, and how they are cut into chunks."""

from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator

from groundset.options import Options, option

ChunkerName = Literal["recursive", "sentence", "word", "token", "semantic"]
_SIZES = {"word": 200, "token": 256}


class CorpusOptions(Options):
    """Which documents are read, and how they are cut."""

    documents: tuple[Path, ...] = option(
        (), "Files, folders or globs: txt, md, rst, html, pdf, docx and more.", metavar="DOCS", argument=True
    )
    chunks: Path | None = option(
        None, "Your own chunks: JSON lines or parquet with doc_id and contents.", metavar="FILE"
    )
    chunker: ChunkerName = option("recursive", "How documents are cut.")
    chunk_size: int | None = option(
        None,
        "Size in characters (recursive, sentence, semantic), words (word) or tokens (token).",
        shown="1000 characters, 200 words, 256 tokens",
        ge=1,
    )
    chunk_overlap: int = option(0, "Overlap of neighbouring chunks, in the same unit.", ge=0)
    merge: int | None = option(None, "Join this many consecutive chunks.", shown="1; profiled: 3", ge=1)
    min_length: int | None = option(None, "Drop shorter chunks, in characters.", shown="200; roundtrip: 100", ge=0)

    @model_validator(mode="after")
    def _check_overlap(self) -> Self:
        if self.chunk_overlap >= self.cut_size:
            raise ValueError(
                f"--chunk-overlap {self.chunk_overlap}: must be less than the chunk size ({self.cut_size})"
            )
        return self

    @property
    def cut_size(self) -> int:
        """Return the chunk size, by default the chunker's."""
        return self.chunk_size or _SIZES.get(self.chunker, 1000)
