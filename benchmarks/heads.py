"""Compare kinds of heads, fitted to train rows of data/labels/ and measured on dev rows; each is logged to MLflow.

    python benchmarks/heads.py [--steps chunk,judge] [--variants NAME,...]

Prints one row of a Markdown table for each step and variant: area under the ROC curve on dev rows, and the paired gain
over the shipped head. The variant `encoder` trains a neural network for some minutes.
"""

import argparse
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from groundset.compiling.labels import label_files
from groundset.models.pull import pull
from groundset.retrieval.embedder import load_embedder
from groundset.tracking.compiles import CompileStore
from optimizers.fit_critic import rows_of
from optimizers.gold import read_decided
from optimizers.labels import ChunkLabel, Label, splits_of
from optimizers.logistic import FitOptions, Rows, fit_head, probabilities
from optimizers.measures import area_under_roc, bootstrap, paired_gain
from optimizers.steps import FITTED
from programs.critics import Encoder
from programs.languages import LANGUAGES
from programs.languages.table import Languages

_LANGUAGES = Languages(LANGUAGES)
_EMBEDDER = "all-minilm-l6-v2"
_SEED = 0
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """The labels of a split with their features."""

    labels: Sequence[Label]
    rows: Rows

    @property
    def good(self) -> list[bool]:
        """Return which rows are good."""
        return [label.good for label in self.labels]

    @property
    def matrix(self) -> npt.NDArray[np.float64]:
        """Return named features and embedding side by side."""
        named = np.array([list(features.values()) for features in self.rows.features])
        return np.hstack([named, self.rows.vectors])


@dataclass(frozen=True)
class Task:
    """The splits of a step, and an encoder for more texts."""

    step: str
    train: Split
    dev: Split
    encoder: Encoder


Variant = Callable[[Task], Scores]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", default="chunk,judge")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    arguments = parser.parse_args()
    encoder, store = load_embedder(_EMBEDDER), CompileStore.open()
    print("| step | variant | AUC on dev | gain over the shipped head |\n|---|---|---|---|", flush=True)
    for step in arguments.steps.split(","):
        kind = FITTED[step].labels
        splits: dict[Any, list[Any]] = splits_of(read_decided(kind, label_files((), kind)))
        train, dev = (
            Split(splits[name], rows_of(step, splits[name], encoder, _LANGUAGES)) for name in ("train", "dev")
        )
        task = Task(step, train, dev, encoder)
        shipped = list(VARIANTS["shipped"](task))
        for name in arguments.variants.split(","):
            if step == "chunk" and name == "swapped":
                continue  # chunks have no question
            scores = shipped if name == "shipped" else list(VARIANTS[name](task))
            auc = bootstrap(area_under_roc, dev.good, scores)
            gain = paired_gain(area_under_roc, dev.good, shipped, scores)
            parameters = {"variant": name, "train_rows": len(train.labels), "dev_rows": len(dev.labels), "seed": _SEED}
            store.log_figures(f"{step}-heads", name, parameters, {"dev": {"auc": auc, "gain": gain}})
            print(f"| {step} | {name} | {auc} | {gain} |", flush=True)


def _linear(options: FitOptions | None, task: Task) -> Scores:
    head = fit_head(task.train.rows, task.train.good, options or FITTED[task.step].options, _SEED)
    return np.array(probabilities(head, task.dev.rows))


def _embedding_alone(task: Task) -> Scores:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=1000, random_state=_SEED).fit(task.train.rows.vectors, task.train.good)
    return np.asarray(model.predict_proba(task.dev.rows.vectors)[:, 1])


def _trees(task: Task) -> Scores:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=150, learning_rate=0.05, max_leaf_nodes=8, random_state=_SEED)
    return np.asarray(model.fit(task.train.matrix, task.train.good).predict_proba(task.dev.matrix)[:, 1])


def _network(task: Task) -> Scores:
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    network = MLPClassifier((32,), alpha=1.0, max_iter=300, early_stopping=True, random_state=_SEED)
    return np.asarray(
        make_pipeline(StandardScaler(), network)
        .fit(task.train.matrix, task.train.good)
        .predict_proba(task.dev.matrix)[:, 1]
    )


def _swapped(task: Task) -> Scores:
    """Add good questions with another passage of their document, as bad rows."""
    passages: dict[str, set[str]] = defaultdict(set)
    for label in task.train.labels:
        passages[label.document].add(_texts(label)[-1])
    rng, added = random.Random(_SEED), []
    for label in task.train.labels:
        others = sorted(passages[label.document] - {_texts(label)[-1]})
        if label.good and others:
            swap = {"passage": rng.choice(others), "label": "bad", "reason": "unanswerable"}
            added.append(label.model_copy(update=swap))
    labels = [*task.train.labels, *added]
    return _linear(None, replace(task, train=Split(labels, rows_of(task.step, labels, task.encoder, _LANGUAGES))))


def _encoder(task: Task) -> Scores:
    """Fine-tune all weights of the embedding model with one output on top (three epochs)."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(_SEED)
    folder = str(pull(_EMBEDDER))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0.01)

    def logits(labels: Sequence[Label]) -> torch.Tensor:
        columns = zip(*map(_texts, labels), strict=True)
        batch = tokenizer(*map(list, columns), padding=True, truncation=True, max_length=128, return_tensors="pt")
        output: torch.Tensor = model(**batch).logits[:, 0]
        return output

    shuffled = list(task.train.labels)
    for epoch in range(3):
        model.train()
        random.Random(f"{_SEED}/{epoch}").shuffle(shuffled)
        for start in range(0, len(shuffled), 16):
            batch = shuffled[start : start + 16]
            target = torch.tensor([float(label.good) for label in batch])
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits(batch), target)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    model.eval()
    with torch.no_grad():
        parts = [logits(task.dev.labels[start : start + 16]) for start in range(0, len(task.dev.labels), 16)]
    return np.asarray(torch.sigmoid(torch.cat(parts)).numpy(), dtype=float)


def _texts(label: Label) -> list[str]:
    return [label.text] if isinstance(label, ChunkLabel) else [label.question, label.passage]


VARIANTS: Mapping[str, Variant] = {
    "shipped": partial(_linear, None),
    "surface": partial(_linear, FitOptions(embedding=False, shapes=0)),
    "surface and shapes": partial(_linear, FitOptions(embedding=False)),
    "all evidence": partial(_linear, FitOptions()),
    "embedding": _embedding_alone,
    "trees": _trees,
    "network": _network,
    "swapped": _swapped,
    "encoder": _encoder,
}


if __name__ == "__main__":
    main()
