"""Measure what a large set costs to write, to report on and to open: 10,000 samples over 100,000 chunks.

    python benchmarks/large_set.py [--samples N] [--chunks N] [--folder FOLDER]

The run is made up (random words, random vectors), its folder is a real one. Each command runs in a process of its own;
its seconds and its peak memory are printed as a row of a Markdown table.
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

_CHUNKS_OF_A_DOCUMENT = 50
_WORDS_OF_A_CHUNK = 110
_DIMENSION = 384
_KINDS = ("time", "person", "place", "amount", "definition", "reason", "thing")
_GROUNDSET = (sys.executable, "-c", "from groundset.commands import main; main()")


def made_up(samples: int, chunks: int, seed: int = 0) -> Run:
    """Return the content of a run in which every tenth chunk or so is asked about."""
    draw = np.random.default_rng(seed)
    words = np.array(["".join(draw.choice(list("abcdefghilmnoprstuv"), size)) for size in draw.integers(2, 11, 4000)])
    documents, cut = [], []
    for number in range(-(-chunks // _CHUNKS_OF_A_DOCUMENT)):
        document, parts = _document(number, words, draw)
        documents.append(document)
        cut += parts
    cut = cut[:chunks]
    vectors = draw.standard_normal((len(cut), _DIMENSION), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    asked = draw.choice(len(cut), samples, replace=samples > len(cut))
    noise = draw.standard_normal((samples, _DIMENSION), dtype=np.float32) / _DIMENSION**0.5
    questions = vectors[asked] + noise
    questions /= np.linalg.norm(questions, axis=1, keepdims=True)
    model = {"name": "made up", "sha256": "0" * 64}
    return Run.of(
        samples=[_sample(number, cut[place], draw) for number, place in enumerate(asked)],
        question_vectors=questions,
        chunks=cut,
        chunk_vectors=vectors,
        documents=documents,
        settings={
            "configuration": {"recipe": "evolved", "embedder": "made up", "documents": ["made-up"], "parser": "none"},
            "models": {
                **dict.fromkeys(("lm", "embedder", "parser"), model),
                "critic": {"name": "head", "compiled": []},
            },
            "compiled": {},
            "corpus": {},
            "skipped": [],
        },
    )


def _document(number: int, words: np.ndarray, draw: np.random.Generator) -> tuple[Document, list[Chunk]]:
    texts = [" ".join(draw.choice(words, _WORDS_OF_A_CHUNK)).capitalize() + "." for _ in range(_CHUNKS_OF_A_DOCUMENT)]
    name, title = f"document-{number:06}", " ".join(draw.choice(words, 3)).title()
    chunks, start = [], 0
    for place, text in enumerate(texts):
        chunk = Chunk(
            chunk_id=f"{name}-{place:04}", doc_id=name, path=f"{name}.md", title=title, start=start,
            end=start + len(text), text=text,
        )  # fmt: skip
        chunks.append(chunk)
        start += len(text) + 1
    return Document(doc_id=name, path=f"{name}.md", title=title, text="\n".join(texts)), chunks


def _sample(number: int, chunk: Chunk, draw: np.random.Generator) -> Sample:
    words = chunk.text.rstrip(".").split()
    first = int(draw.integers(0, len(words) - 12))
    question, answer = f"What {' '.join(words[first : first + 9])}?", " ".join(words[first + 9 : first + 12])
    rank = int(draw.geometric(0.7))
    return Sample(
        id=f"{number:016x}",
        question=question,
        answer=answer,
        evolution=str(draw.choice(["simple", "reasoning", "conditional"], p=[0.6, 0.2, 0.2])),
        language="en",
        contexts=(chunk,),
        retrieval_gt=((chunk.chunk_id,),),
        retrieval=Retrieval(rank=rank, retrieved_id=chunk.chunk_id, retrieved_content=chunk.text, score=1),
        probability=float(draw.uniform(0.4, 1)),
        trail=(
            StepRecord(step="chunk", probability=0.9, verdict="good"),
            StepRecord(step="question", output={"question": question}),
            StepRecord(step="judge", probability=0.7, verdict="good"),
            StepRecord(step="answer", output={"answer": answer}),
        ),
        metadata={"kind": str(draw.choice(_KINDS)), "source_rank": rank},
    )


def measured(*arguments: str | Path) -> tuple[float, float]:
    """Return the seconds and the peak memory in GiB of a command; it must end well."""
    started = time.monotonic()
    process = subprocess.Popen([*_GROUNDSET, *map(str, arguments)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"groundset {' '.join(map(str, arguments))} ended with status {process.returncode}")
    return time.monotonic() - started, usage.ru_maxrss / 2**20


def opened(run: Path) -> tuple[float, float]:
    """Return the seconds from the start of the process until the page has answered, and those of one more page."""
    started = time.monotonic()
    command = [*_GROUNDSET, "review", str(run), "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = next(match for line in process.stdout if (match := re.search(r"http://\S+", line)))
            address = found.group().rstrip(".")
            with httpx.Client(follow_redirects=True, timeout=60) as client:
                client.get(address).raise_for_status()
                first = time.monotonic() - started
                client.get(address).raise_for_status()
                return first, time.monotonic() - started - first
        finally:
            process.terminate()


def rows(run: Path, folder: Path) -> Iterator[tuple[str, float, float | None]]:
    """Yield what was measured: its name, seconds, and GiB where they are known."""
    for name in EXPORTS:
        yield f"export {name}", *measured("export", run, "--format", name, "--out", folder / name)
    yield "all formats at once", *measured("export", run, "--format", ",".join(EXPORTS), "--out", folder / "all")
    dry = ("--repo", "you/made-up", "--licence", "cc0-1.0", "--dry-run", folder / "hub")
    yield "push --dry-run", *measured("push", run, *dry)
    yield "report", *measured("report", run, "--out", folder / "report.html")
    first, again = opened(run)
    yield "review: the first page, with starting", first, None
    yield "review: one more page", again, None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="keeps the run for the next time")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="groundset-large-"))
    run = folder / f"run-{given.samples}-{given.chunks}"
    try:
        if not run.exists():
            content = made_up(given.samples, given.chunks)
            save_run(run, content, Lineage(command="benchmarks/large_set.py", options={}, parents=()))
            del content
        print("| command | seconds | peak memory, GiB |\n|---|---|---|")
        for name, seconds, memory in rows(run, folder):
            print(f"| {name} | {seconds:.1f} | {'' if memory is None else f'{memory:.2f}'} |", flush=True)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"\nMaking the run up took {used:.2f} GiB.")
    finally:
        if given.folder is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
