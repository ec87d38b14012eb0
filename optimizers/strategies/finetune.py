"""The strategy ``finetune``: one adapter of a local model for several steps, trained on their gold rows.

The measure is the likelihood per token of the gold output on held-out rows: before with demos, after without.
"""

import hashlib
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dspy
from dspy.clients.provider import Provider, TrainingJob
from dspy.clients.utils_finetune import TrainDataFormat

from optimizers.finetuning.base import TrainingOptions, TrainingStep, Turn, turns_of
from optimizers.gold import licences_of, read_annotated
from optimizers.labels import SPLITS, Split, hashes_of
from optimizers.measures import Interval, mean, mean_gain, recorded
from optimizers.report import CompileReport, new_state, versions_of
from optimizers.steps import COMPILABLE
from optimizers.steps.base import Finetuning
from optimizers.strategies.base import Listener, Resources, Strategy, Weights
from programs.critics.states import Adapter
from programs.demos import in_language
from programs.errors import InputError, StrategyError

_MEASURED: Mapping[Split, int] = {"dev": 100, "test": 60}  # rows
_HASH_LENGTH = 8  # in the name of the adapter's file
_WAIT = 0.5  # seconds to block at a time, so that signals are handled


@dataclass(frozen=True)
class _Rows:
    """The turns of a step without demos, for training, and those of the measured splits with demos."""

    files: list[dict[str, str]]
    bare: dict[Split, list[Turn]]
    with_demos: dict[Split, list[Turn]]
    licences: list[str]


def compile_adapter(steps: Sequence[str], resources: Resources) -> Iterator[CompileReport]:
    """Train one adapter for several steps, and save it as ``<steps>-<hash>.gguf`` beside the states of the model.

    The hash keeps adapters of earlier compiles, which champions may use. Checkpoints are in ``<steps>.training``; a
    repeated compile continues from the last one.

    Raises:
        InputError: the extra ``finetune`` is missing, the model is not local, or the folder cannot be written.
        OptimizerError: gold rows are invalid or missing.
        KeyboardInterrupt: Ctrl-C; a checkpoint was saved.
    """
    if any(find_spec(name) is None for name in ("peft", "gguf")):
        raise InputError('--optimizer finetune needs more packages; run `pip install "groundset[finetune]"`')
    options = TrainingOptions(seed=resources.seed, rows=resources.rows)
    rows = {step: _rows_of(step, options, resources) for step in steps}
    weights, name = resources.weights, "-".join(steps)
    parameters = {"steps": name, **options.model_dump()}
    for step in steps:
        resources.begin(step, weights.name, parameters)
    folder = resources.folder / f"{name}.training"
    trainer, file = _train(name, weights, list(rows.values()), options, folder, resources.listener)
    with file.open("rb") as trained:
        sha256 = hashlib.file_digest(trained, "sha256").hexdigest()
    kept = resources.keep(file, f"{name}-{sha256[:_HASH_LENGTH]}.gguf")
    adapter = Adapter(file=kept.name, sha256=sha256)
    for step in steps:
        resources.listener.say(f"Measuring {step} on held-out gold rows")
        report = _measured(step, rows[step], trainer, adapter, weights, options)
        yield CompileReport(
            **report,
            parameters=parameters,
            figures={"calls": 0, "compared": 1, "seconds": trainer.seconds},
            curves={
                "loss": [(entry.step, entry.loss) for entry in trainer.curve],
                "dev_loss": [(entry.step, entry.dev) for entry in trainer.curve if entry.dev is not None],
            },
            files=[kept],
        )


def _finetuning(step: str) -> Finetuning:
    finetuning = COMPILABLE[step].finetuning
    assert finetuning is not None
    return finetuning


def _rows_of(step: str, options: TrainingOptions, resources: Resources) -> _Rows:
    finetuning, seed = _finetuning(step), options.seed
    files = resources.gold(finetuning.files)
    hashes = hashes_of(files)
    gold = finetuning.rows(read_annotated(files))
    signature, demos = COMPILABLE[step].step.signature, list(resources.demos.get(step, ()))
    adapter, languages = resources.adapter, resources.languages
    bare = {split: turns_of(step, gold, split, adapter, languages, seed) for split in SPLITS}
    with_demos: dict[Split, list[Turn]] = {}
    limits = _MEASURED if options.rows is None else {"train": options.rows, **_MEASURED}
    for name, count in limits.items():
        bare[name] = random.Random(seed).sample(bare[name], min(count, len(bare[name])))
    for name in _MEASURED:
        with_demos[name] = [
            turn._replace(
                messages=[*adapter.format(signature, in_language(demos, turn.language), {})[:-1], turn.messages[-1]]
            )
            for turn in bare[name]
        ]
    return _Rows(hashes, bare, with_demos, licences_of(gold))


