"""`groundset compile`: prompts, heads or weights of steps and recipes, compiled against labels for
one model.
"""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
from pydantic import model_validator
from rich.console import Console

from groundset import __version__
from groundset.files import check_folder, data_path, json_text, whole_file, write_text
from groundset.labelling import LABELS, guided_parts, reading_judge, with_own
from groundset.models.catalogue import file_sha256
from groundset.models.fetch import pull
from groundset.models.open import Model, open_model, parse_spec
from groundset.optimizers.heads import Measures, fit_heads, is_worse, measures_of, rows_of
from groundset.optimizers.labels import ROWS, read_rows
from groundset.optimizers.prompts import (
    OPTIMIZERS,
    Candidate,
    compile_program,
    measure,
    row_id,
    state_of,
)
from groundset.optimizers.tasks import GUIDED, PROGRAMS, CompileTask, task, writes
from groundset.options import DEFAULT_EMBEDDER, Options, option
from groundset.printing import Progress, counted, say
from groundset.programs.errors import InputError, ModelError, TrackingError
from groundset.programs.heads import HEAD_STEPS, load_heads
from groundset.retrieval import embed
from groundset.run.compiled import SHIPPED, load_compiled
from groundset.run.options import JUDGE_LM
from groundset.run.store import Store
from groundset.stats import Estimate, bootstrap_mean, detectable_gain, resampling_units
from groundset.tracking import Tracking

HEADS, FINETUNE = "heads", "finetune"
_MEASURED = 60  # held-out rows of trained weights
_MEASURES = ("auc", "precision", "recall", "specificity")
_LIBRARIES = ("dspy", "gepa", "optuna", "xllamacpp")


class CompileOptions(Options):
    """Compile steps or recipes against labels.

    The prompt of a step, or of all steps of a recipe at once, is compiled by an optimizer of DSPy;
    `heads` fits the classifiers of chunk, judge or grounding, `finetune` trains weights for a step
    of a local model. Demos come from train rows, dev rows choose, test rows confirm once. What is
    not better on dev rows than what --out has, or else than what is shipped, or is worse on test
    rows, is not written. `groundset generate --compiled DIR` uses the result. Repeat the command
    after Ctrl-C to continue without repeating calls.
    """

    steps: tuple[str, ...] = option(
        ...,
        "A step, such as judge or ask, or a recipe: evolved, single, multi or guided.",
        metavar="STEP...",
        argument=True,
    )
    optimizer: str = option(
        "labeled",
        "labeled, bootstrap, random-search, mipro, gepa, simba; heads; finetune.",
        metavar="NAME",
    )
    lm: str | None = option(
        None, "The model to compile for; not needed for heads.", metavar="MODEL"
    )
    prompt_lm: str | None = option(
        None, "The model that writes instructions.", metavar="MODEL", shown="--lm"
    )
    critic_lm: str | None = option(
        None, "The model that judges what no gold row has.", metavar="MODEL", shown=JUDGE_LM
    )
    labels: tuple[Path, ...] = option(
        (), "Labels or gold rows beside the shipped ones. Repeatable.", metavar="FILE"
    )
    out: Path = option(
        Path("out/compiled"), "A folder for <step>.json, or a .json file.", metavar="DIR|FILE"
    )
    rows: int = option(
        ROWS, "The most train, dev and test rows each; finetune takes all for training.", ge=1
    )
    budget_calls: int = option(1200, "The most calls of the optimizer for each step.", ge=1)
    target_precision: float = option(
        0.85, "Of heads: the share of accepted rows that must be good.", ge=0, le=1
    )
    embedder: str = option(DEFAULT_EMBEDDER, "The embedding model of heads.", metavar="MODEL")
    workers: int = option(1, "Calls at the same time.", ge=1)
    seed: int = option(0, "The random seed.")
    keep: bool = option(False, "Write the result even if it is not better.")
    track: bool = option(True, "Log the compile in MLflow.")
    track_texts: bool = option(False, "Also send prompts and candidates to a tracking server.")
    tracking: str | None = option(
        None, "The MLflow store.", metavar="URI|FOLDER", shown="mlruns/, else your own"
    )
    verbose: bool = option(False, "Show what the optimizer prints.", short="-v")
    quiet: bool = option(False, "Show no progress.", short="-q")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.optimizer not in (known := (*OPTIMIZERS, HEADS, FINETUNE)):
            raise ValueError(f"--optimizer {self.optimizer}: choose one of {', '.join(known)}")
        if self.lm is None and self.optimizer != HEADS:
            raise ValueError(
                f"--optimizer {self.optimizer} compiles for a model; name it with --lm"
            )
        if self.out.suffix != ".json":
            check_folder(self.out)
        return self


