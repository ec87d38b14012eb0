"""`groundset generate` and its function in Python; what makes a run is imported when it is made."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from groundset.run.options import GenerateOptions
from programs.errors import InputError

if TYPE_CHECKING:
    from groundset.run.run import Run


def generate(options: GenerateOptions) -> int:
    """Make the run, print its summary, and return the exit status."""
    from groundset.run.generate import generate as run

    return run(options)


def make(*, texts: Iterable[str | Mapping[str, str]] = (), options: GenerateOptions) -> "Run":
    """Make an evaluation set of questions, contexts and answers from documents, or from passages as texts.

    The run is a folder; the same call goes on with one that was stopped or killed, and returns a finished one at once.
    A run with fewer samples than requested is no error: ``status`` and ``record["reason"]`` say why.

    ``texts`` are passages to ask about as they are: texts, or mappings with ``text`` and perhaps ``title``, ``doc_id``
    and ``headings``. They are kept in a file beside the run, OUT.texts.jsonl, which is the option ``chunks``.

    Raises:
        InputError: the input, an option or the folder is wrong; the message names it.
        GroundsetError: the run cannot go on; what was finished is kept.
    """
    from groundset.run.generate import make_run

    if texts := list(texts):
        if options.chunks is not None:
            raise InputError("--chunks: texts are given too; give one of them")
        file = options.out.with_name(f"{options.out.name}.texts.jsonl")
        _write(file, texts)
        options = options.model_copy(update={"chunks": file})
    return make_run(options)


def _write(file: Path, texts: Iterable[str | Mapping[str, str]]) -> None:
    from groundset.files import write_rows

    rows = [{"text": text} if isinstance(text, str) else dict(text) for text in texts]
    for row in rows:
        name = hashlib.sha256(repr(sorted(row.items())).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        row.setdefault("chunk_id", name)
        row.setdefault("doc_id", name)
    write_rows(file, rows)
