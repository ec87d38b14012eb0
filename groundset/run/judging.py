"""`groundset judge`: chunks or questions of a file, each judged by itself."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from groundset.corpus.own import chunk_of
from groundset.files import check_target, is_stream, json_line, json_text, whole_text
from groundset.models.catalogue import cache_home
from groundset.options import DEFAULT_EMBEDDER, QUIET, Options, option
from groundset.printing import Progress, say
from groundset.programs.errors import InputError
from groundset.programs.text import plain
from groundset.rows import jsonl_rows, optional, required
from groundset.run.store import Store

if TYPE_CHECKING:
    from groundset.programs.recipe import Passage

Kind = Literal["chunks", "questions"]
Row = dict[str, Any]
Inputs = dict[str, Any]
Judge = Callable[[Sequence[Inputs]], list[Row]]

_BATCH = 64  # rows that a head judges at once
_CRITERIA = ("content", "self_contained", "independent", "clear", "answerable")


class CriticOptions(Options):
    """Judge chunks or questions, each by itself."""

    critic_lm: str | None = option(
        None, "The language model that judges.", metavar="MODEL", shown="a fitted classifier"
    )
    compiled: str = option(
        "shipped", "States: shipped, none, a folder, a file, prompts:/NAME@ALIAS.", metavar="WHICH"
    )
    embedder: str = option(
        DEFAULT_EMBEDDER, "The embedding model of the fitted classifier.", metavar="MODEL"
    )
    workers: int = option(1, "Calls of the language model at the same time.", ge=1, le=256)
    quiet: bool = QUIET


class JudgeOptions(CriticOptions):
    """Judge chunks or questions, each by itself.

    Adds `probability` (of being good), `verdict` (good or bad; null if a model gives no answer that
    can be read), `reason` and `criteria` to each row; other keys are kept. A question without
    `passage` is judged on its `contexts`, so FILE can be the samples.jsonl of a run. A language
    model reads `topic` (or `title` and `headings`) and `before`, too, if a row has them; the fitted
    classifier does not. After an error, the same command goes on: no finished call of --critic-lm
    is made again.
    """

    kind: Kind = option(
        ...,
        "The kind of rows: with `text`, or with `question` and `passage`.",
        metavar="chunks|questions",
        argument=True,
    )
    file: Path = option(..., "The rows: one JSON object per line.", metavar="FILE", argument=True)
    out: Path = option(..., "The file of judged rows; - is standard output.", metavar="FILE.jsonl")


def judge(options: JudgeOptions) -> None:
    """Judge the rows of a file, write them and print how many are good."""
    file, out = options.file, options.out
    check_target(out)
    if out.resolve() == file.resolve():
        raise InputError(f"--out {out}: is the input; name another file")
    rows = {where: dict(row) for where, row in jsonl_rows(file)}
    if not rows:
        raise InputError(f"{file} holds no rows")
    counts = Counter[str]()
    with _judged(options.kind, rows, options) as judged, whole_text(out) as stream:
        for row in judged:
            counts[row["verdict"] or "without an answer that can be read"] += 1
            stream.write(json_line(row))
    told = ", ".join(f"{counts[each]} {each}" for each in dict.fromkeys(("good", "bad", *counts)))
    say(f"Judged {len(rows)} {options.kind}: {told}.", err=is_stream(out))


def judge_rows(kind: Kind, rows: Iterable[Mapping[str, Any]], options: CriticOptions) -> list[Row]:
    """Judge chunks or questions, each by itself, and return the rows with what was decided.

    Rows of ``"chunks"`` have a ``text``, rows of ``"questions"`` a ``question`` and a ``passage``,
    or ``contexts`` as in samples.jsonl; other keys are kept. Added are ``probability`` (of being
    good), ``verdict`` (``"good"`` or ``"bad"``; both None if what a model wrote cannot be read),
    ``reason`` and ``criteria`` (yes or no by name).

    Raises:
        InputError: a row or an option is wrong; the message names it.
        ModelError: a model cannot be found or loaded.
    """
    if kind not in ("chunks", "questions"):
        raise InputError(f"kind {kind}: choose chunks or questions")
    given = {f"rows[{number}]": dict(row) for number, row in enumerate(rows)}
    if not given:
        return []
    with _judged(kind, given, options) as judged:
        return judged


@contextmanager
def _judged(kind: Kind, rows: Mapping[str, Row], options: CriticOptions) -> Iterator[list[Row]]:
    """Yield the rows with what the judge decides; if the block fails, finished calls are kept."""
    inputs = [_inputs(kind, where, row) for where, row in rows.items()]
    with Progress(quiet=options.quiet) as progress:
        progress.phase(f"Loading {options.critic_lm or options.embedder}")
        with _open_judge("score" if kind == "chunks" else "judge", inputs, options) as decide:
            progress.phase(f"Judging {kind}", len(rows))
            step = _BATCH if options.critic_lm is None else options.workers
            decided: list[Row] = []
            for start in range(0, len(inputs), step):
                batch = inputs[start : start + step]
                decided += decide(batch)
                progress.advance(len(batch))
            yield [{**row, **found} for row, found in zip(rows.values(), decided, strict=True)]


@contextmanager
def _open_judge(name: str, rows: Sequence[Inputs], options: CriticOptions) -> Iterator[Judge]:
    """Yield a function that decides on the inputs of several rows; calls are kept until the block
    has succeeded.
    """
    from groundset.run.compiled import load_compiled

    if options.critic_lm is None:
        from groundset.programs.heads import HeadJudge
        from groundset.retrieval.embed import open_embedder

        head = HeadJudge(
            name, load_compiled(options.compiled, "").heads[name], open_embedder(options.embedder)
        )
        yield lambda inputs: list(map(_decision, head.batch(inputs)))
        return
    from dspy.utils.exceptions import LMInvalidRequestError

    from groundset.models.open import open_model, parse_spec
    from groundset.programs.outcome import RefusedError, call
    from groundset.programs.step import step

    asked = json_text([name, parse_spec(options.critic_lm).name, rows])
    calls = cache_home() / "judged" / f"{hashlib.sha256(asked.encode()).hexdigest()[:32]}.sqlite"
    check_target(calls)
    program = step(name)

    def decide(inputs: Inputs) -> Row:
        try:
            return _decision(call(program, **inputs))
        except (
            RefusedError,
            LMInvalidRequestError,
        ) as error:  # nothing was written, or nothing that can be read
            return {"probability": None, "verdict": None, "reason": str(error), "criteria": {}}

    with (
        Store.for_calls(calls) as journal,
        open_model(options.critic_lm, journal=journal, workers=options.workers) as model,
        ThreadPoolExecutor(options.workers) as pool,
    ):
        load_compiled(options.compiled, model.name).apply([program])
        program.set_lm(model.lm)
        yield lambda inputs: list(pool.map(decide, inputs))
    calls.unlink(missing_ok=True)  # not reached after an error


def _decision(found: Any) -> Row:
    """Return the fields that a judge's outputs add to a row."""
    from groundset.programs.outcome import verdict

    decided = verdict(found)
    return {
        "probability": decided.probability,
        "verdict": "good" if decided.good else "bad",
        "reason": decided.reason or str(found.get("reason", "")),
        "criteria": {name: bool(found[name]) for name in _CRITERIA if name in found},
    }