@dataclass
class Report:
    """What a compile gave."""

    step: str  # the step or recipe
    model: str  # the model that it is for, or of heads the embedder
    optimizer: str
    figures: dict[str, float] = field(
        default_factory=dict
    )  # ``before_dev``, ``gain_test_low``, …; calls, tokens, time
    ending: str = "complete"  # or ``budget``, ``interrupted``
    files: list[Path] = field(default_factory=list)  # what was written; nothing if it is not better
    program: Any = None  # the compiled predictor or program
    candidates: list[Candidate] = field(
        default_factory=list
    )  # the variants that were run, the original first

    def __str__(self) -> str:
        """Return what a user wants to know."""
        got, lines = self.figures, [f"{self.step} for {self.model} by {self.optimizer}:"]
        for split in ("dev", "test"):
            if f"after_{split}" in got:
                before, after, gain = (
                    got[f"{what}_{split}"] for what in ("before", "after", "gain")
                )
                interval = (
                    f" ({got['gain_test_low']:+.2f} to {got['gain_test_high']:+.2f})"
                    if split == "test"
                    else ""
                )
                scores = f"{before:.2f} before, {after:.2f} after, gain {gain:+.2f}{interval}"
                lines.append(f"{got[f'rows_{split}']:.0f} {split} rows: {scores}")
        if "detectable_gain" in got:
            least = got["detectable_gain"]
            lines.append(
                f"the test rows could have shown a gain of {least:.2f}"
                if least < 1
                else "the test rows are too few to show any gain"
            )
        if "threshold" in got:
            lines.append(
                f"threshold {got['threshold']:.2f}, precision of at least"
                f" {got['supported_precision']:.0%} on the rows that chose it"
            )
            for said, prefix in (("test rows", ""), ("before", "before_")):
                shown = [
                    f"{name} {Estimate(got[at], got[f'{at}_low'], got[f'{at}_high'])}"
                    for name in _MEASURES
                    if (at := f"{prefix}{name}") in got
                ]
                if shown:
                    lines.append(f"{said}: {', '.join(shown)}")
        if self.candidates:
            ran = counted(len(self.candidates) - 1, "candidate")
            lines.append(
                f"{ran} ran, {got['compared']:.0f} of them on all dev rows; {got['calls']:.0f}"
                " calls"
            )
            before = self.candidates[0].state
            changed = [name for name, new in state_of(self.program).items() if new != before[name]]
            lines += [f"changed: {', '.join(changed) or 'nothing'}"] if len(before) > 1 else []
        if self.ending != "complete":
            why = "--budget-calls is used up" if self.ending == "budget" else "interrupted"
            lines.append(f"{why}: this is the best candidate so far")
        no = "not better on dev rows than what is served, or worse on test rows"
        if self.optimizer == HEADS:
            no = "they rank (auc) or decide (recall and specificity) worse than those served"
        lines.append(
            f"written: {', '.join(map(str, self.files))}"
            if self.files
            else f"not written: {no}; --keep writes it"
        )
        return "\n  ".join(lines)


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
        reports.append(report)
    return reports


def _fitted(name: str, options: CompileOptions, progress: Progress) -> Report:
    """Fit the heads of a step, and write them if they are not worse than those that are served."""
    if name not in HEAD_STEPS:
        raise InputError(f"STEP {name}: heads are fitted for {', '.join(HEAD_STEPS)}")
    progress.phase(f"Fitting the heads of {name}")
    rows = read_rows(
        [*(data_path("labels", f"{label}.jsonl") for label in LABELS), *options.labels]
    )
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
            named = (f"{prefix}{shown}", f"{prefix}{shown}_low", f"{prefix}{shown}_high")
            figures |= dict(zip(named, bounds, strict=True))
    report = Report(name, options.embedder, HEADS, figures)
    if options.keep or not is_worse(record["test"], before):
        write_text(file, heads.model_dump_json(indent=1) + "\n")
        report.files = [file]
    return report


def _for_model(name: str, options: CompileOptions, progress: Progress) -> Report:
    """Compile a prompt, or train weights, and write what is better than what is served."""
    if name not in PROGRAMS and options.out.suffix == ".json":
        raise InputError(
            f"--out {options.out}: the state of a step goes to a folder, as {name}.json"
        )
    folder = options.out.parent if options.out.suffix == ".json" else options.out
    with ExitStack() as stack:
        journal = stack.enter_context(Store.for_calls(folder / "calls.sqlite"))
        progress.phase("Opening models")
        opened: dict[str, Model] = {}
        critic = (options.critic_lm or JUDGE_LM) if writes(name) else options.critic_lm
        for spec in filter(None, (options.lm, options.prompt_lm, critic)):
            if spec not in opened:
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
        served = str(options.out) if options.out.exists() else SHIPPED
        parts = guided_parts(served, options.embedder) if name == GUIDED else None
        progress.phase("Reading labels")
        most = None if options.optimizer == FINETUNE else options.rows
        work = task(
            name,
            with_own(options.labels),
            own=options.labels,
            judge=judge,
            rows=most,
            seed=options.seed,
            parts=parts,
        )
        load_compiled(served, model.name).apply([work.program])
        if options.optimizer == FINETUNE:
            report = _trained(work, model.name, options, progress)
        else:
            report = _prompted(work, model, opened.get(options.prompt_lm or ""), options, progress)
        gains = report.figures
        # Dev rows chose it; test rows only confirm it, once.
        is_better = gains["gain_dev"] > 0 and gains.get("gain_test", 0.0) >= 0
        if is_better or options.keep:
            report.files += _written(report, work, options, model.sha256)
        return report


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
    rows, before, after = {"dev": task.devset, "test": task.testset}, {}, {}
    for split, of_split in rows.items():
        progress.phase(f"Measuring what is served on {split} rows", len(of_split))
        before[split] = measure(task.program, of_split, task.metric, **shared)
    progress.phase(f"Compiling {task.name} by {options.optimizer}: calls", options.budget_calls)
    compiled = compile_program(
        task.program,
        task,
        options.optimizer,
        prompt_lm=prompt_model.lm if prompt_model else None,
        calls=options.budget_calls,
        seed=options.seed,
        verbose=options.verbose,
        **shared,
    )
    if compiled.ending == "interrupted":
        del rows["test"]
    for split, of_split in rows.items():
        progress.phase(f"Measuring the result on {split} rows", len(of_split))
        if state_of(compiled.program) == state_of(task.program):
            after[split] = before[split]
        else:
            after[split] = measure(compiled.program, of_split, task.metric, **shared)
    compiled.candidates[0].scores |= dict(zip(map(row_id, task.devset), before["dev"], strict=True))
    compiled.chosen.scores |= dict(zip(map(row_id, task.devset), after["dev"], strict=True))
    figures = _compared(before, after, [row.document for row in task.testset]) | model.usage()
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
        gain: Estimate = bootstrap_mean(gains, resampling_units(documents)[0], lowest=-1.0)
        figures |= {"gain_test_low": gain.low, "gain_test_high": gain.high}
        figures["detectable_gain"] = detectable_gain(gain)
    return figures


