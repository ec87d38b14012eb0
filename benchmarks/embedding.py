"""Measure ways to embed a corpus: speed, and whether questions still find their passages.

    python benchmarks/embedding.py [--questions 200] [--timed 96] [--rounds 7]

The corpus is all passages of data/labels/questions.jsonl, the questions a sample of the good ones. Speed is measured on
a sample of the passages, in rounds that alternate between the ways, so that other load affects all of them. Ratios
are relative to `encode` with one thread in the same round; their median is printed. The rows for ONNX need the package
onnx, because the ONNX backend of sentence-transformers needs optimum-onnx, which does not support transformers 5.
"""

import argparse
import importlib.util
import logging
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from groundset.data_files import data_path
from groundset.models.pull import pull
from groundset.processors import usable_processors
from groundset.retrieval.embedder import load_embedder
from groundset.stats import mcnemar
from optimizers.labels import QuestionLabel, read_labels

_MODEL = "all-minilm-l6-v2"
_BATCH = 16
_SEED = 0

Vectors = npt.NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--timed", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    passages, questions = read_questions(arguments.questions)
    with tempfile.TemporaryDirectory() as folder:
        ways = all_ways(Path(folder))
        timed = passages[:: max(1, len(passages) // arguments.timed)]
        seconds = measure(ways, timed, arguments.rounds)
        vectors = {name: encode(passages) for name, encode in ways.items()}
        ranks = {name: rank(encode, vectors[name], questions) for name, encode in ways.items()}
    print(f"{len(passages)} passages of {statistics.mean(map(len, passages)):.0f} characters on average,")
    print(f"{len(questions)} questions, {usable_processors()} cores\n")
    print_table(seconds, vectors, ranks, len(timed))


def read_questions(count: int) -> tuple[list[str], list[tuple[str, int]]]:
    """Return all passages, and good questions with the index of their passage."""
    labels = read_labels(QuestionLabel, [data_path("labels", "questions.jsonl")])
    passages = list(dict.fromkeys(label.passage for label in labels))
    good = [(label.question, passages.index(label.passage)) for label in labels if label.good]
    return passages, random.Random(_SEED).sample(good, min(count, len(good)))


def all_ways(folder: Path) -> dict[str, Encode]:
    """Return the ways to embed by name, the baseline first."""
    cores = usable_processors()
    one = load_embedder(_MODEL)
    many = load_embedder(_MODEL, threads=cores)
    ways: dict[str, Encode] = {
        "encode, 1 thread": one.encode,
        f"encode, {cores} threads": many.encode,
        "encode_corpus, 1 worker": lambda texts: one.encode_corpus(texts, workers=1),
        f"encode_corpus, {cores} workers": lambda texts: one.encode_corpus(texts, workers=cores),
    }
    if importlib.util.find_spec("onnx") is None:
        print("The package onnx is not installed: no rows for ONNX.")
        return ways
    for name, file in export(folder).items():
        for threads in (1, cores):
            ways[f"{name}, {threads} thread{'s' * (threads > 1)}"] = OnnxEncoder(file, threads).encode
    return ways


def export(folder: Path) -> dict[str, Path]:
    """Export the model to ONNX, in float32 and with dynamic int8 weights."""
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    class Hidden(torch.nn.Module):
        def __init__(self, transformer: Any) -> None:
            super().__init__()
            self.transformer = transformer

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    model = load_sentence_transformer()
    texts = model.preprocess(["A text.", "Another text, and a longer one."])
    full, quantized = folder / "model.onnx", folder / "model-int8.onnx"
    names = ["input_ids", "attention_mask"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter
        logging.disable(logging.WARNING)  # of the quantizer
        torch.onnx.export(
            Hidden(model[0].auto_model).eval(),
            tuple(texts[name] for name in names),
            str(full),
            dynamo=False,
            input_names=names,
            output_names=["hidden"],
            dynamic_axes={name: {0: "texts", 1: "tokens"} for name in (*names, "hidden")},
            opset_version=17,
        )
        quantize_dynamic(full, quantized, weight_type=QuantType.QInt8, per_channel=True)
    return {"ONNX float32": full, "ONNX int8": quantized}


def load_sentence_transformer() -> Any:
    """Load the model with sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(pull(_MODEL)), device="cpu", local_files_only=True)


class OnnxEncoder:
    """The model in ONNX Runtime; tokenizer and pooling are those of sentence-transformers."""

    def __init__(self, file: Path, threads: int) -> None:
        """Load a file that ``export`` wrote."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        self._model = load_sentence_transformer()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return a unit-length row for each text, computed in batches of similar length."""
        import torch

        vectors = np.zeros((len(texts), self._model.get_embedding_dimension()), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda index: -len(texts[index]))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            inputs = self._model.preprocess([texts[index] for index in batch])
            arrays = {name: inputs[name].numpy() for name in ("input_ids", "attention_mask")}
            pooled = {"token_embeddings": torch.from_numpy(self._session.run(None, arrays)[0]), **inputs}
            for module in list(self._model)[1:]:
                pooled = module(pooled)
            rows = pooled["sentence_embedding"].numpy()
            vectors[batch] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return vectors


def measure(ways: dict[str, Encode], texts: Sequence[str], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Return wall and processor seconds of each way in each round."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for encode in ways.values():
        encode(texts[:_BATCH])
    for _ in range(rounds):
        for name, encode in ways.items():
            wall, processor = time.perf_counter(), time.process_time()
            encode(texts)
            seconds[name].append((time.perf_counter() - wall, time.process_time() - processor))
    return seconds


def rank(encode: Encode, passages: Vectors, questions: Sequence[tuple[str, int]]) -> npt.NDArray[np.intp]:
    """Return the rank of each question's passage."""
    similarities = encode([question for question, _ in questions]) @ passages.T
    correct = similarities[np.arange(len(questions)), [index for _, index in questions]]
    ranks: npt.NDArray[np.intp] = 1 + (similarities > correct[:, None]).sum(axis=1)
    return ranks


def print_table(
    seconds: dict[str, list[tuple[float, float]]],
    vectors: dict[str, Vectors],
    ranks: dict[str, npt.NDArray[np.intp]],
    count: int,
) -> None:
    """Print one row for each way."""
    base = next(iter(seconds))
    print("| way | seconds for 1,000 | ratio | processor time | recall at 1 | at 5 | p | other ranks | cosine |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, rounds in seconds.items():
        ratios = [
            statistics.median(one[part] / other[part] for one, other in zip(rounds, seconds[base], strict=True))
            for part in (0, 1)
        ]
        own, baseline = ranks[name], ranks[base]
        gains = (own == 1).astype(float) - (baseline == 1).astype(float)
        distance = 1 - float((vectors[name].astype(float) * vectors[base]).sum(axis=1).min())
        print(
            f"| {name} | {statistics.median(wall for wall, _ in rounds) * 1000 / count:.1f} "
            f"| {ratios[0]:.2f} | {ratios[1]:.2f} | {(own == 1).mean():.3f} | {(own <= 5).mean():.3f} "
            f"| {mcnemar(gains):.2f} | {int((own != baseline).sum())} | 1 - {distance:.0e} |"
        )


if __name__ == "__main__":
    main()
