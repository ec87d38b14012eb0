import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from elsewhere import Elsewhere
from loaded_run import loaded_run

from groundset.engine import judging
from groundset.engine.judging import OpenCritic
from groundset.run import Run, save_run
from groundset.sets.transforms import relabel
from groundset.sets.transforms.relabel import relabel_run
from programs.errors import InputError
from programs.types import Sample, StepRecord

Write = Callable[..., Run]


class ByWords:
    """Accepts questions that begin with "When" and records its inputs."""

    supports_decision_requests = True

    def __init__(self) -> None:
        self.inputs: list[dict[str, str]] = []
        self.estimate: dict[str, Any] = {}

    def embed_ahead(self, rows: Any) -> None: ...

    def __call__(self, state: dict[str, Any], questions: dict[str, Any]) -> dict[str, Any]:
        self.inputs.append(dict(state["inputs"]))
        good = state["inputs"]["question"].startswith("When")
        return {name: {"noul": 0.8 if good else (0.1 if name == "clear" else 0.2)} for name in questions}


@pytest.fixture
def critic(monkeypatch: pytest.MonkeyPatch) -> ByWords:
    made = ByWords()

    @contextmanager
    def open_critic(critic: str, lm: str | None, embedder: str, compiled: str, tracking: Any) -> Iterator[OpenCritic]:
        assert embedder == "words", "that of the run"
        states: Any = SimpleNamespace(predictors={}, fitted="uncompiled", record=lambda: made.estimate)
        yield OpenCritic({"judge": made}, states, lm)

    monkeypatch.setattr(relabel, "open_critic", open_critic)
    return made


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(**changes: Any) -> Run:
        made = loaded_run(**changes)
        save_run(tmp_path / "run", made, made.lineage("import"))
        return made

    return write


def trail_of(sample: Sample, step: str) -> list[StepRecord]:
    return [record for record in sample.trail if record.step == step]


def test_relabel_rejects_refused_samples(critic: ByWords, write: Write, tmp_path: Path) -> None:
    before = write()
    lines = relabel_run(tmp_path / "run", tmp_path / "judged", critic="lm", lm="small", quiet=True)
    assert lines[0].endswith("2 good, 2 bad (2 not clear). Before: 4 good, 0 bad.")
    assert "0.75 before, 0.50 now" in lines[1]
    assert "`groundset relabel run --critic lm --lm small --compiled shipped`" in lines[2]
    after = Run.loaded(tmp_path / "judged")
    assert [sample.id for sample in after.samples] == ["q-1", "q-3"]
    for sample in after.samples:
        assert sample.probability == 0.8
        (record,) = trail_of(sample, "judge")
        assert (record.probability, record.verdict, record.output["fit"]) == (0.8, "good", 0.8)
    added = [(reject.step, reject.reason, reject.probability, reject.question) for reject in after.rejects[1:]]
    assert added == [("judge", "not clear", 0.2, before.samples[index].question) for index in (1, 3)]
    assert critic.inputs[0]["passage"] == "The ferry Henn leaves Tollvik at nine."


def test_relabel_keep_keeps_refused_samples(critic: ByWords, write: Write, tmp_path: Path) -> None:
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


def test_relabel_replaces_only_the_record_of_the_final_question(critic: ByWords, write: Write, tmp_path: Path) -> None:
    first, *others = loaded_run().samples
    records = [
        StepRecord(step="judge", candidate=2, output={"question": "When?"}, probability=0.3, verdict="bad"),
        StepRecord(step="judge", candidate=2, output={"question": first.question}, probability=0.6, verdict="good"),
        StepRecord(step="grounding", candidate=2, probability=0.5, verdict="good"),
    ]
    unjudged = others[0].model_copy(update={"trail": ()})
    samples = [first.model_copy(update={"trail": tuple(records)}), unjudged, *others[1:]]
    write(samples=samples)
    lines = relabel_run(tmp_path / "run", tmp_path / "judged", critic="head", keep=True, quiet=True)
    assert "Before: 3 good, 0 bad, 1 not judged." in lines[0]
    corrected, added, *_ = Run.loaded(tmp_path / "judged").samples
    assert corrected.trail[::2] == (records[0], records[2])
    assert (corrected.trail[1].probability, corrected.trail[1].candidate) == (0.8, 2)
    assert corrected.probability == 0.5, "limited by grounding"
    assert [record.verdict for record in added.trail] == ["bad"]


