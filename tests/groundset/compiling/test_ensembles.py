"""Compiling and loading an ensemble, with a scripted model."""

import json
import math
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from groundset.compiling import compiler, resources
from groundset.data_files import data_path
from groundset.engine.compiled import StateConsumers, load_compiled
from groundset.models.specs import parse_spec
from programs.errors import InputError, StateError, TargetPrecisionError

SHA = json.loads(data_path("compiled", "head", "judge.json").read_text(encoding="utf-8"))["model_sha256"]


class YearModel:
    """Answers yes for questions with the word year, else no; counts its calls."""

    model = "local/w"

    def __init__(self):
        self.calls = 0

    def __call__(self, request):
        self.calls += 1
        prompt = "".join(part.text for part in request.messages[-1].parts)
        yes = 0.8 if " year " in prompt.split("Question: ")[-1] else 0.3
        top = [SimpleNamespace(token=word, logprob=math.log(p)) for word, p in (("yes", yes), ("no", 1 - yes))]
        return SimpleNamespace(logprobs=[SimpleNamespace(token="yes", logprob=math.log(yes), top=top)])


@pytest.fixture
def year_model(monkeypatch, word_encoder):
    """Compile with the scripted model and an encoder that has the hash of the shipped embedder."""
    year_model = YearModel()

    @contextmanager
    def open_model(spec, journal):
        yield SimpleNamespace(
            lm=year_model, name=spec, sha256="w" * 64, usage=lambda: {"seconds": float(year_model.calls)}
        )

    monkeypatch.setattr(resources, "open_lm", open_model)
    monkeypatch.setattr(resources, "load_embedder", lambda name: word_encoder(SHA))
    monkeypatch.setattr(compiler, "check_server", lambda model: None)
    return year_model


OPTIONS = {"optimizer": "fit-ensemble", "lm": "tiny"}


def test_compile_writes_ensemble_that_load_compiled_finds(year_model, compiled, listener, tmp_path):
    [(report, file)] = compiled("judge", target_precision=0.05, **OPTIONS)
    assert year_model.calls == listener.calls == listener.expected > 0
    assert file == tmp_path / "out" / "tiny" / "judge.json"
    state = report.state
    assert state.blend is not None
    assert state.record["rows"]["dev"] > state.record["asked"]["dev"] > 0
    assert report.figures["calls"] == sum(state.record["asked"].values()) == report.figures["seconds"]
    assert {"dev", "test", "dev_auc", "test_auc"} <= set(report.measures["gain"])
    assert {row["split"] for row in report.rows} == {"dev", "test"}
    untouched = [row for row in report.rows if row["before_probability"] < state.blend.floor]
    assert untouched
    assert all(row["before_probability"] == row["after_probability"] for row in untouched)
    used = load_compiled(str(file.parents[1]), StateConsumers("ensemble", SHA, "tiny", "w" * 64))
    assert used.blends == {"judge": state.blend}
    assert set(used.heads) == {"chunk", "judge", "same", "grounding"}
    assert len(used.predictors["judge"]["demos"]) == 4
    assert used.record()["judge"]["threshold"] == state.threshold
    assert "judge" not in load_compiled("shipped", StateConsumers("lm", None, "tiny", "w" * 64)).states
    changed = json.loads(file.read_text(encoding="utf-8")) | {"head": "0" * 16}
    file.write_text(json.dumps(changed), encoding="utf-8")
    with pytest.raises(StateError, match=r"`groundset compile judge --optimizer fit-ensemble --lm tiny`"):
        load_compiled(str(file.parents[1]), StateConsumers("ensemble", SHA, "tiny", "w" * 64))


def test_unsupported_target_precision_writes_nothing(year_model, compiled, tmp_path):
    with pytest.raises(TargetPrecisionError):
        compiled("judge", target_precision=0.99, **OPTIONS)
    assert not (tmp_path / "out" / "tiny").exists()


def test_folder_without_ensemble_uses_shipped_one(tmp_path):
    model = "qwen2.5-coder-1.5b"
    users = StateConsumers("ensemble", SHA, model, parse_spec(model).sha256)
    shipped = load_compiled("shipped", users)
    assert set(shipped.blends) == {"judge"}
    with pytest.raises(InputError, match="no compiled states"):
        load_compiled(str(tmp_path), users)
    own = tmp_path / model / "pair.json"
    own.parent.mkdir()
    pair = json.loads(data_path("compiled", model, "pair.json").read_text(encoding="utf-8"))
    own.write_text(json.dumps({**pair, "adapter": None, "optimizer": "own"}), encoding="utf-8")
    found = load_compiled(str(tmp_path), users)
    assert found.states["pair"].optimizer == "own"
    assert (found.blends, found.heads) == (shipped.blends, shipped.heads)


def test_deciding_states_belong_to_critic_lm(tmp_path):
    model = "qwen2.5-coder-1.5b"
    sha256 = parse_spec(model).sha256
    judging = load_compiled(
        "shipped", StateConsumers("ensemble", SHA, "tiny", "w" * 64, critic_lm=model, critic_lm_sha256=sha256)
    )
    assert set(judging.blends) == {"judge"}
    assert "pair" not in judging.states, "another model writes"
    writing = load_compiled(
        "shipped", StateConsumers("ensemble", SHA, model, sha256, critic_lm="tiny", critic_lm_sha256="w" * 64)
    )
    assert ("pair" in writing.states, writing.blends) == (True, {})
    assert not load_compiled("shipped", StateConsumers("verdict", SHA, model, sha256)).blends
