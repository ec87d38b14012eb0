"""Compiling for a language model: states in a folder, calls paid once, and a run that uses the states."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Message, Request, Response, Usage

from groundset.compiling import Compiler, Wish
from groundset.data_files import data_path
from groundset.engine.states import Users, load_compiled
from groundset.runtime.lms import LanguageModel
from groundset.tracking.compile_runs import CompileRuns
from groundset.tracking.compiles import CompileStore
from optimizers.labels import hashes_of
from optimizers.steps import COMPILABLE
from programs.errors import GroundsetError, InputError, StrategyError, UnreachableModelError

SHA = json.loads(data_path("compiled", "head", "judge.json").read_text(encoding="utf-8"))["model_sha256"]
WEIGHTS = "w" * 64
# Before on dev, two candidates there, both on train and on test. Two prompts are the same as before and cost nothing:
# no demo of the language of their rows was drawn.
CALLS = 4 + 2 * 4 + 4 + 4 - 2


class CountingEngine:
    """Answers every question with "not stated", which is right for half of the labelled rows."""

    def __init__(self) -> None:
        self.calls = 0

    def complete(self, request: Request) -> Response:
        self.calls += 1
        usage = Usage(input_tokens=10, output_tokens=2, total_tokens=12)
        return Response(
            id=None, model="local/x", message=Message.assistant("not stated"), finish_reason="stop", usage=usage
        )


class Told:
    def __init__(self) -> None:
        self.said: list[str] = []
        self.calls = 0

    def start(self, step: str, calls: int) -> None:
        self.said.append(f"{step} {calls}")

    def call(self) -> None:
        self.calls += 1

    def say(self, said: str) -> None:
        self.said.append(said)


Open = Callable[[CountingEngine], Compiler]


@pytest.fixture
def compiler(tmp_path: Path, word_encoder: Callable[[str], Any]) -> Open:
    def open_model(engine: CountingEngine) -> Callable[..., LanguageModel]:
        return lambda spec, journal: LanguageModel(engine, model="local/w", name=spec, sha256=WEIGHTS, journal=journal)

    return lambda engine: Compiler(
        "tiny",
        embedder="words",
        journal=tmp_path / "calls.sqlite",
        open_model=open_model(engine),
        load=lambda name: word_encoder(SHA),
    )


def test_a_model_that_cannot_be_opened_leaves_nothing(tmp_path: Path, word_encoder: Callable[[str], Any]) -> None:
    def open_model(spec: str, **options: Any) -> LanguageModel:
        raise UnreachableModelError("gone")

    journal = tmp_path / "out" / "calls.sqlite"
    compiler = Compiler(
        "tiny", embedder="words", journal=journal, open_model=open_model, load=lambda name: word_encoder(SHA)
    )
    with pytest.raises(UnreachableModelError), compiler:
        pass
    assert not journal.parent.exists()


def test_a_compile_leaves_a_state_that_a_run_finds_by_its_weights(compiler: Open, tmp_path: Path) -> None:
    engine, told, wish = CountingEngine(), Told(), Wish(tmp_path / "out", budget=8, dev=4, test=4)
    with compiler(engine) as opened:
        report, file = opened.compile("answer", "labeled", wish, told)
    assert file == tmp_path / "out" / "tiny" / "answer.json"
    assert told.said[0] == "answer 28"
    assert told.calls == report.figures["calls"] == engine.calls == CALLS
    assert report.state.record["rows"]["train"] > 100
    states = load_compiled(str(tmp_path / "out"), Users("lm", None, "tiny", WEIGHTS))
    assert states.record()["answer"] == {"model": "tiny", "optimizer": "labeled"}
    with pytest.raises(InputError, match="other weights of --lm"):
        load_compiled(str(tmp_path / "out"), Users("lm", None, "tiny", "v" * 64))
    with pytest.raises(InputError, match="none of which fits head and other"):
        load_compiled(str(tmp_path / "out"), Users("head", SHA, "other", WEIGHTS))


def test_gold_rows_of_the_user_count_and_all_files_are_on_record(tmp_path: Path, word_encoder: Any) -> None:
    own = tmp_path / "mine.jsonl"
    place = {"document": "tide-mill", "language": "en", "split": "train", "topic": "Orsle"}
    fact = "The tide mill of Orsle stood still in 1712 because the sluice had rotted."
    chunk = {**place, "id": "tide-mill-00", "text": fact, "label": "good", "reason": "ok"}
    gold = {
        **place,
        "step": "rewrite",
        "id": "tide-mill-rewrite-1",
        "chunk": "tide-mill-00",
        "before": "",
        "fact": fact,
        "answer": "the sluice had rotted",
        "question": "Why did it stand still?",
        "feedback": "Name the tide mill of Orsle.",
        "better_question": "Why did the tide mill of Orsle stand still in 1712?",
        "kind": "vague",
    }
    own.write_text(f"{json.dumps(chunk)}\n{json.dumps(gold)}\n", encoding="utf-8")
    records = []
    for files in ([], [own]):
        compiler = Compiler(
            "tiny",
            embedder="words",
            journal=tmp_path / "calls.sqlite",
            labels=files,
            open_model=lambda spec, journal: LanguageModel(
                CountingEngine(), model="local/w", name=spec, sha256=WEIGHTS, journal=journal
            ),
            load=lambda name: word_encoder(SHA),
        )
        with compiler as opened:
            report, _ = opened.compile("rewrite", "labeled", Wish(tmp_path / "out", budget=4, dev=2, test=2), Told())
        records.append(report.state.record)
        assert {f"gold.{name}.jsonl" for name in ("rewrite", "chunks")} <= report.parameters.keys()
    assert records[1]["rows"]["train"] == records[0]["rows"]["train"] + 1
    assert records[1]["labels"] == [*records[0]["labels"], *hashes_of([own])]
    assert records[1]["gold"] == hashes_of([data_path("gold", row["file"]) for row in records[1]["gold"]])


def test_the_same_compile_pays_for_no_call_twice_and_finds_the_same(compiler: Open, tmp_path: Path) -> None:
    files = []
    engine = CountingEngine()
    for _ in range(2):
        with compiler(engine) as opened:
            _, file = opened.compile("answer", "labeled", Wish(tmp_path, budget=8, dev=4, test=4), Told())
            files.append(file.read_bytes())
    assert engine.calls == CALLS
    assert files[0] == files[1]


def test_a_compile_that_finds_nothing_leaves_what_was_found_before(compiler: Open, tmp_path: Path) -> None:
    def compile_again() -> tuple[str, list[str]]:
        told = Told()
        with compiler(CountingEngine()) as opened:
            _, file = opened.compile("answer", "labeled", Wish(tmp_path, budget=8, dev=4, test=4), told)
        return file.read_text(encoding="utf-8"), told.said

    state = json.loads(compile_again()[0])
    assert state["record"]["chosen"] == 0
    file = tmp_path / "tiny" / "answer.json"
    better = json.dumps({**state, "optimizer": "gepa", "record": {**state["record"], "chosen": 3}})
    file.write_text(better, encoding="utf-8")
    kept, said = compile_again()
    assert kept == better
    assert said[-1] == f"Nothing better was found, so what gepa found before stays in {file}"
    file.write_text(better.replace(WEIGHTS, "v" * 64), encoding="utf-8")
    assert json.loads(compile_again()[0]) == state, "what was found for other weights is none"


def test_a_compile_is_tracked_and_its_champion_is_what_runs_use(
    compiler: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    store, wish = CompileStore(uri, tmp_path / "artifacts"), Wish(tmp_path, budget=8, dev=4, test=4)
    with CompileRuns(lambda: store, pytest.fail) as runs, compiler(CountingEngine()) as opened:
        report, _ = opened.compile("answer", "labeled", wish, Told(), started=runs.start)
        run_id = runs.finish(report)
    parameters = store._client.get_run(run_id).data.params
    assert parameters == {name: str(value) for name, value in report.parameters.items()}
    with pytest.raises(InputError, match="no champion fits"):
        load_compiled("champion", Users("lm", None, "tiny", WEIGHTS))
    [version] = store._client.search_model_versions(f"run_id='{run_id}'")
    store._client.set_registered_model_alias(version.name, "champion", version.version)
    assert list(load_compiled("champion", Users("lm", None, "tiny", WEIGHTS)).states) == ["answer"]


@pytest.mark.usefixtures("few_chunks")
def test_what_a_strategy_lacks_is_said_before_any_call(compiler: Open, tmp_path: Path) -> None:
    engine = CountingEngine()
    with compiler(engine) as opened:
        for step, name, lack in (("reasoning", "labeled", "no example outputs"), ("answer", "mipro", "--teacher")):
            with pytest.raises(StrategyError, match=lack):
                opened.compile(step, name, Wish(tmp_path), Told())
        assert opened.steps_of("labeled") == [step for step in COMPILABLE if step not in ("reasoning", "sound")]
        assert opened.steps_of("reanchor") == ["chunk", "judge", "same", "grounding", "agree"]
    assert engine.calls == 0


def test_a_model_that_fails_ends_the_compile_and_what_was_paid_for_is_kept(compiler: Open, tmp_path: Path) -> None:
    class Failing(CountingEngine):
        def complete(self, request: Request) -> Response:
            if self.calls == 6:
                raise RuntimeError("out of memory")
            return super().complete(request)

    with compiler(Failing()) as opened, pytest.raises(GroundsetError, match="out of memory"):
        opened.compile("answer", "labeled", Wish(tmp_path, budget=8, dev=4, test=4), Told())
    engine = CountingEngine()
    with compiler(engine) as opened:
        opened.compile("answer", "labeled", Wish(tmp_path, budget=8, dev=4, test=4), Told())
    assert engine.calls == CALLS - 6


@pytest.mark.model
@pytest.mark.usefixtures("few_chunks")
def test_a_real_model_is_compiled_for(tmp_path: Path) -> None:
    opened = Compiler("smollm2-135m", embedder="all-minilm-l6-v2", journal=tmp_path / "calls.sqlite")
    with opened as real:
        report, file = real.compile("reasoning", "gepa", Wish(tmp_path, budget=12, dev=3, test=3), Told())
    assert file.parent.name == "smollm2-135m"
    assert report.figures["completion_tokens"] > 0
    assert len(report.rows) == 9
    assert len(report.candidates) > 1, "the pool of instructions was drawn from"
