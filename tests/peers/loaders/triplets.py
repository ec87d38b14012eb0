"""Train a small model of words on triplets for an epoch with sentence-transformers."""

import json
import math
import sys
from pathlib import Path

from datasets import load_dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.losses import MultipleNegativesRankingLoss
from sentence_transformers.models import StaticEmbedding
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

files = {file.stem: str(file) for file in Path(sys.argv[1]).glob("*.jsonl")}
splits = load_dataset("json", data_files=files)
words = {word for row in splits["train"] for text in row.values() for word in text.split()}
tokenizer = Tokenizer(
    WordLevel({word: number for number, word in enumerate(["?", *sorted(words)])}, unk_token="?")
)
tokenizer.pre_tokenizer = Whitespace()
model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=8)], device="cpu")
arguments = SentenceTransformerTrainingArguments(
    "model", num_train_epochs=1, report_to=[], save_strategy="no", use_cpu=True, disable_tqdm=True
)
trained = SentenceTransformerTrainer(
    model=model,
    args=arguments,
    train_dataset=splits["train"],
    loss=MultipleNegativesRankingLoss(model),
).train()
read = {
    "splits": {name: table.to_list() for name, table in splits.items()},
    "columns": splits["train"].column_names,
    "learned": math.isfinite(trained.training_loss) and trained.global_step > 0,
}
Path(sys.argv[2]).write_text(json.dumps(read))
