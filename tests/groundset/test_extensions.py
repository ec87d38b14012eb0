"""A user's project: a recipe, a judge, a reader, an exporter, a metric and an optimizer of its own,
without a file of the package.
"""

import os
import subprocess
import sys
from pathlib import Path

import dspy
import pytest
from refusal import refuses
from scripted import ScriptedEngine

import groundset
from groundset.cli import _run
from groundset.options import Name

MINE = '''
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dspy
import groundset
from groundset.exports.sets import EvaluationSet


class Mine(dspy.Module):
    """Asks about a passage, in its own words."""

    def __init__(self) -> None:
        super().__init__()
        self.search: Any = None
        self.judge = dspy.Predict("passage, question -> clear: bool")
        self.write = dspy.Predict("passage, topic -> question, answer, evidence")

    def forward(self, passage: str, topic: str) -> dspy.Prediction:
        assert self.search is not None
        made = self.write(passage=passage, topic=topic)
        if not self.judge(passage=passage, question=made.question).clear:
            return dspy.Prediction(question="")
        return dspy.Prediction(
            question=made.question, answer=made.answer, evidence=made.evidence
        )


class Polite(groundset.OneChunk):
    def forward(self, *args: Any, **inputs: Any) -> dspy.Prediction:
        return super().forward(*args, **inputs)


class Kind(dspy.Module):
    """Keeps all questions that end well."""

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return dspy.Prediction(clear=inputs["question"].endswith("?"), answerable=True)


def read_mill(data: bytes) -> str:
    return data.decode().replace("@@", "##")


def write_list(content: EvaluationSet, folder: Path) -> None:
    lines = [f"{sample.question} {sample.answer}" for sample in content.samples]
    (folder / "list.txt").write_text("\\n".join(lines))


def shortness(example: dspy.Example, prediction: dspy.Prediction, *_: Any) -> float:
    return 1.0 / (1 + len(str(prediction.reason)))
'''
MAIN = """
from pathlib import Path

import dspy
import groundset
import mine

lm = dspy.LM("openai/gpt-4o-mini")
run = groundset.generate(
    ["notes"],
    program=mine.Mine(),
    lm=lm,
    compiled=mine.Mine(),
    critic=mine.Kind(),
    readers={".mill": mine.read_mill},
    out="run",
    mix={"simple": 1.0},
)
first: str = run[0].question
status: str = run.filter(lambda sample: bool(sample.answer)).save("kept").status
written = run.export(mine.write_list, "list")
folder: Path = written.folder
optimizer = dspy.GEPA(metric=mine.shortness, auto="light", reflection_lm=lm)
reports = groundset.compile("judge", optimizer=optimizer, metric=mine.shortness, lm=lm)
line: str = str(reports[0])
again: groundset.Run = groundset.open_run("run")
model: dspy.LM = groundset.lm("qwen2.5-coder-0.5b")
task = groundset.step("judge")
rows: list[dspy.Example] = task.trainset
"""
# Who checks a program of DSPy strictly needs the second line: it ships no types. Groundset lies on
# the path here, and the large libraries that it uses take a minute.
MYPY = """[mypy]
strict = true
disallow_subclassing_any = false
[mypy-groundset.*]
follow_imports = silent
[mypy-dspy.*,mlflow.*,torch.*,transformers.*,pandas.*,sqlalchemy.*,sklearn.*,numpy.*,rich.*]
follow_imports = skip
ignore_missing_imports = true
"""
JUDGED = "Reason: ok\nAnswer: 1\nIndependent: yes\nClear: yes\nAnswerable: yes\nConfidence: 90"
STATED = "The mill of {} was built in {} by the carpenters of the valley, and it stood for years."


def written(prompt):
    place = prompt.partition("mill of ")[2].split()[0]
    outputs = {
        "question": f"When did {place} get its {place}wheel and {place}race?",
        "answer": "long ago",
        "evidence": f"The mill of {place} was built",
        "clear": True,
    }
    return "\n\n".join(f"[[ ## {name} ## ]]\n{text}" for name, text in outputs.items())


class Script(ScriptedEngine):
    def close(self):
        pass


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The project, with documents of a format that nobody reads."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "main.py").write_text(MAIN)
    (tmp_path / "notes").mkdir()
    for number, place in enumerate(("Arden", "Birk", "Calder")):
        text = f"# Mills\n\n@@ {place}\n\n" + STATED.format(place, 1700 + number)
        (tmp_path / "notes" / f"{place}.mill").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("mine", None)
    import mine

    yield mine
    sys.modules.pop("mine", None)


