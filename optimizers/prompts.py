"""Compiling prompts: any stock optimizer of DSPy, on one predictor or on a whole program."""

import io
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from typing import Any, Literal, NamedTuple

import dspy
from dspy.teleprompt import Teleprompter
from dspy.teleprompt.gepa import InstructionProposer
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import AdapterParseError, LMInvalidRequestError

from groundset.optimizers.tasks import CompileTask
from groundset.programs.adapter import PLAIN_TEXT, with_outputs
from groundset.programs.errors import CompileError, first_line, wrapped
from groundset.programs.text import digest

# of a predictor, at most; more do not fit into the context of small models, or slow them down
DEMOS = 4
_BATCH = 16  # rows of a step of SIMBA
_ROUNDS = 12  # candidates of one search, at most
_INSTRUCTION = 1_000  # tokens
_ERRORS = 1_000_000  # of rows, at most: one that cannot be read scores 0

State = dict[str, dict[str, Any]]
Ending = Literal["complete", "budget", "interrupted"]
Compile = Callable[..., dspy.Module]  # `compile` of an optimizer


class Settings(NamedTuple):
    """What an optimizer is built from: see :func:`compile_program`."""

    task: CompileTask
    lm: dspy.LM
    prompt_lm: dspy.LM
    calls: int
    seed: int
    threads: int
    labelled: int  # how many rows of the train set may be demos
    rounds: int  # how many candidates the calls allow


def _built(kind: type[Teleprompter], given: Settings, **own: Any) -> Compile:
    """Return how an optimizer compiles that has its own settings, and what it takes of others."""
    common = {
        "metric": given.task.metric,
        "task_model": given.lm,
        "prompt_model": given.prompt_lm,
        "reflection_lm": given.prompt_lm,
        "max_bootstrapped_demos": DEMOS,
        "max_labeled_demos": given.labelled,
        "max_errors": _ERRORS,
        "num_threads": given.threads,
        "seed": given.seed,
    } | own
    takes = signature(kind).parameters
    built = kind(**{name: common[name] for name in common if name in takes})
    return built.compile  # type: ignore[no-any-return]