def _measured(
    step: str, rows: _Rows, trainer: Any, adapter: Adapter, weights: Weights, options: TrainingOptions
) -> dict[str, Any]:
    """Return the state, measures and rows of a report."""
    measures: dict[str, dict[str, Interval]] = {"before": {}, "after": {}, "gain": {}}
    scores = []
    for split in _MEASURED:
        before = trainer.likelihoods(rows.with_demos[split], finetuned=False)
        after = trainer.likelihoods(rows.bare[split], finetuned=True)
        units = [turn.document for turn in rows.bare[split]]
        measures["before"][split], measures["after"][split] = mean(before, units), mean(after, units)
        measures["gain"][split] = mean_gain(before, after, units)
        scores += [
            {"split": split, "id": turn.name, "document": turn.document, "before_score": old, "after_score": new}
            for turn, old, new in zip(rows.bare[split], before, after, strict=True)
        ]
    predict = COMPILABLE[step].step.predictor()
    predict.signature = predict.signature.with_instructions(_finetuning(step).instructions)
    state = new_state(
        step,
        model=weights.name,
        model_sha256=weights.sha256,
        optimizer=STRATEGY.name,
        predictor=predict.dump_state(),
        adapter=adapter,
        record={
            "labels": rows.files,
            "licences": rows.licences,
            "rows": {split: len(rows.bare[split]) for split in SPLITS},
            "options": options.model_dump(),
            "calls": 0,
            "candidates": 2,
            "chosen": 1,
            "versions": versions_of("dspy", "torch", "transformers", "peft", "gguf"),
            "measures": recorded(measures),
        },
    )
    return {"state": state, "measures": measures, "rows": scores}


def _train(
    name: str,
    weights: Weights,
    rows: Sequence[_Rows],
    options: TrainingOptions,
    folder: Path,
    listener: Listener,
) -> tuple[Any, Path]:
    """Train through DSPy's interface, and return the trainer and the adapter's file."""
    stopping, started = threading.Event(), threading.Event()

    def on_step(progress: TrainingStep) -> None:
        if not started.is_set():
            started.set()
            listener.start(name, progress.steps - progress.step + 1, "batches")
        listener.call()
        if progress.dev is not None:
            listener.say(f"Loss per gold token on dev rows: {progress.dev:.3f}")

    train, dev = ([turn for of_step in rows for turn in of_step.bare[split]] for split in ("train", "dev"))
    provider = LocalProvider(weights.path, folder=folder, dev=dev, on_step=on_step, stopped=stopping.is_set)
    model = dspy.LM(f"local/{weights.name}", provider=provider)
    listener.say(f"Training on {len(train)} gold rows")
    data = [{"messages": [*turn.messages, {"role": "assistant", "content": turn.completion}]} for turn in train]
    job = model.finetune(data, TrainDataFormat.CHAT, options.model_dump())
    try:
        while job.thread.is_alive():
            job.thread.join(_WAIT)
    except KeyboardInterrupt:
        listener.say("Interrupted: saving a checkpoint after this step")
        stopping.set()
        job.thread.join()
    result = job.result()
    if isinstance(result, Exception):  # DSPy returns errors as the result
        raise result
    if provider.file is None:
        raise KeyboardInterrupt
    return provider.trainer, provider.file


class LocalProvider(Provider):
    """Trains on this machine behind DSPy's fine-tuning interface, ``dspy.LM(..., provider=...).finetune``.

    Attributes:
        trainer: the trainer, once training has started.
        file: the adapter's file, None until training has finished.
    """

    trainer: Any
    file: Path | None = None

    def __init__(
        self,
        weights: Path,
        *,
        folder: Path,
        dev: Sequence[Turn],
        on_step: Callable[[TrainingStep], object],
        stopped: Callable[[], bool],
    ) -> None:
        """Train for the weights of a GGUF file; checkpoints and the adapter go to ``folder``.

        The loss on ``dev`` is measured after each epoch. ``on_step`` is called after each step, and training stops once
        ``stopped`` returns true.
        """
        super().__init__()
        self.finetunable = True
        self._weights, self._folder, self._dev = weights, folder, dev
        self._on_step, self._stopped = on_step, stopped

    def finetune(
        self,
        job: TrainingJob,
        model: str,
        train_data: list[dict[str, Any]],
        train_data_format: TrainDataFormat | None,
        train_kwargs: dict[str, Any] | None = None,
    ) -> str:
        """Train on chats that end with the expected completion, and return the name of the model.

        Raises:
            StrategyError: the rows are not chats.
        """
        from optimizers.finetuning.training import Trainer
        from optimizers.finetuning.weights import write_adapter

        del job
        if train_data_format is not TrainDataFormat.CHAT:
            raise StrategyError("the local trainer accepts chats only")
        self.trainer = Trainer(self._weights, TrainingOptions(**(train_kwargs or {})))
        turns = [Turn(row["messages"][:-1], row["messages"][-1]["content"]) for row in train_data]
        if self.trainer.train(turns, self._dev, self._folder, self._on_step, self._stopped):
            file = self._folder / "adapter.gguf"
            write_adapter(self.trainer.model, self.trainer.architecture, file, model)
            self.file = file
        return model


STRATEGY = Strategy("finetune", ("labels", "weights"), "a small model of the catalogue", compile_adapter, "finetuned")
