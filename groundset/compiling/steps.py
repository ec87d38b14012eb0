"""Compiling steps for a language model with one of DSPy's optimizers."""

import io
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import dspy

from groundset.compiling.judges import open_judges
from groundset.compiling.labels import gold_files, label_files
from groundset.compiling.record import Started, asked_parameters, report_of, standing_state, untracked, write_report
from groundset.data_files import data_path
from groundset.engine.failures import fatal_error
from groundset.retrieval.embedder import load_embedder
from groundset.runtime.lms import LanguageModel, open_lm
from groundset.runtime.parser import load_parser
from groundset.store.call_file import CallFile
from optimizers.compile_step import BUDGET, TEST, Setting, compile_step, estimated_calls
from optimizers.gold import read_gold
from optimizers.gold_rows import GoldRow, licences_of
from optimizers.labels import ChunkLabel, QuestionLabel, hashes_of, read_labels
from optimizers.report import CompileReport
from optimizers.steps import COMPILABLE
from optimizers.steps.base import Source
from optimizers.steps.examples import Examples, examples_of, passages_of, source_of
from optimizers.strategies import STRATEGIES
from programs.critics.logprobs import LogprobCritic
from programs.errors import GroundsetError
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.steps.demos import read_demos

PARSER = "en-core-web-sm"  # as runs have it by default


@dataclass(frozen=True)
class Wish:
    """How steps are to be compiled.

    Attributes:
        out: the folder of the states.
        budget: calls that a strategy may make for each step.
        seed: fixes what chance would decide.
        dev, test: how many examples candidates are compared on, by default what labels and budget allow, and how many
            are reported at the end.
    """

    out: Path
    budget: int = BUDGET
    seed: int = 0
    dev: int | None = None
    test: int = TEST


class Listener(Protocol):
    """Is told what happens in a compile."""

    def start(self, step: str, calls: int, what: str = ...) -> None:
        """Take that a step begins, and about how many calls it takes, or of what else."""
        ...

    def call(self) -> None:
        """Take that a call is made."""
        ...

    def say(self, said: str) -> None:
        """Take what comes next, in words."""
        ...


