"""Loading the weights of a GGUF file into torch with an adapter, and writing the adapter as a GGUF file.

llama.cpp loads GGUF files of type ``adapter`` together with the base model: two tensors for each weight ``W`` of the
base model, ``W.lora_a`` of shape (rank, in) and ``W.lora_b`` of shape (out, rank), and ``adapter.lora.alpha``.
"""

import io
import re
import warnings
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from optimizers.finetuning.base import TrainingOptions
from programs.errors import InputError

_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_FACTOR = re.compile(r"layers\.(\d+)\.(\w+\.\w+)\.lora_(A|B)\.")
# Architectures whose query and key rows llama.cpp permutes for its rotary embedding.
_INTERLEAVED = {"llama": ("attn_q", "attn_k")}

Matrix = npt.NDArray[np.float32]


def load_trainable(weights: Path, options: TrainingOptions) -> tuple[Any, Any]:
    """Return the tokenizer and the bfloat16 model of a GGUF file, with an untrained adapter on the upper layers.

    Progress bars and warnings of the libraries are suppressed.
    """
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        tokenizer = AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)
        base = AutoModelForCausalLM.from_pretrained(
            weights.parent,
            gguf_file=weights.name,
            dtype=torch.bfloat16,
            quantization_config=GgufConfig(dequantize=True),
        )
        layers = base.config.num_hidden_layers
        config = LoraConfig(
            r=options.rank,
            lora_alpha=options.alpha,
            target_modules=[name.partition(".")[2] for name in _NAMES],
            layers_to_transform=list(range(layers - round(layers * options.layers), layers)),
            task_type="CAUSAL_LM",
        )
        return tokenizer, get_peft_model(base, config)


def write_adapter(model: Any, architecture: str, path: Path, name: str) -> None:
    """Write the adapter of a ``peft`` model in half precision.

    Raises:
        InputError: a layer of the adapter has no GGUF name.
    """
    import gguf

    config = model.peft_config["default"]
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type("adapter")
    writer.add_name(name)
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(config.lora_alpha))
    for key, factor in sorted(model.state_dict().items()):
        if "lora_" in key:
            tensor, values = _converted(key, factor.float().numpy(), architecture, model.config)
            writer.add_tensor(tensor, values.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _converted(name: str, factor: Matrix, architecture: str, config: Any) -> tuple[str, Matrix]:
    """Return a factor with the name and order of rows that llama.cpp expects."""
    match = _FACTOR.search(name)
    if match is None or match[2] not in _NAMES:
        raise InputError(f"{name}: this layer of the adapter has no name in GGUF")
    module = _NAMES[match[2]]
    if match[3] == "B" and module in _INTERLEAVED.get(architecture, ()):
        heads = config.num_attention_heads if module == "attn_q" else config.num_key_value_heads
        rows, rank = factor.shape
        factor = factor.reshape(heads, 2, rows // heads // 2, rank).swapaxes(1, 2).reshape(rows, rank)
    return f"blk.{match[1]}.{module}.weight.lora_{match[3].lower()}", factor
