"""Training weights for a step of a local model: a low-rank adapter (LoRA, Hu et al. 2021) as a GGUF
file.

Needs the extra ``groundset[finetune]``. llama.cpp loads a GGUF file of type ``adapter`` together
with the base model: for each weight ``W`` the tensors ``W.lora_a`` (rank, in) and ``W.lora_b``
(out, rank), and ``adapter.lora.alpha``.
"""

import io
import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stderr
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import dspy
import numpy as np
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    GgufConfig,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

from groundset.programs.adapter import PLAIN_TEXT
from groundset.programs.errors import CompileError, InputError
from groundset.programs.guided import Sound

_PADDED = 32  # tokens; with arbitrary lengths memory kept growing
# Rows in one pass, if a GPU is there. In main memory it is one: 2048 tokens take 16 GB with a 1.5B
# model, and 3072 took 24.
_AT_ONCE = 8
_WARM_UP = 0.05  # of the steps
_UNASKED = -100  # the label of a token that is no target
_LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
# Architectures whose query and key rows llama.cpp permutes for its rotary embedding.
_INTERLEAVED = ("llama",)


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
    """A trained adapter and the predictor that uses it, without demos, with the likelihood of each
    measured row before and after.
    """

    file: Path
    predictor: dspy.Predict
    before: list[float]
    after: list[float]


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
    predictor: dspy.Predict,  # as it is served
    trainset: Sequence[dspy.Example],
    measured: Sequence[dspy.Example],  # held-out rows
    folder: Path,  # for checkpoints and ``adapter.gguf``
    options: Training,
    # Gets step, steps and loss in nats per token.
    progress: Callable[[int, int, float], object] = lambda *_: None,
) -> Trained:
    """Train an adapter for a base model, and measure it by the geometric mean of the completions'
    token probabilities.

    Every step is saved in ``folder``, which is empty or that of the same training: after Ctrl-C the
    same call continues from there.

    Raises:
        InputError: the extra ``finetune`` is missing, or a layer of the model has no name in GGUF.
    """
    if any(find_spec(name) is None for name in ("accelerate", "peft", "gguf")):
        raise InputError(
            '--optimizer finetune needs more packages; run `pip install "groundset[finetune]"`'
        )
    bare = predictor.deepcopy()
    bare.demos, bare.config = [], {**bare.config, "adapter": predictor.name}
    trainer = _Adapting(weights, options, folder / "checkpoints")
    before = trainer.likelihoods(turns_of(predictor, measured, demos=True), finetuned=False)
    trainer.learn(turns_of(bare, trainset), progress)
    file = folder / "adapter.gguf"
    _write_adapter(trainer.model, trainer.architecture, file, weights.stem)
    after = trainer.likelihoods(turns_of(bare, measured), finetuned=True)
    return Trained(file, bare, before, after)