def _mipro(given: Settings) -> Compile:
    candidates = max(2, given.rounds // 2)
    built = _built(
        dspy.MIPROv2, given, auto=None, num_candidates=candidates, max_bootstrapped_demos=2
    )
    # A description of the program takes context, and small models copy it into the instruction.
    trials = max(2, given.rounds)
    return partial(built, num_trials=trials, minibatch=False, program_aware_proposer=False)


def _gepa(given: Settings) -> Compile:
    # By default in JSON, which small models break.
    proposer = InstructionProposer(adapter=PLAIN_TEXT)
    proposer.propose.update_config(max_tokens=_INSTRUCTION)
    runs = given.calls // len(given.task.program.predictors())  # of the program
    return _built(
        dspy.GEPA,
        given,
        instruction_proposer=proposer,
        max_metric_calls=runs * 9 // 10,
        warn_on_score_mismatch=False,
    )


def _simba(given: Settings) -> Compile:
    batch = min(_BATCH, len(given.task.trainset))
    # At the end, the winners run on all train rows.
    of_steps = given.calls - (DEMOS + 1) * len(given.task.trainset)
    built = _built(
        dspy.SIMBA,
        given,
        metric=partial(given.task.metric, pred_name="program"),  # with feedback
        bsize=batch,
        num_candidates=DEMOS,
        max_demos=DEMOS,
        max_steps=max(1, of_steps // ((2 * DEMOS + 1) * batch)),
    )
    return partial(built, seed=given.seed)


# A row an optimizer: how it compiles, built for small local models.
OPTIMIZERS: Mapping[str, Callable[[Settings], Compile]] = {
    "labeled": lambda given: _built(dspy.LabeledFewShot, given, k=given.labelled),
    "bootstrap": lambda given: _built(dspy.BootstrapFewShot, given),
    "random-search": lambda given: _built(
        dspy.BootstrapFewShotWithRandomSearch,
        given,
        num_candidate_programs=max(1, given.rounds - 3),
    ),
    "mipro": _mipro,
    "gepa": _gepa,
    "simba": _simba,
}


@dataclass
class Candidate:
    """A variant of a program that an optimizer ran, with its score on each row by id; the first is
    the original.
    """

    number: int
    state: State
    scores: dict[str, float] = field(default_factory=dict)

    def mean(self, rows: list[dspy.Example]) -> float | None:
        """Return the mean score on rows, None if it was not run on all of them."""
        ids = {row.id for row in rows}
        return (
            sum(self.scores[name] for name in ids) / len(ids)
            if ids and ids <= self.scores.keys()
            else None
        )


class CompileResult(NamedTuple):
    """What :func:`compile_program` returns."""

    program: dspy.Module  # the original one if the optimizer was ended before it compared any
    chosen: Candidate
    # All variants that were evaluated, the original first, and the chosen one.
    candidates: list[Candidate]
    calls: int  # different ones of the optimizer, those of the proposer included
    ending: Ending


class _StoppedError(BaseException):
    """Ends an optimizer from inside a call. Not an ``Exception``: DSPy counts those as failed rows
    and goes on.
    """


def compile_program(
    task: CompileTask,
    optimizer: str | Teleprompter,
    *,
    lm: dspy.LM,
    prompt_lm: dspy.LM | None = None,  # writes instructions; by default ``lm``
    calls: int = 1200,  # of the optimizer; it is ended where it would make more
    seed: int = 0,
    threads: int = 1,  # rows at the same time
    verbose: bool = False,  # whether to show what the optimizer prints
    progress: Callable[[], object] = lambda: None,  # is called for each call
) -> CompileResult:
    """Return the program of a task compiled with a key of :data:`OPTIMIZERS`, or any optimizer of
    DSPy.

    Raises:
        CompileError: the model cannot write the instructions that the optimizer wants.
    """
    student = task.program.deepcopy()
    student._compiled = False  # else DSPy refuses to compile what was compiled
    # The steps are called at temperature 0. Optimizers sample by setting the temperature of the
    # model instead.
    for predictor in student.predictors():
        predictor.config.pop("temperature", None)
    lm = lm.copy(temperature=0.0)
    record = _Record(student, calls, progress)
    steps = len(student.predictors())
    rounds = max(1, min(_ROUNDS, calls // max(1, len(task.devset) * steps) - 2))
    given = Settings(
        replace(task, program=student),
        lm,
        prompt_lm or lm,
        calls,
        seed,
        threads,
        DEMOS if steps == 1 else 0,
        rounds,
    )
    ending: Ending = "complete"
    compiled: dspy.Module | None = None
    try:
        with _watched(record, lm, verbose):
            run = OPTIMIZERS[optimizer](given) if isinstance(optimizer, str) else optimizer.compile
            takes = signature(run).parameters
            choosing = {"valset": task.devset} if "valset" in takes else {}
            compiled = run(student, trainset=list(task.trainset), **choosing)
    except _StoppedError:
        ending = "budget"
    except KeyboardInterrupt:
        ending = "interrupted"
    # Of rows, they are caught by the optimizer.
    except (AdapterParseError, LMInvalidRequestError) as error:
        raise CompileError(
            f"the model cannot write instructions ({first_line(error)}); name a larger one with"
            " --prompt-lm"
        ) from error
    if compiled is None:
        # The best that ran on all dev rows, the original if none did.
        chosen = max(record.known.values(), key=lambda each: each.mean(task.devset) or 0.0)
    else:
        state = state_of(compiled)
        for name, before in state_of(task.program).items() if steps > 1 else ():
            # Of a step that no trace reached.
            state[name]["demos"] = state[name]["demos"] or before["demos"]
        chosen = record.candidate(state)
    return CompileResult(
        with_state(task.program, chosen.state),
        chosen,
        list(record.known.values()),
        record.calls,
        ending,
    )


def measure(
    program: dspy.Module,
    rows: list[dspy.Example],
    metric: Callable[..., Any],
    *,
    lm: dspy.LM,
    threads: int = 1,
    progress: Callable[[], object] = lambda: None,  # is called for each row
) -> list[float]:
    """Return the score of a program on each row; a row whose completion cannot be read scores 0."""

    def counting(example: dspy.Example, prediction: Any) -> Any:
        progress()
        return metric(example, prediction)

    with _watched(_Record(program, sys.maxsize, lambda: None), lm, verbose=False):
        evaluate = dspy.Evaluate(
            devset=rows, metric=counting, num_threads=threads, max_errors=_ERRORS
        )
        return [float(score) for *_, score in evaluate(program).results]


def state_of(program: dspy.Module) -> State:
    """Return what optimizers change: the instructions and the demos of each predictor by name.

    Demos are cut to the fields of their step; those that lack all outputs are left out.
    """
    state: State = {}
    for name, predictor in program.named_predictors():
        signature = predictor.signature
        demos = [
            {key: value for key, value in dict(demo).items() if key in signature.fields}
            for demo in with_outputs(signature, predictor.demos)
        ]
        state[name] = {"instructions": str(signature.instructions), "demos": demos}
    return state


def with_state(program: dspy.Module, state: State) -> dspy.Module:
    """Return a copy of a program with other instructions and demos."""
    copied: dspy.Module = program.deepcopy()
    for name, predictor in copied.named_predictors():
        predictor.signature = predictor.signature.with_instructions(state[name]["instructions"])
        predictor.demos = [dspy.Example(**demo) for demo in state[name]["demos"]]
    return copied


class _Record(BaseCallback):
    """Records the variants of a program that are evaluated, with their scores; ends what takes too
    many calls.
    """

    def __init__(self, student: dspy.Module, most: int, progress: Callable[[], object]) -> None:
        self._most, self._progress = most, progress
        self._asked: set[str] = set()
        self.known: dict[str, Candidate] = {}
        self._evaluated: dict[str, Candidate] = {}
        self.candidate(state_of(student))

    @property
    def calls(self) -> int:
        """How many different calls were made: what is asked again is answered by the journal."""
        return len(self._asked)

    def on_evaluate_start(self, call_id: str, inputs: dict[str, Any], **_: Any) -> None:
        self._evaluated[call_id] = self.candidate(state_of(inputs["program"]))

    def on_evaluate_end(self, call_id: str, outputs: Any, **_: Any) -> None:
        for example, _, score in outputs.results if outputs else ():
            self._evaluated[call_id].scores[str(example.get("id"))] = float(score)

    def on_lm_start(self, instance: Any, inputs: dict[str, Any], **_: Any) -> None:
        """Count a call that was not made before, and end the compile if it is one too many."""
        call = digest([instance.model, instance.kwargs, inputs])
        if call in self._asked:
            return
        if self.calls >= self._most:
            raise _StoppedError
        self._asked.add(call)
        self._progress()

    def on_lm_end(self, exception: BaseException | None = None, **_: Any) -> None:
        """End the compile if the model fails; a prompt that is refused only costs its row."""
        if isinstance(exception, Exception) and not isinstance(exception, LMInvalidRequestError):
            raise _StoppedError from exception

    def candidate(self, state: State) -> Candidate:
        return self.known.setdefault(digest(state), Candidate(len(self.known), state))


@contextmanager
def _watched(record: _Record, lm: dspy.LM, verbose: bool) -> Iterator[None]:
    """Run a block of DSPy on a model, recorded; raise what failed in it, and silence it unless
    ``verbose``.
    """
    callbacks = [*dspy.settings.get("callbacks", []), record]
    before = logging.root.manager.disable
    aside = io.StringIO()
    try:
        with dspy.context(lm=lm, callbacks=callbacks, max_errors=_ERRORS):
            if verbose:
                yield
                return
            logging.disable(logging.CRITICAL)
            with redirect_stdout(aside), redirect_stderr(aside):
                yield
    except _StoppedError as stopped:
        raise wrapped(stopped.__cause__) or stopped.__cause__ or stopped from None
    finally:
        logging.disable(before)
