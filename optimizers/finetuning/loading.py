"""Loading the weights of a GGUF file into torch, with an adapter beside them."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

from optimizers.finetuning.base import TrainingOptions

_MODULES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def load_tokenizer(weights: Path) -> Any:
    """Return the tokenizer of a GGUF file, with its chat template."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)


def load_base(weights: Path) -> Any:
    """Return the model of a GGUF file, its weights dequantised to bfloat16."""
    import torch
    from transformers import AutoModelForCausalLM, GgufConfig

    return AutoModelForCausalLM.from_pretrained(
        weights.parent,
        gguf_file=weights.name,
        dtype=torch.bfloat16,
        quantization_config=GgufConfig(dequantize=True),
    )


def with_adapter(base: Any, options: TrainingOptions) -> Any:
    """Return a model with an untrained adapter beside the linear layers of its upper part."""
    from peft import LoraConfig, get_peft_model

    layers = base.config.num_hidden_layers
    config = LoraConfig(
        r=options.rank,
        lora_alpha=options.alpha,
        target_modules=list(_MODULES),
        layers_to_transform=list(range(layers - round(layers * options.layers), layers)),
        task_type="CAUSAL_LM",
    )
    return get_peft_model(base, config)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the libraries' bars and warnings to themselves; what is loaded is said by whoever asked for it."""
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
