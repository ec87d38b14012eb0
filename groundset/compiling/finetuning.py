"""Compiling weights: one adapter for the local model that some steps write with, trained on their gold rows."""

import random
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dspy
from dspy.clients.utils_finetune import TrainDataFormat

from groundset.compiling.record import Started, asked_parameters, environment, untracked, write_report
from groundset.compiling.steps import Listener
from groundset.data_files import data_path
from groundset.files import whole_file
from groundset.models.cache import file_sha256
from groundset.models.hub_names import HubSpec
from groundset.models.pull import ensure_available
from groundset.models.specs import LocalSpec, parse_spec
from groundset.runtime.adapter import PlainTextAdapter
from optimizers.finetuning.base import TrainingOptions, TrainingStep, Turn
from optimizers.finetuning.turns import turns_of
from optimizers.gold import read_annotated
from optimizers.gold_rows import licences_of
from optimizers.labels import SPLITS, Split, hashes_of
from optimizers.measures import Interval, mean, mean_gain, recorded
from optimizers.report import CompileReport
from optimizers.steps import COMPILABLE
from optimizers.steps.base import Teaching
from optimizers.strategies.finetune import STRATEGY
from programs.critics.states import Adapter, CompiledState, dspy_version, folder_of, signature_hash
from programs.errors import InputError
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.steps.demos import in_language, read_demos

_MEASURED: Mapping[Split, int] = {"dev": 100, "test": 60}
_HASHED = 8  # characters of its hash in the name of an adapter's file
_WAIT = 0.5  # seconds between two looks at whether training has ended; a signal comes through in between
_LIBRARIES = ("dspy", "torch", "transformers", "peft", "gguf")


@dataclass(frozen=True)
class _Rows:
    taught: dict[Split, list[Turn]]
    shown: dict[Split, list[Turn]]
    licences: list[str]


def compile_adapter(
    steps: Sequence[str],
    lm: str,
    gold: Sequence[Path],
    *,
    options: TrainingOptions,
    out: Path,
    listener: Listener,
    started: Started = untracked,
) -> list[tuple[CompileReport, Path]]:
    """Train one adapter for steps; write ``<out>/<model>/<steps>-<hash>.gguf`` and a state for each to ``<step>.json``.

    The hash keeps an adapter that other states name, champions among them, apart from a later one of the same steps.
    Checkpoints are kept in ``<out>/<model>/<steps>.training``, so that the same call goes on where it was ended. What
    is measured is the likelihood of the gold output, per token, of rows that were not learned from: as each step is
    with its demos, and taught without any. ``started`` is told of each step before the training.

    Raises:
        InputError: the extra ``finetune`` is missing, the model is not local, or the folder cannot be written.
        OptimizerError: the gold rows are wrong or none are for the step.
        KeyboardInterrupt: Ctrl-C; a checkpoint was kept.
    """
    if any(find_spec(name) is None for name in ("peft", "gguf")):
        raise InputError('--optimizer finetune needs more packages: pip install "groundset[finetune]"')
    spec = parse_spec(lm)
    if not isinstance(spec, LocalSpec | HubSpec):
        raise InputError(
            f"--lm {lm}: finetune trains weights that lie on this machine; name a catalogue model or a .gguf file."
        )
    for step in steps:
        STRATEGY.check(step, demos=True, teacher=False)
    files = {step: [*(data_path("gold", f"{name}.jsonl") for name in _teaching(step).files), *gold] for step in steps}
    hashes = {step: hashes_of(files[step]) for step in steps}
    rows = {step: _rows(step, files[step], options) for step in steps}
    spec = ensure_available(spec)
    name = "-".join(steps)
    folder = out / folder_of(spec.name)
    parameters = asked_parameters(STRATEGY.name, {"steps": name, **options.model_dump()})
    for step in steps:
        started(step, spec.name, STRATEGY.name, parameters)
    trainer, file = _train(name, spec, list(rows.values()), options, folder / f"{name}.training", listener)
    sha256 = file_sha256(file)
    kept = folder / f"{name}-{sha256[:_HASHED]}.gguf"
    with whole_file(kept) as aside:
        shutil.copyfile(file, aside)
    adapter = Adapter(file=kept.name, sha256=sha256)
    reports = []
    for step in steps:
        listener.say(f"Measuring {step} on gold rows that were not learned from")
        scores = _scores(trainer, rows[step])
        measures = _measures(scores, rows[step])
        state = _state(step, spec, adapter, rows[step], options, hashes[step], measures)
        report = CompileReport(
            state=state,
            measures=measures,
            rows=[
                {
                    "split": split,
                    "id": turn.name,
                    "document": turn.document,
                    "before_score": before,
                    "after_score": after,
                }
                for split in _MEASURED
                for turn, before, after in zip(
                    rows[step].taught[split], scores["before"][split], scores["after"][split], strict=True
                )
            ],
            parameters={**parameters, **environment(state)},
            figures={"calls": 0, "compared": 1, "seconds": trainer.seconds},
            curves={
                "loss": [(each.step, each.loss) for each in trainer.curve],
                "dev_loss": [(each.step, each.dev) for each in trainer.curve if each.dev is not None],
            },
            files=[kept],
        )
        reports.append((report, write_report(report, out)))
    return reports


