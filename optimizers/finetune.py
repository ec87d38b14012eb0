"""Training weights for a step of a local model: a low-rank adapter (LoRA, Hu et al. 2021) as a GGUF
file.

Needs the extra ``groundset[finetune]``. llama.cpp loads a GGUF file of type ``adapter`` together
with the base model: for each weight ``W`` the tensors ``W.lora_a`` (rank, in) and ``W.lora_b``
(out, rank), and ``adapter.lora.alpha``.
"""

import hashlib
import io
import json
import math
import random
import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, redirect_stderr
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import dspy
import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from groundset.programs.adapter import PLAIN_TEXT
from groundset.programs.errors import CompileError, InputError
from groundset.programs.guided import Sound

_PADDED = 32  # tokens; with arbitrary lengths memory kept growing
# Padded tokens in one pass. In main memory, 2048 take 16 GB with a 1.5B model and 3072 took 24.
_AT_ONCE = {"cpu": 2048, "cuda": 16_384}
_CHECKPOINT, _CHECKPOINT_SECONDS = "checkpoint.pt", 180
_WARM_UP = 0.05  # of the steps
_CLIP = 1.0  # largest norm of a gradient
_NAMES = {
    **{f"self_attn.{name}_proj": f"attn_{name}" for name in "qkv"},
    "self_attn.o_proj": "attn_output",
    **{f"mlp.{name}_proj": f"ffn_{name}" for name in ("gate", "up", "down")},
}
_FACTOR = re.compile(r"layers\.(\d+)\.(\w+\.\w+)\.lora_(A|B)\.")
# Architectures whose query and key rows llama.cpp permutes for its rotary embedding.
_INTERLEAVED = {"llama": ("attn_q", "attn_k")}


@dataclass(frozen=True)
class Training:
    """How an adapter is trained; tuned on two cores with a 0.5B model."""

    rank: int = 12  # of the factors; their product is scaled by ``alpha / rank``
    alpha: int = 24
    # Of all that are trained, from the top: this share saves a third of the backward pass.
    layers: float = 2 / 3
    rate: float = 3e-4  # the highest, after a linear warm-up and before a cosine decay
    epochs: int = 1
    batch: int = 16  # rows of a step
    seed: int = 0  # of the initial weights and the order of the rows


class Turn(NamedTuple):
    """A row to train on: the chat of a call, and the completion that is wanted."""

    messages: Sequence[dict[str, str]]
    completion: str


class Trained(NamedTuple):
    """A trained adapter, with the likelihood of each measured row before and after."""

    file: Path
    before: list[float]
    after: list[float]
    losses: list[float]
    seconds: float


def turns_of(
    predictor: dspy.Predict, rows: Sequence[dspy.Example], *, demos: bool = False
) -> list[Turn]:
    """Return rows as the chats of a run; without the demos of the predictor unless ``demos``."""
    shown = [dict(demo) for demo in predictor.demos] if demos else []
    turns = []
    for row in rows:
        *before, _, completion, asked = PLAIN_TEXT.format(
            predictor.signature, [*shown, row.toDict()], row.inputs().toDict()
        )
        if getattr(predictor, "name", "") == "sound":  # it is served with a prompt of its own
            before = [{"role": "system", "content": predictor.signature.instructions}]
            asked = {"role": "user", "content": Sound().prompt(row)}
        turns.append(Turn([*before, asked], completion["content"]))
    return turns


def finetune(
    weights: Path,  # a GGUF file
    train: Sequence[Turn],
    # Held-out rows, each as it is served now and as the trained model sees it.
    measured: Sequence[tuple[Turn, Turn]],
    folder: Path,  # for the checkpoint and ``adapter.gguf``
    options: Training,
    # Gets step, steps and loss in nats per token.
    progress: Callable[[int, int, float], object] = lambda *_: None,
) -> Trained:
    """Train an adapter for a base model, and measure it by the geometric mean of the completions'
    token probabilities.

    Ctrl-C saves a checkpoint in ``folder``; the same call continues from it.

    Raises:
        InputError: the extra ``finetune`` is missing, or a layer of the model has no name in GGUF.
    """
    if any(find_spec(name) is None for name in ("peft", "gguf")):
        raise InputError(
            '--optimizer finetune needs more packages; run `pip install "groundset[finetune]"`'
        )
    trainer = _Trainer(weights, options)
    before = trainer.likelihoods([turn for turn, _ in measured], finetuned=False)
    trainer.train(train, folder, progress)
    file = folder / "adapter.gguf"
    _write_adapter(trainer.model, trainer.architecture, file, weights.stem)
    after = trainer.likelihoods([turn for _, turn in measured], finetuned=True)
    return Trained(file, before, after, trainer.losses, trainer.seconds)


