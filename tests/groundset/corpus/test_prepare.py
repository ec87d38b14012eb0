"""Preparing chunks: vectors and verdicts in batches, in the order that is asked for, here and on
Ray.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import dspy
import numpy as np
import pytest
from refusal import refuses

from groundset.corpus import prepare
from groundset.corpus.corpus import Corpus, read_corpus
from groundset.corpus.options import CorpusOptions
from groundset.corpus.prepare import prepare_batches
from groundset.files import data_path
from groundset.programs.text import plain

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `groundset[ray]`")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return read_corpus(CorpusOptions(documents=[data_path("samples")]), notify=print)


class Head:
    """Judges by the number of words, and remembers what it was given."""

    def __init__(self):
        self.seen = []

    def batch(self, rows, vectors):
        assert len(rows) == len(vectors)
        self.seen += [(row["topic"], row["passage"]) for row in rows]
        words = [len(row["passage"].split()) for row in rows]
        return [
            dspy.Prediction(content=n > 9, fit=n > 9, reason="short", probability=n / 999)
            for n in words
        ]


@pytest.fixture
def encoder(word_encoder, monkeypatch):
    found = word_encoder()
    monkeypatch.setattr(type(found), "replica", lambda self: type(self)(), raising=False)
    return found


def checked(batches, corpus, encoder, order):
    assert [place for batch in batches for place in batch.places] == list(order)
    texts = [plain(corpus.chunks[place].text) for place in order]
    np.testing.assert_allclose(
        np.concatenate([batch.vectors for batch in batches]), encoder.encode(texts), atol=1e-6
    )
    assert all(batch.vectors.dtype == np.float32 for batch in batches)


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_come_in_order(corpus, encoder, workers, monkeypatch):
    monkeypatch.setattr(prepare, "usable_processors", lambda: workers)
    order, head = corpus.order(1), Head()
    batches = list(prepare_batches(corpus, encoder, head, order))
    checked(batches, corpus, encoder, order)
    assert [len(batch.places) for batch in batches] == [32, 64, len(corpus.chunks) - 96]
    assert head.seen == [(corpus.chunks[n].topic, plain(corpus.chunks[n].text)) for n in order]
    assert [len(batch.verdicts) for batch in batches] == [len(batch.places) for batch in batches]
    assert batches[0].verdicts[0].good


def test_first_batch_does_not_wait_for_the_others(corpus, encoder, monkeypatch):
    monkeypatch.setattr(prepare, "usable_processors", lambda: 1)
    encoded = []
    encode = encoder.encode
    encoder.encode = lambda texts: encoded.append(len(texts)) or encode(texts)
    batches = prepare_batches(corpus, encoder, None)
    first = next(batches)
    assert list(first.places) == list(range(32))
    assert first.verdicts == []
    assert encoded == [32]
    batches.close()


def test_few_or_no_chunks(corpus, encoder):
    assert [list(batch.places) for batch in prepare_batches(corpus, encoder, None, [5])] == [[5]]
    assert list(prepare_batches(Corpus({}, []), encoder, None)) == []


SCRIPT = """
import glob, os, stat, sys
from pathlib import Path
import numpy as np
from conftest import WordEncoder
from groundset.corpus import prepare, ray as cluster
from groundset.corpus.corpus import read_corpus
from groundset.corpus.options import CorpusOptions
from groundset.corpus.prepare import prepare_batches

class Look:
    def __call__(self, row):
        parts = glob.glob("/tmp/.*.groundset-part")
        folders = [path for path in parts if os.path.isdir(path + "/r")]
        here = [path for path in sys.path if os.path.realpath(path) == row["folder"]]
        modes = {oct(stat.S_IMODE(os.stat(path).st_mode)) for path in folders}
        return {"found": f"{here} {modes}"}

options = CorpusOptions(documents=[Path(sys.argv[1])])
prepare.usable_processors = lambda: 1
with cluster.connected("ray"):
    here, there = (read_corpus(options, notify=print, engine=name) for name in ("local", "ray"))
    assert here.documents == there.documents
    assert here.chunks == there.chunks
    assert here.skipped == there.skipped
    one, other = (
        list(prepare_batches(here, WordEncoder(), None, engine=name)) for name in ("local", "ray")
    )
    for a, b in zip(one, other, strict=True):
        assert list(a.places) == list(b.places)
        assert np.array_equal(a.vectors, b.vectors) and b.vectors.dtype == np.float32
    print(*(row["found"] for row in cluster.mapped("ray", Look, (), [{"folder": os.getcwd()}])))
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
def test_unusable_engine(corpus, encoder, engine, message):
    with refuses(message):
        next(prepare_batches(corpus, encoder, None, engine=engine))