def test_relabel_keeps_the_limit_of_a_panel(critic: ByWords, write: Write, tmp_path: Path) -> None:
    first, *others = loaded_run().samples
    votes = [StepRecord(step="panel", probability=share, verdict="good") for share in (0.9, 0.9, 0.2, 0.1)]
    write(samples=[first.model_copy(update={"trail": (*first.trail, *votes)}), *others])
    relabel_run(tmp_path / "run", tmp_path / "judged", critic="head", keep=True, quiet=True)
    assert Run.loaded(tmp_path / "judged").samples[0].probability == 0.4, "the mean of its last round"


def test_relabel_replaces_critic_and_drops_old_estimates(critic: ByWords, write: Write, tmp_path: Path) -> None:
    compiled = {"judge": {"threshold": 0.4, "expected_good": 0.6, "interval": [0.5, 0.7]}, "chunk": {"threshold": 0.1}}
    write(settings={**loaded_run().settings, "compiled": compiled})
    relabel_run(tmp_path / "run", tmp_path / "judged", critic="lm", lm="small", quiet=True)
    record = json.loads((tmp_path / "judged" / "run.json").read_text())
    assert record["models"]["critic"] == {"name": "lm", "compiled": "uncompiled", "lm": "small"}
    assert record["compiled"] == {"chunk": {"threshold": 0.1}}
    assert record["configuration"] == loaded_run().settings["configuration"]


def test_relabel_estimates_are_omitted_with_keep(critic: ByWords, write: Write, tmp_path: Path) -> None:
    write()
    critic.estimate = {"judge": {"threshold": 0.3, "expected_good": 0.9, "interval": [0.8, 1.0]}}
    for keep, compiled in ((False, critic.estimate), (True, {"judge": {"threshold": 0.3}})):
        out = tmp_path / f"keep-{keep}"
        relabel_run(tmp_path / "run", out, critic="head", keep=keep, quiet=True)
        assert json.loads((out / "run.json").read_text())["compiled"] == compiled


def test_empty_results_are_rejected(critic: ByWords, write: Write, tmp_path: Path) -> None:
    write(**vars(loaded_run().only([1, 3])))
    with pytest.raises(InputError, match=r"--critic lm: refuses all 2 questions of .* --keep"):
        relabel_run(tmp_path / "run", tmp_path / "judged", critic="lm", quiet=True)
    assert not (tmp_path / "judged").exists()


def test_relabel_checks_the_target_before_judging(critic: ByWords, write: Write, tmp_path: Path) -> None:
    write()
    with pytest.raises(InputError, match="holds a run already"):
        relabel_run(tmp_path / "run", tmp_path / "run", critic="head", quiet=True)
    assert critic.inputs == []


def test_head_judges_the_same_on_another_executor(
    critic: ByWords, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write()
    relabel_run(tmp_path / "run", tmp_path / "judged", critic="head", keep=True, quiet=True)
    elsewhere = Elsewhere(pickles=False)
    monkeypatch.setattr(judging, "open_executor", lambda engine: nullcontext(elsewhere))
    relabel_run(tmp_path / "run", tmp_path / "other", critic="head", keep=True, engine="ray", quiet=True)
    assert elsewhere.items == 1
    assert Run.loaded(tmp_path / "other").samples == Run.loaded(tmp_path / "judged").samples
    with pytest.raises(InputError, match="--engine ray: the critic lm asks a language model; only head uses it"):
        relabel_run(tmp_path / "run", tmp_path / "third", critic="lm", lm="small", engine="ray", quiet=True)