class _Row(NamedTuple):
    tokens: list[int]
    target: int  # index of the first token of the completion

    @property
    def padded(self) -> int:
        return math.ceil(len(self.tokens) / _PADDED) * _PADDED


class _Trainer:
    """A torch model with a trainable adapter, dequantised to bfloat16."""

    def __init__(self, weights: Path, options: Training) -> None:
        from gguf import GGUFReader

        self._options, self._weights = options, weights
        self.architecture = str(GGUFReader(weights).fields["general.architecture"].contents())
        torch.manual_seed(options.seed)
        self._tokenizer, model = _load(weights, options)
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = model.to(self._device)
        self._learning = [weight for weight in self.model.parameters() if weight.requires_grad]
        for weight in self._learning:
            weight.data = weight.data.float()
        self.losses: list[float] = []
        self.seconds = 0.0

    def train(
        self, turns: Sequence[Turn], folder: Path, progress: Callable[[int, int, float], object]
    ) -> None:
        """Train on turns; the output layer is computed for the tokens of the completions only."""
        options, rows = self._options, [self._row(turn) for turn in turns]
        plan = [
            batch for epoch in range(options.epochs) for batch in _batches(rows, options, epoch)
        ]
        optimizer = torch.optim.AdamW(self._learning, lr=options.rate, weight_decay=0.0)
        with self._weights.open("rb") as stream:
            weights = hashlib.file_digest(stream, "sha256").hexdigest()
        wanted = hashlib.sha256(
            json.dumps([[list(turn.messages), turn.completion] for turn in turns]).encode()
        )
        asked = json.dumps([asdict(options), wanted.hexdigest(), weights], sort_keys=True)
        folder.mkdir(parents=True, exist_ok=True)
        self._resume(folder / _CHECKPOINT, asked, optimizer)
        spent, start = self.seconds, time.monotonic()
        saved = start
        self.model.train()
        try:
            for step, batch in enumerate(plan[len(self.losses) :], len(self.losses) + 1):
                for group in optimizer.param_groups:
                    group["lr"] = options.rate * _rate_factor(step, len(plan))
                if not math.isfinite(loss := self._backward([rows[number] for number in batch])):
                    raise CompileError(
                        f"the loss is no number at step {step}; the training was given up"
                    )
                torch.nn.utils.clip_grad_norm_(self._learning, _CLIP)
                optimizer.step()
                optimizer.zero_grad()
                self.losses.append(loss)
                self.seconds = spent + time.monotonic() - start
                progress(step, len(plan), loss)
                if time.monotonic() - saved > _CHECKPOINT_SECONDS or step == len(plan):
                    self._save(folder / _CHECKPOINT, asked, optimizer)
                    saved = time.monotonic()
        except KeyboardInterrupt:
            self._save(folder / _CHECKPOINT, asked, optimizer)
            raise

    def likelihoods(self, turns: Sequence[Turn], *, finetuned: bool) -> list[float]:
        """Return the geometric mean of the token probabilities of each completion, with or without
        the adapter.
        """
        self.model.eval()
        with torch.no_grad(), nullcontext() if finetuned else self.model.disable_adapter():
            return [math.exp(-self._loss([self._row(turn)]).item()) for turn in turns]

    def _backward(self, rows: Sequence[_Row]) -> float:
        """Accumulate the gradient of the loss per token of completions, a few rows at a time."""
        tokens = [len(row.tokens) - row.target for row in rows]
        total = 0.0
        for part in _parts(rows, _AT_ONCE[self._device]):
            loss = self._loss([rows[number] for number in part]) * (
                sum(tokens[number] for number in part) / sum(tokens)
            )
            loss.backward()
            total += loss.item()
        return total

    def _row(self, turn: Turn) -> _Row:
        chat = self._tokenizer.apply_chat_template(
            list(turn.messages), tokenize=False, add_generation_prompt=True
        )
        prompt = self._tokenizer(chat, add_special_tokens=False)["input_ids"]
        completion = self._tokenizer(turn.completion, add_special_tokens=False)["input_ids"]
        return _Row([*prompt, *completion, self._tokenizer.eos_token_id], len(prompt))

    def _loss(self, rows: Sequence[_Row]) -> Any:
        tokens = torch.zeros(
            (len(rows), max(row.padded for row in rows)), dtype=torch.long, device=self._device
        )
        mask, targets = torch.zeros_like(tokens), torch.zeros_like(tokens, dtype=torch.bool)
        for number, row in enumerate(rows):
            tokens[number, : len(row.tokens)] = torch.tensor(row.tokens, device=self._device)
            mask[number, : len(row.tokens)] = 1
            targets[number, row.target : len(row.tokens)] = True
        base = self.model.get_base_model()
        with torch.autocast(self._device, dtype=torch.bfloat16):
            hidden = base.model(input_ids=tokens, attention_mask=mask).last_hidden_state
            logits = base.lm_head(hidden[:, :-1][targets[:, 1:]])
        return torch.nn.functional.cross_entropy(logits.float(), tokens[:, 1:][targets[:, 1:]])

    def _save(self, file: Path, asked: str, optimizer: Any) -> None:
        state = {
            "asked": asked,
            "learned": self._learning,
            "optimizer": optimizer.state_dict(),
            "losses": self.losses,
            "seconds": self.seconds,
        }
        partial = file.with_suffix(".part")
        torch.save(state, partial)
        partial.replace(file)

    def _resume(self, file: Path, asked: str, optimizer: Any) -> None:
        """Load the checkpoint of the same training, if there is one."""
        if not file.exists():
            return
        state = torch.load(file, weights_only=True, map_location=self._device)
        if state["asked"] != asked:
            return
        with torch.no_grad():
            for weight, saved in zip(self._learning, state["learned"], strict=True):
                weight.copy_(saved)
        optimizer.load_state_dict(state["optimizer"])
        self.losses, self.seconds = state["losses"], state["seconds"]


