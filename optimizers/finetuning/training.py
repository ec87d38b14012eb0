"""Training an adapter for the weights of a GGUF file, with checkpoints.

Requires the extra ``groundset[finetune]``.
"""

import hashlib
import json
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from optimizers.finetuning.base import TrainingOptions, TrainingStep, Turn
from optimizers.finetuning.weights import load_trainable

_PADDED = 32  # tokens; with arbitrary lengths memory kept growing
_AT_ONCE = 2048  # padded tokens in one pass: 16 GB with a 1.5B model; 3072 tokens took 24 GB
_CHECKPOINT_SECONDS = 180
_WARM_UP = 0.05  # of the steps
_CLIP = 1.0  # maximum gradient norm
_CHECKPOINT = "checkpoint.pt"


class _Row(NamedTuple):
    tokens: list[int]
    target: int  # index of the first token of the completion


class Trainer:
    """A torch model with a trainable adapter.

    Attributes:
        architecture: the architecture in the GGUF file.
        model: the base model with the adapter, a ``peft`` model.
        tokenizer: the tokenizer of the GGUF file, with its chat template.
        curve: all steps of the training, including those before a resume.
        seconds: the duration of all steps.
    """

    def __init__(self, weights: Path, options: TrainingOptions) -> None:
        """Load the weights of a GGUF file, dequantised to bfloat16, and add an untrained adapter."""
        import torch
        from gguf import GGUFReader

        self.options = options
        self._weights = weights
        self.architecture = str(GGUFReader(weights).fields["general.architecture"].contents())
        torch.manual_seed(options.seed)
        self.tokenizer, self.model = load_trainable(weights, options)
        self._learning = [weight for weight in self.model.parameters() if weight.requires_grad]
        for weight in self._learning:
            weight.data = weight.data.float()

    def train(
        self,
        turns: Sequence[Turn],
        dev: Sequence[Turn],
        folder: Path,
        on_step: Callable[[TrainingStep], object] = lambda _: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Train on turns, and return whether training finished.

        The same call continues from the checkpoint in ``folder``. The loss is the cross entropy of the completion's
        tokens; the output layer is computed only for these.
        """
        import torch

        self._rows_sha256, self._weights_sha256 = _digest(turns), _sha256_of(self._weights)
        self.curve: list[TrainingStep] = []
        self.seconds = 0.0
        options, rows = self.options, [self._row(turn) for turn in turns]
        held_out = [self._row(turn) for turn in dev]
        plan = [batch for epoch in range(options.epochs) for batch in _batches(rows, options, epoch)]
        optimizer = torch.optim.AdamW(self._learning, lr=options.rate, weight_decay=0.0)
        done = self._resume(folder, optimizer)
        per_epoch, spent = len(plan) // options.epochs, self.seconds
        start = saved = time.monotonic()
        self.model.train()
        for step, batch in enumerate(plan[done:], done + 1):
            for group in optimizer.param_groups:
                group["lr"] = options.rate * _rate_factor(step, len(plan))
            loss = self._backward([rows[n] for n in batch])
            torch.nn.utils.clip_grad_norm_(self._learning, _CLIP)
            optimizer.step()
            optimizer.zero_grad()
            epoch_ended, stops = step % per_epoch == 0, stopped()
            dev_loss = self._mean_loss(held_out) if epoch_ended and held_out else None
            self.curve.append(TrainingStep(step, len(plan), loss, dev_loss))
            self.seconds = spent + time.monotonic() - start
            on_step(self.curve[-1])
            if epoch_ended or stops or time.monotonic() - saved > _CHECKPOINT_SECONDS:
                self._save(folder, step, optimizer)
                saved = time.monotonic()
            if stops:
                return step == len(plan)
        return True

    def likelihoods(self, turns: Sequence[Turn], *, finetuned: bool) -> list[float]:
        """Return the geometric mean of the token probabilities of each completion, with or without the adapter."""
        import torch

        self.model.eval()
        with torch.no_grad(), nullcontext() if finetuned else self.model.disable_adapter():
            return [math.exp(-self._loss([self._row(turn)]).item()) for turn in turns]

    def _backward(self, rows: Sequence[_Row]) -> float:
        """Accumulate the gradient of the loss per target token, a few rows at a time, and return the loss."""
        tokens = [len(row.tokens) - row.target for row in rows]
        total = 0.0
        for part in _parts(rows):
            share = sum(tokens[n] for n in part) / sum(tokens)
            loss = self._loss([rows[n] for n in part]) * share
            loss.backward()
            total += loss.item()
        return total

    def _mean_loss(self, rows: Sequence[_Row]) -> float:
        import torch

        total, count = 0.0, 0
        self.model.eval()
        with torch.no_grad():
            for batch in _by_length(rows, self.options.batch):
                chosen = [rows[n] for n in batch]
                tokens = sum(len(row.tokens) - row.target for row in chosen)
                total += self._loss(chosen).item() * tokens
                count += tokens
        self.model.train()
        return total / count

    def _row(self, turn: Turn) -> _Row:
        chat = self.tokenizer.apply_chat_template(list(turn.messages), tokenize=False, add_generation_prompt=True)
        prompt = self.tokenizer(chat, add_special_tokens=False)["input_ids"]
        completion = self.tokenizer(turn.completion, add_special_tokens=False)["input_ids"]
        return _Row([*prompt, *completion, self.tokenizer.eos_token_id], len(prompt))

    def _loss(self, rows: Sequence[_Row]) -> Any:
        import torch

        length = max(_padded(row) for row in rows)
        tokens = torch.zeros((len(rows), length), dtype=torch.long)
        mask = torch.zeros_like(tokens)
        targets = torch.zeros_like(tokens, dtype=torch.bool)
        for n, row in enumerate(rows):
            tokens[n, : len(row.tokens)] = torch.tensor(row.tokens)
            mask[n, : len(row.tokens)] = 1
            targets[n, row.target : len(row.tokens)] = True
        base = self.model.get_base_model()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = base.model(input_ids=tokens, attention_mask=mask).last_hidden_state
            logits = base.lm_head(hidden[:, :-1][targets[:, 1:]])
        return torch.nn.functional.cross_entropy(logits.float(), tokens[:, 1:][targets[:, 1:]])

    def _save(self, folder: Path, step: int, optimizer: Any) -> None:
        import torch

        folder.mkdir(parents=True, exist_ok=True)
        state = {
            "step": step,
            "asked": self._fingerprint,
            "learned": self._learning,
            "optimizer": optimizer.state_dict(),
            "curve": [tuple(entry) for entry in self.curve],
            "seconds": self.seconds,
        }
        partial = folder / f"{_CHECKPOINT}.part"
        torch.save(state, partial)
        partial.replace(folder / _CHECKPOINT)

    def _resume(self, folder: Path, optimizer: Any) -> int:
        """Load the checkpoint of the same training, if any, and return the number of finished steps."""
        import torch

        path = folder / _CHECKPOINT
        if not path.exists():
            return 0
        state = torch.load(path, weights_only=True)
        if state["asked"] != self._fingerprint:
            return 0
        self._restore(state["learned"])
        optimizer.load_state_dict(state["optimizer"])
        self.curve = [TrainingStep(*entry) for entry in state["curve"]]
        self.seconds = float(state["seconds"])
        return int(state["step"])

    def _restore(self, learned: Sequence[Any]) -> None:
        import torch

        with torch.no_grad():
            for weight, saved in zip(self._learning, learned, strict=True):
                weight.copy_(saved)

    @property
    def _fingerprint(self) -> str:
        inputs = {**self.options.model_dump(), "rows": self._rows_sha256, "weights": self._weights_sha256}
        return json.dumps(inputs, sort_keys=True)


def _sha256_of(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digest(turns: Sequence[Turn]) -> str:
    text = json.dumps([[list(turn.messages), turn.completion] for turn in turns], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _padded(row: _Row) -> int:
    """Return the padded length of a row."""
    return math.ceil(len(row.tokens) / _PADDED) * _PADDED


def _parts(rows: Sequence[_Row]) -> Iterator[list[int]]:
    """Yield the indices of rows that are processed together."""
    part: list[int] = []
    for n in sorted(range(len(rows)), key=lambda n: _padded(rows[n])):
        if part and (len(part) + 1) * _padded(rows[n]) > _AT_ONCE:
            yield part
            part = []
        part.append(n)
    yield part


def _rate_factor(step: int, steps: int) -> float:
    """Return the learning rate at a step as a share of the highest one."""
    warm = max(1, round(steps * _WARM_UP))
    if step <= warm:
        return step / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm + 1)))


def _batches(rows: Sequence[_Row], options: TrainingOptions, epoch: int) -> Iterator[list[int]]:
    """Yield the row indices of each batch; batches have similar lengths and come in random order."""
    rng = random.Random(f"{options.seed}/{epoch}")
    batches = list(_by_length(rows, options.batch, rng))
    rng.shuffle(batches)
    yield from batches


def _by_length(rows: Sequence[_Row], size: int, rng: random.Random | None = None) -> Iterator[list[int]]:
    order = list(range(len(rows)))
    if rng is not None:
        rng.shuffle(order)
    order.sort(key=lambda n: _padded(rows[n]))
    yield from (order[start : start + size] for start in range(0, len(order), size))
