"""Compiling steps for a language model with one of DSPy's optimizers."""

import io
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import dspy

from groundset.compiled import SHIPPED, Users, load_compiled
from groundset.compiling.calls import CallFile
from groundset.compiling.labels import label_files
from groundset.compiling.record import environment, hashes, write_report
from groundset.critics import open_critic
from groundset.errors import GroundsetError
from groundset.retrieval.embedder import load_embedder
from groundset.retrieval.index import ChunkIndex
from groundset.runtime.lms import LanguageModel, open_lm
from optimizers.compile_step import DEV, TEST, Outcome, Setting, compile_step, estimated_calls
from optimizers.errors import OptimizerError
from optimizers.examples import STEPS, Examples, examples_of
from optimizers.labels import ChunkLabel, QuestionLabel, read_labels
from optimizers.metrics import Judges
from optimizers.report import CompileReport
from optimizers.states import CompiledState, dspy_version, signature_hash
from optimizers.strategies import STRATEGIES, check_task, steps_of
from programs.deciding import OVERALL, decide
from programs.evidence import plain
from programs.steps import critics, generators
from programs.types import Chunk

_LIBRARIES = ("dspy", "xllamacpp", "gepa")


@dataclass(frozen=True)
class Wish:
    """What is to be compiled.

    Attributes:
        steps: names of steps; none for all that the strategy can compile.
        optimizer: the name of a strategy.
        lm: the language model that is compiled for.
        teacher: a larger one, for strategies that want it.
        labels: the user's own label files.
        budget: calls that the strategy may make for each step.
        seed: fixes what chance would decide.
        out: the folder of the states.
        embedder: the embedding model of the critic that measures what is written.
        dev, test: how many examples candidates are compared on, and how many are reported at the end.
    """

    steps: Sequence[str]
    optimizer: str
    lm: str
    out: Path
    embedder: str
    teacher: str | None = None
    labels: Sequence[Path] = ()
    budget: int = 150
    seed: int = 0
    dev: int = DEV
    test: int = TEST


def compile_with_model(
    wish: Wish,
    *,
    on_start: Callable[[str, int], None],
    on_call: Callable[[], None],
    on_progress: Callable[[str], object],
    verbose: bool = False,
    open_model: Callable[..., LanguageModel] = open_lm,
) -> Iterator[tuple[CompileReport, Path]]:
    """Compile steps one after another; each report comes with the file of its state as soon as that is written.

    Finished calls are kept in ``<out>/calls.sqlite``, so that the same command goes on where it was ended.

    Args:
        wish: what to compile.
        on_start: told of each step that begins and about how many calls it takes.
        on_call: told of each call.
        on_progress: told what comes next.
        verbose: let the optimizers' own words through.
        open_model: opens a language model; a seam for tests.

    Raises:
        GroundsetError: a model, a label file or the folder is wrong.
        OptimizerError: a strategy lacks what it needs.
    """
    strategy = STRATEGIES[wish.optimizer]
    files = label_files("all", wish.labels)
    chunks, questions = read_labels(ChunkLabel, files), read_labels(QuestionLabel, files)
    examples = {step: examples_of(step, chunks, questions, seed=wish.seed) for step in STEPS}
    with_demos = [step for step in STEPS if examples[step].demos["train"]]
    steps = list(wish.steps) or steps_of(strategy, with_demos)
    for step in steps:  # what is lacking should be said before minutes are spent
        check_task(strategy, step, demos=step in with_demos, teacher=wish.teacher is not None)
    embedder = load_embedder(wish.embedder)
    with ExitStack() as stack:
        journal = stack.enter_context(CallFile(wish.out / "calls.sqlite"))
        model = stack.enter_context(open_model(wish.lm, journal=journal))
        teacher = stack.enter_context(open_model(wish.teacher, journal=journal)) if wish.teacher else None
        judges = _judges(embedder, [label.text for label in chunks] + [label.passage for label in questions])
        for step in steps:
            setting = Setting(
                adapter=model.adapter,
                critic=open_critic("lm", embedder=None, language_model=model),
                judges=judges,
                encode=embedder.encode,
                teacher=None if teacher is None else teacher.lm,
                budget=wish.budget,
                seed=wish.seed,
                dev=wish.dev,
                test=wish.test,
                on_call=on_call,
                on_progress=on_progress,
            )
            on_start(step, estimated_calls(examples[step], setting))
            before = model.usage()
            try:
                with _quiet(verbose), dspy.context(lm=model.lm):
                    outcome = compile_step(step, strategy, examples[step], setting)
            except (GroundsetError, OptimizerError):
                raise
            except Exception as error:
                raise GroundsetError(f"compiling {step} failed: {type(error).__name__}: {error}") from error
            used = {key: value - before[key] for key, value in model.usage().items()}
            report = _report(step, wish, model, examples[step], outcome, used, files)
            yield report, write_report(report, wish.out)


