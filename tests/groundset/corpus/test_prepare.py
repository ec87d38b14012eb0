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


SCRIPT = """
import glob, os, stat, sys
from pathlib import Path
import numpy as np
from conftest import WordEncoder
from groundset.corpus import ray as cluster
from groundset.corpus.corpus import read_corpus
from groundset.corpus.options import CorpusOptions
from groundset.corpus.prepare import embedded

class Look:
    def __call__(self, row):
        parts = glob.glob("/tmp/.*.groundset-part")
        folders = [path for path in parts if os.path.isdir(path + "/r")]
        here = [path for path in sys.path if os.path.realpath(path) == row["folder"]]
        modes = {oct(stat.S_IMODE(os.stat(path).st_mode)) for path in folders}
        return {"found": f"{here} {modes}"}

cluster.usable_processors = lambda: 1
with cluster.connected("ray"):
    here, there = (
        read_corpus(CorpusOptions(documents=[Path(sys.argv[1])], engine=name), notify=print)
        for name in ("local", "ray")
    )
    assert here.documents == there.documents
    assert here.chunks == there.chunks
    assert here.skipped == there.skipped
    one, other = (
        list(embedded(here, WordEncoder(), engine=name)) for name in ("local", "ray")
    )
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a, b) and b.dtype == np.float32
    print(*(row["found"] for row in cluster.spread("ray", [{"folder": os.getcwd()}], 1, Look)))
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
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT, data_path("samples")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.stdout == "[] {'0o700'}\n"
    assert done.stderr == ""
    assert done.returncode == 0


@needs_ray
@pytest.mark.parametrize(
    ("engine", "message"),
    [
        (
            "ray=127.0.0.1:9",
            r"--engine ray=127.0.0.1:9: no cluster answers there \(Connection refused\)",
        ),
        ("ray=", "choose local, ray or ray=HOST:PORT"),
        ("spark", "--engine spark: choose local, ray or ray=HOST:PORT"),
    ],
)
def test_unusable_engine(corpus, word_encoder, engine, message):
    with refuses(message):
        next(embedded(corpus, word_encoder(), engine=engine))
