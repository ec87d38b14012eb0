"""Measure exports, the report and the review page of a large run: 10,000 samples over 100,000 chunks.

    python benchmarks/large_set.py [--samples N] [--chunks N] [--folder FOLDER]

The run consists of random words and vectors. Each command runs in a separate process; its seconds and peak memory are
printed as a row of a Markdown table.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np

from groundset.run import Run, save_run
from groundset.sets.exports import EXPORTS
from groundset.store.lineage import Lineage
from programs.types import Chunk, Document, Retrieval, Sample, StepRecord

_CHUNKS_PER_DOCUMENT = 50
_WORDS_PER_CHUNK = 110
_DIMENSION = 384
_KINDS = ("time", "person", "place", "amount", "definition", "reason", "thing")
_GROUNDSET = (sys.executable, "-c", "from groundset.commands import main; main()")


def made_up(samples: int, chunks: int, seed: int = 0) -> Run:
    """Return a random run with questions about random chunks."""
    rng = np.random.default_rng(seed)
    words = np.array(["".join(rng.choice(list("abcdefghilmnoprstuv"), size)) for size in rng.integers(2, 11, 4000)])
    documents, all_chunks = [], []
    for number in range(-(-chunks // _CHUNKS_PER_DOCUMENT)):
        document, parts = _document(number, words, rng)
        documents.append(document)
        all_chunks += parts
    all_chunks = all_chunks[:chunks]
    vectors = rng.standard_normal((len(all_chunks), _DIMENSION), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    drawn = rng.choice(len(all_chunks), samples, replace=samples > len(all_chunks))
    noise = rng.standard_normal((samples, _DIMENSION), dtype=np.float32) / _DIMENSION**0.5
    questions = vectors[drawn] + noise
    questions /= np.linalg.norm(questions, axis=1, keepdims=True)
    model = {"name": "made up", "sha256": "0" * 64}
    return Run.of(
        samples=[_sample(number, all_chunks[index], rng) for number, index in enumerate(drawn)],
        question_vectors=questions,
        chunks=all_chunks,
        chunk_vectors=vectors,
        documents=documents,
        settings={
            "configuration": {"recipe": "evolved", "embedder": "made up", "documents": ["made-up"], "parser": "none"},
            "models": {
                **dict.fromkeys(("lm", "embedder", "parser"), model),
                "critic": {"name": "head", "compiled": "none"},
            },
            "compiled": {},
            "corpus": {},
            "skipped": [],
        },
    )


def _document(number: int, words: np.ndarray, rng: np.random.Generator) -> tuple[Document, list[Chunk]]:
    texts = [" ".join(rng.choice(words, _WORDS_PER_CHUNK)).capitalize() + "." for _ in range(_CHUNKS_PER_DOCUMENT)]
    name, title = f"document-{number:06}", " ".join(rng.choice(words, 3)).title()
    chunks, start = [], 0
    for index, text in enumerate(texts):
        chunk = Chunk(
            chunk_id=f"{name}-{index:04}", doc_id=name, path=f"{name}.md", title=title, start=start,
            end=start + len(text), text=text,
        )  # fmt: skip
        chunks.append(chunk)
        start += len(text) + 1
    return Document(doc_id=name, path=f"{name}.md", title=title, text="\n".join(texts)), chunks


def _sample(number: int, chunk: Chunk, rng: np.random.Generator) -> Sample:
    words = chunk.text.rstrip(".").split()
    first = int(rng.integers(0, len(words) - 12))
    question, answer = f"What {' '.join(words[first : first + 9])}?", " ".join(words[first + 9 : first + 12])
    rank = int(rng.geometric(0.7))
    return Sample(
        id=f"{number:016x}",
        question=question,
        answer=answer,
        evolution=str(rng.choice(["simple", "reasoning", "conditional"], p=[0.6, 0.2, 0.2])),
        language="en",
        contexts=(chunk,),
        retrieval_gt=((chunk.chunk_id,),),
        retrieval=Retrieval(rank=rank, retrieved_id=chunk.chunk_id, retrieved_content=chunk.text, score=1),
        probability=float(rng.uniform(0.4, 1)),
        trail=(
            StepRecord(step="chunk", probability=0.9, verdict="good"),
            StepRecord(step="question", output={"question": question}),
            StepRecord(step="judge", probability=0.7, verdict="good"),
            StepRecord(step="answer", output={"answer": answer}),
        ),
        metadata={"kind": str(rng.choice(_KINDS)), "source_rank": rank},
    )


def measure(*arguments: str | Path) -> tuple[float, float]:
    """Run a command, which must succeed; return its seconds and its peak memory in GiB."""
    started = time.monotonic()
    process = subprocess.Popen([*_GROUNDSET, *map(str, arguments)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"groundset {' '.join(map(str, arguments))} ended with status {process.returncode}")
    return time.monotonic() - started, usage.ru_maxrss / 2**20


def measure_review(run: Path) -> tuple[float, float]:
    """Return the seconds from the start of the process to the first page, and those of another page."""
    started = time.monotonic()
    command = [*_GROUNDSET, "review", str(run), "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            match = next(match for line in process.stdout if (match := re.search(r"http://\S+", line)))
            address = match.group().rstrip(".")
            with httpx.Client(follow_redirects=True, timeout=60) as client:
                client.get(address).raise_for_status()
                first = time.monotonic() - started
                client.get(address).raise_for_status()
                return first, time.monotonic() - started - first
        finally:
            process.terminate()


def rows(run: Path, folder: Path) -> Iterator[tuple[str, float, float | None]]:
    """Yield the name of each measurement, its seconds, and its GiB if they are measured."""
    for name in EXPORTS:
        yield f"export {name}", *measure("export", run, "--format", name, "--out", folder / name)
    yield "all formats at once", *measure("export", run, "--format", ",".join(EXPORTS), "--out", folder / "all")
    dry = ("--repo", "you/made-up", "--licence", "cc0-1.0", "--dry-run", folder / "hub")
    yield "push --dry-run", *measure("push", run, *dry)
    yield "report", *measure("report", run, "--out", folder / "report.html")
    first, again = measure_review(run)
    yield "review: the first page, with starting", first, None
    yield "review: one more page", again, None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="Keep the run there.")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="groundset-large-"))
    run = folder / f"run-{arguments.samples}-{arguments.chunks}"
    try:
        if not run.exists():
            lineage = Lineage(command="benchmarks/large_set.py", options={}, parents=())
            save_run(run, made_up(arguments.samples, arguments.chunks), lineage)
        print("| command | seconds | peak memory, GiB |\n|---|---|---|")
        for name, seconds, memory in rows(run, folder):
            print(f"| {name} | {seconds:.1f} | {'' if memory is None else f'{memory:.2f}'} |", flush=True)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"\nMaking the run up took {used:.2f} GiB.")
    finally:
        if arguments.folder is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
