"""`groundset generate` and its function in Python; what makes a run is imported when it is made."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import model_validator

from groundset.options import option
from groundset.run.options import GenerateOptions

if TYPE_CHECKING:
    from groundset.run.run import Run


class PythonOptions(GenerateOptions):
    """Options of a run, whose passages may be given as texts."""

    texts: tuple[str | dict[str, Any], ...] = option(
        (),
        "Passages to ask about as they are, instead of chunks: texts, or mappings with `text` and perhaps `title`, "
        "`headings` and `doc_id`. They are kept in a file beside the run, OUT.texts.jsonl.",
    )

    @model_validator(mode="before")
    @classmethod
    def _in_a_file(cls, values: dict[str, Any]) -> dict[str, Any]:
        if not values.get("texts") or "out" not in values:
            return values
        if values.get("chunks"):
            raise ValueError("texts and --chunks: give one of them")
        out = Path(values["out"])
        return {**values, "chunks": out.with_name(f"{out.name}.texts.jsonl")}


def generate(options: GenerateOptions) -> int:
    """Make the run, print its summary, and return the exit status."""
    from groundset.run.generate import generate as run

    return run(options)


def make(options: PythonOptions) -> "Run":
    """Make an evaluation set of questions, contexts and answers from documents, or from passages as texts.

    The run is a folder; the same call goes on with one that was stopped or killed, and returns a finished one at once.
    A run with fewer samples than requested is no error: ``status`` and ``record["reason"]`` say why.

    Raises:
        InputError: the input, an option or the folder is wrong; the message names it.
        GroundsetError: the run cannot go on; what was finished is kept.
    """
    from groundset.files import write_rows
    from groundset.run.generate import make_run

    if options.texts and options.chunks:
        rows = [{"text": each} if isinstance(each, str) else each for each in options.texts]
        names = [hashlib.sha256(repr(sorted(row.items())).encode("utf-8", "replace")).hexdigest()[:16] for row in rows]
        named = ({"chunk_id": name, "doc_id": name, **row} for name, row in zip(names, rows, strict=True))
        write_rows(options.chunks, named)
    return make_run(GenerateOptions(**options.model_dump(exclude={"texts"}, exclude_unset=True)))
