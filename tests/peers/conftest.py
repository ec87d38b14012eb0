"""A run with unusual texts, and a fixture to load its exports with other tools."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from groundset.run import Run
from groundset.sets.exporting import export_run, exported_run
from groundset.sets.exports import EXPORTS
from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from groundset.store.tables import Verdict
from programs.types import Attempt, Chunk, Context, Document, Retrieval, Sample

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parents[1] / ".venv-peers"
DOCUMENTS, CHUNKS = 10, 4
SILENCED = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "RAGAS_DO_NOT_TRACK": "true",
}
# Files are opened in the encoding of the machine here, which is ASCII: whoever does not say UTF-8 would stumble.
PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
AWKWARD = (
    "“quoted”, 'quoted' and \"quoted\"",
    "line\u2028separator and paragraph\u2029separator",
    "a\ttab, a\r\nline end, a back\\slash",
    "渡船 паром עברה 🚢 e\u0301",
    "<script>alert(1)</script> &amp; [DEEPEVAL:IMAGE:x] {{ braces }} %s",
)


def document(number: int) -> tuple[Document, list[Chunk]]:
    """Return a document of some chunks, each with something awkward in it."""
    name, path = f"doc-{number}", f"folder {number}/doc, “{number}”.md"
    texts = [
        f"Passage {place} of document {number}: {AWKWARD[(number + place) % len(AWKWARD)]}." for place in range(CHUNKS)
    ]
    chunks, start = [], 0
    for place, text in enumerate(texts):
        where = {"doc_id": name, "path": path, "title": f"Title {number} ☂", "start": start, "end": start + len(text)}
        chunks.append(Chunk(chunk_id=f"{name} {place}", text=text, **where))
        start += len(text) + 1
    return Document(doc_id=name, path=path, title=f"Title {number} ☂", text="\n".join(texts)), chunks


def sample(name: str, contexts: list[Chunk], groups: list[list[str]], **changes: Any) -> Sample:
    """Return a sample; its rank is missing where it rests on several chunks."""
    first, one = contexts[0], len(contexts) == 1
    fields = {
        "question": f"{'=' if name == 'q-0' else ''}What of “{name}”, at 9:00\u2028in 渡船?",
        "answer": f"It is {name}, {AWKWARD[3]}.",
        "evolution": "simple" if one else "multi_context",
        "metadata": {"kind": "time"} if one else {},
        **changes,
    }
    found = Retrieval(
        rank=1 if one else None, retrieved_id=first.chunk_id, retrieved_content=first.text, score=1 if one else 0
    )
    return Sample(
        id=name, contexts=contexts, retrieval_gt=groups, retrieval=found, language="en", probability=0.75, trail=(),
        **fields,
    )  # fmt: skip


def samples(chunks: list[Chunk]) -> list[Sample]:
    """Return a question about a chunk of each document, one of which has an alternative, and one about two chunks."""
    made = [sample(f"q-{number}", [chunk], [[chunk.chunk_id]]) for number, chunk in enumerate(chunks[::CHUNKS])]
    made[1] = sample("q-1", [chunks[4]], [[chunks[4].chunk_id, chunks[5].chunk_id]])
    made[2] = sample("q-2", [chunks[8], chunks[9]], [[chunks[8].chunk_id], [chunks[9].chunk_id]])
    return made


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that was read by two people, who corrected one question."""
    made = [document(number) for number in range(DOCUMENTS)]
    documents, chunks = [one for one, _ in made], [chunk for _, several in made for chunk in several]
    meta = {
        "models": {"lm": {"name": "qwen2.5-coder-0.5b"}, "critic": {"compiled": "chunk, judge"}},
        "digest": "0123456789abcdef",
        "identity": {"program": "0"},
    }
    vectors = np.random.default_rng(7).standard_normal((len(chunks), 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    folder = tmp_path_factory.mktemp("run")
    with RunStore.create(folder, meta=meta, documents=documents, chunks=chunks) as store:
        store.begin_session()
        store.store_column(
            "vector", [(chunk.chunk_id, row.tobytes()) for chunk, row in zip(chunks, vectors, strict=True)]
        )
        for number, one in enumerate(samples(chunks)):
            asked = Context(chunk=one.contexts[0], passage=one.contexts[0].text, topic="", language="en")
            store.attempts.begin(Attempt(number=number, contexts=(asked,), wanted=one.evolution))
            store.results.decide(number, Verdict(one.evolution, False), one, vectors[number], [])
        for review in (
            Review(item="q-3", reader="ann", verdict="good", question="What does “ann” ask of 渡船?"),
            Review(item="q-3", reader="bob", verdict="bad", reason="dull"),
            Review(item="q-4", reader="ann", verdict="good"),
        ):
            store.reviews.add(review)
    return folder


@pytest.fixture(scope="session")
def content(run: Path) -> Run:
    """Return what of the run goes out."""
    return exported_run(run)


Load = Callable[..., Any]


@pytest.fixture
def load(run: Path, tmp_path: Path) -> Load:
    """Return a function that exports the run and returns what a tool read of it, in the environment ``peer`` or ours.

    With ``utf8``, the machine's encoding is UTF-8.
    """

    def loaded(format: str, loader: str, *, peer: str | None = None, utf8: bool = False) -> Any:
        if format not in EXPORTS:
            pytest.skip(f"there is no export {format} yet")
        python = ENVIRONMENTS / peer / "bin" / "python" if peer else Path(sys.executable)
        assert python.exists(), f"{peer} is not there: make test-peers"
        export_run(run, format, tmp_path / format)
        notes, read = tmp_path / "hosts", tmp_path / "read.json"
        notes.touch()
        environment = {
            **SILENCED,
            **(PLAIN | {"PYTHONUTF8": "1"} if utf8 else PLAIN),
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path / "home"),
            "PYTHONPATH": str(HERE.parent / "egress"),
            "GROUNDSET_TEST_EGRESS": str(notes),
        }
        # -P: the folder of the script, whose files are called like the tools, is not on the path.
        command = [python, "-P", HERE / "loaders" / f"{loader}.py", tmp_path / format, read]
        ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert notes.read_text() == "", "it asked for other machines"
        return json.loads(read.read_text())

    return loaded
