import hashlib
import json
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from groundset.retrieval.index import ChunkIndex
from groundset.retrieval.stores import VectorStore, open_store
from programs.errors import RunError
from programs.types import Chunk

LIMIT = 1000


def unit(rows):
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def names(count):
    return [f"c{number}" for number in range(count)]


@pytest.fixture(scope="module")
def rows():
    return unit(np.random.default_rng(0).normal(size=(3000, 32)))


@pytest.fixture(scope="module")
def few():
    return unit(np.random.default_rng(0).normal(size=(LIMIT + 1, 5)))


def opened(rows, file, **options) -> VectorStore:
    return open_store("faiss", names(len(rows)), rows, index_file=file, exact_rows=LIMIT, **options)


def test_recall_of_many_rows_is_measured(rows, tmp_path):
    with opened(rows, tmp_path / "search.index") as store, open_store("faiss", names(len(rows)), rows) as exact:
        record = store.record()
        assert record | {"recall_at_10": 1.0} == {
            "index": "pq4", "rows": 3000, "exact": False, "recall_at_10": 1.0, "queries": 100,
        }  # fmt: skip
        queries = unit(np.random.default_rng(5).normal(size=(50, 32)))
        found, expected = store.search(queries, 10), exact.search(queries, 10)
        shared = [len({*one} & {*other}) for one, other in zip(found.indexes, expected.indexes, strict=True)]
        assert np.mean(shared) / 10 >= 0.95
        assert record["recall_at_10"] >= 0.95
        alone = store.search(queries[7:8], 10)
        assert np.array_equal(alone.indexes[0], found.indexes[7])
        assert np.array_equal(alone.similarities[0], found.similarities[7])


def test_up_to_the_limit_and_without_a_file_the_search_is_exact(rows, tmp_path):
    exact = {"index": "flat", "exact": True, "recall_at_10": 1.0, "queries": 0}
    assert opened(rows[:LIMIT], tmp_path / "index").record() == exact | {"rows": LIMIT}
    assert opened(rows, None).record() == exact | {"rows": 3000}
    assert list(tmp_path.iterdir()) == []


def test_approximate_search_is_bounded(tmp_path):
    rows = unit(np.repeat(np.eye(8), 500, axis=0))  # all proposals are equally similar
    with opened(rows, tmp_path / "index") as store:
        depths, propose = [], store._backend.propose
        store._backend.propose = lambda vectors, depth: depths.append(depth) or propose(vectors, depth)
        assert store.search(rows[:1], 5).indexes.shape == (1, 5)
    assert depths == [1000]


def test_rows_that_faiss_leaves_out_are_added(few, tmp_path):
    with opened(few, tmp_path / "index") as store:
        proposed = store._backend.propose(few[:2], 500)
        proposed[0, 100:] = -1
        store._backend._index = SimpleNamespace(ntotal=len(few), search=lambda *_: (None, proposed))
        found = store._backend.propose(few[:2], 500)
        store._backend._index.reset = lambda: None
    assert found[0, 0] == 0
    assert [len({*row}) for row in found.tolist()] == [500, 500]
    assert found.min() >= 0


def test_index_is_the_same_every_time_and_read_again(few, tmp_path):
    built = []

    def phase(doing, total):
        built.append((doing, total))
        return nullcontext(lambda done: None)

    first, second = tmp_path / "first.index", tmp_path / "second.index"
    results = []
    for file in (first, second, first):
        with opened(few, file, phase=phase) as store:
            results.append((store.search(few[:20], 10).indexes.tolist(), store.record()))
    assert first.read_bytes() == second.read_bytes()
    assert results[0] == results[1] == results[2]
    assert built == [("Indexing vectors", LIMIT + 1)] * 2


@pytest.mark.parametrize("change", ["rows", "cut", "bit", "header", "longer", "nan", "folder"])
def test_index_that_does_not_fit_is_built_again(change, few, tmp_path):
    file = tmp_path / "search.index"
    opened(few, file).close()
    good = file.read_bytes()
    if change == "rows":
        opened(unit(few + 0.1), file).close()
    elif change == "folder":
        file.unlink()
        file.symlink_to("/dev/zero")
    else:
        head, line, content = good.partition(b"\n")
        bad = {
            "cut": good[:-1],
            "bit": good[:-1] + bytes([good[-1] ^ 1]),
            "header": head.replace(b"recall_at_10", b"recall") + line + content,
            "longer": good + b"0",
            "nan": _signed(head, b"\xff" * 4 + content[4:]),
        }
        file.write_bytes(bad[change])
    assert change == "folder" or file.read_bytes() != good
    with opened(few, file) as store:
        assert store.search(few[:1], 1).indexes.tolist() == [[0]]
    assert file.read_bytes() == good


def _signed(head: bytes, content: bytes) -> bytes:
    header = json.loads(head) | {"content": hashlib.sha256(content).hexdigest()}
    return json.dumps(header).encode() + b"\n" + content


def test_index_that_cannot_be_written(few, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"cannot write .*search\.index"):
        opened(few, tmp_path / "file" / "search.index")


def test_chunks_near_a_chunk(few, tmp_path):
    chunks = [
        Chunk(chunk_id=name, doc_id="d", path="d", title="D", start=0, end=1, text="t") for name in names(len(few))
    ]
    index = ChunkIndex(chunks, opened(few, tmp_path / "index"), lambda texts: few[:1])
    exact = ChunkIndex(chunks, opened(few, None), lambda texts: few[:1])
    assert index.near("c234", 5) == exact.near("c234", 5)
