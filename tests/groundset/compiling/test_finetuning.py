"""Training weights of the smallest real model: few rows and layers, a high rate."""

import copy
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Config, Message, Request
from recording_listener import RecordingListener

from groundset.compiling import resources
from groundset.compiling.compiler import compile_steps
from groundset.compiling.options import CompileOptions
from groundset.data_files import data_path
from groundset.engine import compiled as engine_compiled
from groundset.engine.compiled import StateConsumers, load_compiled
from groundset.models.specs import LocalSpec, parse_spec
from groundset.runtime.lms import open_lm
from groundset.tracking.compiles import CompileRuns, CompileStore
from optimizers.finetuning import training
from optimizers.finetuning.base import TrainingOptions, TrainingStep, Turn
from optimizers.finetuning.training import Trainer
from optimizers.steps import COMPILABLE, GOLD
from optimizers.strategies import finetune
from programs.errors import InputError, StateError, StrategyError
from programs.languages import LANGUAGES
from programs.languages.table import Languages

MODEL = "smollm2-135m"
STEPS = ("pair", "answer", "sound")
OPTIONS = TrainingOptions(epochs=2, batch=2, rate=3e-3, rank=4, alpha=8, layers=0.2)
AGREEMENT = 0.3  # nats; llama.cpp rounds activations to eight bits, torch here to bfloat16

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with a few of the gold rows."""
    folder = tmp_path_factory.mktemp("data")
    shutil.copytree(data_path("demos"), folder / "demos")
    (folder / "gold").mkdir()
    twins = {row["id"]: row for row in _rows_of("twins")}
    languages = Languages(LANGUAGES)
    for kind, step in (("question", "pair"), ("answer", "answer")):
        finetuning = COMPILABLE[step].finetuning
        assert finetuning is not None
        rows = [row for row in _rows_of(kind) if row["language"] == "en"]
        rows = [row for row in rows if kind == "answer" or f"{row['id']}-twin" in twins]
        usable = [row for row in rows if finetuning.inputs(GOLD[kind].model_validate(row), languages, random.Random(0))]
        kept = [row for split, count in (("train", 2), ("dev", 1), ("test", 1)) for row in
                [each for each in usable if each["split"] == split][:count]]  # fmt: skip
        _write(folder / "gold" / f"{kind}.jsonl", kept)
        if kind == "question":
            _write(folder / "gold" / "twins.jsonl", [twins[f"{row['id']}-twin"] for row in kept])
    _write(folder / "gold" / "sound.jsonl", [row for row in _rows_of("sound") if row["split"] == "dev"][:1])
    return folder


def _rows_of(kind: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data_path("gold", f"{kind}.jsonl").read_text("utf-8").splitlines()]


def _write(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture(scope="module")
def trained(
    data: Path, loaded: Trainer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Any, Path, RecordingListener]:
    """Train once for all tests."""
    out, listener = tmp_path_factory.mktemp("out"), RecordingListener()
    options = CompileOptions(steps=STEPS, optimizer="finetune", lm=MODEL, out=out)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resources, "data_path", lambda *names: data.joinpath(*names))
        patch.setattr(finetune, "TrainingOptions", lambda **options: OPTIONS.model_copy(update=options))
        patch.setattr(training, "Trainer", lambda weights, options: copy.deepcopy(loaded))
        made = list(compile_steps(options, listener))
    assert [file for _, file in made] == [out / MODEL / f"{step}.json" for step in STEPS]
    return [report for report, _ in made], out, listener


@pytest.fixture(scope="module")
def loaded(smollm2: Path) -> Trainer:
    """Load the weights once, which takes longer than the training."""
    return Trainer(smollm2, OPTIONS)


@pytest.fixture
def fresh(loaded: Trainer) -> Callable[[], Trainer]:
    """Return a factory of untrained trainers."""
    return lambda: copy.deepcopy(loaded)


def users(sha256: str | None = None) -> StateConsumers:
    spec = parse_spec(MODEL)
    assert isinstance(spec, LocalSpec)
    return StateConsumers("lm", None, MODEL, sha256 or spec.sha256)


def test_training_writes_state_measures_and_mlflow_run(
    trained: tuple[Any, Path, RecordingListener], tmp_path: Path
) -> None:
    (report, *others), out, listener = trained
    assert listener.calls == 8
    assert "pair-answer-sound: 8 batches" in listener.messages
    assert {other.state.adapter for other in others} == {report.state.adapter}
    losses = [loss for _, loss in report.curves["loss"]]
    assert losses[-1] < losses[0]
    assert len(report.curves["dev_loss"]) == 2
    assert {(row["split"], row["document"] != "") for row in report.rows} == {("dev", True), ("test", True)}
    assert report.state.record["rows"] == {"train": 2, "dev": 1, "test": 1}
    [file] = report.files
    assert file == out / MODEL / f"pair-answer-sound-{report.state.adapter.sha256[:8]}.gguf"
    store = CompileStore(f"sqlite:///{tmp_path}/mlflow.db", tmp_path)
    with CompileRuns(lambda: store, pytest.fail) as runs:
        runs.start("pair", MODEL, "finetune", {})
        run = runs.finish(report)
    [entry] = store.experiments()
    assert (run, entry.optimizer, entry.step) == (f"{entry.run_id} in {tmp_path}", "finetune", "pair")


def test_llama_cpp_agrees_with_torch(
    trained: tuple[Any, Path, RecordingListener], fresh: Callable[[], Trainer]
) -> None:
    _, out, _ = trained
    states = load_compiled(str(out), users())
    [name] = set(states.adapters.values())
    trainer = fresh()
    import torch

    checkpoint = torch.load(out / MODEL / "pair-answer-sound.training" / "checkpoint.pt", weights_only=True)
    trainer._restore(checkpoint["learned"])
    turns = [Turn([{"role": "system", "content": "Ask."}, {"role": "user", "content": text}], "Who?") for text in
             ("Fact: The ferry sank in 1931.", "Fact: Ada Bell built the mill.", "Answer: a red lamp")]  # fmt: skip
    with open_lm(MODEL, adapters=states.files) as model, open_lm(MODEL) as plain:
        for turn in turns:
            with_adapter = first_tokens(model, turn, adapter=name)
            assert largest_gap(with_adapter, trainer, turn) < AGREEMENT
            without_adapter = first_tokens(model, turn)
            assert without_adapter == first_tokens(plain, turn)
            assert largest_gap(without_adapter, trainer, turn) > AGREEMENT


def first_tokens(model: Any, turn: Turn, **extensions: str) -> dict[str, float]:
    request = Request(
        model="local/x",
        system=turn.messages[0]["content"],
        messages=(Message.user(turn.messages[1]["content"]),),
        config=Config(max_tokens=1, temperature=0.0, logprobs=5, extensions=extensions or None),
    )
    return {each.token: each.logprob for each in model._inner.complete(request).logprobs[0].top}


def largest_gap(logprobs: dict[str, float], trainer: Trainer, turn: Turn) -> float:
    import torch

    prompt = trainer._row(turn)
    trainer.model.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        tokens = torch.tensor([prompt.tokens[: prompt.target]])
        computed = trainer.model(input_ids=tokens).logits[0, -1].float().log_softmax(-1)
    ids_of = {token: trainer.tokenizer(token, add_special_tokens=False)["input_ids"] for token in logprobs}
    return max(abs(logprobs[token] - computed[ids[0]].item()) for token, ids in ids_of.items() if len(ids) == 1)


def test_interrupted_training_resumes_from_checkpoint(fresh: Callable[[], Trainer], tmp_path: Path) -> None:
    turns = [Turn([{"role": "user", "content": f"Number {number}"}], "One?") for number in range(6)]
    seen: list[TrainingStep] = []

    def train(trainer: Trainer, stopped: Callable[[], bool], rows: list[Turn] = turns) -> bool:
        seen.clear()
        return trainer.train(rows, [], tmp_path, seen.append, stopped)

    assert not train(fresh(), lambda: len(seen) == 1)
    assert [each.step for each in seen] == [1, 2]
    again = fresh()
    assert train(again, lambda: False)
    assert [each.step for each in seen] == [3, 4, 5, 6]
    assert [each.step for each in again.curve] == [1, 2, 3, 4, 5, 6]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "_sha256_of", lambda file: "0" * 64)
        assert not train(again, lambda: True)
    assert seen[0].step == 1, "other weights restart the training"
    assert not train(again, lambda: True, turns[:2])
    assert seen[0].step == 1, "other rows restart the training"


def test_gradient_accumulation_gives_same_weights(
    fresh: Callable[[], Trainer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = [Turn([{"role": "user", "content": "One. " * 9 * number}], "Two? " * (5 - number)) for number in (1, 2, 4)]
    learned: list[tuple[float, Any]] = []
    for at_once in (10_000, 70):
        monkeypatch.setattr(training, "_AT_ONCE", at_once)
        trainer = fresh()
        trainer.options = OPTIONS.model_copy(update={"epochs": 1, "batch": 3})
        seen: list[TrainingStep] = []
        passes: list[int] = []

        def counted(rows: Any, loss_of: Any = trainer._loss, passes: list[int] = passes) -> Any:
            passes.append(len(rows))
            return loss_of(rows)

        monkeypatch.setattr(trainer, "_loss", counted)
        trainer.train(turns, [], tmp_path / str(at_once), seen.append)
        assert passes == ([3] if at_once == 10_000 else [1, 1, 1])
        state = trainer.model.state_dict()
        [name] = [name for name in state if "layers.29.mlp.down_proj.lora_B" in name]
        learned.append((seen[0].loss, state[name].float()))
    (whole, weights), (parts, others) = learned
    assert parts == pytest.approx(whole, rel=0.02)
    signs = (weights.sign() == others.sign()).float().mean().item()
    assert signs > 0.9, "Adam's first step is the sign of the gradient; rounding turns the smallest ones"


def test_missing_or_changed_weights_are_rejected(trained: tuple[Any, Path, RecordingListener], tmp_path: Path) -> None:
    _, out, _ = trained
    shutil.copytree(out, tmp_path / "copy", ignore=shutil.ignore_patterns("*.training"))
    [file] = (tmp_path / "copy" / MODEL).glob("pair-answer-sound-*.gguf")
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(StateError, match=rf"{file.name}: does not match the hash"):
        load_compiled(str(tmp_path / "copy"), users())
    file.unlink()
    with pytest.raises(StateError, match=rf"{file.name}: missing"):
        load_compiled(str(tmp_path / "copy"), users())
    with pytest.raises(InputError, match="other weights of --lm"):
        load_compiled(str(tmp_path / "copy"), users("0" * 64))


def test_shipped_states_complete_user_states(
    trained: tuple[Any, Path, RecordingListener], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out, _ = trained
    shutil.copytree(out, tmp_path / "own", ignore=shutil.ignore_patterns("*.training", "sound.json"))
    monkeypatch.setattr(engine_compiled, "data_path", lambda *names: tmp_path / "none")
    assert set(load_compiled(str(tmp_path / "own"), users()).states) == {"pair", "answer"}
    monkeypatch.setattr(engine_compiled, "data_path", lambda *names: out)
    found = load_compiled(str(tmp_path / "own"), users())
    assert set(found.states) == {"pair", "answer", "sound"}
    assert set(found.adapters.values()) == set(found.files)
    assert "sound" not in load_compiled("none", users()).states


@pytest.mark.parametrize(
    ("step", "lm", "error"),
    [("pair", "openai/x@http://127.0.0.1:9/v1", InputError), ("reasoning", MODEL, StrategyError)],
)
def test_remote_model_and_unsupported_step_are_rejected(
    tmp_path: Path, step: str, lm: str, error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"local weights|cannot compile reasoning; it compiles .*pair"):
        list(
            compile_steps(CompileOptions(steps=(step,), optimizer="finetune", lm=lm, out=tmp_path), RecordingListener())
        )
    assert list(tmp_path.iterdir()) == []
