"""A run that can be searched."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from searched_run import CHUNKS

from groundset.corpus.corpus import Corpus
from groundset.programs.types import Document
from groundset.retrieval import embed
from groundset.run.run import save_run
from groundset.run.store import Review


@pytest.fixture
def make_run(
    tmp_path: Path, word_encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Path]:
    """Write a run whose dense search knows words and whose questions name them."""
    encoder = word_encoder()
    monkeypatch.setattr(embed, "open_embedder", lambda name: encoder)

    def make(samples, chunks=None, refused=(), *, name="run", documents=(), **configuration):
        chunks = chunks or CHUNKS
        documents = documents or [
            Document(doc_id=f"d{n}", path=f"d{n}.md", title="T", text="x" * 20) for n in range(6)
        ]
        record = {
            "models": {"embedder": {"name": "words", "sha256": encoder.sha256}},
            "configuration": configuration,
        }
        vectors = np.asarray(encoder.encode([chunk.text for chunk in chunks]))
        out = tmp_path / name
        save_run(
            out,
            Corpus({each.doc_id: each for each in documents}, list(chunks)),
            samples=samples,
            vectors=vectors,
            record=record,
            reviews=[Review(sample_id=each, reviewer="ann", verdict="refused") for each in refused],
        )
        return out

    return make