class _Adapting(Trainer):
    """Trains the adapter of a model that is dequantised to bfloat16; the output layer is computed
    for the tokens of the completions only.
    """

    def __init__(self, weights: Path, options: Training, checkpoints: Path) -> None:
        from gguf import GGUFReader

        self.architecture = str(GGUFReader(weights).fields["general.architecture"].contents())
        set_seed(options.seed)  # of the initial weights
        self._tokenizer, model = _load(weights, options)
        has_gpu = torch.cuda.is_available()
        at_once = min(options.batch, _AT_ONCE) if has_gpu else 1
        arguments = TrainingArguments(
            output_dir=str(checkpoints),
            num_train_epochs=options.epochs,
            learning_rate=options.rate,
            # Plain "cosine" learns nothing in its first step, which is one of a few.
            lr_scheduler_type="cosine_warmup_with_min_lr",
            lr_scheduler_kwargs={"min_lr_rate": 0.0},
            warmup_steps=_WARM_UP,
            per_device_train_batch_size=at_once,
            gradient_accumulation_steps=options.batch // at_once,
            logging_steps=1,
            logging_nan_inf_filter=False,
            save_steps=1,
            save_total_limit=1,
            seed=options.seed,
            use_cpu=not has_gpu,
            remove_unused_columns=False,
            disable_tqdm=True,
        )
        super().__init__(
            model, arguments, DataCollatorForSeq2Seq(self._tokenizer, pad_to_multiple_of=_PADDED)
        )
        self.remove_callback(PrinterCallback)

    def learn(self, turns: Sequence[Turn], progress: Callable[[int, int, float], object]) -> None:
        """Train on turns, from the last step that was saved whole."""
        self.train_dataset = [self._row(turn) for turn in turns]
        self.add_callback(_Steps(progress))
        states = Path(self.args.output_dir).glob("checkpoint-*/trainer_state.json")
        last = max(states, key=lambda state: state.stat().st_mtime_ns, default=None)
        self.train(resume_from_checkpoint=last and str(last.parent))

    def likelihoods(self, turns: Sequence[Turn], *, finetuned: bool) -> list[float]:
        """Return the geometric mean of the token probabilities of each completion, with or without
        the adapter.
        """
        self.model.eval()
        likelihoods = []
        with torch.no_grad(), nullcontext() if finetuned else self.model.disable_adapter():
            for turn in turns:
                row = self.data_collator([self._row(turn)]).to(self.args.device)
                likelihoods.append(math.exp(-self._losses(row).mean().item()))
        return likelihoods

    def compute_loss(
        self,
        model: Any,  # noqa: ARG002 - the one that is trained
        inputs: Any,
        return_outputs: bool = False,  # noqa: ARG002 - there are none
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the part of some rows in the loss per token of a step."""
        return self._losses(inputs).sum() / num_items_in_batch

    def _row(self, turn: Turn) -> dict[str, list[int]]:
        chat = self._tokenizer.apply_chat_template(
            list(turn.messages), tokenize=False, add_generation_prompt=True
        )
        prompt = self._tokenizer(chat, add_special_tokens=False)["input_ids"]
        completion = self._tokenizer(turn.completion, add_special_tokens=False)["input_ids"]
        wanted = [*completion, self._tokenizer.eos_token_id]
        return {"input_ids": prompt + wanted, "labels": [_UNASKED] * len(prompt) + wanted}

    def _losses(self, rows: Any) -> Any:
        """Return the loss of each token of the completions."""
        base, labels = self.model.get_base_model(), rows["labels"][:, 1:]
        asked = labels != _UNASKED
        with torch.autocast(self.args.device.type, dtype=torch.bfloat16):
            hidden = base.model(
                input_ids=rows["input_ids"], attention_mask=rows["attention_mask"]
            ).last_hidden_state
            logits = base.lm_head(hidden[:, :-1][asked])
        return torch.nn.functional.cross_entropy(logits.float(), labels[asked], reduction="none")


class _Steps(TrainerCallback):
    """Tells of each step when it is saved."""

    def __init__(self, progress: Callable[[int, int, float], object]) -> None:
        self._progress = progress

    def on_save(self, _args: Any, state: Any, *_: Any, **__: Any) -> None:
        loss = state.log_history[-1]["loss"]
        if not math.isfinite(loss):
            raise CompileError(
                f"the loss is no number at step {state.global_step}; the training was given up"
            )
        self._progress(state.global_step, state.max_steps, loss)


def _load(weights: Path, options: Training) -> tuple[Any, Any]:
    """Return the tokenizer and the model of a GGUF file, with an untrained adapter on the upper
    layers.
    """
    from peft import LoraConfig, get_peft_model

    with warnings.catch_warnings(action="ignore"), redirect_stderr(io.StringIO()):
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
        base.name_or_path = ""  # else PEFT asks the Hub for it whenever weights are saved
        layers = base.config.num_hidden_layers
        trained = list(range(layers - round(layers * options.layers), layers))
        config = LoraConfig(
            r=options.rank,
            lora_alpha=options.alpha,
            target_modules=list(_LAYERS),
            layers_to_transform=trained,
            task_type="CAUSAL_LM",
        )
        return tokenizer, get_peft_model(base, config)


def _write_adapter(model: Any, architecture: str, path: Path, name: str) -> None:
    """Write the adapter of a ``peft`` model in half precision."""
    import gguf
    from peft import get_peft_model_state_dict

    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type("adapter")
    writer.add_name(name)
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(model.peft_config["default"].lora_alpha))
    kind = next(kind for kind, known in gguf.MODEL_ARCH_NAMES.items() if known == architecture)
    names = gguf.get_tensor_name_map(kind, model.config.num_hidden_layers)
    for key, factor in get_peft_model_state_dict(model).items():
        module, _, side = key.removeprefix("base_model.model.").partition(".lora_")
        values, tensor = factor.float().cpu().numpy(), names.get_name(module)
        if tensor is None:
            raise InputError(f"{module}: this layer of the adapter has no name in GGUF")
        if side[0] == "B" and architecture in _INTERLEAVED:
            values = _permuted(values, tensor, model.config)
        writer.add_tensor(f"{tensor}.weight.lora_{side[0].lower()}", values.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _permuted(values: Any, tensor: str, config: Any) -> Any:
    """Return the rows of queries and keys in the order that llama.cpp expects."""
    counts = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    heads = counts.get(tensor.rpartition(".")[2])
    if heads is None:
        return values
    rows, rank = values.shape
    return values.reshape(heads, 2, rows // heads // 2, rank).swapaxes(1, 2).reshape(rows, rank)
