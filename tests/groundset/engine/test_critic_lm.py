"""Runs with a second language model as critic: requests, costs and identity."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Message, Request, Response, Usage
from rich.console import Console
from scripted_run import Encoder, ScriptedEngine, ScriptedProgram, lm_opener, scripted_recipe, write_documents

from groundset.engine.config import make_config
from groundset.engine.generation import RunResult, run_generation
from groundset.engine.models import Openers
from groundset.models.specs import OpenAISpec
from groundset.progress import Progress
from groundset.report.analysis import RunAnalysis
from groundset.store.run_store import RunStore
from programs.errors import InputError, RunMismatchError
from programs.stages.contexts import Contexts
from programs.tools import CRITIC, GENERATOR, Tools
from programs.types import Attempt, Observer, Outcome

LINES = "\n".join(
    [f"{title}: as it should be - yes, 90" for title in ("Self contained", "Content", "Fit")]
    + [f"{title}: very good - 3, 90" for title in ("Clarity", "Depth", "Structure", "Relevance")]
)


class JudgingEngine:
    """Rates every chunk as good, in the requested format."""

    def __init__(self, text: str = LINES) -> None:
        self.requests: list[Request] = []
        self._text = text

    def complete(self, request: Request) -> Response:
        self.requests.append(request)
        usage = Usage(input_tokens=100, output_tokens=20, total_tokens=120, cache_read_tokens=40)
        return Response(
            id=None, model=request.model, message=Message.assistant(self._text), finish_reason="stop", usage=usage
        )


class JudgingProgram(ScriptedProgram):
    """Has the critic judge the chunk first."""

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools.retriever)
        self.contexts = Contexts(tools)
        self.models = set(tools.models)

    def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        from programs.trail import Trail

        assert self.models == {GENERATOR, CRITIC}
        trail = Trail(attempt, observer)
        return super().forward(attempt=attempt, observer=observer) if self.contexts(trail) else trail.outcome()


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


def judged_run(docs: Path, out: Path, judge: Any, writer: Any = None, **options: Any) -> RunResult:
    def open_model(spec: str, **settings: Any) -> Any:
        engine, sha256 = (judge, "c" * 64) if spec == "judge" else (writer or ScriptedEngine(), "e" * 64)
        return lm_opener(engine, sha256)(spec, **settings)

    chosen = {"critic": "verdict", "critic_lm": "judge", "parser": "none", **options}
    given = {"documents": (docs,), "size": 4, "chunk_size": 300, "min_length": 50, **chosen}
    recipe = replace(scripted_recipe(), program=lambda tools, options: JudgingProgram(tools))
    config = make_config({name: value for name, value in given.items() if value is not None})
    return run_generation(config, out, openers=Openers(open_model, Encoder), recipe=recipe)


def record_of(out: Path) -> Any:
    return json.loads((out / "run.json").read_text())


def test_critic_model_calls_are_counted_separately(docs: Path, tmp_path: Path) -> None:
    judge, out = JudgingEngine(), tmp_path / "run"
    result = judged_run(docs, out, judge)
    assert result.ending == "complete"
    assert judge.requests
    assert all("Clarity:" in str(request.system) for request in judge.requests)
    record = record_of(out)
    assert record["models"]["critic_lm"] == {"name": "judge", "sha256": "c" * 64}
    assert record["models"]["lm"]["sha256"] == "e" * 64
    calls = len(judge.requests)
    spent = {"calls": calls, "prompt_tokens": 100 * calls, "evaluated_tokens": 60 * calls}
    assert record["critic_calls"].items() >= {**spent, "completion_tokens": 20 * calls}.items()
    assert record["calls"] * 10 == record["prompt_tokens"], "10 prompt tokens for each call of the generator"
    assert any(line.startswith(f"judge judged: {calls} language model calls") for line in result.summary)
    assert RunAnalysis(out).critic_calls.calls == calls


def test_critic_answers_are_reused_on_resume(docs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    judged_run(docs, out, JudgingEngine(), size=2)
    before, again = record_of(out)["critic_calls"]["calls"], JudgingEngine()
    with RunStore.open(out) as store:  # the state after a kill before the last decisions
        store._database.execute("UPDATE attempts SET decided = 0, outcome = NULL")
        for table in ("samples", "rejects", "steps"):
            store._database.execute(f"DELETE FROM {table}")
        store.set_meta("ending", "interrupted")
    judged_run(docs, out, again, size=2)
    assert again.requests == []
    assert record_of(out)["critic_calls"]["calls"] == before


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("other", r"--critic-lm judge \(cccccccccccc\) \(now other \(eeeeeeeeeeee\)\)"),
        (None, r"--critic-lm judge \(cccccccccccc\) \(now not given\)"),
    ],
)
def test_changed_critic_model_is_a_mismatch(docs: Path, tmp_path: Path, other: str | None, message: str) -> None:
    judged_run(docs, tmp_path / "run", JudgingEngine())
    with pytest.raises(RunMismatchError, match=message):
        judged_run(docs, tmp_path / "run", JudgingEngine(), critic_lm=other, size=5)


def test_critic_lm_is_rejected_for_critics_without_a_model(docs: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^--critic-lm judge: the critic head asks no language model"):
        judged_run(docs, tmp_path / "run", JudgingEngine(), critic="head")
    assert not (tmp_path / "run").exists()


def test_generator_judges_without_critic_lm(docs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = judged_run(docs, out, None, JudgingEngine(), critic_lm=None)
    record = record_of(out)
    assert (record["critic_calls"], "critic_lm" in record["models"]) == (None, False)
    assert not any("judged:" in line for line in result.summary)


def test_low_scored_chunks_are_refused(docs: Path, tmp_path: Path) -> None:
    low = JudgingEngine(LINES.replace("very good - 3", "so so - 2"))
    refused = judged_run(docs, tmp_path / "strict", low)
    assert (refused.ending, refused.files.samples.read_text()) == ("short", "")
    first = json.loads(refused.files.rejects.read_text().splitlines()[0])
    assert first["step"] == "chunk"
    assert first["reason"].startswith("scored too low: 1.00 of 2")
    assert judged_run(docs, tmp_path / "lenient", low, least_score=1.0).ending == "complete"


@pytest.mark.parametrize(("by_file", "key"), [(True, "Bearer none"), (False, "Bearer mine")])
def test_critic_texts_and_key_go_to_the_critic_server(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serving: Any, by_file: bool, key: str
) -> None:
    monkeypatch.setenv("GROUNDSET_API_KEY", "mine")
    monkeypatch.setattr(OpenAISpec, "is_local", False)  # treat the servers as remote
    recipe = replace(scripted_recipe(), program=lambda tools, options: JudgingProgram(tools))
    console = io.StringIO()
    with serving() as writer, serving() as judge:
        file = tmp_path / "groundset.toml"
        file.write_text(f'critic-lm = "{judge.spec}"\n')
        given = {"documents": (docs,), "lm": writer.spec, "critic": "verdict", "parser": "none", "chunk_size": 300}
        named = {} if by_file else {"critic_lm": judge.spec}
        config = make_config({**given, **named, "size": 2, "min_length": 50}, file)
        progress = Progress(console=Console(file=console))
        run_generation(config, tmp_path / "run", openers=Openers(None, Encoder), recipe=recipe, progress=progress)
        assert judge.keys == {key}
        assert writer.keys == {"Bearer mine"}
        assert judge.texts
        assert all("easily missed" in text for text in judge.texts)
        assert not any("easily missed" in text for text in writer.texts)
        places = [f"127.0.0.1:{server.server_port}" for server in (writer, judge)]
    output = console.getvalue()
    assert [f"Texts go to {place}." in output for place in places] == [True, True]
    assert ("name it with --critic-lm to send it" in output) is by_file
    record = (tmp_path / "run" / "run.json").read_text()
    assert json.loads(record)["models"]["critic_lm"] == {"name": "openai/tiny@server", "sha256": None}
