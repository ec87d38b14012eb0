"""Compiling heads from labels, and loading the states."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from groundset.compiling import labels, resources
from groundset.data_files import data_path
from groundset.engine.compiled import StateConsumers, load_compiled
from groundset.models.specs import LocalSpec, parse_spec
from groundset.retrieval.embedder import load_embedder
from optimizers.labels import ChunkLabel, QuestionLabel, hashes_of, read_labels
from optimizers.measures import area_under_roc
from optimizers.steps import COMPILABLE
from programs.critics import open_critics
from programs.errors import InputError, StateError
from programs.judging import judge_chunks, judge_questions
from programs.languages import LANGUAGES
from programs.languages.table import Languages

SHA = "c" * 64


@pytest.fixture
def folder(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    word_encoder: Callable[[str], Any],
    compiled: Callable[..., Any],
    listener: Any,
) -> Path:
    """A folder with a compiled head of ``chunk``."""
    rows = []
    for n in range(120):
        good = n % 2 == 0
        text = (
            f"The tide mill of Orsle was built in 17{n % 90 + 10} by Maria Kolb, who owned {n} barges."
            if good
            else f"{n}. Kolb, M. (19{n % 90 + 10}). Retrieved from https://example.org/{n} doi:10.1/x"
        )
        split = ("train", "train", "dev", "test")[n // 2 % 4]
        verdict = {"label": "good", "reason": "ok"} if good else {"label": "bad", "reason": "citation"}
        rows.append({"id": f"c{n}", "document": f"{split}{n // 8}", "text": text, "split": split, **verdict})
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "chunks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    monkeypatch.setattr(labels, "data_path", lambda *parts: tmp_path.joinpath(*parts))
    monkeypatch.setattr(resources, "load_embedder", lambda name: word_encoder(SHA))
    [(report, file)] = compiled("chunk", target_precision=0.8)
    assert file == tmp_path / "out" / "head" / "chunk.json"
    assert report.measures["after"]["test_auc"].value > 0.9
    assert {row["split"] for row in report.rows} == {"train", "dev", "test"}
    assert "Fitting fit" in listener.messages
    return tmp_path / "out"


def test_compiled_heads_decide(folder: Path, word_encoder: Callable[[str], Any]) -> None:
    compiled = load_compiled(str(folder), StateConsumers("head", SHA))
    critics = open_critics("head", languages=Languages(LANGUAGES), embedder=word_encoder(SHA), heads=compiled.heads)
    assert compiled.fitted == "chunk"
    good = "The tide mill of Lowen was built in 1788 by Jakob Reuss, who owned 14 barges."
    bad = "14. Reuss, J. (1988). Retrieved from https://example.org/14 doi:10.1/x"
    high, low = judge_chunks([good, bad], critics["chunk"], compiled.predictors["chunk"])
    assert high.probability > 0.8 > 0.2 > low.probability
    assert (high.good, low.good) == (True, False)
    assert compiled.record()["chunk"]["expected_good"] >= 0.8
    assert compiled.record()["chunk"]["measured_on"] > 10, "labelled rows"


def test_compile_is_deterministic(folder: Path, tmp_path: Path, compiled: Callable[..., Any]) -> None:
    [(_, again)] = compiled("chunk", target_precision=0.8, out=tmp_path / "again")
    assert again.read_bytes() == (folder / "head" / "chunk.json").read_bytes()


def test_incompatible_states_are_rejected(folder: Path, tmp_path: Path) -> None:
    file = folder / "head" / "chunk.json"
    for place, sha256, reason in (
        (folder, "d" * 64, "another --embedder"),
        (tmp_path / "nowhere", SHA, "no such folder"),
        (tmp_path / "labels", SHA, "no compiled states"),
    ):
        with pytest.raises(InputError, match=reason):
            load_compiled(str(place), StateConsumers("head", sha256))
    file.write_text(file.read_text(encoding="utf-8").replace('"dspy": "', '"dspy": "0'), encoding="utf-8")
    with pytest.raises(StateError, match="version of DSPy"):
        load_compiled(str(folder), StateConsumers("head", SHA))


def test_heads_with_wrong_vector_length_are_rejected(tmp_path: Path) -> None:
    own = tmp_path / "head" / "chunk.json"
    own.parent.mkdir()
    shipped = json.loads(data_path("compiled", "head", "chunk.json").read_text(encoding="utf-8"))
    for head in shipped["heads"]["heads"].values():
        head["embedding"] = [0.5] * 7
    own.write_text(json.dumps(shipped), encoding="utf-8")
    users = StateConsumers("head", shipped["model_sha256"], dimension=384)
    with pytest.raises(StateError, match=r"chunk\.json: expects embeddings of dimension 7, --embedder has 384"):
        load_compiled(str(tmp_path), users)
    shipped["heads"]["heads"]["fit"]["embedding"] = [0.5] * 8
    own.write_text(json.dumps(shipped), encoding="utf-8")
    with pytest.raises(StateError, match=r"chunk\.json: .*vectors of different lengths"):
        load_compiled(str(tmp_path), users)


@pytest.mark.parametrize(
    ("choice", "users"),
    [
        ("none", StateConsumers("head", SHA)),
        ("shipped", StateConsumers("head", SHA)),
        ("shipped", StateConsumers("lm")),
    ],
)
def test_none_and_other_embedder_load_no_states(choice: str, users: StateConsumers) -> None:
    assert not load_compiled(choice, users).states


def test_shipped_states_complete_a_folder(tmp_path: Path) -> None:
    own = tmp_path / "own" / "head" / "chunk.json"
    own.parent.mkdir(parents=True)
    shipped = json.loads(data_path("compiled", "head", "chunk.json").read_text(encoding="utf-8"))
    own.write_text(json.dumps(shipped | {"optimizer": "own"}), encoding="utf-8")
    found = load_compiled(str(tmp_path / "own"), StateConsumers("head", shipped["model_sha256"]))
    assert {step: state.optimizer for step, state in found.states.items()} == {
        "chunk": "own",
        "judge": "fit-head",
        "grounding": "fit-head",
        "same": "fit-head",
    }
    assert found.fitted == "chunk, grounding, judge, same"


@pytest.mark.parametrize(
    ("step", "files"),
    [
        ("chunk", ["labels/chunks.jsonl"]),
        ("judge", ["labels/questions.jsonl"]),
        ("grounding", ["labels/questions.jsonl", "labels/strong.jsonl"]),
        ("same", ["gold/same.jsonl"]),
    ],
)
def test_shipped_states_were_made_from_the_shipped_labels(step: str, files: list[str]) -> None:
    record = json.loads(data_path("compiled", "head", f"{step}.json").read_text(encoding="utf-8"))["record"]
    hashes = hashes_of([data_path(*name.split("/")) for name in files])
    assert record["labels"] == hashes, "make compile renews data/compiled"


@pytest.mark.parametrize(("model", "step"), [("qwen2.5-coder-0.5b", "sound"), ("qwen2.5-coder-1.5b", "pair")])
def test_shipped_weights_match_model_and_gold_rows(model: str, step: str) -> None:
    spec = parse_spec(model)
    assert isinstance(spec, LocalSpec)
    compiled = load_compiled("shipped", StateConsumers("lm", None, spec.name, spec.sha256))
    assert list(compiled.adapters) == [step]
    assert compiled.files[compiled.adapters[step]].stat().st_size < 20e6
    finetuning = COMPILABLE[step].finetuning
    assert finetuning is not None
    assert compiled.states[step].record["labels"] == hashes_of(
        [data_path("gold", f"{name}.jsonl") for name in finetuning.files]
    )


@pytest.mark.model
def test_shipped_critics_rank_test_rows() -> None:
    encoder = load_embedder("all-minilm-l6-v2")
    compiled = load_compiled("shipped", StateConsumers("head", encoder.sha256))
    critics = open_critics("head", languages=Languages(LANGUAGES), embedder=encoder, heads=compiled.heads)
    chunks = [row for row in read_labels(ChunkLabel, [data_path("labels", "chunks.jsonl")]) if row.split == "test"][:60]
    found = judge_chunks([row.text for row in chunks], critics["chunk"], compiled.predictors["chunk"])
    assert area_under_roc(np.array([row.good for row in chunks]), np.array([each.probability for each in found])) > 0.85
    rows = [row for row in read_labels(QuestionLabel, [data_path("labels", "questions.jsonl")]) if row.split == "test"][
        ::6
    ]
    judged = judge_questions(
        [(row.question, row.passage) for row in rows], critics["judge"], compiled.predictors["judge"]
    )
    assert area_under_roc(np.array([row.good for row in rows]), np.array([each.probability for each in judged])) > 0.7