def _trained(task: CompileTask, model: str, options: CompileOptions, progress: Progress) -> Report:
    """Train weights for a step; the measure is the likelihood of what gold rows want."""
    from groundset.optimizers.finetune import Training, finetune, turns_of  # with torch

    found = parse_spec(str(options.lm))
    if found.served or not hasattr(task.program, "demos"):
        raise InputError(f"--optimizer {FINETUNE} trains one step of a local model")
    bare = task.program.deepcopy()
    bare.demos, bare.config = [], {**bare.config, "adapter": task.name}
    dev, test = task.devset[:_MEASURED], task.testset[:_MEASURED]
    served, train = turns_of(task.program, [*dev, *test], demos=True), turns_of(bare, task.trainset)
    measured = list(zip(served, turns_of(bare, [*dev, *test]), strict=True))
    progress.phase(
        f"Training {task.name} on {len(train)} rows: steps", -(-len(train) // Training.batch)
    )
    folder, training = options.out / f"{task.name}.training", Training(seed=options.seed)
    weights = found.path or pull(found.name)
    trained = finetune(weights, train, measured, folder, training, lambda *_: progress.advance())
    before, after = (
        {"dev": each[: len(dev)], "test": each[len(dev) :]}
        for each in (trained.before, trained.after)
    )
    figures = _compared(before, after, [row.document for row in test])
    report = Report(
        task.name, model, FINETUNE, figures | {"seconds": trained.seconds}, program=bare
    )
    if figures["gain_dev"] > 0 or options.keep:
        report.files = [options.out / f"{task.name}.gguf"]
        with whole_file(report.files[0]) as aside:
            aside.write_bytes(trained.file.read_bytes())
    return report


def _written(
    report: Report, task: CompileTask, options: CompileOptions, sha256: str | None
) -> list[Path]:
    """Write what DSPy saves, of a recipe only the steps that changed, and the record; return the
    files of states.
    """
    saved, folder = {options.out: report.program}, options.out.parent
    if options.out.suffix != ".json":
        old, new, folder = state_of(task.program), state_of(report.program), options.out
        changed = {name for name in new if old[name] != new[name]} or {
            "self"
        }  # weights change no prompt
        saved = {
            folder / f"{each.name}.json": each
            for name, each in report.program.named_predictors()
            if name in changed
        }
    with TemporaryDirectory() as aside:
        for file, program in saved.items():
            program.save(f"{aside}/state.json")
            write_text(file, Path(aside, "state.json").read_text(encoding="utf-8"))
    record = {
        "step": report.step,
        "model": report.model,
        "model_sha256": sha256,
        "ending": report.ending,
        "options": options.model_dump(mode="json", exclude_none=True),
        "labels": {file.name: file_sha256(file) for file in with_own(options.labels)},
        "versions": {"groundset": __version__, **{name: version(name) for name in _LIBRARIES}},
        "figures": report.figures,
    }
    write_text(folder / "records" / f"{report.step}.json", json_text(record, indent=1) + "\n")
    return list(saved)


def _track(report: Report, options: CompileOptions) -> None:
    """Log a compile in MLflow; say why if that fails."""
    unlogged = {"steps", "track", "track_texts", "tracking", "verbose", "quiet"}
    try:
        store = Tracking(options.tracking, texts=options.track_texts)
        say(
            "  logged:"
            f" {store.log_compile(report, options.model_dump(exclude=unlogged, exclude_none=True))}"
        )
    except (InputError, TrackingError) as error:
        say(f"  not tracked: {error}; --no-track leaves it out", err=True)
