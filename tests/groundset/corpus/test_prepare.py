"""Preparing chunks: vectors in batches, here and on Ray."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from refusal import refuses

from groundset.corpus import ray as engines
from groundset.corpus.corpus import Corpus, read_corpus
from groundset.corpus.options import CorpusOptions
from groundset.corpus.prepare import embedded
from groundset.files import data_path
from groundset.programs.text import plain

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `groundset[ray]`")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return read_corpus(CorpusOptions(documents=[data_path("samples")]), notify=print)


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_come_in_order(corpus, word_encoder, workers, monkeypatch):
    encoder = word_encoder()
    monkeypatch.setattr(engines, "usable_processors", lambda: workers)
    batches = list(embedded(corpus, encoder))
    assert [len(batch) for batch in batches] == [64, 64, len(corpus.chunks) - 128]
    vectors = np.concatenate(batches)
    assert vectors.dtype == np.float32
    texts = [plain(chunk.text) for chunk in corpus.chunks]
    np.testing.assert_allclose(vectors, encoder.encode(texts), atol=1e-6)
    assert list(embedded(Corpus({}, []), encoder)) == []


CLUSTER = """
import sys, ray
started = ray.init("local", num_cpus=1, object_store_memory=256 << 20, include_dashboard=False)
print(started.address_info["gcs_address"], flush=True)
sys.stdin.read()
"""
SCRIPT = """
import os, sys
from pathlib import Path
import numpy as np
from conftest import WordEncoder
from groundset.corpus import ray as cluster
from groundset.corpus.corpus import read_corpus
from groundset.corpus.options import CorpusOptions
from groundset.corpus.prepare import embedded

class Look:
    def __call__(self, row):
        return {"here": [path for path in sys.path if os.path.realpath(path) == row["folder"]]}

cluster.usable_processors = lambda: 1
engine = f"ray={sys.argv[2]}"
with cluster.connected(engine):
    here, there = (
        read_corpus(CorpusOptions(documents=[Path(sys.argv[1])], engine=name), notify=print)
        for name in ("local", engine)
    )
    assert here.documents == there.documents
    assert here.chunks == there.chunks
    assert here.skipped == there.skipped
    one, other = (
        list(embedded(here, WordEncoder(), engine=name)) for name in ("local", engine)
    )
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a, b) and b.dtype == np.float32
    print(*(row["here"] for row in cluster.spread(engine, [{"folder": os.getcwd()}], 1, Look)))
"""


@needs_ray
@pytest.mark.timeout(600)
def test_ray_gives_the_same_and_stays_private(tmp_path):
    for name in (
        "yaml",
        "pydantic",
        "groundset",
        "programs",
        "signatures",
        "numpy",
        "ray",
        "dspy",
        "sitecustomize",
    ):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the working folder')")
    tests = Path(__file__).parents[2]  # its folder groundset/ would hide an editable install
    path = os.pathsep.join(map(str, (tests.parent, tests, *filter(None, sys.path))))
    keys = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
    shared = {"text": True, "env": os.environ | keys | {"PYTHONPATH": path}}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", CLUSTER], **pipes, **shared) as cluster:
        address = cluster.stdout.readline().strip()
        done = subprocess.run(
            [sys.executable, "-P", "-c", SCRIPT, data_path("samples"), address],
            cwd=tmp_path,
            capture_output=True,
            check=False,
            **shared,
        )
        cluster.stdin.close()
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert done.returncode == 0


@needs_ray
@pytest.mark.parametrize(
    ("engine", "message"),
    [
        (
            "ray=127.0.0.1:9",
            r"--engine ray=127.0.0.1:9: no cluster answers there \(Connection refused\)",
        ),
        ("ray", "--engine ray: choose local or ray=HOST:PORT"),
        ("spark=a:1", "--engine spark=a:1: choose local or ray=HOST:PORT"),
    ],
)
def test_unusable_engine(corpus, word_encoder, engine, message):
    with refuses(message):
        next(embedded(corpus, word_encoder(), engine=engine))