def _load(weights: Path, options: Training) -> tuple[Any, Any]:
    """Return the tokenizer and the model of a GGUF file, with an untrained adapter on the upper
    layers.
    """
    from peft import LoraConfig, get_peft_model

    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        source = {
            "pretrained_model_name_or_path": weights.parent,
            "gguf_file": weights.name,
            "local_files_only": True,
        }
        tokenizer = AutoTokenizer.from_pretrained(**source)
        # On a GPU, fused attention made the loss of padded rows no number.
        plain = {"attn_implementation": "eager"} if torch.cuda.is_available() else {}
        base = AutoModelForCausalLM.from_pretrained(
            **source, **plain, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
        )
        modules, layers = [name.partition(".")[2] for name in _NAMES], base.config.num_hidden_layers
        trained = list(range(layers - round(layers * options.layers), layers))
        config = LoraConfig(
            r=options.rank,
            lora_alpha=options.alpha,
            target_modules=modules,
            layers_to_transform=trained,
            task_type="CAUSAL_LM",
        )
        return tokenizer, get_peft_model(base, config)


def _write_adapter(model: Any, architecture: str, path: Path, name: str) -> None:
    """Write the adapter of a ``peft`` model in half precision."""
    import gguf

    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type("adapter")
    writer.add_name(name)
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(model.peft_config["default"].lora_alpha))
    for key, factor in sorted(model.state_dict().items()):
        if "lora_" in key:
            tensor, values = _converted(
                key, factor.float().cpu().numpy(), architecture, model.config
            )
            writer.add_tensor(tensor, values.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _converted(name: str, factor: Any, architecture: str, config: Any) -> tuple[str, Any]:
    """Return a factor with the name and order of rows that llama.cpp expects."""
    match = _FACTOR.search(name)
    if match is None or match[2] not in _NAMES:
        raise InputError(f"{name}: this layer of the adapter has no name in GGUF")
    module = _NAMES[match[2]]
    if match[3] == "B" and module in _INTERLEAVED.get(architecture, ()):
        heads = config.num_attention_heads if module == "attn_q" else config.num_key_value_heads
        rows, rank = factor.shape
        factor = (
            factor.reshape(heads, 2, rows // heads // 2, rank).swapaxes(1, 2).reshape(rows, rank)
        )
    return f"blk.{match[1]}.{module}.weight.lora_{match[3].lower()}", factor


def _rate_factor(step: int, steps: int) -> float:
    """Return the learning rate at a step as a share of the highest one."""
    warm = max(1, round(steps * _WARM_UP))
    return (
        step / warm
        if step <= warm
        else 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm + 1)))
    )


def _parts(rows: Sequence[_Row], at_once: int) -> Iterator[list[int]]:
    """Yield the indices of rows that are processed together: at most ``at_once`` padded tokens."""
    part: list[int] = []
    for number in sorted(range(len(rows)), key=lambda number: rows[number].padded):
        if part and (len(part) + 1) * rows[number].padded > at_once:
            yield part
            part = []
        part.append(number)
    yield part


def _batches(rows: Sequence[_Row], options: Training, epoch: int) -> list[list[int]]:
    """Return the row indices of each batch, of similar lengths each, in random order."""
    chance = random.Random(f"{options.seed}/{epoch}")
    order = list(range(len(rows)))
    chance.shuffle(order)
    order.sort(key=lambda number: rows[number].padded)
    batches = [
        order[start : start + options.batch] for start in range(0, len(order), options.batch)
    ]
    chance.shuffle(batches)
    return batches
