"""What a DSPy user does with programs and models: save, load, copy, log, await, stream, train."""

import asyncio

import cloudpickle
import dspy
import pytest
from dspy.clients.provider import Provider
from refusal import refuses
from scripted import ScriptedEngine, user_turn

from groundset.models import open as opening
from groundset.programs.adapter import PLAIN_TEXT
from groundset.programs.errors import ModelError
from groundset.programs.onechunk import OneChunk
from groundset.programs.step import step

FERRY = {"passage": "The ferry leaves Tollvik at nine.", "topic": "Ferries"}
ANSWERS = {
    "ask": "Question: When does the ferry leave Tollvik?\nAnswer: at nine\nEvidence: The ferry"
    " leaves Tollvik at nine.\nForm: simple\nKind: fact",
    "judge": "Reason: ok\nAnswer: at nine\nIndependent: yes\nClear: yes\nAnswerable: yes\n"
    "Confidence: 95",
}


class Named:
    """Stands for models that can be opened by name: how often, and with what."""

    def __init__(self):
        self.opened = []

    def open_model(self, spec, **options):
        self.opened.append((spec, options))
        engine = opening.NamedEngine(spec, ScriptedEngine(ANSWERS), options=options)
        return opening.Model(engine, "local/ferry", spec, None)


@pytest.fixture
def named(monkeypatch) -> Named:
    monkeypatch.setattr(opening, "_NAMED", {})
    models = Named()
    monkeypatch.setattr(opening, "open_model", models.open_model)
    return models


@pytest.fixture
def program(named) -> OneChunk:
    program = OneChunk()
    program.set_lm(named.open_model("qwen2.5-coder-0.5b", workers=2).lm)
    named.opened.clear()
    return program


def by_pickle(program, _):
    return cloudpickle.loads(cloudpickle.dumps(program))


def by_state(program, folder):
    program.save(folder / "program.json")
    again = OneChunk()
    again.load(folder / "program.json")
    return again


def by_program(program, folder):
    program.save(folder / "whole", save_program=True)
    return dspy.load(folder / "whole", allow_pickle=True)


def by_mlflow(program, folder):
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    with mlflow.start_run():
        logged = mlflow.dspy.log_model(program, name="program", pip_requirements=[])
    loaded = mlflow.dspy.load_model(logged.model_uri)
    mlflow.clear_active_model()
    return loaded


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("again", [by_pickle, by_state, by_program, by_mlflow])
def test_a_saved_program_opens_its_model_by_name_once(program, named, tmp_path, again):
    loaded = again(program, tmp_path)
    assert named.opened == []
    assert loaded(**FERRY).answer == "at nine"
    assert [spec for spec, _ in named.opened] == ["qwen2.5-coder-0.5b"]
    assert loaded.ask.lm.engine is loaded.judge.lm.engine
    assert loaded.ask.lm("Hello", n=2, temperature=1.0) == ["", ""]
    assert loaded.ask.lm.engine.usage()["calls"] == 5  # candidates are calls of their own
    if again is not by_state:
        assert named.opened[0][1] == {"workers": 2}


def test_copies_share_the_model(program):
    assert program.deepcopy().ask.lm.engine is program.ask.lm.engine


def test_a_state_can_name_no_download(named, tmp_path):
    program = OneChunk()
    program.set_lm(named.open_model("hf/a/b/c.gguf").lm)
    again = by_state(program, tmp_path)
    with refuses(r"is not open; open it and set it: program.set_lm\(groundset.lm", ModelError):
        again(**FERRY)
    assert by_pickle(program, None).ask.lm("Hello") == [""]  # a pickle is trusted


def test_a_program_is_awaited_and_streamed(program):
    async def heard(**options):
        listeners = [
            dspy.streaming.StreamListener("evidence", predict=program.ask, predict_name="ask"),
            dspy.streaming.StreamListener("answer", predict=program.judge, predict_name="judge"),
        ]
        streamed = dspy.streamify(program, stream_listeners=listeners, **options)
        return [value async for value in streamed(**FERRY)]

    assert asyncio.run(program.acall(**FERRY)).answer == "at nine"
    assert asyncio.run(program.judge.acall(**FERRY, question="When?")).answer == "at nine"
    for options in ({}, {"is_async_program": True}):
        first, second, made = asyncio.run(heard(**options))
        assert (first.predict_name, first.chunk) == ("ask", "['The ferry leaves Tollvik at nine.']")
        assert (second.predict_name, second.chunk, second.is_last_chunk) == (
            "judge",
            "at nine",
            True,
        )
        assert made.question == "When does the ferry leave Tollvik?"


class Trainer(Provider):
    """Trains nothing, and keeps the chats."""

    def __init__(self):
        super().__init__()
        self.finetunable = True
        self.chats = []

    def finetune(self, job, model, train_data, **_):
        self.chats = train_data
        return model


def test_bootstrapped_training_writes_the_chats_that_are_served(program):
    trainer, script = Trainer(), ScriptedEngine(ANSWERS)
    program.set_lm(dspy.LM("local/x", engine=script, cache=False, provider=trainer))
    row = dspy.Example(**FERRY).with_inputs("passage", "topic")
    dspy.BootstrapFinetune(adapter=PLAIN_TEXT, num_threads=1).compile(program, trainset=[row])
    written = {chat["messages"][-1]["content"]: chat["messages"] for chat in trainer.chats}
    made = next(text for text in written if text.startswith("Form: simple\nKind: fact\nQuestion:"))
    served = [user_turn(request) for name, request in script.requests if name == "ask"]
    assert written[made][-2] == {"role": "user", "content": served[0]}


def test_rows_without_outputs_are_no_demos():
    row = dspy.Example(**FERRY).with_inputs("passage", "topic")
    asked = step("ask")
    without = PLAIN_TEXT.format(asked.signature, asked.demos, FERRY)
    assert PLAIN_TEXT.format(asked.signature, [*asked.demos, row], FERRY) == without
