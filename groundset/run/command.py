"""`groundset generate`, on the command line and from Python."""

from pathlib import Path
from typing import Any, Self

from pydantic import model_validator

from groundset.corpus.own import write_texts
from groundset.options import Module, option
from groundset.run.options import GenerateOptions
from groundset.run.run import Run


class CommandOptions(GenerateOptions):
    """Make an evaluation set of questions, contexts and answers from documents.

    Writes samples.jsonl, rejects.jsonl, run.json and run.sqlite to RUN. Ctrl-C stops cleanly, and
    the same command goes on with a stopped or killed run; a larger --size adds samples. Exit
    status: 0 all samples were made, 3 fewer were possible or a budget ended the run, 2 the input or
    an option is wrong, 130 interrupted, 1 anything else.
    """

    out: Path = option(None, "The folder of the run; --dry-run needs none.", metavar="RUN")
    dry_run: bool = option(
        False,
        "Say what the run would read, ask and cost, without a language model; write nothing.",
        free=True,
    )

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if not (self.dry_run or "out" in self.model_fields_set):
            raise ValueError("--out must be given: it names the folder of the run")
        return self


class PythonOptions(GenerateOptions):
    """Options of a run, whose passages, program and state may be given as objects."""

    texts: tuple[str | dict[str, Any], ...] = option(
        (),
        "Passages to ask about as they are, instead of chunks: texts, or mappings with `text` and"
        " perhaps `title`, `headings` and `doc_id`. They are kept in a file beside the run,"
        " OUT.texts.jsonl.",
        free=True,
    )
    program: Module | None = option(
        None,
        "A program of your own, the same as recipe: a dspy.Module that is called with text.",
        free=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _in_a_file(cls, values: dict[str, Any]) -> dict[str, Any]:
        if values.get("program") is not None:
            values = {**values, "recipe": values["program"]}
        if not values.get("texts") or "out" not in values:
            return values
        if values.get("chunks"):
            raise ValueError("texts and --chunks: give one of them")
        out = Path(values["out"])
        return {**values, "chunks": out.with_name(f"{out.name}.texts.jsonl")}


def generate(options: CommandOptions) -> int:
    """Make the run, print its summary, and return the exit status; or say what it would do."""
    if options.dry_run:
        from groundset.run.forecast import forecast

        return forecast(options)
    from groundset.run.generate import generate as run

    return run(options)


def make(options: PythonOptions) -> Run:
    """Make an evaluation set of questions, contexts and answers from documents, or from passages as
    texts.

    The run is a folder; the same call goes on with one that was stopped or killed, and returns a
    finished one at once. A run with fewer samples than requested is no error: ``status`` and
    ``record["reason"]`` say why.

    Raises:
        InputError: the input, an option or the folder is wrong; the message names it.
        GroundsetError: the run cannot go on; what was finished is kept.
    """
    from groundset.run.generate import make_run

    if options.texts and options.chunks:
        write_texts(options.chunks, options.texts)
    return make_run(options)
