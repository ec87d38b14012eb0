"""Chunks and document texts to disk, whole or not at all."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from groundset.corpus.corpus import Corpus
from groundset.files import is_stream, json_line, whole_file


def write_chunks(corpus: Corpus, out: Path) -> tuple[Path, Path | None]:
    """Write the chunks to ``out`` and the documents' texts beside it; return both paths.

    Both files are complete before either takes its name, so that a full disk or a kill leaves what was there. Nothing
    lies beside a stream, so the texts are left out there.

    Raises:
        InputError: one of them cannot be written.
    """
    docs = None if is_stream(out) else documents_path(out)
    chunk_rows = (
        chunk.model_dump(mode="json", exclude=None if chunk.metadata else {"metadata"}) for chunk in corpus.chunks
    )
    document_rows = (
        {"doc_id": document.doc_id, "path": document.path, "title": document.title, "text": document.text}
        for document in corpus.documents
    )
    files: list[tuple[Path, Iterator[dict[str, Any]]]] = [(out, chunk_rows)]
    if docs:
        # The last one entered takes its name first, so where there are chunks there are documents.
        files.append((docs, document_rows))
    with ExitStack() as stack:
        for target, rows in files:
            with stack.enter_context(whole_file(target)).open("w", encoding="utf-8", newline="\n") as stream:
                stream.writelines(map(json_line, rows))
    return out, docs


def documents_path(out: Path) -> Path:
    """Return where the document texts of a chunk file go: ``FILE.docs.jsonl`` beside ``FILE.jsonl``."""
    return out.with_name(f"{out.stem if out.suffix == '.jsonl' else out.name}.docs.jsonl")
