"""Whole runs with a model that answers from a script, and documents that it knows."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from json_lines import write
from scripted import ScriptedEngine

from groundset.models.journal import Engine
from groundset.models.open import Model
from groundset.programs.heads import HEAD_STEPS
from groundset.run.generate import make_run
from groundset.run.options import GenerateOptions
from groundset.run.run import Run

_BUILT = re.compile(r"The mill of (\w+) was built in (\d+)")
PLACES = re.findall(
    r"\w+",
    "Arden Birk Calder Dunmore Ebbing Farley Gower Hexham Irwell Jarrow Kelso Lorton Malton Norham"
    " Otley Penrith Quorn Ripon Selby Tarn",
)
_OWN = re.findall(r"\w+", "field ford gate hill lane lea mere moor port stead ton vale wick worth")


def sections(place: str) -> str:
    """A section about a mill: half of its words are its own."""
    own = " ".join(place.lower() + end for end in _OWN)
    year = 1700 + 7 * PLACES.index(place)
    return (
        f"The mill of {place} was built in {year} by the carpenters of the valley. If the river is"
        f" low, it stands still until rain falls on the hills. Its flour went to {own}. The miller"
        " kept a third of it."
    )


def write_documents(folder: Path, documents: int = 4) -> Path:
    """Write documents about five mills each."""
    folder.mkdir(exist_ok=True)
    for number in range(documents):
        parts = [
            f"## {place}\n\n{sections(place)}" for place in PLACES[5 * number : 5 * number + 5]
        ]
        (folder / f"mills-{number}.md").write_text(f"# Mills {number}\n\n" + "\n\n".join(parts))
    return folder


def write_chunks(file: Path) -> Path:
    """Write the same texts as chunks of one's own, which are read in no time."""
    rows = (
        {"chunk_id": f"m{n}", "doc_id": f"mills-{n // 5}", "text": sections(place)}
        for n, place in enumerate(PLACES)
    )
    return write(file, rows)


def _ask(prompt):
    place, year = _BUILT.findall(prompt)[0]
    form = re.findall(r"(\w+): ask", prompt)[0]
    question = f"When did {place} get its mill, {place.lower()}wheel and {place.lower()}race?"
    if question in prompt:
        return "Question: none\nAnswer: all was asked"
    return (
        f"Form: {form}\nKind: fact\nQuestion: {question}\nAnswer: {year}\n"
        f"Evidence: The mill of {place} was built in {year}"
    )


def _combine(prompt):
    built = _BUILT.findall(prompt)
    (first, _), (second, _) = built[:2]
    oldest = min(built, key=lambda row: row[1])[0]
    evidence = " | ".join(f"The mill of {place} was built in {year}" for place, year in built)
    question = f"Which mill is older, that of {first} or that of {second}?"
    return f"Kind: comparison\nQuestion: {question}\nAnswer: that of {oldest}\nEvidence: {evidence}"


def _judge(prompt):
    built = dict(_BUILT.findall(prompt))
    question = prompt.rpartition("Question:")[2]
    asked = [place for place in PLACES if place in question]
    answer, good = "not stated", all(place in built for place in asked)
    if good:
        oldest = min(asked, key=lambda place: built[place])
        answer = built[asked[0]] if len(asked) == 1 else f"that of {oldest}"
    clear = "no" if "Calder" in question else "yes"
    yes = "yes" if good else "no"
    return (
        f"Reason: as said\nAnswer: {answer}\nIndependent: yes\nClear: {clear}\nAnswerable:"
        f" {yes}\nConfidence: 90"
    )


ANSWERS = {
    "score": lambda prompt: "Reason: ok\nContent: yes\nSelf contained: {}\nConfidence: 80".format(
        "no" if "Irwell" in prompt else "yes"
    ),
    "ask": _ask,
    "keyphrases": lambda prompt: f"- The mill of {_BUILT.findall(prompt)[0][0]}",
    "evolve": "Question: none\nAnswer: no rule",
    "answer": lambda prompt: _BUILT.findall(prompt)[0][1],
    "combine": _combine,
    "judge": _judge,
    "compare": "Reason: ok\nHolds: yes",
    "revise": lambda prompt: "New question: none",
    "reword": lambda prompt: "Situation: an heir\nMessage:{}".format(
        prompt.rpartition("Question:")[2].partition("\n")[0]
    ),
}
SHA256 = "ab" * 32


class Script(ScriptedEngine):
    """A script that can be closed, like a model."""

    def close(self) -> None:
        """Do nothing."""


class Opened:
    """Stands for the models of a run: what they were asked, and how to make runs with them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, encoder: Any, data: Path) -> None:
        self.script, self.critic = Script(ANSWERS), Script(ANSWERS)
        self.encoder = encoder
        self.out, self.chunks = data.parent / "run", write_chunks(data.parent / "mills.jsonl")
        (data / "compiled" / "head").mkdir(parents=True)
        head = {"weights": {}, "bias": 2.0}
        for step in ("score", "judge"):
            state = {"step": step, "embedder": encoder.sha256, "threshold": 0.5}
            state["heads"] = dict.fromkeys(HEAD_STEPS[step].outputs, head)
            (data / "compiled" / "head" / f"{step}.json").write_text(json.dumps(state))
        monkeypatch.setattr("groundset.run.compiled.data_path", data.joinpath)
        monkeypatch.setattr("groundset.run.generate.open_model", self._open_model)
        size = {"small": False, "guided": False}
        monkeypatch.setattr("groundset.run.generate.size_of", lambda spec: size)
        monkeypatch.setattr("groundset.run.generate.open_embedder", lambda spec, notify: encoder)

    def _open_model(self, spec, *, journal, **options):
        script = self.critic if spec == "critic" else self.script
        name = spec if spec == "critic" else "scripted"
        sha256 = SHA256 if spec != "changed" else "cd" * 32
        return Model(Engine(spec, script, journal), "local/a", name, sha256)

    def options(self, **options: Any) -> GenerateOptions:
        """Return options of a small run on the chunks, if no documents are given."""
        given = {"size": 6, "quiet": True, "track": False, "chunk_size": 500, "out": self.out}
        source = {} if "documents" in options else {"chunks": self.chunks}
        return GenerateOptions.parse({**given, **source, **options})

    def run(self, **options: Any) -> Run:
        """Make a run."""
        return make_run(self.options(**options))


@pytest.fixture
def opened(
    monkeypatch: pytest.MonkeyPatch, word_encoder: Callable[..., Any], tmp_path: Path
) -> Opened:
    """The models of a run."""
    return Opened(monkeypatch, word_encoder(), tmp_path / "data")
