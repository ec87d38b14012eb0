"""Cross-encoders of a few kilobytes with random weights."""

from pathlib import Path
from typing import Any


def save_cross_encoder(folder: Path, *, scores: int = 1, words: tuple[str, ...] = ("ferry", "clock", "nine")) -> str:
    """Save a real cross-encoder with its tokenizer; return its folder."""
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import BertProcessing
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    vocabulary = {word: place for place, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", *words))}
    tokenizer: Any = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=32, **special).save_pretrained(str(folder))
    torch.manual_seed(0)
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = BertConfig(vocab_size=len(vocabulary), max_position_embeddings=32, num_labels=scores, **size)
    BertForSequenceClassification(config).save_pretrained(str(folder))
    return str(folder)
