"""`groundset compile`: prompts, heads or weights of steps and recipes, compiled against labels for
one model.
"""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from shutil import copyfile, rmtree
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, model_validator
from rich.console import Console

from groundset import __version__
from groundset.compile_report import Report
from groundset.files import check_folder, data_path, json_text, whole_file, write_text
from groundset.labelling import program_of, reading_judge, with_own
from groundset.models.catalogue import file_sha256
from groundset.models.fetch import pull
from groundset.models.open import Model, open_model, parse_spec
from groundset.optimizers.heads import Measures, fit_heads, is_worse, measures_of, rows_of
from groundset.optimizers.labels import ROWS, read_rows
from groundset.optimizers.prompts import OPTIMIZERS, compile_program, measure
from groundset.optimizers.tasks import CompileTask, task, writes
from groundset.options import DEFAULT_EMBEDDER, LM, QUIET, Named, Options, imported, is_own, option
from groundset.printing import Progress, say
from groundset.programs.errors import InputError, ModelError, TrackingError
from groundset.programs.heads import HEAD_STEPS, load_heads
from groundset.programs.stats import bootstrap_mean, detectable_gain, resampling_units
from groundset.retrieval import embed
from groundset.run.compiled import SHIPPED, Compiled, State, load_compiled, read_own
from groundset.run.options import JUDGE_LM
from groundset.run.store import Store
from groundset.tracking import Tracking

DRAWN, HEADS, FINETUNE = "labeled", "heads", "finetune"
_MEASURED = 60  # held-out rows of trained weights
_LIBRARIES = ("dspy", "gepa", "optuna", "xllamacpp")
_CALLS, _RECORDS = "calls.sqlite", "records"


class CompileOptions(Options):
    """Compile steps or recipes against labels.

    The prompt of a step, or of all steps of a recipe at once, is compiled by an optimizer of DSPy;
    `heads` fits the classifiers of score, judge or grounding, `finetune` trains weights for a step
    of a local model. Demos come from train rows, dev rows choose, test rows confirm once. What is
    not better on dev rows than what --out has, or else than what is shipped, or is worse on test
    rows, is not written. `groundset generate --compiled DIR` uses the result. Repeat the command
    after Ctrl-C to continue without repeating calls.
    """

    steps: tuple[str, ...] = option(
        ...,
        "A step, such as judge or ask, or a recipe: evolved, single, staged, multi or guided.",
        metavar="STEP...",
        argument=True,
        free=True,
    )
    optimizer: Annotated[Named, "dspy.Teleprompter"] = option(
        DRAWN,
        "labeled, bootstrap, random-search, mipro, gepa, simba; heads; finetune; or your own,"
        " package.module:name of an optimizer of DSPy.",
        metavar="NAME",
    )
    metric: Annotated[Named, "Callable[..., Any]"] | None = option(
        None,
        "Your own metric of rows and predictions.",
        metavar="MODULE:NAME",
        shown="that of the step",
    )
    lm: LM | None = option(None, "The model to compile for; not needed for heads.", metavar="MODEL")
    prompt_lm: LM | None = option(
        None, "The model that writes instructions.", metavar="MODEL", shown="--lm"
    )
    critic_lm: LM | None = option(
        None, "The model that judges what no gold row has.", metavar="MODEL", shown=JUDGE_LM
    )
    labels: tuple[Path, ...] = option(
        (), "Labels or gold rows beside the shipped ones. Repeatable.", metavar="FILE"
    )
    out: Path = option(Path("out/compiled"), "A folder for <step>.json.", metavar="DIR")
    rows: int = option(
        ROWS, "The most train, dev and test rows each; finetune takes all for training.", ge=1
    )
    budget_calls: int = option(1200, "The most calls of the optimizer for each step.", ge=1)
    target_precision: float = option(
        0.85, "Of heads: the share of accepted rows that must be good.", ge=0, le=1
    )
    embedder: str = option(DEFAULT_EMBEDDER, "The embedding model of heads.", metavar="MODEL")
    workers: int = option(1, "Calls at the same time.", ge=1, free=True)
    seed: int = option(0, "The random seed.")
    keep: bool = option(False, "Write the result even if it is not better.", free=True)
    track: bool = option(True, "Log the compile in MLflow.", free=True)
    track_texts: bool = option(
        False, "Also send prompts and candidates to a tracking server.", free=True
    )
    tracking: str | None = option(
        None, "The MLflow store.", metavar="URI|FOLDER", shown="mlruns/, else your own", free=True
    )
    verbose: bool = option(False, "Show what the optimizer prints.", short="-v", free=True)
    quiet: bool = QUIET

    @model_validator(mode="after")
    def _check(self) -> Self:
        known = (*OPTIMIZERS, HEADS, FINETUNE)
        if self.optimizer not in known and not is_own(self.optimizer):
            raise ValueError(f"--optimizer {self.optimizer}: choose one of {', '.join(known)}")
        if self.lm is None and self.optimizer != HEADS:
            raise ValueError(
                f"--optimizer {self.optimizer} compiles for a model; name it with --lm"
            )
        check_folder(self.out)
        return self


