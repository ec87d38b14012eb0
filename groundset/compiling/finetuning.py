"""Compiling weights: an adapter for the local model that a step writes with, trained on gold rows."""

import random
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dspy
from dspy.clients.utils_finetune import TrainDataFormat

from groundset.compiling.record import environment, write_report
from groundset.compiling.steps import Listener
from groundset.data_files import data_path
from groundset.files import whole_file
from groundset.models.cache import file_sha256
from groundset.models.specs import LocalSpec, ensure_available, parse_spec
from groundset.runtime.adapter import PlainTextAdapter
from optimizers.finetuning.base import TrainingOptions, TrainingStep, Turn
from optimizers.finetuning.turns import turns_of
from optimizers.gold import read_gold
from optimizers.labels import SPLITS, Split, hashes_of
from optimizers.measures import Interval, mean, mean_gain, recorded
from optimizers.report import CompileReport
from optimizers.steps import COMPILABLE
from optimizers.strategies.finetune import STRATEGY
from programs.critics.states import Adapter, CompiledState, dspy_version, folder_of, signature_hash
from programs.errors import InputError
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.steps.demos import in_language, read_demos

_MEASURED: Mapping[Split, int] = {"dev": 100, "test": 60}
_WAIT = 0.5  # seconds between two looks at whether training has ended; a signal comes through in between
_LIBRARIES = ("dspy", "torch", "transformers", "peft", "gguf")


@dataclass(frozen=True)
class _Rows:
    taught: dict[Split, list[Turn]]
    shown: dict[Split, list[Turn]]


def compile_adapter(
    step: str, lm: str, gold: Sequence[Path], *, options: TrainingOptions, out: Path, listener: Listener
) -> tuple[CompileReport, Path]:
    """Train an adapter for a step; write it and its state to ``<out>/<model>/<step>.gguf`` and ``.json``.

    Checkpoints are kept in ``<out>/<model>/<step>.training``, so that the same call goes on where it was ended. What
    is measured is the likelihood of the gold output, per token, of rows that were not learned from: as the step is
    with its demos, and taught without any.

    Raises:
        InputError: the extra ``finetune`` is missing, the model is not local, or the folder cannot be written.
        OptimizerError: the gold rows are wrong or none are for the step.
        KeyboardInterrupt: Ctrl-C; a checkpoint was kept.
    """
    if any(find_spec(name) is None for name in ("peft", "gguf")):
        raise InputError('--optimizer finetune needs more packages: pip install "groundset[finetune]"')
    spec = parse_spec(lm)
    if not isinstance(spec, LocalSpec):
        raise InputError(f"--lm {lm}: finetune trains weights that lie on this machine; name a catalogue model.")
    STRATEGY.check(step, demos=True, teacher=False)
    teaching = COMPILABLE[step].teaching
    assert teaching is not None
    files = [data_path("gold", f"{step}.jsonl"), *gold]
    rows = _rows(step, read_gold(teaching.rows, files), options.seed)
    ensure_available(spec)
    folder = out / folder_of(spec.name)
    curve: list[TrainingStep] = []
    started = time.monotonic()
    provider, file = _train(step, spec, rows, options, folder / f"{step}.training", listener, curve)
    seconds = time.monotonic() - started
    listener.say("Measuring the likelihood of gold rows that were not learned from")
    scores = _scores(provider.trainer, rows)
    measures: dict[str, dict[str, Interval]] = {"before": {}, "after": {}, "gain": {}}
    for split in _MEASURED:
        before, after = scores["before"][split], scores["after"][split]
        units = [turn.document for turn in rows.taught[split]]
        measures["before"][split], measures["after"][split] = mean(before, units), mean(after, units)
        measures["gain"][split] = mean_gain(before, after, units)
    kept = folder / f"{step}.gguf"
    with whole_file(kept) as aside:
        shutil.copyfile(file, aside)
    predict = COMPILABLE[step].step.predictor()
    predict.signature = predict.signature.with_instructions(teaching.instructions)
    state = CompiledState(
        step=step,
        model=spec.name,
        model_sha256=spec.sha256,
        optimizer=STRATEGY.name,
        signature=signature_hash(COMPILABLE[step].step.signature),
        dspy=dspy_version(),
        predictor=predict.dump_state(),
        adapter=Adapter(file=kept.name, sha256=file_sha256(kept)),
        record={
            "labels": hashes_of(files),
            "rows": {split: len(rows.taught[split]) for split in SPLITS},
            "options": options.model_dump(),
            "calls": 0,
            "candidates": 2,
            "chosen": 1,
            "versions": {name: metadata.version(name) for name in _LIBRARIES},
            "measures": recorded(measures),
        },
    )
    report = CompileReport(
        state=state,
        measures=measures,
        rows=[
            {"split": split, "id": turn.name, "document": turn.document, "before_score": before, "after_score": after}
            for split in _MEASURED
            for turn, before, after in zip(
                rows.taught[split], scores["before"][split], scores["after"][split], strict=True
            )
        ],
        parameters={"optimizer": STRATEGY.name, **options.model_dump(), **environment(state)},
        figures={"calls": 0, "compared": 1, "seconds": seconds},
        curves={
            "loss": [(each.step, each.loss) for each in curve],
            "dev_loss": [(each.step, each.dev) for each in curve if each.dev is not None],
        },
        files=[kept],
    )
    return report, write_report(report, out)


def _rows(step: str, gold: Sequence[Any], seed: int) -> _Rows:
    """Return the turns that are taught, and those rows as the step would be asked with its demos."""
    adapter, languages = PlainTextAdapter(), Languages(LANGUAGES)
    signature, demos = COMPILABLE[step].step.signature, list(read_demos(data_path("demos")).get(step, ()))
    taught = {split: turns_of(step, gold, split, adapter, languages, seed) for split in SPLITS}
    shown: dict[Split, list[Turn]] = {}
    for name, count in _MEASURED.items():
        taught[name] = random.Random(seed).sample(taught[name], min(count, len(taught[name])))
        shown[name] = [
            turn._replace(
                messages=[*adapter.format(signature, in_language(demos, turn.language), {})[:-1], turn.messages[-1]]
            )
            for turn in taught[name]
        ]
    return _Rows(taught, shown)


def _train(
    step: str,
    spec: LocalSpec,
    rows: _Rows,
    options: TrainingOptions,
    folder: Path,
    listener: Listener,
    curve: list[TrainingStep],
) -> tuple[Any, Path]:
    """Train through DSPy's interface and return the provider with the adapter's file."""
    from optimizers.finetuning.provider import LocalProvider, chat

    ending = threading.Event()

    def on_step(progress: TrainingStep) -> None:
        if not curve:
            listener.start(step, progress.steps - progress.step + 1, "batches")
        curve.append(progress)
        listener.call()
        if progress.dev is not None:
            listener.say(f"Loss of a gold token on dev rows: {progress.dev:.3f}")

    provider = LocalProvider(spec.path, folder=folder, dev=rows.taught["dev"], on_step=on_step, stopped=ending.is_set)
    model = dspy.LM(f"local/{spec.name}", provider=provider)
    listener.say(f"Training on {len(rows.taught['train'])} gold rows")
    data = [chat(turn) for turn in rows.taught["train"]]
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
    return provider, provider.file


def _scores(trainer: Any, rows: _Rows) -> dict[str, dict[Split, list[float]]]:
    return {
        "before": {split: trainer.likelihoods(rows.shown[split], taught=False) for split in _MEASURED},
        "after": {split: trainer.likelihoods(rows.taught[split], taught=True) for split in _MEASURED},
    }
