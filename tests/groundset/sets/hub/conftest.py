"""A run to publish and a local Hub server."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from groundset.sets.hub.push import Pushed, push_run
from groundset.store.run_store import RunStore
from groundset.store.tables import Verdict
from programs.types import Attempt, Chunk, Context, Document, Retrieval, Sample, StepRecord

sys.path.insert(0, str(Path(__file__).parent))

META = {
    "asked": 2,
    "growth": [{"first": 0, "size": 2}],
    "models": {
        "lm": {"name": "/home/me/secret/tiny.gguf", "sha256": "a" * 64},
        "embedder": {"name": "owner/embedder", "sha256": "b" * 64},
        "parser": {"name": "none", "sha256": None},
        "critic": {"name": "head", "compiled": "judge"},
    },
    "compiled": {
        "judge": {
            "model": "head",
            "optimizer": "fit-head",
            "threshold": 0.42442,
            "expected_good": 0.584,
            "interval": [0.487, 0.675],
        }
    },
    "configuration": {
        "documents": ["/home/me/secret/docs"],
        "chunks": None,
        "recipe": "single",
        "lm": "/home/me/secret/tiny.gguf",
        "vector_store": "qdrant:/home/me/secret/store",
        "kinds": {"time": 1.0},
        "like": ["a secret query"],
        "size": 2,
    },
    "digest": "d" * 64,
    "corpus": {"documents": 1},
    "skipped": [{"path": "secret-plan.pdf", "reason": "encrypted"}],
    "agenda": {"chunks": 3},
    "tracked": {"run_id": "1", "store": "/home/me/secret/mlruns", "version": "2"},
    "identity": {"program": {"name": "0.1.0", "sha256": "e" * 64}},
}


def make_run(
    folder: Path, size: int = 2, *, chunks: int = 3, easy: int = 0, meta: dict[str, Any] | None = None, **changes: Any
) -> Path:
    """Write a run whose samples ask about one chunk each; ``changes`` are made to all, the first ``easy`` were easy."""
    texts = [f"The ferry number {number} leaves Tollvik at {number} o'clock." for number in range(chunks)]
    text = "\n".join(texts)
    cut = []
    for number, line in enumerate(texts):
        start = text.index(line)
        place = {"doc_id": "ferry", "path": "ferry.md", "title": "Ferry", "start": start, "end": start + len(line)}
        cut.append(Chunk(chunk_id=f"ferry-{number:04d}", text=line, **place))
    folder.mkdir()
    document = Document(doc_id="ferry", path="ferry.md", title="Ferry", text=text)
    with RunStore.create(folder, meta=META | (meta or {}), documents=[document], chunks=cut) as store:
        store.begin_session()
        for number in range(size):
            chunk = cut[number % chunks]
            context = Context(chunk=chunk, passage=chunk.text, topic="Ferry", language="en")
            store.attempts.begin(Attempt(number=number, contexts=(context,), wanted="simple"))
            retrieval = Retrieval(rank=1, retrieved_id=chunk.chunk_id, retrieved_content=chunk.text, score=1)
            fields = {
                "id": f"q-{number}",
                "question": f"When does ferry {number} leave?",
                "answer": f"at {number}",
                "evolution": "simple",
                "language": "en",
                "contexts": (chunk,),
                "retrieval_gt": ((chunk.chunk_id,),),
                "retrieval": retrieval,
                "probability": 0.9,
                "split": "train" if number % 2 else "test",
                "trail": (StepRecord(step="question", output={"easy": number < easy}),),
                "metadata": {"kind": "time"},
                **changes,
            }
            store.results.decide(number, Verdict("simple", False), Sample(**fields), np.ones(4, dtype=np.float32), [])
    return folder


@pytest.fixture
def run_of() -> Callable[..., Path]:
    return make_run


@pytest.fixture
def meta() -> dict[str, Any]:
    return META


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A Hub on this machine, and the token of somebody who may write to what is `you`'s."""
    import hub_server
    from huggingface_hub import close_session

    with hub_server.serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_TOKEN", hub_server.TOKEN)
        monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
        yield server
        close_session()


@pytest.fixture
def push(folder: Path) -> Callable[..., Pushed]:
    """Push the run, or another; its messages are in the attribute ``notices``."""
    notices: list[str] = []

    def push(run: Path = folder, repo: str = "you/demo", licence: str = "cc-by-4.0", **options: Any) -> Pushed:
        notices.clear()
        return push_run(run, repo, licence=licence, notify=notices.append, **options)

    push.notices = notices  # type: ignore[attr-defined]
    return push
