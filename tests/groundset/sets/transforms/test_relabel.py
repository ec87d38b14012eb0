import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_content import content

from groundset.engine.judging import OpenCritic
from groundset.run import Run, save_run
from groundset.sets.transforms import relabel
from groundset.sets.transforms.relabel import relabel_run
from programs.errors import InputError
from programs.types import Sample, StepRecord

Write = Callable[..., Run]


class ByWords:
    """Finds a question good that begins with "When", on whatever passage it is asked; keeps what it was asked."""

    supports_decision_requests = True

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.promised: dict[str, Any] = {}

    def embed_ahead(self, rows: Any) -> None: ...

    def __call__(self, state: dict[str, Any], questions: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(dict(state["inputs"]))
        good = state["inputs"]["question"].startswith("When")
        return {name: {"noul": 0.8 if good else (0.1 if name == "clear" else 0.2)} for name in questions}


@pytest.fixture
def critic(monkeypatch: pytest.MonkeyPatch) -> ByWords:
    made = ByWords()

    @contextmanager
    def open_critic(critic: str, lm: str | None, embedder: str, compiled: str, tracking: Any) -> Iterator[OpenCritic]:
        assert embedder == "words", "that of the run"
        states: Any = SimpleNamespace(predictors={}, fitted="uncompiled", record=lambda: made.promised)
        yield OpenCritic({"judge": made}, states, lm)

    monkeypatch.setattr(relabel, "open_critic", open_critic)
    return made


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(**changes: Any) -> Run:
        made = content(**changes)
        save_run(tmp_path / "run", made, made.lineage("import"))
        return made

    return write


def trail_of(sample: Sample, step: str) -> list[StepRecord]:
    return [record for record in sample.trail if record.step == step]


def test_what_the_critic_refuses_becomes_a_reject(critic: ByWords, write: Write, tmp_path: Path) -> None:
    before = write()
    lines = relabel_run(tmp_path / "run", tmp_path / "judged", critic="lm", lm="small", quiet=True)
    assert lines[0] == ("Judged 4 questions again by lm: 2 good, 2 bad (2 not clear). Before: 4 good, 0 bad.")
    assert lines[1] == "The median score was 0.75 and is 0.50."
    assert "`groundset relabel run --critic lm --lm small --compiled shipped`" in lines[2]
    after = Run.loaded(tmp_path / "judged")
    assert [sample.id for sample in after.samples] == ["q-1", "q-3"]
    for sample in after.samples:
        assert sample.probability == 0.8
        (record,) = trail_of(sample, "judge")
        assert (record.probability, record.verdict, record.output["fit"]) == (0.8, "good", 0.8)
    told = [(reject.step, reject.reason, reject.probability, reject.question) for reject in after.rejects[1:]]
    assert told == [("judge", "not clear", 0.2, before.samples[place].question) for place in (1, 3)]
    assert critic.asked[0]["passage"] == "The ferry Henn leaves Tollvik at nine."


def test_they_can_be_kept_with_the_verdict(critic: ByWords, write: Write, tmp_path: Path) -> None:
    before = write()
    relabel_run(tmp_path / "run", tmp_path / "judged", critic="head", keep=True, quiet=True)
    after = Run.loaded(tmp_path / "judged")
    assert [sample.id for sample in after.samples] == [sample.id for sample in before.samples]
    assert [sample.probability for sample in after.samples] == [0.8, 0.2, 0.8, 0.2]
    assert trail_of(after.samples[1], "judge")[0].verdict == "bad"
    assert after.rejects == before.rejects
    again = relabel_run(tmp_path / "judged", tmp_path / "again", critic="head", keep=True, quiet=True)
    assert again[0].endswith("Before: 2 good, 2 bad.")
    assert Run.loaded(tmp_path / "again").samples == after.samples


def test_only_what_was_said_of_the_question_itself_is_replaced(critic: ByWords, write: Write, tmp_path: Path) -> None:
    first, *others = content().samples
    said = [
        StepRecord(step="judge", candidate=2, output={"question": "When?"}, probability=0.3, verdict="bad"),
        StepRecord(step="judge", candidate=2, output={"question": first.question}, probability=0.6, verdict="good"),
        StepRecord(step="grounding", candidate=2, probability=0.5, verdict="good"),
    ]
    unjudged = others[0].model_copy(update={"trail": ()})
    samples = [first.model_copy(update={"trail": tuple(said)}), unjudged, *others[1:]]
    write(samples=samples)
    lines = relabel_run(tmp_path / "run", tmp_path / "judged", critic="head", keep=True, quiet=True)
    assert "Before: 3 good, 0 bad, 1 not judged." in lines[0]
    corrected, added, *_ = Run.loaded(tmp_path / "judged").samples
    assert corrected.trail[::2] == (said[0], said[2])
    assert (corrected.trail[1].probability, corrected.trail[1].candidate) == (0.8, 2)
    assert corrected.probability == 0.5, "its answer is no better supported than before"
    assert [record.verdict for record in added.trail] == ["bad"]


def test_the_record_names_the_new_critic_and_forgets_what_the_old_one_promised(
    critic: ByWords, write: Write, tmp_path: Path
) -> None:
    promised = {"judge": {"threshold": 0.4, "expected_good": 0.6, "interval": [0.5, 0.7]}, "chunk": {"threshold": 0.1}}
    write(settings={**content().settings, "compiled": promised})
    lines = relabel_run(tmp_path / "run", tmp_path / "judged", critic="lm", lm="small", quiet=True)
    assert not any("Expect about" in line for line in lines)
    record = json.loads((tmp_path / "judged" / "run.json").read_text())
    assert record["models"]["critic"] == {"name": "lm", "compiled": "uncompiled", "lm": "small"}
    assert record["compiled"] == {"chunk": {"threshold": 0.1}}
    assert record["configuration"] == content().settings["configuration"]


def test_what_the_new_critic_promises_is_told_unless_what_it_refuses_is_kept(
    critic: ByWords, write: Write, tmp_path: Path
) -> None:
    write()
    critic.promised = {"judge": {"threshold": 0.3, "expected_good": 0.9, "interval": [0.8, 1.0]}}
    lines = relabel_run(tmp_path / "run", tmp_path / "judged", critic="head", quiet=True)
    assert any(line.startswith("Expect about 90 of 100 questions like these to be good") for line in lines)
    lines = relabel_run(tmp_path / "run", tmp_path / "kept", critic="head", keep=True, quiet=True)
    assert not any("Expect about" in line for line in lines)
    assert json.loads((tmp_path / "kept" / "run.json").read_text())["compiled"] == {"judge": {"threshold": 0.3}}


def test_nothing_is_written_where_nothing_would_be_left(critic: ByWords, write: Write, tmp_path: Path) -> None:
    write(**vars(content().only([1, 3])))
    with pytest.raises(InputError, match=r"refuses all 2 questions of .* --keep keeps them"):
        relabel_run(tmp_path / "run", tmp_path / "judged", critic="lm", quiet=True)
    assert not (tmp_path / "judged").exists()


def test_a_folder_that_holds_something_is_refused_before_anything_is_judged(
    critic: ByWords, write: Write, tmp_path: Path
) -> None:
    write()
    with pytest.raises(InputError, match="holds a run already"):
        relabel_run(tmp_path / "run", tmp_path / "run", critic="head", quiet=True)
    assert critic.asked == []