def _inputs(kind: Kind, where: str, row: Row) -> Inputs:
    """Return the inputs of the judge.

    Raises:
        InputError: a text is missing or too long; the message begins with ``where``.
    """
    asked = {} if kind == "chunks" else {"question": required(where, row, "question")}
    names = ("text", "passage") if kind == "chunks" else ("passage", "text")
    read = _passage(where, row, names)
    return {"topic": read.topic, "before": read.before, "passage": read.text, **asked}


def _passage(where: str, row: Mapping[str, Any], names: Sequence[str]) -> "Passage":
    """Return the passage of a row: its own, else its contexts together, as a run shows them."""
    from groundset.programs.recipe import Passage, joined

    contexts = row.get("contexts")
    if isinstance(contexts, list) and contexts and not any(map(row.get, names)):
        rows = [each if isinstance(each, dict) else {} for each in contexts]
        return joined([_passage(f"{where}, contexts", each, ("text",)) for each in rows])
    about = {name: row.get(name) for name in ("title", "headings", "metadata")}
    text = required(where, row, *names)
    chunk = chunk_of(where, {**about, "chunk_id": "-", "text": text})
    topic, before = (plain(optional(where, row, name) or "") for name in ("topic", "before"))
    return Passage(chunk.passage, topic or chunk.topic, before)
