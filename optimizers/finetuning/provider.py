"""Fine-tuning on this machine behind DSPy's interface for it, so that a server's can take its place."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dspy.clients.provider import Provider, TrainingJob
from dspy.clients.utils_finetune import TrainDataFormat

from optimizers.finetuning.adapter_file import write_adapter
from optimizers.finetuning.base import TrainingOptions, TrainingStep, Turn
from optimizers.finetuning.training import Trainer
from programs.errors import StrategyError


class LocalProvider(Provider):
    """Trains an adapter for a GGUF file; ``dspy.LM(..., provider=LocalProvider(...)).finetune`` starts it.

    Attributes:
        trainer: what was trained, once it is.
        file: the adapter's file, None as long as training has not come to its end.
    """

    trainer: Trainer
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
        """Train for the weights of a file; checkpoints and the adapter go to ``folder``.

        Args:
            weights: the GGUF file.
            folder: where checkpoints and the adapter are written.
            dev: rows that the loss is measured on after each epoch.
            on_step: is told of each step.
            stopped: says whether to end at the next step.
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
        """Train on chats that end with what the model should write; the model keeps its name.

        Raises:
            StrategyError: the rows are no chats.
        """
        del job
        if train_data_format is not TrainDataFormat.CHAT:
            raise StrategyError("the local trainer takes chats only.")
        self.trainer = Trainer(self._weights, TrainingOptions(**(train_kwargs or {})))
        if self.trainer.train(turns(train_data), self._dev, self._folder, self._on_step, self._stopped):
            file = self._folder / "adapter.gguf"
            write_adapter(self.trainer.model, self.trainer.architecture, file, model)
            self.file = file
        return model


def chat(turn: Turn) -> dict[str, Any]:
    """Return a turn in DSPy's form of a training row."""
    return {"messages": [*turn.messages, {"role": "assistant", "content": turn.completion}]}


def turns(rows: list[dict[str, Any]]) -> list[Turn]:
    """Return DSPy's rows as turns."""
    return [Turn(row["messages"][:-1], row["messages"][-1]["content"]) for row in rows]
