"""Read files into documents and cut them, each in a child process with limits; bad ones are skipped
with a reason.
"""

import hashlib
import json
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from pydantic import BaseModel

from groundset.bounded import BoundedProcess, LimitError
from groundset.corpus.chunks import chunk_document
from groundset.corpus.find import FoundFile
from groundset.corpus.options import CorpusOptions
from groundset.corpus.parsing import (
    SUFFIXES,
    Parsed,
    UnparsableError,
    file_stem,
    name_title,
    parse,
    suffix_of,
    telling_title,
)
from groundset.corpus.ray import spread
from groundset.options import imported
from groundset.programs.types import Chunk, Document
from groundset.programs.words import word_list

# Limits for one file. HTML takes a hundred times its size in memory (10 MB: 1 GB), a PDF of a
# thousand pages 200 MB and two minutes.
MAX_FILE_MB = 256
LIMITS = {"memory_mb": 1024, "output_mb": 256}
SECONDS = 30
SECONDS_PER_MB = 100
MIN_CHARACTERS = 20  # letters and digits of a document worth asking about
MISSING = "broken link"
_TEXTS = word_list(".tex .xml .mediawiki .doc .ppt .xls .odp .ods .pages")
_MAX_PROCESSES = 8  # each may use the memory above
_SLUG_LENGTH = 40


class ReadFile(BaseModel):
    """A document with its chunks, or the reason why it is skipped."""

    document: Document | None = None
    chunks: list[Chunk] = []
    short: list[str] = []  # the chunks that were dropped as too short
    left_out: list[str] = []  # what of the document is not in its text
    note: str = ""  # what the user should know about the document
    reason: str = ""


def read_files(
    files: Sequence[FoundFile],
    options: CorpusOptions,
) -> Iterator[ReadFile]:
    """Yield what is in each file, in their order; read by processes of this machine, or by a Ray
    cluster.

    Raises:
        InputError: the cluster does not answer.
    """
    cut = options.model_dump(include=options.with_fact("cuts") | {"embedder"})
    functions = {
        suffix: (name, _folder_of(imported(name, "--readers")))
        for suffix, name in options.readers.items()
    }
    about = {"cut": cut, "readers": functions}
    requests = [{"path": str(file.absolute()), "name": name, **about} for file, name in files]
    rows = [{"request": json.dumps(request)} for request in requests]
    for row in spread(options.engine, rows, _MAX_PROCESSES, Reader):
        yield ReadFile.model_validate_json(row["answer"])


class Reader:
    """Reads one file after another in a child process, which is started at the first."""

    def __init__(self) -> None:
        """Start no process yet."""
        self._process = BoundedProcess(f"{__name__}:{read_document.__name__}", **LIMITS)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Read the file of a row."""
        request = json.loads(row["request"])
        path = request["path"]
        size = 0
        with suppress(OSError, ValueError):  # reading it says why
            size = Path(path).stat().st_size
        megabytes = min(size / (1 << 20), MAX_FILE_MB)
        try:
            answer = self._process(request, SECONDS + SECONDS_PER_MB * megabytes)
        except LimitError as error:
            answer = {"reason": f"reading it {error}"}
        return {"answer": json.dumps(answer)}

    def close(self) -> None:
        """End the process."""
        self._process.kill()


def read_document(request: dict[str, Any]) -> dict[str, Any]:
    """Read the document in a file and cut it; argument and result are JSON."""
    file, name = Path(request["path"]), request["name"]
    suffix = suffix_of(name)
    options = CorpusOptions(**request["cut"])
    try:
        parsed = _parsed(file, suffix, request["readers"].get(suffix))
        if suffix in (".csv", ".tsv"):
            parsed = _with_columns(parsed, options.columns)
    except UnparsableError as error:
        return {"reason": str(error)}
    except RecursionError:
        return {"reason": "nested too deep"}
    except OSError as error:
        return {"reason": f"unreadable: {(error.strerror or str(error)).lower()}"}
    document = Document(
        doc_id=document_id(name, parsed.text),
        path=name,
        title=telling_title(parsed.title or name_title(name), parsed),
        text=parsed.text,
        headings=tuple(parsed.headings),
        pages=tuple(parsed.pages),
        captions=tuple(parsed.captions),
        last_modified=datetime.fromtimestamp(file.stat().st_mtime, UTC),
    )
    found = ReadFile(document=document, note=parsed.note, left_out=list(parsed.left_out))
    found.chunks, found.short = chunk_document(document, options)
    return found.model_dump(mode="json")


def _with_columns(parsed: Parsed, columns: Mapping[Any, str]) -> Parsed:
    """Return a table whose columns of questions and answers are called so."""
    header, _, rows = parsed.text.partition("\n")
    missing = []
    for role, name in columns.items():
        renamed = re.sub(rf"\| {re.escape(name)} (?=\|)", f"| {role} ", header, flags=re.I)
        missing += [name] if renamed == header else []
        header = renamed
    note = f"there is no column {' or '.join(missing)} (--columns)" if missing else parsed.note
    return parsed._replace(text=f"{header}\n{rows}", note=note)


def _folder_of(function: Any) -> str:
    """Return the folder that the package of a function is imported from."""
    module = sys.modules[function.__module__]
    return str(Path(str(module.__file__)).parents[module.__name__.count(".")])


def _parsed(file: Path, suffix: str, reader: Sequence[str] | None) -> Parsed:
    if not file.is_file():
        raise UnparsableError("not a regular file" if file.exists() else MISSING)
    if not reader and suffix.removesuffix(".erb") not in SUFFIXES:
        mend = "; save it as .docx, .pptx, .xlsx, .pdf or .md" if suffix in _TEXTS else ""
        raise UnparsableError(f"unsupported type {suffix}{mend}")
    if file.stat().st_size > MAX_FILE_MB << 20:
        raise UnparsableError(f"larger than {MAX_FILE_MB} MB")
    data = file.read_bytes()
    if reader:
        name, folder = reader
        sys.path.append(folder)
        data, suffix = str(resolve_name(name)(data)).encode(), ".md"
    parsed = parse(data, suffix)
    if sum(map(str.isalnum, parsed.text)) < MIN_CHARACTERS:
        raise UnparsableError("too little text")
    return parsed


def document_id(path: str, text: str) -> str:
    """Return a document id made of its path and text, the same on any machine."""
    digest = hashlib.sha256(f"{path}\0{text}".encode()).hexdigest()[:8]
    return f"{document_name(path) or 'document'}-{digest}"


def document_name(path: str) -> str:
    """Return a slug of the file name, possibly empty."""
    ascii_stem = unicodedata.normalize("NFKD", file_stem(path)).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_stem.lower())[:_SLUG_LENGTH].strip("-")