def _teaching(step: str) -> Teaching:
    teaching = COMPILABLE[step].teaching
    assert teaching is not None
    return teaching


def _state(
    step: str,
    spec: LocalSpec,
    adapter: Adapter,
    rows: _Rows,
    options: TrainingOptions,
    labels: Sequence[Mapping[str, str]],
    measures: dict[str, dict[str, Interval]],
) -> CompiledState:
    predict = COMPILABLE[step].step.predictor()
    predict.signature = predict.signature.with_instructions(_teaching(step).instructions)
    return CompiledState(
        step=step,
        model=spec.name,
        model_sha256=spec.sha256,
        optimizer=STRATEGY.name,
        signature=signature_hash(COMPILABLE[step].step.signature),
        dspy=dspy_version(),
        predictor=predict.dump_state(),
        adapter=adapter,
        record={
            "labels": labels,
            "licences": rows.licences,
            "rows": {split: len(rows.taught[split]) for split in SPLITS},
            "options": options.model_dump(),
            "calls": 0,
            "candidates": 2,
            "chosen": 1,
            "versions": {name: metadata.version(name) for name in _LIBRARIES},
            "measures": recorded(measures),
        },
    )


def _measures(scores: dict[str, dict[Split, list[float]]], rows: _Rows) -> dict[str, dict[str, Interval]]:
    found: dict[str, dict[str, Interval]] = {"before": {}, "after": {}, "gain": {}}
    for split in _MEASURED:
        before, after = scores["before"][split], scores["after"][split]
        units = [turn.document for turn in rows.taught[split]]
        found["before"][split], found["after"][split] = mean(before, units), mean(after, units)
        found["gain"][split] = mean_gain(before, after, units)
    return found


def _rows(step: str, files: Sequence[Path], options: TrainingOptions) -> _Rows:
    """Return the turns that are taught, and those rows as the step would be asked with its demos."""
    seed = options.seed
    gold = _teaching(step).rows(read_annotated(files))
    adapter, languages = PlainTextAdapter(), Languages(LANGUAGES)
    signature, demos = COMPILABLE[step].step.signature, list(read_demos(data_path("demos")).get(step, ()))
    taught = {split: turns_of(step, gold, split, adapter, languages, seed) for split in SPLITS}
    shown: dict[Split, list[Turn]] = {}
    if options.rows is not None:
        taught["train"] = random.Random(seed).sample(taught["train"], min(options.rows, len(taught["train"])))
    for name, count in _MEASURED.items():
        taught[name] = random.Random(seed).sample(taught[name], min(count, len(taught[name])))
        shown[name] = [
            turn._replace(
                messages=[*adapter.format(signature, in_language(demos, turn.language), {})[:-1], turn.messages[-1]]
            )
            for turn in taught[name]
        ]
    return _Rows(taught, shown, licences_of(gold))


def _train(
    name: str,
    spec: LocalSpec,
    rows: Sequence[_Rows],
    options: TrainingOptions,
    folder: Path,
    listener: Listener,
) -> tuple[Any, Path]:
    """Train through DSPy's interface and return the trainer with the adapter's file."""
    from optimizers.finetuning.provider import LocalProvider, chat

    ending, begun = threading.Event(), threading.Event()

    def on_step(progress: TrainingStep) -> None:
        if not begun.is_set():
            begun.set()
            listener.start(name, progress.steps - progress.step + 1, "batches")
        listener.call()
        if progress.dev is not None:
            listener.say(f"Loss of a gold token on dev rows: {progress.dev:.3f}")

    taught: dict[Split, list[Turn]] = {
        split: [turn for each in rows for turn in each.taught[split]] for split in SPLITS
    }
    provider = LocalProvider(spec.path, folder=folder, dev=taught["dev"], on_step=on_step, stopped=ending.is_set)
    model = dspy.LM(f"local/{spec.name}", provider=provider)
    listener.say(f"Training on {len(taught['train'])} gold rows")
    data = [chat(turn) for turn in taught["train"]]
    job = model.finetune(data, TrainDataFormat.CHAT, options.model_dump())
    try:
        while job.thread.is_alive():
            job.thread.join(_WAIT)
    except KeyboardInterrupt:
        listener.say("Interrupted: a checkpoint is kept after this step")
        ending.set()
        job.thread.join()
    failed = job.result()
    if isinstance(failed, Exception):  # DSPy hands it over as the result
        raise failed
    if provider.file is None:
        raise KeyboardInterrupt
    return provider.trainer, provider.file


def _scores(trainer: Any, rows: _Rows) -> dict[str, dict[Split, list[float]]]:
    return {
        "before": {split: trainer.likelihoods(rows.shown[split], taught=False) for split in _MEASURED},
        "after": {split: trainer.likelihoods(rows.taught[split], taught=True) for split in _MEASURED},
    }
