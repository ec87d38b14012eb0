"""`groundset judge`: judge chunks or questions in a JSONL file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from groundset.commands.declare import Command, Compiled, Critic, Embedder, Engine, NewFile, Tracking
from groundset.commands.output.targets import check_out, name_of, note
from groundset.options import CommandOptions, option
from programs.errors import InputError


class CriticOptions(CommandOptions):
    """Judge chunks or questions, each by itself."""

    critic: Critic = "head"
    lm: str | None = option(None, "The language model of the critics lm, ensemble and verdict.", metavar="MODEL")
    critic_lm: str | None = option(None, "Alias of --lm.", metavar="MODEL")
    embedder: Embedder
    compiled: Compiled
    tracking: Tracking
    engine: Engine
    panel: bool = option(
        False,
        "Let three critics of the language model review each question with its `answer`, as `generate --panel` does, "
        "instead of --critic.",
    )
    quiet: bool = option(False, "Show no progress.", only="python")


class JudgeOptions(CriticOptions):
    """Judge chunks or questions, each by itself.

    Adds to every row `probability` (of being good), `verdict` (good or bad), `scores` (of each criterion) and `weakest`
    (the criterion with the lowest probability); the critic verdict adds `reasons`. All other keys are kept, in order. A
    question without `passage` is judged on the texts of its `contexts`, so FILE can be the samples.jsonl of a run. The
    output is written atomically. Finished language model calls are stored in FILE.jsonl.calls until then, so that the
    same command continues after an interruption.
    """

    kind: Literal["chunks", "questions"] = option(
        ...,
        "The kind of rows: with `text`, or with `question` and `passage`.",
        metavar="chunks|questions",
        argument=True,
    )
    file: Path = option(..., "The rows: one JSON object per line.", metavar="FILE", argument=True)
    out: NewFile = option(..., "The file of judged rows; - is standard output.", metavar="FILE.jsonl")


def judge(options: JudgeOptions) -> None:
    """Judge the rows, write them and print how many are good."""
    check_out(options.out, [options.file])
    from groundset.engine.judging import FIELDS, PANEL_FIELDS, judged_rows, judging_critic
    from groundset.files import is_stream, json_line, whole_text
    from groundset.progress import Progress
    from groundset.store.calls import CallFile

    critic, model = judging_critic(options.kind, options.critic, options.lm, options.critic_lm, panel=options.panel)
    rows = read_rows(options.file, PANEL_FIELDS if options.panel else FIELDS[options.kind])
    out = options.out
    journal = None if model is None or is_stream(out) else CallFile(out.with_name(f"{out.name}.calls"))
    good = 0
    with Progress() as progress, whole_text(out) as stream:
        for row in judged_rows(
            options.kind,
            rows,
            progress,
            critic=critic,
            lm=model,
            embedder=options.embedder,
            compiled=options.compiled,
            tracking=options.tracking,
            panel=options.panel,
            engine=options.engine,
            journal=journal,
        ):
            good += row["verdict"] == "good"
            stream.write(json_line(row))
    if journal is not None:
        journal.remove()
    note(f"Judged {len(rows)} {options.kind}: {good} good, {len(rows) - good} bad. Rows: {name_of(out)}.", out)


def read_rows(file: Path, fields: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of a JSONL file with texts in the named fields; blank lines are skipped.

    Raises:
        InputError: a row is invalid; the message names its line.
    """
    from groundset.engine.judging import check_row
    from groundset.rows import jsonl_rows

    rows = []
    try:
        for where, row in jsonl_rows(file):
            check_row(row, fields, where)
            rows.append(dict(row))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from error
    if not rows:
        raise InputError(f"{file} holds no rows")
    return rows


COMMAND = Command("judge", JudgeOptions, judge, rank=2)