class Compiler:
    """Compiles steps for one language model; models, labels and gold rows are opened once.

    Finished calls are kept in a journal, so that the same compile goes on where it was ended.
    """

    def __init__(
        self,
        lm: str,
        *,
        embedder: str,
        journal: Path,
        teacher: str | None = None,
        labels: Sequence[Path] = (),
        open_model: Callable[..., LanguageModel] = open_lm,
        load: Callable[[str], Any] = load_embedder,
    ) -> None:
        """Read labels and gold rows; models and journal are opened on entering.

        Args:
            lm: the language model that is compiled for.
            embedder: the embedding model of the critic and the search that measure what is written.
            journal: the file of finished calls.
            teacher: a larger model, for strategies that want one.
            labels: the user's own files of labels and gold rows.
            open_model: opens a language model; a seam for tests, as is ``load``.
            load: loads an embedder.

        Raises:
            OptimizerError: a file of labels or gold rows is wrong.
        """
        self._files, self._gold = label_files(labels), gold_files()
        files = [*self._files, *self._gold]
        self._hashes = {"labels": hashes_of(self._files), "gold": hashes_of(self._gold)}  # of what is read now
        self._rows = (
            read_labels(ChunkLabel, self._files),
            read_labels(QuestionLabel, self._files),
            read_gold(GoldRow, files),
            {label.id: label.text for label in read_labels(ChunkLabel, files)},
        )
        self._demos = read_demos(data_path("demos"))
        self._names = (lm, teacher, embedder)
        self._journal = journal
        self._open_model, self._load = open_model, load
        self._stack = ExitStack()
        self._say: Callable[[str], object] = str
        self._made: dict[tuple[str, int], Examples] = {}

    def __enter__(self) -> Self:
        """Open the models and the journal.

        Raises:
            GroundsetError: one of them cannot be opened.
        """
        lm, teacher, embedder = self._names
        self._embedder = self._load(embedder)
        # Before the model is: an embedder that does not fit is said before anything is written.
        self._judges = open_judges(
            self._embedder,
            lambda: self._model,
            passages_of(self._source),
            languages=self._source.languages,
            demos=self._demos,
            say=lambda said: self._say(said),
        )
        with ExitStack() as stack:
            calls = CallFile(self._journal)
            self._model = stack.enter_context(self._open_model(lm, journal=calls))
            self._teacher = stack.enter_context(self._open_model(teacher, journal=calls)) if teacher else None
            stack.enter_context(calls)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close models and journal."""
        self._stack.close()

    def steps_of(self, optimizer: str) -> list[str]:
        """Return the steps that a strategy can compile with these labels."""
        return STRATEGIES[optimizer].steps_of([step for step in COMPILABLE if self._examples(step, 0).demos["train"]])

    def check(self, step: str, optimizer: str) -> None:
        """Raise if a strategy lacks what it needs for a step.

        Raises:
            StrategyError: names what is missing.
        """
        demos = bool(self._examples(step, 0).demos["train"])
        STRATEGIES[optimizer].check(step, demos=demos, teacher=self._names[1] is not None)

    def compile(
        self,
        step: str,
        optimizer: str,
        wish: Wish,
        listener: Listener,
        *,
        verbose: bool = False,
        started: Started = untracked,
    ) -> tuple[CompileReport, Path]:
        """Compile a step and return the report with the file of the state; ``verbose`` lets optimizers speak.

        ``started`` is told once nothing is lacking, before the first call.

        Raises:
            OptimizerError: the strategy lacks what it needs.
            GroundsetError: the model failed, or the folder cannot be written.
        """
        self.check(step, optimizer)
        self._say = listener.say
        examples = self._examples(step, wish.seed)
        setting = Setting(
            adapter=self._model.adapter,
            critic=LogprobCritic(self._model.lm),
            judges=self._judges,
            demos=self._demos,
            encode=self._embedder.encode,
            teacher=None if self._teacher is None else self._teacher.lm,
            budget=wish.budget,
            seed=wish.seed,
            dev=wish.dev,
            test=wish.test,
            on_call=listener.call,
            on_progress=listener.say,
        )
        made_with = {"budget": wish.budget, "seed": wish.seed, "teacher": self._teacher.name if self._teacher else None}
        started(step, self._model.name, optimizer, asked_parameters(optimizer, made_with))
        listener.start(step, estimated_calls(step, examples, setting))
        before = self._model.usage()
        try:
            with _quiet(verbose), dspy.context(lm=self._model.lm):
                compiled = compile_step(step, STRATEGIES[optimizer], examples, setting)
        except GroundsetError:
            raise
        except Exception as error:
            told = fatal_error(error) or GroundsetError(f"compiling {step} failed: {type(error).__name__}: {error}")
            raise told from error
        used = {key: value - before[key] for key, value in self._model.usage().items()}
        report = report_of(
            step,
            STRATEGIES[optimizer],
            compiled,
            model=self._model,
            examples=examples,
            **self._hashes,
            licences=licences_of(self._rows[2]),
            made_with=made_with,
            used=used,
        )
        if not compiled.chosen and (standing := standing_state(report, wish.out)):
            old, file = standing
            listener.say(f"Nothing better was found, so what {old.optimizer} found before stays in {file}")
            return report, file
        return report, write_report(report, wish.out)

    @cached_property
    def _source(self) -> Source:
        return source_of(*self._rows, Languages(LANGUAGES, load_parser(PARSER)))

    def _examples(self, step: str, seed: int) -> Examples:
        if (step, seed) not in self._made:
            self._made[step, seed] = examples_of(COMPILABLE[step], self._source, seed=seed)
        return self._made[step, seed]


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
