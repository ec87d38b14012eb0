"""Measure the run folder of a large corpus: size on disk, seconds and peak memory of writing and reading it.

    python benchmarks/run_folder.py [--chunks N …] [--folder FOLDER]

The corpus consists of random words and vectors of 384 numbers; analysed chunks are as long as those of real articles.
Each phase runs in a separate process, whose seconds and peak memory are printed as a row of a Markdown table.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from large_set import _document

from groundset.store.run_store import RunStore
from programs.types import Chunk, Context, Focus, StepRecord

_DIMENSION = 384
_READ, _EMBEDDED = 32, 256  # chunks in a batch of preparation
_FOCI = 6
_CHUNKS_PER_DOCUMENT = 50


def create(folder: Path, chunks: int) -> None:
    """Create a run with documents and chunks."""
    rng = np.random.default_rng(0)
    words = np.array(["".join(rng.choice(list("abcdefghilmnoprstuv"), size)) for size in rng.integers(2, 11, 4000)])
    made = [_document(number, words, rng) for number in range(chunks // _CHUNKS_PER_DOCUMENT)]
    documents = [document for document, _ in made]
    RunStore.create(folder, meta={}, documents=documents, chunks=[chunk for _, cut in made for chunk in cut]).close()


def store_columns(folder: Path) -> None:
    """Store analyses, vectors (in another order than that of the chunks) and scores in batches."""
    rng = np.random.default_rng(1)
    with RunStore.open(folder) as store:
        missing = store.chunks_missing("reading")
        chunks = len(missing)
        for start in range(0, chunks, _READ):
            batch = missing[start : start + _READ]
            store.store_column("reading", ((chunk.chunk_id, _reading(chunk)) for chunk in batch))
        ids = [missing[index].chunk_id for index in rng.permutation(chunks)]
        for start in range(0, chunks, _EMBEDDED):
            these = ids[start : start + _EMBEDDED]
            rows = rng.standard_normal((len(these), _DIMENSION), dtype=np.float32)
            store.store_column("vector", ((name, row.tobytes()) for name, row in zip(these, rows, strict=True)))
            score = StepRecord(step="chunk", probability=0.75, verdict="good").model_dump_json()
            store.store_column("score", [(name, score) for name in these])


def _reading(chunk: Chunk) -> str:
    words = chunk.text.split()
    foci = tuple(
        Focus(sentence=" ".join(words[start : start + 18]), answer=words[start], opening="What is", easy=True)
        for start in range(0, 18 * _FOCI, 18)
    )
    context = Context(chunk=chunk, passage=chunk.text, topic="Made up", language="en", parsed=True, foci=foci)
    return context.model_dump_json(exclude={"chunk", "score", "split"})


def read_contexts(folder: Path) -> object:
    """Open the run and return all analysed chunks."""
    with RunStore.open(folder) as store:
        return store.contexts()


def read_vectors(folder: Path) -> object:
    """Open the run for reading and return all vectors."""
    with RunStore.read(folder) as store:
        return store.vectors()


def read_texts(folder: Path) -> object:
    """Open the run for reading and return all chunks and documents."""
    with RunStore.read(folder) as store:
        return store.documents(), store.chunks()


def open_only(folder: Path) -> object:
    """Open the run for reading."""
    with RunStore.read(folder) as store:
        return store.corpus_size()


PHASES: dict[str, Callable[[Path], object]] = {
    phase.__name__: phase for phase in (store_columns, open_only, read_texts, read_vectors, read_contexts)
}


def _size(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the size of the database and of all other files."""
    files = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    database = sum(size for path, size in files.items() if path.name.startswith("run.sqlite"))
    yield "run.sqlite", database
    yield f"{len(files) - 2} other files", sum(files.values()) - database


def main() -> None:
    """Run the phases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--phase", help=argparse.SUPPRESS)
    options: Any = parser.parse_args()
    if options.phase:
        if options.phase == create.__name__:
            create(options.folder, options.chunks[0])
        else:
            PHASES[options.phase](options.folder)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
        return
    print("| chunks | phase | seconds | processor seconds | peak memory, MiB |\n|---|---|---|---|---|")
    for chunks in options.chunks:
        with tempfile.TemporaryDirectory(dir=options.folder) as place:
            folder = Path(place, "run")
            for name in (create.__name__, *PHASES):
                command = [sys.executable, __file__, "--phase", name, "--folder", str(folder), "--chunks", str(chunks)]
                started, before = time.monotonic(), _processor_seconds()
                done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE)
                times = f"{time.monotonic() - started:.1f} | {_processor_seconds() - before:.1f}"
                print(f"| {chunks:,} | {name.replace('_', ' ')} | {times} | {int(done.stdout):,} |", flush=True)
            sizes = ", ".join(f"{name}: {size / 1e6:.0f} MB" for name, size in _size(folder))
            print(f"| {chunks:,} | {sizes} | | | |", flush=True)


def _processor_seconds() -> float:
    """Return the processor time of all ended processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
