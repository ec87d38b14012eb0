"""The options of a corpus: which documents, and how they are cut into chunks."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, PlainValidator, model_validator

from groundset.options import DEFAULT_EMBEDDER, Options, named, option


def _pairs(given: Any) -> dict[str, Any]:
    """Return a text such as ``a=b,c=d`` as a mapping, and a mapping as it is."""
    if not isinstance(given, str):
        return dict(given)
    parts = (part.partition("=") for part in given.split(","))
    return {name.strip(): value.strip() for name, _, value in parts}


_Columns = Annotated[dict[Literal["question", "answer"], str], BeforeValidator(_pairs)]
ChunkerName = Literal["recursive", "word", "token"]
_SIZES = {"word": 200, "token": 256}


def parse_readers(given: Any) -> Any:
    """Return the names of functions by suffix, of a text such as ``.xyz=package.module:name``, or
    of a mapping to functions.

    Raises:
        ValueError: it has another form, or a function that no other process can import.
    """
    readers = {suffix.lower(): str(named(function)) for suffix, function in _pairs(given).items()}
    for suffix, name in readers.items():
        module, _, function = name.partition(":")
        if not (suffix.startswith(".") and module and function):
            raise ValueError("write .SUFFIX=package.module:name")
        if module == "__main__" or "<" in function:
            raise ValueError(
                f"{function}: files are read in other processes, so it must stand at the top of a"
                " module that they can import"
            )
    return readers


Readers = Annotated[
    dict[str, str], PlainValidator(parse_readers), "Mapping[str, Callable[[bytes], str]]"
]


class CorpusOptions(Options):
    """Which documents are read, and how they are cut."""

    documents: tuple[Path, ...] = option(
        (),
        "Files, folders or globs: txt, md, html, pdf, docx and more.",
        metavar="DOCS",
        argument=True,
        free=True,
        private=True,
    )
    exclude: tuple[str, ...] = option(
        (), "Leave out by name or path below DOCS: drafts, '*.log'.", metavar="GLOB", free=True
    )
    chunks: Path | None = option(
        None,
        "Your own chunks: JSON lines or parquet with doc_id and contents.",
        metavar="FILE",
        free=True,
        private=True,
    )
    chunker: ChunkerName = option("recursive", "How documents are cut.", cuts=True)
    chunk_size: int | None = option(
        None,
        "Size in characters (recursive), words (word) or tokens (token).",
        shown="1000 characters, 200 words, 256 tokens",
        ge=1,
        cuts=True,
    )
    chunk_overlap: int = option(
        0, "Overlap of neighbouring chunks, in the same unit.", ge=0, cuts=True
    )
    merge: int = option(1, "Join this many consecutive chunks.", ge=1, cuts=True)
    min_length: int = option(100, "Drop shorter chunks, in characters.", ge=0, cuts=True)
    readers: Readers = option(
        {},
        "Your own reader of a format: a function of the bytes of a file that returns Markdown.",
        metavar=".SUFFIX=MODULE:NAME,...",
    )
    columns: _Columns = option(
        {},
        "The columns of .csv and .tsv files that hold questions and answers, where their names do"
        " not say so: question=Subject,answer=Resolution.",
        metavar="question=NAME,answer=NAME",
        cuts=True,
        private=True,
    )
    embedder: str = option(
        DEFAULT_EMBEDDER,
        "The embedding model; the token chunker counts its tokens.",
        metavar="MODEL",
        min_length=1,
        free=True,
    )
    engine: str = option(
        "local",
        "Where files are read and chunks embedded: local, or ray=ADDRESS.",
        free=True,
    )
    verbose: bool = option(
        False, "Name what is left out, and print a local model's log.", short="-v", free=True
    )

    @model_validator(mode="after")
    def _check_overlap(self) -> Self:
        if self.chunk_overlap >= self.cut_size:
            raise ValueError(
                f"--chunk-overlap {self.chunk_overlap}: must be less than the chunk size"
                f" ({self.cut_size})"
            )
        return self

    @property
    def cut_size(self) -> int:
        """Return the chunk size, by default the chunker's."""
        return self.chunk_size or _SIZES.get(self.chunker, 1000)


class ChunkOptions(CorpusOptions):
    """Cut documents into chunks, without a language model.

    The texts of the documents are written beside the chunks, to FILE.docs.jsonl; each chunk is its
    document's text from `start` to `end`. With `--out -` only the chunks are written, to standard
    output.
    """

    out: Path = option(..., "The file of the chunks; - for standard output.", metavar="FILE.jsonl")
