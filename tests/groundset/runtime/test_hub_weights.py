"""Weights from the Hub are tested before they are loaded, and identified by their hash."""

from collections.abc import Iterator
from pathlib import Path

import model_hub
import pytest

from groundset.engine.generation import _name_lm
from groundset.engine.identity import ModelName
from groundset.models.catalogue import CATALOGUE
from groundset.models.pull import ensure_available
from groundset.models.specs import parse_spec
from groundset.runtime.lms import open_lm
from groundset.runtime.weight_check import check_weights
from programs.errors import WeightsError

NAME = "hf/org/smol-GGUF/smol.gguf"


@pytest.fixture
def hub(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[model_hub.ModelHub]:
    if "smollm2" in request.fixturenames:
        request.getfixturevalue("smollm2")  # from the shared cache
    monkeypatch.setenv("GROUNDSET_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with model_hub.serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def test_invalid_weights_are_rejected(hub: model_hub.ModelHub) -> None:
    hub.put("org/smol-GGUF", {"smol.gguf": b"GGUF" + b"\xff" * 10_000})
    spec = ensure_available(parse_spec(NAME))
    notices: list[str] = []
    with pytest.raises(WeightsError, match=r"smol\.gguf: the embedded runtime cannot use this model: its header"):
        check_weights(spec, {}, notices.append)  # type: ignore[arg-type]
    assert "smol.gguf" in notices[0]


def test_model_name_has_a_hash_after_the_download(hub: model_hub.ModelHub) -> None:
    hub.put("org/smol-GGUF", {"smol.gguf": b"GGUF"})
    assert _name_lm(NAME) is None
    assert hub.asked == []
    sha256 = ensure_available(parse_spec(NAME)).sha256  # type: ignore[union-attr]
    assert _name_lm(NAME) == ModelName(NAME, sha256)


@pytest.mark.model
def test_hub_model_is_tested_once(hub: model_hub.ModelHub, smollm2: Path) -> None:
    hub.put("org/smol-GGUF", {"smol.gguf": smollm2.read_bytes()})
    notices: list[str] = []
    for _ in range(2):
        with open_lm(NAME, notify=notices.append) as model:
            assert (model.name, model.sha256) == (NAME, CATALOGUE["smollm2-135m"].sha256)
            assert model.lm.model == f"local/{model.sha256[:16]}"
            assert model.lm("Where does Ebbing lie?", max_tokens=4)
    assert len(notices) == 1
    assert hub.count("GET /blobs") == 1
