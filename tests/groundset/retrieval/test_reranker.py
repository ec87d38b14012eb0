"""Reranking with real, tiny cross-encoders."""

import math
from pathlib import Path

import numpy as np
import pytest
from cross_encoders import save_cross_encoder
from safetensors.numpy import load_file, save_file

from groundset.retrieval import loading
from groundset.retrieval.reranker import load_reranker
from programs.errors import DamagedModelError, ModelError

PAIRS = [("When does the ferry leave?", "ferry nine " * (number % 5)) for number in range(40)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_cross_encoder(tmp_path)
    return tmp_path


def test_scores_are_those_of_the_library(folder: Path) -> None:
    from sentence_transformers import CrossEncoder
    from torch.nn import Identity

    expected = CrossEncoder(str(folder), device="cpu", local_files_only=True).predict(
        PAIRS, activation_fn=Identity(), show_progress_bar=False
    )
    done: list[int] = []
    scores = load_reranker(str(folder)).score(PAIRS, on_done=done.append)
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    assert sum(done) == len(PAIRS)
    assert len(set(scores[:5])) == 5


def test_equal_pairs_have_equal_scores(folder: Path) -> None:
    reranker = load_reranker(str(folder))
    first = reranker.score(PAIRS)
    assert np.array_equal(first, reranker.score(PAIRS))
    np.testing.assert_allclose(first[:5], first[5:10], atol=1e-6)
    assert reranker.score([]).shape == (0,)
    assert reranker.score([("", ""), ("ferry " * 100_000, "x")]).shape == (2,)


def test_weights_that_are_not_numbers(folder: Path) -> None:
    file = folder / "model.safetensors"
    weights = {name: tensor * math.nan for name, tensor in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"--rerank .*not numbers"):
        load_reranker(str(folder)).score(PAIRS)


def test_damaged_weights(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(DamagedModelError, match=r"model\.safetensors is damaged"):
        load_reranker(str(folder))


def test_a_model_with_several_scores(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="gives 3 scores"):
        load_reranker(save_cross_encoder(tmp_path, scores=3))


@pytest.mark.model
def test_an_embedder_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    from groundset.models import pull

    with pytest.raises(ModelError, match="is not a cross-encoder"):
        load_reranker(str(pull("all-minilm-l6-v2")))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("all-minilm-l6-v2", "not a cross-encoder"),
        ("./nowhere", "not a folder with a cross-encoder"),
        ("someone/some-reranker", "reranker 'someone/some-reranker' is neither a folder nor in the Hugging Face cache"),
    ],
)
def test_invalid_names(monkeypatch: pytest.MonkeyPatch, name: str, message: str) -> None:
    monkeypatch.setattr(loading, "hub_answers", lambda: False)
    with pytest.raises(ModelError, match=message):
        load_reranker(name)