class _Begun(BaseModel):
    """How a compile began. It is kept beside the finished calls until the compile has ended, so
    that one that was stopped or killed goes on from the same start.
    """

    identity: dict[str, Any]  # what must be the same for it to go on
    started: datetime
    usage: dict[str, float]  # of all calls before it
    states: dict[str, State]  # what was served


def compile(options: CompileOptions) -> list[Report]:
    """Compile steps or recipes against labels, and return a report of each.

    Raises:
        InputError: an option is wrong, or labels are.
        CompileError: the labels have too few rows, or the model cannot write instructions.
        ModelError: a model failed; finished calls are kept.
    """
    reports = []
    for name in dict.fromkeys(options.steps):
        # Its own stream: the standard streams are redirected while optimizers run.
        with Progress(
            quiet=options.quiet, console=Console(file=sys.stderr, quiet=options.quiet)
        ) as progress:
            report = (_fitted if options.optimizer == HEADS else _for_model)(
                name, options, progress
            )
        for line in str(report).splitlines():
            say(line)
        if options.track:
            _track(report, options)
        if report.ending == "interrupted":
            raise KeyboardInterrupt
        if options.optimizer != HEADS:
            _end(report, options)
        reports.append(report)
    return reports


def _fitted(name: str, options: CompileOptions, progress: Progress) -> Report:
    """Fit the heads of a step, and write them if they are not worse than those that are served."""
    if name not in HEAD_STEPS:
        raise InputError(f"STEP {name}: heads are fitted for {', '.join(HEAD_STEPS)}")
    progress.phase(f"Fitting the heads of {name}")
    rows = read_rows(with_own(options.labels))
    encoder = embed.open_embedder(options.embedder)
    heads = fit_heads(
        name, rows, encoder, target_precision=options.target_precision, seed=options.seed
    )
    file = options.out / "head" / f"{name}.json"
    served = load_heads(file if file.exists() else data_path("compiled", "head", file.name))
    before: Measures = {}
    if served.embedder == heads.embedder:
        test = [row for row in rows_of(name, rows) if row.split == "test"]
        before = measures_of(served, test, encoder)
    record: Mapping[str, Any] = heads.record
    figures = {
        "threshold": heads.threshold,
        "supported_precision": float(record["supported_precision"]),
    }
    for prefix, measures in (("", record["test"]), ("before_", before)):
        for shown, bounds in measures.items():
            for end, bound in zip(("", "_low", "_high"), bounds, strict=True):
                figures[f"{prefix}{shown}{end}"] = bound
    report = Report(name, options.embedder, HEADS, figures)
    if options.keep or not is_worse(record["test"], before):
        write_text(file, heads.model_dump_json(indent=1) + "\n")
        report.files = [file]
    return report


