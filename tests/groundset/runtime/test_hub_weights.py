"""Weights of the Hub are a stranger's: tried before they are loaded, and known by their hash."""

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
        request.getfixturevalue("smollm2")  # from the cache that all tests share
    monkeypatch.setenv("GROUNDSET_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with model_hub.serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def test_what_is_not_a_model_is_refused_by_its_trial(hub: model_hub.ModelHub) -> None:
    hub.put("org/smol-GGUF", {"smol.gguf": b"GGUF" + b"\xff" * 10_000})
    spec = ensure_available(parse_spec(NAME))
    told: list[str] = []
    with pytest.raises(WeightsError, match=r"smol\.gguf: the embedded runtime cannot use this model: its head"):
        check_weights(spec, {}, told.append)  # type: ignore[arg-type]
    assert told == ["Trying smol.gguf in a process of its own, since nobody vouches for it."]


def test_a_run_is_known_by_the_hash_once_there_is_one(hub: model_hub.ModelHub) -> None:
    hub.put("org/smol-GGUF", {"smol.gguf": b"GGUF"})
    assert _name_lm(NAME) is None
    assert hub.asked == []
    sha256 = ensure_available(parse_spec(NAME)).sha256  # type: ignore[union-attr]
    assert _name_lm(NAME) == ModelName(NAME, sha256)


@pytest.mark.model
def test_a_model_of_the_hub_is_opened(hub: model_hub.ModelHub, smollm2: Path) -> None:
    hub.put("org/smol-GGUF", {"smol.gguf": smollm2.read_bytes()})
    told: list[str] = []
    for _ in range(2):
        with open_lm(NAME, notify=told.append) as model:
            assert (model.name, model.sha256) == (NAME, CATALOGUE["smollm2-135m"].sha256)
            assert model.lm.model == f"local/{model.sha256[:16]}"
            assert model.lm("Where does Ebbing lie?", max_tokens=4)
    assert told == ["Trying smol.gguf in a process of its own, since nobody vouches for it."]
    assert hub.count("GET /blobs") == 1
