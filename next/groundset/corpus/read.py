"""Read files into documents and cut them, each in a child process with limits; bad ones are skipped with a reason."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from queue import SimpleQueue
from typing import Any, NamedTuple

from groundset.bounded import BoundedProcess, LimitError, Limits, usable_processors
from groundset.corpus.find import FoundFile
from groundset.corpus.options import ChunkerName
from groundset.corpus.parsing.formats import SUFFIXES, parse
from groundset.corpus.parsing.text import UnparsableError, file_stem, name_title
from programs.types import Chunk, Document

# Limits for one file. HTML takes a hundred times its size in memory (10 MB: 1 GB), a PDF of a thousand pages 200 MB
# and two minutes.
MAX_FILE_MB = 256
LIMITS = Limits(memory_mb=1024, output_mb=256)
SECONDS = 30
SECONDS_PER_MB = 100
MIN_CHARACTERS = 20  # letters and digits of a document worth asking about
_MAX_PROCESSES = 8  # each may use the memory above
_SLUG_LENGTH = 40
MISSING = "broken link"


class Cut(NamedTuple):
    """How documents are cut; see :func:`groundset.corpus.cutting.chunks.chunk_document`."""

    chunker: ChunkerName
    size: int
    overlap: int
    merge: int
    min_length: int


class ReadFile(NamedTuple):
    """A document with its chunks, or the reason why it is skipped.

    Attributes:
        chunks: None if they are to be cut by this process, which has the embedder.
        short: how many chunks were dropped as too short.
        note: what the user should know about the document.
    """

    document: Document | None = None
    chunks: list[Chunk] | None = None
    short: int = 0
    note: str = ""
    reason: str = ""


def read_files(files: Sequence[FoundFile], cut: Cut | None, engine: str) -> Iterator[ReadFile]:
    """Yield what is in each file, in their order; parsed by processes of this machine, or by a Ray cluster.

    Args:
        files: the files.
        cut: how to cut the documents; None leaves it to this process.
        engine: ``local``, ``ray`` or ``ray=ADDRESS``.

    Raises:
        InputError: the cluster does not answer.
    """
    requests = [{"path": str(file.absolute()), "name": name, "cut": cut and list(cut)} for file, name in files]
    if engine != "local":
        from groundset.corpus.ray import mapped

        rows = mapped(engine, Reader, (), [{"request": json.dumps(request)} for request in requests])
        yield from (_of(json.loads(row["answer"])) for row in rows)
        return
    count = max(1, min(len(files), usable_processors(), _MAX_PROCESSES))
    readers: SimpleQueue[Reader] = SimpleQueue()
    for reader in (pool := [Reader() for _ in range(count)]):
        readers.put(reader)

    def read(request: dict[str, Any]) -> dict[str, Any]:
        reader = readers.get()
        try:
            return reader.read(request)
        finally:
            readers.put(reader)

    threads = ThreadPoolExecutor(count)
    try:
        yield from map(_of, threads.map(read, requests))
    finally:
        for reader in pool:
            reader.process.kill()
        threads.shutdown(cancel_futures=True)
        for reader in pool:
            reader.process.end()


class Reader:
    """Reads one file after another in a child process, which is started at the first."""

    def __init__(self) -> None:
        """Start no process yet."""
        self.process = BoundedProcess(f"{__name__}:{read_document.__name__}", LIMITS)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Read the file of a row of Ray Data."""
        return {"answer": json.dumps(self.read(json.loads(row["request"])))}

    def read(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the document in a file, its chunks, and the reason if it is skipped, as JSON."""
        file = Path(request["path"])
        try:
            if not file.is_file():
                return {"reason": "not a regular file" if file.exists() else MISSING}
            megabytes = file.stat().st_size / (1 << 20)
        except OSError as error:
            return {"reason": f"unreadable: {error.strerror or error}"}
        suffix = PurePosixPath(request["name"]).suffix.lower()
        if suffix not in SUFFIXES:
            return {"reason": f"unsupported type {suffix}"}
        if megabytes > MAX_FILE_MB:
            return {"reason": f"larger than {MAX_FILE_MB} MB"}
        try:
            answer: dict[str, Any] = self.process(request, SECONDS + SECONDS_PER_MB * megabytes)
        except LimitError as error:
            return {"reason": f"reading it {error}"}
        return answer


def read_document(request: dict[str, Any]) -> dict[str, Any]:
    """Read the document in a file and cut it; argument and result are JSON."""
    file, name = Path(request["path"]), request["name"]
    try:
        parsed = parse(file.read_bytes(), PurePosixPath(name).suffix.lower())
        modified = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except UnparsableError as error:
        return {"reason": str(error)}
    except RecursionError:
        return {"reason": "nested too deep"}
    except OSError as error:
        return {"reason": f"unreadable: {(error.strerror or str(error)).lower()}"}
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - parsers raise arbitrary exceptions for damaged files
        return {"reason": f"cannot be parsed ({type(error).__name__})"}
    if sum(map(str.isalnum, parsed.text)) < MIN_CHARACTERS:
        return {"reason": "too little text"}
    document = Document(
        doc_id=document_id(name, parsed.text),
        path=name,
        title=parsed.title or name_title(name),
        text=parsed.text,
        headings=tuple(parsed.headings),
        pages=tuple(parsed.pages),
        captions=tuple(parsed.captions),
        last_modified=modified,
    )
    answer: dict[str, Any] = {"document": document.model_dump(mode="json"), "note": parsed.note}
    if request["cut"]:
        from groundset.corpus.cutting.chunks import chunk_document

        chunks, answer["short"] = chunk_document(document, *request["cut"])
        answer["chunks"] = [chunk.model_dump(mode="json", exclude={"text"}) for chunk in chunks]
    return answer


def _of(answer: dict[str, Any]) -> ReadFile:
    if "document" not in answer:
        return ReadFile(reason=answer["reason"])
    document = Document.model_validate(answer["document"])
    chunks = answer.get("chunks")
    if chunks is not None:
        chunks = [Chunk(**chunk, text=document.text[chunk["start"] : chunk["end"]]) for chunk in chunks]
    return ReadFile(document, chunks, answer.get("short", 0), answer["note"])


def document_id(path: str, text: str) -> str:
    """Return a document id made of its path and text, the same on any machine."""
    digest = hashlib.sha256(f"{path}\0{text}".encode()).hexdigest()[:8]
    return f"{document_name(path) or 'document'}-{digest}"


def document_name(path: str) -> str:
    """Return a slug of the file name, possibly empty."""
    ascii_stem = unicodedata.normalize("NFKD", file_stem(path)).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_stem.lower())[:_SLUG_LENGTH].strip("-")