def _for_model(name: str, options: CompileOptions, progress: Progress) -> Report:
    """Compile a prompt, or train weights, and write what is better than what is served."""
    served = str(options.out) if options.out.exists() else SHIPPED
    program = program_of(name, served, options.embedder)
    if program is not None and options.optimizer == DRAWN:
        raise InputError(
            f"--optimizer {DRAWN} draws rows of one step; take bootstrap or another for {name}"
        )
    with ExitStack() as stack:
        journal = stack.enter_context(Store.for_calls(options.out / _CALLS))
        progress.phase("Opening models")
        opened: dict[str, Model] = {}
        critic = (options.critic_lm or JUDGE_LM) if writes(name) else None
        for spec in filter(None, dict.fromkeys((options.lm, options.prompt_lm, critic))):
            try:
                model = open_model(spec, journal=journal, workers=options.workers)
            except ModelError as error:
                if spec != JUDGE_LM or options.critic_lm:
                    raise
                told = f"--critic-lm: {name} needs a judge, by default {spec}: {error}"
                raise type(error)(told) from error
            opened[spec] = stack.enter_context(model)
        model = opened[str(options.lm)]
        judge = reading_judge(lambda: opened[str(critic)]) if writes(name) else None
        progress.phase("Reading labels")
        most = None if options.optimizer == FINETUNE else options.rows
        work = task(
            name,
            with_own(options.labels),
            program=program,
            own=options.labels,
            judge=judge,
            rows=most,
            seed=options.seed,
        )
        if options.metric:
            work = replace(work, metric=imported(options.metric, "--metric"))
        begun = _begin(journal, name, model, options, served)
        Compiled(begun.states).apply([work.program])
        if options.optimizer == FINETUNE:
            report = _trained(work, model.name, options, progress)
        else:
            report = _prompted(work, model, opened.get(options.prompt_lm or ""), options, progress)
        report.started, report.lm = begun.started, model.lm
        report.rows = {"train": work.trainset, "dev": work.devset, "test": work.testset}
        for figure, count in journal.usage().items():
            shown = "call_seconds" if figure == "seconds" else figure
            report.figures[shown] = count - begun.usage[figure]
        if report.ending == "interrupted":  # no test rows confirmed it
            return report
        # Dev rows chose it; test rows only confirm it, once.
        gains = report.figures
        report.better = gains["gain_dev"] > 0 and gains["gain_test"] >= 0
        if report.better or options.keep:
            report.files = _written(report, options, begun)
            report.states = read_own(str(options.out)).hashes
        return report


def _training(name: str, options: CompileOptions) -> Path:
    """Return where the steps of a training lie."""
    return options.out / f"{name}.training"


def _begin(journal: Store, name: str, model: Model, options: CompileOptions, served: str) -> _Begun:
    """Return how a compile began: now, with what is served, or when the same one was stopped before
    its end.
    """
    identity = {
        "options": options.model_dump(mode="json", exclude=options.with_fact("free")),
        "labels": {file.name: file_sha256(file) for file in with_own(options.labels)},
        "model_sha256": model.sha256,
        "versions": {"groundset": __version__, **{name: version(name) for name in _LIBRARIES}},
    }
    known = journal.meta(name)
    if known and known["identity"] == identity:
        return _Begun.model_validate(known)
    rmtree(_training(name, options), ignore_errors=True)
    begun = _Begun(
        identity=identity,
        started=datetime.now(UTC),
        usage=journal.usage(),
        states=load_compiled(served, model.name).states,
    )
    journal.set_meta(name, begun.model_dump(mode="json"))
    return begun


def _end(report: Report, options: CompileOptions) -> None:
    """Forget how a compile began: the next one starts from what is served then."""
    with Store.for_calls(options.out / _CALLS) as journal:
        journal.set_meta(report.step, None)


def _prompted(
    task: CompileTask,
    model: Model,
    prompt_model: Model | None,
    options: CompileOptions,
    progress: Progress,
) -> Report:
    """Measure what is served, compile, and measure the result."""
    shared: dict[str, Any] = {
        "lm": model.lm,
        "threads": options.workers,
        "progress": progress.advance,
    }
    rows = {"dev": task.devset, "test": task.testset}

    def measured(told: str, program: Any) -> dict[str, list[float]]:
        scores = {}
        for split, of_split in rows.items():
            progress.phase(f"Measuring {told} on {split} rows", len(of_split))
            scores[split] = measure(program, of_split, task.metric, **shared)
        return scores

    before = measured("what is served", task.program)
    progress.phase(f"Compiling {task.name} by {options.optimizer}: calls", options.budget_calls)
    name = options.optimizer
    compiled = compile_program(
        task,
        name if name in OPTIMIZERS else imported(name, "--optimizer"),
        prompt_lm=prompt_model.lm if prompt_model else None,
        calls=options.budget_calls,
        seed=options.seed,
        verbose=options.verbose,
        **shared,
    )
    if compiled.ending == "interrupted":
        del rows["test"]
    after = measured("the result", compiled.program)
    ids = [row.id for row in task.devset]
    compiled.candidates[0].scores |= dict(zip(ids, before["dev"], strict=True))
    compiled.chosen.scores |= dict(zip(ids, after["dev"], strict=True))
    figures = _compared(before, after, [row.document for row in task.testset])
    means = [candidate.mean(task.devset) for candidate in compiled.candidates[1:]]
    figures["compared"] = len(means) - means.count(None)
    return Report(
        task.name,
        model.name,
        options.optimizer,
        figures,
        compiled.ending,
        program=compiled.program,
        candidates=compiled.candidates,
    )