@pytest.fixture
def script(monkeypatch, word_encoder):
    monkeypatch.setattr("groundset.run.generate.open_embedder", lambda *_, **__: word_encoder())
    fit = "Reason: ok\nContent: yes\nSelf contained: yes\nConfidence: 80"
    return Script({"": written, "score": fit})


def make(mine, script, **options):
    given = {
        "program": mine.Mine(),
        "lm": dspy.LM("openai/mine", engine=script, cache=False),
        "readers": {".mill": mine.read_mill},
        "out": "run",
        "size": 2,
        "chunk_critic": "lm",
    }
    return groundset.generate("notes", **given | options, quiet=True, track=False)


def test_a_run_of_ones_own_is_made_goes_on_and_is_exported(mine, script):
    run = make(mine, script)
    assert {sample.question for sample in run} <= {
        f"When did {place} get its {place}wheel and {place}race?"
        for place in ("Arden", "Birk", "Calder")
    }
    assert [sample.contexts[0].headings for sample in run] == [
        ("Mills", sample.question.split()[2]) for sample in run
    ]
    assert run[0].evidence[0].startswith("The mill of")
    assert run.record["configuration"]["recipe"] == "mine:Mine"
    assert run.record["models"]["lm"]["name"] == "openai/mine"
    assert len(make(mine, script, size=3)) == 3
    assert len(script.requests) == 9  # of each chunk, question and judge one
    assert run.export(mine.write_list, "list").questions == 3
    assert "long ago" in Path("list", "list.txt").read_text()
    assert _run(["export", "run", "--format", "mine:write_list", "--out", "other"]) == 0
    changed = mine.Mine()
    changed.write.demos = [dspy.Example(passage="p", question="q?")]
    with refuses(r"used another state of its program \(recipe\)"):
        make(mine, script, compiled=changed)


def test_completions_that_an_own_program_cannot_read_are_refused(mine, script):
    script.answers[""] = lambda _: "I am sorry."
    run = make(mine, script)
    assert run.status == "short"
    assert len(run.rejects) > 5, "as many in a row would end it, were they failures"
    assert {reject.step for reject in run.rejects} == {"Mine"}
    assert run.rejects[0].reason.startswith("what was written cannot be read: ")


def test_a_judge_of_ones_own_decides(mine, script):
    script.answers["ask"] = (
        "Question: When was the mill of Arden built?\nAnswer: in 1700\n"
        "Evidence: The mill of Arden was built in 1700"
    )
    run = make(mine, script, program=None, users="reader", critic=mine.Kind())
    assert [sample.answer for sample in run] == ["in 1700"]
    assert "judge" not in script.steps()
    with refuses("mine:Kind has no attribute `judge`"):
        make(mine, script, program=mine.Kind(), critic=mine.Kind(), out="other")


def test_names_of_modules_are_taken_on_the_command_line(mine, capsys):
    words = "generate notes --readers .mill=mine:read_mill --recipe mine:{} --dry-run"
    words += " --chunk-critic lm"
    assert _run(words.format("Mine").split()) == 0
    assert "3 documents with 3 chunks" in capsys.readouterr().out
    assert _run(words.format("Yours").split()) == 2
    assert "--recipe mine:Yours: cannot be imported" in capsys.readouterr().err
    with refuses("lambda.*must stand at the top of a module"):
        groundset.chunk("notes", readers={".mill": lambda data: "x"})


def test_an_optimizer_and_a_metric_of_ones_own_compile(mine, tmp_path):
    lm = dspy.LM("openai/mine", engine=Script({"judge": JUDGED}), cache=False)
    optimizer = dspy.LabeledFewShot(k=1)
    (report,) = groundset.compile(
        "judge", optimizer=optimizer, metric=mine.shortness, lm=lm, rows=8, out="out", track=False
    )
    assert report.optimizer == "dspy.teleprompt.vanilla:LabeledFewShot"
    assert report.figures["after_dev"] == 1 / 3
    assert isinstance(report.optimizer, Name)


def test_a_users_project_is_typed(mine, tmp_path):
    root = Path(groundset.__file__).parents[1]
    (tmp_path / "mypy.ini").write_text(MYPY)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "mine.py", "main.py"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"MYPYPATH": str(root)},
    )
    assert done.stdout == "Success: no issues found in 2 source files\n", done.stderr
