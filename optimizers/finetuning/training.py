"""Training an adapter: the base model's weights as they are in its GGUF file, and two small factors beside each.

Needs the extra ``groundset[finetune]``. A process that is killed goes on from its latest checkpoint.
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

_PADDED = 32  # tokens; freely varying lengths made memory grow without end
_AT_ONCE = 2048  # padded tokens in one pass: 16 GB with 1.5 billion weights, 24 GB with half as many tokens again
_CHECKPOINT_SECONDS = 180
_WARM_UP = 0.05  # of the steps
_CLIP = 1.0  # the longest gradient
_CHECKPOINT = "checkpoint.pt"


class _Row(NamedTuple):
    tokens: list[int]
    target: int  # where the completion begins


class Trainer:
    """One model in torch with an adapter that learns.

    Attributes:
        architecture: what the GGUF file calls the kind of model that it holds.
        model: the base model with the adapter, a ``peft`` model.
        tokenizer: that of the GGUF file, with its chat template.
        curve: the steps of the training, those before it was ended and gone on with too.
        seconds: what they took.
    """

    def __init__(self, weights: Path, options: TrainingOptions) -> None:
        """Load the weights of a GGUF file, dequantised to bfloat16, and put an untrained adapter beside them."""
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
        """Train on rows, and return whether training reached its end.

        ``folder`` keeps the checkpoint that the same call goes on from.

        The loss is the cross entropy of the completion's tokens alone; the output layer is worked out only there.
        """
        import torch

        self._learns_from, self._weights_sha256 = _digest(turns), _sha256_of(self._weights)
        self.curve: list[TrainingStep] = []
        self.seconds = 0.0
        options, rows = self.options, [self._row(turn) for turn in turns]
        held_out = [self._row(turn) for turn in dev]
        plan = [batch for epoch in range(options.epochs) for batch in _batches(rows, options, epoch)]
        optimizer = torch.optim.AdamW(self._learning, lr=options.rate, weight_decay=0.0)
        done = self._resume(folder, optimizer)
        per_epoch, spent = len(plan) // options.epochs, self.seconds
        begun = saved = time.monotonic()
        self.model.train()
        for step, batch in enumerate(plan[done:], done + 1):
            for group in optimizer.param_groups:
                group["lr"] = options.rate * _share(step, len(plan))
            loss = self._learn([rows[place] for place in batch])
            torch.nn.utils.clip_grad_norm_(self._learning, _CLIP)
            optimizer.step()
            optimizer.zero_grad()
            ended, stops = step % per_epoch == 0, stopped()
            self.curve.append(
                TrainingStep(step, len(plan), loss, self._loss_of(held_out) if ended and held_out else None)
            )
            self.seconds = spent + time.monotonic() - begun
            on_step(self.curve[-1])
            if ended or stops or time.monotonic() - saved > _CHECKPOINT_SECONDS:
                self._save(folder, step, optimizer)
                saved = time.monotonic()
            if stops:
                return step == len(plan)
        return True

    def likelihoods(self, turns: Sequence[Turn], *, taught: bool) -> list[float]:
        """Return for each turn the geometric mean of the probabilities of its completion's tokens.

        ``taught`` says whether the adapter takes part.
        """
        import torch

        self.model.eval()
        with torch.no_grad(), nullcontext() if taught else self.model.disable_adapter():
            return [math.exp(-self._loss([self._row(turn)]).item()) for turn in turns]

    def _learn(self, rows: Sequence[_Row]) -> float:
        """Add the gradient of the mean loss of a target token of rows, and return that loss.

        Rows go through the model a few at a time, which bounds the memory and gives the same gradient.
        """
        tokens = [len(row.tokens) - row.target for row in rows]
        total = 0.0
        for part in _parts(rows):
            share = sum(tokens[place] for place in part) / sum(tokens)
            loss = self._loss([rows[place] for place in part]) * share
            loss.backward()
            total += loss.item()
        return total

    def _loss_of(self, rows: Sequence[_Row]) -> float:
        import torch

        total, count = 0.0, 0
        self.model.eval()
        with torch.no_grad():
            for batch in _by_length(rows, self.options.batch):
                chosen = [rows[place] for place in batch]
                tokens = sum(len(row.tokens) - row.target for row in chosen)
                total += self._loss(chosen).item() * tokens
                count += tokens
        self.model.train()
        return total / count

    def _row(self, turn: Turn) -> _Row:
        asked = self.tokenizer.apply_chat_template(list(turn.messages), tokenize=False, add_generation_prompt=True)
        prompt = self.tokenizer(asked, add_special_tokens=False)["input_ids"]
        completion = self.tokenizer(turn.completion, add_special_tokens=False)["input_ids"]
        return _Row([*prompt, *completion, self.tokenizer.eos_token_id], len(prompt))

    def _loss(self, rows: Sequence[_Row]) -> Any:
        import torch

        length = max(_padded(row) for row in rows)
        tokens = torch.zeros((len(rows), length), dtype=torch.long)
        mask = torch.zeros_like(tokens)
        wanted = torch.zeros_like(tokens, dtype=torch.bool)
        for place, row in enumerate(rows):
            tokens[place, : len(row.tokens)] = torch.tensor(row.tokens)
            mask[place, : len(row.tokens)] = 1
            wanted[place, row.target : len(row.tokens)] = True
        base = self.model.get_base_model()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = base.model(input_ids=tokens, attention_mask=mask).last_hidden_state
            logits = base.lm_head(hidden[:, :-1][wanted[:, 1:]])
        return torch.nn.functional.cross_entropy(logits.float(), tokens[:, 1:][wanted[:, 1:]])

    def _save(self, folder: Path, step: int, optimizer: Any) -> None:
        import torch

        folder.mkdir(parents=True, exist_ok=True)
        state = {
            "step": step,
            "asked": self._asked,
            "learned": self._learning,
            "optimizer": optimizer.state_dict(),
            "curve": [tuple(entry) for entry in self.curve],
            "seconds": self.seconds,
        }
        aside = folder / f"{_CHECKPOINT}.part"
        torch.save(state, aside)
        aside.replace(folder / _CHECKPOINT)

    def _resume(self, folder: Path, optimizer: Any) -> int:
        """Load the latest checkpoint of the same training, and return how many steps are done."""
        import torch

        path = folder / _CHECKPOINT
        if not path.exists():
            return 0
        state = torch.load(path, weights_only=True)
        if state["asked"] != self._asked:
            return 0
        self._take(state["learned"])
        optimizer.load_state_dict(state["optimizer"])
        self.curve = [TrainingStep(*entry) for entry in state["curve"]]
        self.seconds = float(state["seconds"])
        return int(state["step"])

    def _take(self, learned: Sequence[Any]) -> None:
        import torch

        with torch.no_grad():
            for mine, kept in zip(self._learning, learned, strict=True):
                mine.copy_(kept)

    @property
    def _asked(self) -> str:
        asked = {**self.options.model_dump(), "rows": self._learns_from, "weights": self._weights_sha256}
        return json.dumps(asked, sort_keys=True)


def _sha256_of(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _digest(turns: Sequence[Turn]) -> str:
    text = json.dumps([[list(turn.messages), turn.completion] for turn in turns], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _padded(row: _Row) -> int:
    """Return how many tokens a row has with its padding."""
    return math.ceil(len(row.tokens) / _PADDED) * _PADDED


def _parts(rows: Sequence[_Row]) -> Iterator[list[int]]:
    """Yield the places of rows that go through the model together."""
    part: list[int] = []
    for place in sorted(range(len(rows)), key=lambda place: _padded(rows[place])):
        if part and (len(part) + 1) * _padded(rows[place]) > _AT_ONCE:
            yield part
            part = []
        part.append(place)
    yield part


def _share(step: int, steps: int) -> float:
    """Return the share of the highest learning rate at a step."""
    warm = max(1, round(steps * _WARM_UP))
    if step <= warm:
        return step / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm + 1)))


def _batches(rows: Sequence[_Row], options: TrainingOptions, epoch: int) -> Iterator[list[int]]:
    """Yield the places of the rows of each batch, batches of like lengths in an order that the seed fixes."""
    chance = random.Random(f"{options.seed}/{epoch}")
    batches = list(_by_length(rows, options.batch, chance))
    chance.shuffle(batches)
    yield from batches


def _by_length(rows: Sequence[_Row], size: int, chance: random.Random | None = None) -> Iterator[list[int]]:
    order = list(range(len(rows)))
    if chance is not None:
        chance.shuffle(order)
    order.sort(key=lambda place: _padded(rows[place]))
    yield from (order[start : start + size] for start in range(0, len(order), size))
