"""Measure the search of many vectors: exact, and approximate as groundset does it; on request also IVF and HNSW.

    python benchmarks/search_scale.py [--rows 10000 100000 1000000] [--queries 200] [--others]

Half of the rows are made from embeddings of the passages in data/labels/: mixtures of two with noise. The other half
are random directions, the hardest case: they have no near neighbours. Half of the queries are questions of
data/labels/, the others random rows with noise. Each index is measured in a process of its own, and all results are
compared in double precision as in a run:

- build: seconds of processor time until the first query, with hashes, the file and the measured recall of `pq4`;
- MiB: peak memory beyond that of the process with the rows (Linux only);
- recall: the share of the exact 10 or 50 nearest rows that are found, for questions and random rows;
- ms: processor time of one query, one at a time and all at once; wall: the same in wall-clock time.
"""

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from groundset.data_files import data_path
from groundset.processors import usable_processors
from groundset.retrieval.embedder import load_embedder
from groundset.retrieval.stores import open_store
from groundset.retrieval.stores.base import Recall, VectorStore
from optimizers.labels import QuestionLabel, read_labels

_OTHERS = {"ivf": ("IVF1024,SQ8", "nprobe", 64), "hnsw": ("HNSW32,SQ8", "efSearch", 256)}
_SINGLE = 10  # queries that are timed one at a time
_DEPTH = 50
_NOISE = 0.75
_BATCH = 50_000

Vectors = npt.NDArray[np.float32]
Indexes = npt.NDArray[np.int64]


class Figures(NamedTuple):
    """The figures of one index, and the rows that it finds for each query."""

    build: float
    memory: float
    single: float
    single_wall: float
    batched: float
    found: Indexes


class OtherBackend:
    """An index of FAISS in memory."""

    recall = Recall(0.0, 0)

    def __init__(self, name: str, rows: Vectors) -> None:
        import faiss

        self.index, parameter, value = _OTHERS[name]
        self._index: Any = faiss.index_factory(rows.shape[1], self.index, faiss.METRIC_INNER_PRODUCT)
        if not self._index.is_trained:
            self._index.train(rows[:: max(1, len(rows) // 50_000)])
        self._index.add(rows)
        setattr(getattr(self._index, "hnsw", self._index), parameter, value)

    def propose(self, vectors: Vectors, limit: int) -> Indexes:
        """Return the nearest rows; the first row stands for those that are missing."""
        found: Indexes = np.maximum(self._index.search(vectors, limit)[1], 0)
        return found

    def close(self) -> None:
        """Free the index."""
        self._index.reset()


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--others", action="store_true")
    arguments = parser.parse_args()
    passages, questions = embed(arguments.queries // 2)
    names = ["flat", "pq4", *(_OTHERS if arguments.others else ())]
    print(f"{usable_processors()} cores, {len(passages)} passages, {arguments.queries} queries\n")
    print("| rows | index | build | MiB | recall at 10: questions, random | at 50 | ms single, wall | ms batched |")
    print("|---|---|---|---|---|---|---|---|")
    for count in arguments.rows:
        exact = None
        for name in names:
            figures = in_process(measure, name, count, passages, questions, arguments.queries)
            exact = figures.found if exact is None else exact
            print(f"| {count:,} | {name} | {row(figures, exact, len(questions))} |", flush=True)


def embed(questions: int) -> tuple[Vectors, Vectors]:
    """Return the embeddings of all passages and of some questions of data/labels/."""
    labels = read_labels(QuestionLabel, [data_path("labels", "questions.jsonl")])
    embedder = load_embedder("all-minilm-l6-v2")
    passages = list(dict.fromkeys(label.passage for label in labels))
    good = list(dict.fromkeys(label.question for label in labels if label.good))
    return embedder.encode(passages), embedder.encode(good[:: max(1, len(good) // questions)][:questions])


def make_rows(count: int, passages: Vectors) -> Vectors:
    """Return unit-length rows, those of even numbers like passages."""
    generator = np.random.default_rng(0)
    rows = np.empty((count, passages.shape[1]), dtype=np.float32)
    for start in range(0, count, _BATCH):
        part = rows[start : start + _BATCH]
        part[:] = unit(generator.standard_normal(part.shape, dtype=np.float32))
        real = part[::2]
        one, other = generator.integers(len(passages), size=(2, len(real)))
        weight = 0.4 * generator.random((len(real), 1), dtype=np.float32)
        real[:] = unit((1 - weight) * passages[one] + weight * passages[other] + 0.3 * real)
    return rows


def unit(rows: Vectors) -> Vectors:
    """Return the rows with unit length."""
    scaled: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled


def measure(name: str, count: int, passages: Vectors, questions: Vectors, queries: int) -> Figures:
    """Build one index and search it."""
    rows = make_rows(count, passages)
    generator = np.random.default_rng(1)
    chosen = rows[1 + 2 * generator.choice(count // 2, queries - len(questions), replace=False)]
    noise = unit(generator.standard_normal(chosen.shape, dtype=np.float32))
    asked = np.concatenate([questions, unit(chosen + _NOISE * noise)])
    before = reset_peak()
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        store = opened(name, rows, Path(folder, "search.index"))
        build = time.process_time() - started
        times = []
        for query in asked[:: queries // _SINGLE]:
            started, wall = time.process_time(), time.perf_counter()
            store.search(query[None], _DEPTH)
            times.append((time.process_time() - started, time.perf_counter() - wall))
        started = time.process_time()
        found = store.search(asked, _DEPTH).indexes
        batched = time.process_time() - started
        memory = status("VmHWM") - before
        store.close()
    single, wall = (1000 * float(value) for value in np.median(times, axis=0))
    return Figures(build, memory, single, wall, 1000 * batched / queries, found)


def opened(name: str, rows: Vectors, file: Path) -> VectorStore:
    """Open a store with one kind of index."""
    ids = [str(number) for number in range(len(rows))]
    if name in _OTHERS:
        return VectorStore(ids, rows, OtherBackend(name, rows))
    return open_store("faiss", ids, rows, index_file=file if name == "pq4" else None, exact_rows=0)


def reset_peak() -> float:
    """Reset the peak memory of this process, and return its memory in MiB."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return status("VmRSS")


def status(name: str) -> float:
    """Return a figure of this process's memory in MiB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def in_process(work: Callable[..., Figures], *arguments: object) -> Figures:
    """Call a function in a process of its own, which ends afterwards."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def row(figures: Figures, exact: Indexes, questions: int) -> str:
    """Return the cells of a row of the table."""
    cells = [f"{figures.build:.1f} s", f"{figures.memory:.0f}"]
    for depth in (10, _DEPTH):
        pairs = zip(figures.found[:, :depth].tolist(), exact[:, :depth].tolist(), strict=True)
        shares = [len({*one} & {*other}) / depth for one, other in pairs]
        cells.append(f"{np.mean(shares[:questions]):.3f}, {np.mean(shares[questions:]):.3f}")
    return " | ".join([*cells, f"{figures.single:.1f}, {figures.single_wall:.1f}", f"{figures.batched:.2f}"])


if __name__ == "__main__":
    main()