def _judges(embedder: Any, passages: Sequence[str]) -> Judges:
    """Return the shipped critic of questions and a search over all labelled passages."""
    compiled = load_compiled(SHIPPED, Users("head", embedder.sha256))
    critic = open_critic("head", embedder=embedder, language_model=None, heads=compiled.heads)
    judge = critics()["judge"]
    judge.load_state(compiled.predictors["judge"])

    @cache
    def index() -> tuple[ChunkIndex, dict[str, str]]:
        texts = list(dict.fromkeys(plain(passage) for passage in passages))
        made = [
            Chunk(chunk_id=str(n), doc_id="labels", path="", title="", start=0, end=len(text), text=text)
            for n, text in enumerate(texts)
        ]
        known = {chunk.text: chunk.chunk_id for chunk in made}
        return ChunkIndex(made, embedder.encode(texts), embedder.encode), known

    def rank(question: str, passage: str) -> int | None:
        found, known = index()
        return found.rank(question, (known[passage],)).rank

    return Judges(judge=lambda passage, question: decide(judge, critic, passage=passage, question=question), rank=rank)


def _report(
    step: str,
    wish: Wish,
    model: LanguageModel,
    examples: Examples,
    outcome: Outcome,
    used: dict[str, float],
    files: Sequence[Path],
) -> CompileReport:
    start = {**generators(), **critics()}[step]
    record = {
        "labels": hashes(files),
        "rows": {split: len(rows) for split, rows in examples.inputs.items()},
        "seed": wish.seed,
        "budget": wish.budget,
        "calls": outcome.calls,
        "candidates": len(outcome.tried),
        "chosen": outcome.chosen,
        "teacher": wish.teacher,
        "versions": {name: metadata.version(name) for name in _LIBRARIES},
        "measures": {
            version: {name: [round(value, 4) for value in interval] for name, interval in found.items()}
            for version, found in outcome.measures.items()
        },
    }
    strategy = STRATEGIES[wish.optimizer]
    threshold = outcome.predictor.get("fields", {}).get(OVERALL, {}).get("threshold")
    state = CompiledState(
        step=step,
        model=model.name,
        model_sha256=model.sha256,
        optimizer=wish.optimizer,
        signature=signature_hash(start.signature),
        dspy=dspy_version(),
        predictor=outcome.predictor,
        nearest=strategy.nearest or None if outcome.chosen else None,
        threshold=threshold,
        record=record,
    )
    asked = {"optimizer": wish.optimizer, "budget": wish.budget, "seed": wish.seed, "teacher": wish.teacher or ""}
    return CompileReport(
        state=state,
        measures=outcome.measures,
        rows=outcome.rows,
        candidates=outcome.tried,
        prompt=outcome.prompt,
        parameters={**asked, **environment(state)},
        figures={"calls": outcome.calls, **used},
        ending=outcome.ending,
    )


@contextmanager
def _quiet(verbose: bool) -> Iterator[None]:
    """Keep what the optimizers print to themselves."""
    if verbose:
        yield
        return
    loggers = [logging.getLogger(name) for name in ("dspy", "gepa")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
