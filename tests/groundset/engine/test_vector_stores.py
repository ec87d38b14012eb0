"""Runs with other vector stores, and with an approximate search that is forced by a low limit."""

import json
from functools import partial

import pytest
from qdrant_server import serving_qdrant
from scripted_run import scripted_generation, write_documents

from groundset.engine import assembly
from groundset.engine.config import make_config
from groundset.retrieval.stores import open_store
from programs.errors import InputError

EXACT = {"index": "flat", "rows": 20, "exact": True, "recall_at_10": 1.0, "queries": 0}


@pytest.fixture
def make_run(tmp_path):
    docs = write_documents(tmp_path / "docs")

    def make(name: str, store: str = "faiss", size: int = 4) -> tuple[str, dict]:
        options = {"documents": (docs,), "size": size, "chunk_size": 300, "min_length": 50, "vector_store": store}
        scripted_generation()(make_config(options), tmp_path / name)
        record = json.loads((tmp_path / name / "run.json").read_text())
        return (tmp_path / name / "samples.jsonl").read_text(), record["search"]

    return make


def test_run_records_its_search_and_keeps_an_approximate_index(make_run, tmp_path, monkeypatch):
    samples, search = make_run("exact")
    assert search == EXACT
    assert not (tmp_path / "exact" / "search.index").exists()
    monkeypatch.setattr(assembly, "open_store", partial(open_store, exact_rows=19))
    # With so few rows, all of them are proposed and compared exactly.
    approximate = {"index": "pq4", "rows": 20, "exact": False, "recall_at_10": 1.0, "queries": 20}
    assert make_run("run") == (samples, approximate)
    written = (tmp_path / "run" / "search.index").stat()
    assert make_run("run", size=5)[1] == approximate
    assert (tmp_path / "run" / "search.index").stat() == written


def test_run_on_a_qdrant_server_is_the_same(make_run, tmp_path, monkeypatch):
    monkeypatch.delenv("QDRANT_API_KEY", raising=False)
    with serving_qdrant() as server:
        assert make_run("server", server.store) == make_run("exact")
        uploaded = sum('"batch"' in body for body in server.bodies)
        assert make_run("server", server.store, size=5)[1] == EXACT
        assert sum('"batch"' in body for body in server.bodies) == uploaded == 1
    with pytest.raises(InputError, match="no Qdrant server answers"):
        make_run("other", server.store)
    assert not (tmp_path / "other").exists()
