"""Chunks and document texts to disk, whole or not at all."""

import json
import os
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from groundset.corpus.corpus import Corpus
from programs.errors import InputError


def write_chunks(corpus: Corpus, out: Path) -> tuple[Path, Path]:
    """Write the chunks to ``out`` and the documents' texts beside it; return both paths.

    Both files are complete before either takes its name, so that a full disk or a kill leaves what was there.
    """
    docs = documents_path(out)
    chunk_rows = (
        {
            "chunk_id": chunk.chunk_id,
            "doc_id": chunk.doc_id,
            "path": chunk.path,
            "title": chunk.title,
            "headings": list(chunk.headings),
            "start": chunk.start,
            "end": chunk.end,
            "text": chunk.text,
            **({"metadata": chunk.metadata} if chunk.metadata else {}),
        }
        for chunk in corpus.chunks
    )
    document_rows = (
        {"doc_id": document.doc_id, "path": document.path, "title": document.title, "text": document.text}
        for document in corpus.documents
    )
    if out.is_dir():
        raise InputError(f"cannot write {out}: it is a folder")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            finished = [
                (_write_aside(rows, target, stack), target)
                for rows, target in ((document_rows, docs), (chunk_rows, out))
            ]
            for aside, target in finished:
                aside.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror or error}") from error
    return out, docs


def documents_path(out: Path) -> Path:
    """Return where the document texts of a chunk file go: ``FILE.docs.jsonl`` beside ``FILE.jsonl``."""
    return out.with_name(f"{out.stem if out.suffix == '.jsonl' else out.name}.docs.jsonl")


def _write_aside(rows: Iterable[dict[str, Any]], target: Path, stack: ExitStack) -> Path:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    aside = Path(name)
    stack.callback(aside.unlink, missing_ok=True)
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        file.flush()
        os.fsync(file.fileno())
    # A temporary file is private; the result is an ordinary one.
    mask = os.umask(0)
    os.umask(mask)
    aside.chmod(0o666 & ~mask)
    return aside
