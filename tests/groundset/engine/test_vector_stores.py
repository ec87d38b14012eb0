"""Runs with other vector stores, and with an approximate search that is forced by a low limit."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from qdrant_server import serving_qdrant
from scripted_run import scripted_generation, write_documents

from groundset.engine import assembly
from groundset.engine.config import make_config
from groundset.retrieval.stores import open_store
from programs.errors import InputError


def make_run(out: Path, store: str = "faiss", size: int = 2) -> tuple[list[str], dict[str, Any]]:
    """Make a run, and return its samples and what it records about its search."""
    docs = out.parent / "docs"
    if not docs.exists():
        write_documents(docs)
    options = {"documents": (docs,), "size": size, "chunk_size": 300, "min_length": 50, "vector_store": store}
    scripted_generation()(make_config(options), out)
    search = json.loads((out / "run.json").read_text(encoding="utf-8"))["search"]
    return (out / "samples.jsonl").read_text(encoding="utf-8").splitlines(), search


def test_samples_are_the_same_with_every_search(tmp_path, monkeypatch):
    monkeypatch.delenv("QDRANT_API_KEY", raising=False)
    samples, search = make_run(tmp_path / "exact", size=3)
    assert search == {"index": "flat", "rows": 20, "exact": True, "recall_at_10": 1.0, "queries": 0}
    assert not (tmp_path / "exact" / "search.index").exists()
    with serving_qdrant() as server:
        assert make_run(tmp_path / "server", server.store) == (samples[:2], search)
        assert make_run(tmp_path / "server", server.store, size=3) == (samples, search)
        assert sum('"batch"' in body for body in server.bodies) == 1
    with pytest.raises(InputError, match="no Qdrant server answers"):
        make_run(tmp_path / "other", server.store)
    assert not (tmp_path / "other").exists()

    monkeypatch.setattr(assembly, "open_store", partial(open_store, exact_rows=19))
    # With so few rows, all of them are proposed and compared exactly.
    search = {"index": "pq4", "rows": 20, "exact": False, "recall_at_10": 1.0, "queries": 20}
    assert make_run(tmp_path / "run") == (samples[:2], search)
    written = (tmp_path / "run" / "search.index").stat().st_mtime_ns
    assert make_run(tmp_path / "run", size=3) == (samples, search)
    assert (tmp_path / "run" / "search.index").stat().st_mtime_ns == written
