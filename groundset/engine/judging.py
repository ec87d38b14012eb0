"""Judge rows without a run: each row holds a chunk, or a question with its passage."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from groundset.executors import Executor, open_executor
from groundset.options import DEFAULT_EMBEDDER
from programs.errors import InputError
from programs.text import plain_passage
from programs.untrusted import MAX_TEXT

if TYPE_CHECKING:
    from groundset.engine.compiled import Compiled
    from groundset.engine.preparation import Phases
    from groundset.store.calls import CallFile
    from programs.critics import Critic
    from programs.deciding import Decision

Kind = Literal["chunks", "questions"]
Row = dict[str, Any]
Decide = Callable[[Sequence[Row]], list["Decision"]]

FIELDS: Mapping[Kind, tuple[str, ...]] = {"chunks": ("text",), "questions": ("question", "passage")}
PANEL_FIELDS = (*FIELDS["questions"], "answer")
_HEAD_BATCH = 64
_LM_BATCH = 1  # a language model takes seconds for each row


def judge(
    kind: Kind,
    rows: Iterable[Mapping[str, Any]],
    *,
    critic: str = "head",
    lm: str | None = None,
    critic_lm: str | None = None,
    embedder: str = DEFAULT_EMBEDDER,
    compiled: str = "shipped",
    tracking: str | None = None,
    panel: bool = False,
    engine: str = "local",
    quiet: bool = False,
) -> list[Row]:
    """Judge rows; see :func:`groundset.judge`.

    Raises:
        InputError: a row or an option is wrong; the message names it.
        ModelError: a model cannot be found or loaded.
    """
    from groundset.progress import Progress

    if kind not in FIELDS:
        raise InputError(f"kind {kind}: choose chunks or questions")
    checked = [dict(row) for row in rows]
    critic, model = judging_critic(kind, critic, lm, critic_lm, panel=panel)
    for number, row in enumerate(checked):
        check_row(row, PANEL_FIELDS if panel else FIELDS[kind], f"rows[{number}]")
    if not checked:
        return []
    with Progress(quiet=quiet) as progress:
        return list(
            judged_rows(
                kind,
                checked,
                progress,
                critic=critic,
                lm=model,
                embedder=embedder,
                compiled=compiled,
                tracking=tracking,
                panel=panel,
                engine=engine,
            )
        )


def judging_critic(
    kind: Kind, critic: str, lm: str | None, critic_lm: str | None, *, panel: bool
) -> tuple[str, str | None]:
    """Return the name of the critic that decides, and its language model, given as ``--lm`` or ``--critic-lm``.

    Raises:
        InputError: two models are given, or one for a critic that uses none; or the panel cannot decide.
    """
    from programs.critics import MODEL_FREE, check_critic

    if panel:
        if kind != "questions":
            raise InputError("--panel: reviews questions with their answers; omit it to judge chunks")
        if critic not in ("head", "verdict"):
            raise InputError(f"--critic {critic}: the panel gives reasons, as only verdict does; omit --critic")
        if lm is None and critic_lm is None:
            raise InputError("--panel: needs a language model (--lm)")
        critic = "verdict"
    check_critic(critic, critic_lm)
    if critic in MODEL_FREE and lm is not None:
        raise InputError(f"--lm {lm}: the critic {critic} uses no language model; leave --lm out")
    if None not in (lm, critic_lm) and lm != critic_lm:
        raise InputError(f"--lm {lm} and --critic-lm {critic_lm}: one language model judges; name one of them")
    return critic, critic_lm or lm


def check_row(row: Mapping[str, Any], fields: Sequence[str], where: str) -> None:
    """Check that a row has texts in the named fields.

    Raises:
        InputError: a text is missing or too long; the message begins with ``where``.
    """
    for field in fields:
        text = text_of(row, field)
        if not text.strip():
            raise InputError(f"{where}: `{field}` is missing, empty or not a text")
        if len(text) > MAX_TEXT:
            raise InputError(f"{where}: `{field}` is longer than {MAX_TEXT:,} characters")


def judged_rows(
    kind: Kind,
    rows: Sequence[Row],
    phases: "Phases",
    *,
    critic: str,
    lm: str | None,
    embedder: str,
    compiled: str,
    tracking: str | None = None,
    panel: bool = False,
    engine: str = "local",
    journal: "CallFile | None" = None,
) -> Iterator[Row]:
    """Load the critic, and yield each row with its judgement; see :func:`judge`.

    ``journal`` stores the finished calls of a language model. ``engine`` says where the critic head judges; see
    :func:`groundset.executors.open_executor`.

    Raises:
        InputError: an option is wrong.
        ModelError: a model cannot be found or loaded.
    """
    size = _HEAD_BATCH if critic == "head" else _LM_BATCH
    batches = [rows[start : start + size] for start in range(0, len(rows), size)]
    judge = _JudgeRows(partial(open_judge, kind, critic, lm, embedder, compiled, tracking, journal, panel=panel))
    with ExitStack() as stack:
        executor = stack.enter_context(judging_executor(engine, critic))
        judged: Iterator[list[Row]]
        if executor.is_local:  # in this process, whose memory holds the models once
            judged = map(stack.enter_context(judge.load()), batches)
        else:
            judged = stack.enter_context(closing(executor.map(judge, batches, parts=len(batches))))
        advance = stack.enter_context(phases.phase("Judging", len(rows)))
        for batch, judgements in zip(batches, judged, strict=True):
            yield from ({**row, **judgement} for row, judgement in zip(batch, judgements, strict=True))
            advance(len(batch))


@contextmanager
def judging_executor(engine: str, critic: str) -> Iterator[Executor]:
    """Yield the executor that a critic judges on.

    Raises:
        InputError: there is no such executor, or the critic asks a language model, which only this process does.
    """
    with open_executor(engine) as executor:
        if critic != "head" and not executor.is_local:
            raise InputError(f"--engine {engine}: the critic {critic} asks a language model; only head uses it")
        yield executor


@dataclass(frozen=True)
class _JudgeRows:
    """An operator that judges batches of rows."""

    open_judge: Callable[[], AbstractContextManager[Decide]]

    @contextmanager
    def load(self) -> Iterator[Callable[[Sequence[Row]], list[Row]]]:
        """Load the critic, and yield a function that returns the judgements of a batch."""
        with self.open_judge() as decide:
            yield lambda rows: [_judgement(decision) for decision in decide(rows)]

    def name(self, item: Sequence[Row]) -> str:
        """Return the beginning of the first row."""
        return f"judging {len(item)} rows from {text_of(item[0], 'text') or text_of(item[0], 'question'):.40}"


def text_of(row: Mapping[str, Any], field: str) -> str:
    """Return a text of a row, empty if it has none.

    If `passage` is missing it is built from `contexts`, as in the prompts of a run.
    """
    if field == "passage" and row.get(field) is None and isinstance(contexts := row.get("contexts"), list):
        texts = [each["text"] for each in contexts if isinstance(each, dict) and isinstance(each.get("text"), str)]
        return plain_passage(texts) if len(texts) == len(contexts) else ""
    value = row.get(field)
    return value if isinstance(value, str) else ""


class OpenCritic(NamedTuple):
    """The critics by step, their compiled states, and the name of their language model, if any."""

    critics: Mapping[str, "Critic"]
    compiled: "Compiled"
    lm: str | None


@contextmanager
def open_critic(
    critic: str,
    lm: str | None,
    embedder: str,
    compiled: str,
    tracking: str | None = None,
    journal: "CallFile | None" = None,
) -> Iterator[OpenCritic]:
    """Load a critic; see :func:`judge`."""
    from groundset.engine.compiled import StateConsumers, load_compiled
    from programs.critics import EMBEDDING, MODEL_FREE, check_critic, open_critics, open_panel
    from programs.languages import LANGUAGES
    from programs.languages.table import Languages

    check_critic(critic)
    with ExitStack() as stack:
        encoder = language_model = None
        if critic not in MODEL_FREE and lm is not None:
            from groundset.runtime.lms import open_lm

            language_model = stack.enter_context(open_lm(lm, journal=journal))
            if journal is not None:
                stack.enter_context(journal)
        if critic in EMBEDDING:
            from groundset.retrieval.embedder import load_embedder

            encoder = load_embedder(embedder)
        named = (language_model.name, language_model.sha256) if language_model else (None, None)
        sha256, dimension = (encoder.sha256, encoder.dimension) if encoder else (None, None)
        states = load_compiled(compiled, StateConsumers(critic, sha256, named[0], named[1], dimension), tracking)
        opened = open_critics(
            critic,
            languages=Languages(LANGUAGES),
            embedder=encoder,
            language_model=language_model,
            heads=states.heads,
            blends=states.blends,
        )
        panel = open_panel(language_model) if language_model else {}
        yield OpenCritic({**opened, **panel}, states, named[0])


@contextmanager
def open_judge(
    kind: Kind,
    critic: str,
    lm: str | None,
    embedder: str,
    compiled: str,
    tracking: str | None = None,
    journal: "CallFile | None" = None,
    *,
    panel: bool = False,
) -> Iterator[Decide]:
    """Load the critic, and yield a function that judges a batch of rows."""
    from programs.judging import judge_chunks, judge_questions

    with open_critic(critic, lm, embedder, compiled, tracking, journal) as opened:
        if panel:
            yield _panel(opened)
            return
        step = "chunk" if kind == "chunks" else "judge"
        deciding, state = opened.critics[step], opened.compiled.predictors.get(step)
        if kind == "chunks":
            yield lambda rows: judge_chunks([row["text"] for row in rows], deciding, state)
        else:
            yield lambda rows: judge_questions(
                [(row["question"], text_of(row, "passage")) for row in rows], deciding, state
            )


def _panel(opened: OpenCritic) -> Decide:
    """Return a function that lets a panel review a batch of rows."""
    from groundset.data_files import data_path
    from programs.demos import read_demos
    from programs.judging import review_drafts

    demos, state = read_demos(data_path("demos")), opened.compiled.predictors.get("panel")

    def decide(rows: Sequence[Row]) -> list["Decision"]:
        drafts = [{name: text_of(row, name) for name in PANEL_FIELDS} for row in rows]
        return review_drafts(drafts, opened.critics["panel"], demos, state)

    return decide


def _judgement(decision: "Decision") -> Row:
    """Return the fields added to a row."""
    return {
        "probability": round(decision.probability, 6),
        "verdict": "good" if decision.good else "bad",
        "scores": decision.parts(),
        "weakest": decision.weakest,
        **({"reasons": decision.reasons} if decision.reasons else {}),
    }
