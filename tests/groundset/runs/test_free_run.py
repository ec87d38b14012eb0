"""A run in mode ``free`` from end to end: the real recipe, agenda, critic and store, and a writer that is scripted."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Message, Request, Response, Usage
from scripted_run import Encoder, lm_opener

from groundset.runs.config import make_config
from groundset.runs.generation import RunResult, run_generation
from groundset.runs.models import Openers

PLACES = ("Henn", "Orsle", "Ansa", "Tarn", "Lowen", "Ostry", "Veld", "Moss")
THINGS = ("mill", "bridge", "ferry", "school", "chapel", "market")


class Writer:
    """Does in the simplest words what prompts of mode ``free`` ask for.

    It asks for the year of a sentence, joins sentences of several passages, answers from the passage that it is shown
    and finds everything good.
    """

    def __init__(self, deaf_to: str = "") -> None:
        self.deaf_to = deaf_to
        self.known: dict[str, tuple[str, list[str]]] = {}
        self.asked: list[str] = []

    def complete(self, request: Request) -> Response:
        system = str(request.system)
        shown = str(request.messages[-1].parts[0].text)
        self.asked.append(system.split(".")[0])
        usage = Usage(input_tokens=100, output_tokens=20, total_tokens=120, cache_read_tokens=40)
        said = "I cannot do that." if self.deaf_to and self.deaf_to in system else self._said(system, shown)
        return Response(
            id=None, model=request.model, message=Message.assistant(said), finish_reason="stop", usage=usage
        )

    def _said(self, system: str, shown: str) -> str:
        facts = re.findall(r"The (\w+) of (\w+) was built in (\d+)\.", shown)
        if system.startswith("Write questions that need all"):
            first, second = facts[0], next(fact for fact in facts if fact[1] != facts[0][1])
            years = abs(int(first[2]) - int(second[2]))
            question = f"How many years lie between the {first[0]} of {first[1]} and the {second[0]} of {second[1]}?"
            return self._written("Kind: general\n", question, f"{years} years", [_sentence(first), _sentence(second)])
        if system.startswith("Write questions"):
            return "\n\n".join(self._about("Kind: fact\n", fact) for fact in facts[:2])
        if system.startswith("Change the question"):
            old = shown.rsplit("\nQuestion: ", 1)[1].split("\n", 1)[0]
            fact = next(fact for fact in facts if f"the {fact[0]} of" not in old)
            return self._about("New ", fact, how="Since when has")
        if system.startswith("Answer the question"):
            passage, question = shown.rsplit("\nQuestion: ", 1)
            answer, rests_on = self.known[question.strip()]
            return answer if all(piece in passage for piece in rests_on) else "not stated"
        criteria = re.findall(r"^([A-Z][a-z ]+): <reason[^>]*> - <([^>]+)>", system, re.MULTILINE)
        assert criteria, system
        good = {"Same": "no"}
        return "\n".join(f"{name}: it is so - {good.get(name) or scale.split(' or ')[-1].replace('no', 'yes')}, 95"
                         for name, scale in criteria)  # fmt: skip

    def _about(self, label: str, fact: Any, how: str = "In what year was") -> str:
        question = f"{how} the {fact[0]} of {fact[1]} {'built' if how.endswith('was') else 'stood'}?"
        return self._written(label, question, fact[2], [_sentence(fact)])

    def _written(self, label: str, question: str, answer: str, rests_on: list[str]) -> str:
        self.known[question] = (answer, rests_on)
        fields = ("question", "answer") if label == "New " else ("Question", "Answer")
        return f"{label}{fields[0]}: {question}\n{label * (label == 'New ')}{fields[1]}: {answer}\nEvidence: " + (
            " | ".join(rests_on)
        )


def _sentence(fact: Any) -> str:
    return "The {} of {} was built in {}.".format(*fact)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number, place in enumerate(PLACES):
        facts = [f"The {thing} of {place} was built in {1700 + 20 * number + at}." for at, thing in enumerate(THINGS)]
        text = " ".join(facts) + f" Visitors of {place} come by the road from Lowen."
        (folder / f"{place}.md").write_text(f"# {place}\n\n{text}\n", "utf-8")
    return folder


def free_run(docs: Path, out: Path, writer: Writer, **options: Any) -> tuple[RunResult, list[dict[str, Any]], Any]:
    told = {"documents": (docs,), "lm": "writer", "parser": "none", "chunk_size": 600, "min_length": 50, **options}
    result = run_generation(make_config(told), out, openers=Openers(lm_opener(writer), Encoder))
    rows = [json.loads(line) for line in (out / "samples.jsonl").read_text("utf-8").splitlines()]
    return result, rows, json.loads((out / "run.json").read_text("utf-8"))


def test_a_model_that_nobody_measured_writes_everything_and_the_mix_is_met(docs: Path, tmp_path: Path) -> None:
    writer = Writer()
    _, rows, record = free_run(docs, tmp_path / "run", writer, size=10)
    counts = {name: sum(row["evolution"] == name for row in rows) for name in {row["evolution"] for row in rows}}
    assert counts == {"simple": 5, "reasoning": 2, "conditional": 1, "multi_context": 2}
    for row in rows:
        answer, rests_on = writer.known[row["question"]]
        assert row["answer"] == answer
        told = " ".join(context["text"] for context in row["contexts"])
        assert all(piece in told for piece in rests_on)
        assert len(row["contexts"]) == len(row["retrieval_gt"]) == (2 if row["evolution"] == "multi_context" else 1)
    assert record["mode"]["name"] == "free"
    assert record["models"]["critic"]["name"] == "verdict"
    assert record["configuration"]["max_rank"] == 0, "what the embedder cannot find is kept"


def test_what_a_model_cannot_write_is_made_otherwise_and_said(docs: Path, tmp_path: Path) -> None:
    writer = Writer(deaf_to="Change the question")
    _, rows, _ = free_run(docs, tmp_path / "run", writer, size=8, mix="simple=1,reasoning=1")
    assert [row["evolution"] for row in rows] == ["simple"] * 8
    refused = [json.loads(line) for line in (tmp_path / "run" / "rejects.jsonl").read_text("utf-8").splitlines()]
    assert {"reasoning"} <= {each["step"] for each in refused}


def test_a_model_that_writes_rubbish_gives_no_sample_and_no_error(docs: Path, tmp_path: Path) -> None:
    writer = Writer(deaf_to="Write questions")
    result, rows, _ = free_run(docs, tmp_path / "run", writer, size=3)
    assert rows == []
    assert "3 samples are missing" in " ".join(result.summary)
    assert "no question can be read from what was written" in (tmp_path / "run" / "rejects.jsonl").read_text("utf-8")