def _compared(
    before: dict[str, list[float]], after: dict[str, list[float]], documents: Sequence[str]
) -> dict[str, float]:
    """Return the means on dev and test rows, and the paired interval of the gain on test rows."""
    figures: dict[str, float] = {}
    for split, scores in after.items():
        first, last = float(np.mean(before[split])), float(np.mean(scores))
        figures[f"before_{split}"] = first
        figures[f"after_{split}"] = last
        figures[f"gain_{split}"] = last - first
        figures[f"rows_{split}"] = len(scores)
    if "test" in after:
        gains = np.subtract(after["test"], before["test"])
        gain = bootstrap_mean(gains, resampling_units(documents)[0], lowest=-1.0)
        figures |= {"gain_test_low": gain.low, "gain_test_high": gain.high}
        figures["detectable_gain"] = detectable_gain(gain)
    return figures


def _trained(task: CompileTask, model: str, options: CompileOptions, progress: Progress) -> Report:
    """Train weights for a step; the measure is the likelihood of what gold rows want."""
    from groundset.optimizers.finetune import Training, finetune  # with torch

    found = parse_spec(str(options.lm))
    if found.served or not hasattr(task.program, "demos"):
        raise InputError(f"--optimizer {FINETUNE} trains one step of a local model")
    dev, test, count = task.devset[:_MEASURED], task.testset[:_MEASURED], len(task.trainset)
    progress.phase(f"Training {task.name} on {count} rows: steps", -(-count // Training.batch))
    trained = finetune(
        found.path or pull(found.name),
        task.program,
        task.trainset,
        [*dev, *test],
        _training(task.name, options),
        Training(seed=options.seed),
        lambda *_: progress.advance(),
    )
    before, after = (
        {"dev": each[: len(dev)], "test": each[len(dev) :]}
        for each in (trained.before, trained.after)
    )
    figures = _compared(before, after, [row.document for row in test])
    report = Report(task.name, model, FINETUNE, figures, program=trained.predictor)
    report.weights = trained.file
    return report


def _written(report: Report, options: CompileOptions, begun: _Begun) -> list[Path]:
    """Write what DSPy saves, of a recipe only the steps that changed, its weights and the record;
    return the files but for the record.
    """
    changed = report.changed() or ["self"]  # of a step that is kept as it was
    files = {
        options.out / f"{each.name}.json": each
        for name, each in report.program.named_predictors()
        if name in changed
    }
    weights = options.out / f"{report.step}.gguf"
    if report.weights:
        with whole_file(weights) as aside:
            copyfile(report.weights, aside)
    for file, program in files.items():
        with whole_file(file) as aside:
            state = aside.with_suffix(".json")  # DSPy writes no other
            program.save(state)
            state.replace(aside)
    record = {
        "step": report.step,
        "model": report.model,
        "ending": report.ending,
        **begun.identity,
        "started": begun.started.isoformat(),
        "figures": report.figures,
    }
    write_text(options.out / _RECORDS / f"{report.step}.json", json_text(record, indent=1) + "\n")
    return [*([weights] if report.weights else []), *files]


def _track(report: Report, options: CompileOptions) -> None:
    """Log a compile in MLflow; say why if that fails."""
    try:
        store = Tracking(options.tracking, texts=options.track_texts)
        parameters = options.model_dump(exclude=options.with_fact("free"), exclude_none=True)
        say(f"  logged: {store.log(report.entry(parameters, options.out))}")
    except (InputError, TrackingError) as error:
        say(f"  not tracked: {error}; --no-track leaves it out", err=True)
