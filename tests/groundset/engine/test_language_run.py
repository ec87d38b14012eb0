"""Runs with ``--language``: prompts are adapted once, and other languages are refused."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Request, Response
from free_writer import Writer, write_documents
from scripted_run import Encoder, generate, lm_opener

from groundset.engine.config import make_config
from groundset.engine.generation import RunResult, run_generation
from groundset.engine.models import Openers
from programs.errors import EngineError, InputError, RunMismatchError, StateError

TRANSLATE = "Translate the text"
_GERMAN = {
    "In what year was ": "In welchem Jahr wurde ",
    "Since when has ": "Seit wann steht eigentlich ",
    "How many years lie between": "Wie viele Jahre liegen zwischen",
    " and the ": " und the ",
    " built?": " gebaut?",
}


class GermanWriter(Writer):
    """Translates lines into German with the same numbers and quotes, and back; asks in German.

    After ``calls`` calls it fails; ``wrong_back`` is its back-translation; with ``asks`` "en" it asks in English.
    """

    def __init__(self, asks: str = "de", calls: int = 10**6, wrong_back: str = "") -> None:
        super().__init__()
        self.asks, self.left, self.wrong_back = asks, calls, wrong_back
        self.english: dict[str, str] = {}
        self.systems: Counter[str] = Counter()

    def complete(self, request: Request) -> Response:
        self.left -= 1
        if self.left < 0:
            raise EngineError("stopped")
        self.systems[str(request.system)] += 1
        return super().complete(request)

    def answer(self, system: str, shown: str) -> str:
        if system.startswith(TRANSLATE):
            into, text = re.fullmatch(r"Into: (\w+)\nText: (.*)", shown, re.DOTALL).groups()  # type: ignore[union-attr]
            return "\n".join(self._translated(line, into) for line in text.splitlines())
        return super().answer(self.english.get(system, system), shown)

    def _translated(self, line: str, into: str) -> str:
        if into == "English":
            return self.wrong_back or self.english[line]
        kept = " und ".join(re.findall(r'"[^"]*"|\d+(?:[.,]\d+)*', line))
        number = " und dieser" * len(self.english)  # no two lines have the same translation
        german = f"Dies ist die deutsche Fassung dieser Zeile{number}, und zwar mit {kept} darin"
        self.english[german] = line
        return german

    def _written(self, label: str, question: str, answer: str, rests_on: list[str]) -> str:
        for english, german in _GERMAN.items() if self.asks == "de" else ():
            question = question.replace(english, german)
        return super()._written(label, question, answer, rests_on)

    @property
    def translations(self) -> int:
        return sum(count for system, count in self.systems.items() if system.startswith(TRANSLATE))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDSET_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "prompts" / "writer" / "language-de.json"


def german_run(docs: Path, out: Path, writer: Writer, **options: Any) -> tuple[RunResult, list[dict[str, Any]]]:
    given = {
        "documents": (docs,), "lm": "writer", "parser": "none", "chunk_size": 600, "min_length": 50, "language": "de",
        "size": 4, **options,
    }  # fmt: skip
    result = run_generation(make_config(given), out, openers=Openers(lm_opener(writer), Encoder))
    return result, [json.loads(line) for line in (out / "samples.jsonl").read_text("utf-8").splitlines()]


def record_of(out: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((out / "run.json").read_text("utf-8"))
    return record


def edit(file: Path, **change: Any) -> dict[str, Any]:
    """Change the entry of the instructions of ``ask``; return it as it was."""
    content = json.loads(file.read_text("utf-8"))
    entry = next(each for each in content["prompts"] if each["english"][0].startswith("Write questions that a user"))
    before = dict(entry)
    entry.update(change)
    file.write_text(json.dumps(content), "utf-8")
    return before


def test_prompts_are_adapted_once(docs: Path, tmp_path: Path, cache: Path) -> None:
    first = GermanWriter()
    result, rows = german_run(docs, tmp_path / "run", first, size=10)
    assert {row["language"] for row in rows} == {"de"}
    assert {row["evolution"] for row in rows} == {"simple", "reasoning", "conditional", "multi_context"}
    assert all(row["question"].startswith(("In welchem", "Seit wann", "Wie viele")) for row in rows)
    entries = json.loads(cache.read_text("utf-8"))["prompts"]
    assert first.translations == 2 * len(entries)
    assert {entry["step"] for entry in entries} == {
        "ask", "answer", "open_answer", "combine", "compress", "evolve", "rewrite",
    }  # fmt: skip
    language = record_of(tmp_path / "run")["language"]
    assert (language["code"], language["adapted"], language["english"]) == ("de", len(entries), 0)
    assert f"Language German: {len(entries)} of {len(entries)} prompts were adapted: {cache}." in result.summary
    assert not any(system.startswith("Write questions") for system in first.systems)

    again = GermanWriter()
    again.english = first.english
    assert german_run(docs, tmp_path / "again", again, size=10)[1] == rows
    assert again.translations == 0


def test_only_the_prompts_of_the_recipe_are_adapted(docs: Path, tmp_path: Path, cache: Path) -> None:
    german_run(docs, tmp_path / "run", GermanWriter(), recipe="roundtrip")
    assert {entry["step"] for entry in json.loads(cache.read_text("utf-8"))["prompts"]} == {"ask", "rewrite"}


def test_edited_file_is_used_and_belongs_to_the_run(docs: Path, tmp_path: Path, cache: Path) -> None:
    writer = GermanWriter()
    german_run(docs, tmp_path / "run", writer)
    before = edit(cache, translation=["Stelle Fragen auf Deutsch."])
    writer.english["Stelle Fragen auf Deutsch."] = before["english"][0]
    german_run(docs, tmp_path / "edited", writer)
    assert writer.systems["Stelle Fragen auf Deutsch."] > 0
    with pytest.raises(RunMismatchError, match=r"created with other prompts than those in .*language-de\.json"):
        german_run(docs, tmp_path / "run", writer, size=6)
    edit(cache, translation=before["translation"])
    assert len(german_run(docs, tmp_path / "run", writer, size=6)[1]) == 6


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "not a file of adapted prompts"),
        ('{"language": "de"}', "prompts: Field required"),
        ('{"language": "fr", "prompts": []}', "has prompts in French, not German"),
        (
            '{"language": "de", "prompts": [{"step": "ask", "english": ["One."], "translation": ["Eins.", "Zwei."]}]}',
            r"prompts\.0: Value error, 2 lines of translation for 1 English ones",
        ),
        ('{"language": "de", "prompts": [{"step": "ask", "english": "One."}]}', r"prompts\.0\.english"),
    ],
)
def test_wrong_file_is_named_before_anything_is_written(
    docs: Path, tmp_path: Path, cache: Path, content: str, problem: str
) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text(content)
    with pytest.raises(StateError, match=rf"language-de\.json: .*{problem}"):
        german_run(docs, tmp_path / "run", GermanWriter())
    assert not (tmp_path / "run").exists()


def test_interrupted_adaptation_continues(docs: Path, tmp_path: Path, cache: Path) -> None:
    whole = GermanWriter()
    _, rows = german_run(docs, tmp_path / "whole", whole)
    cache.unlink()
    stopped = GermanWriter(calls=13)
    with pytest.raises(EngineError, match="stopped"):
        german_run(docs, tmp_path / "run", stopped)
    assert len(json.loads(cache.read_text("utf-8"))["prompts"]) == 6
    rest = GermanWriter()
    rest.english = stopped.english
    result, continued = german_run(docs, tmp_path / "run", rest)
    assert result.ending == "complete"
    assert [row["question"] for row in continued] == [row["question"] for row in rows]
    assert stopped.translations + rest.translations == whole.translations


def test_wrong_translations_stay_english(docs: Path, tmp_path: Path, cache: Path) -> None:
    result, rows = german_run(docs, tmp_path / "run", GermanWriter(wrong_back="Nothing of that."))
    entries = json.loads(cache.read_text("utf-8"))["prompts"]
    assert all(entry["translation"] is None and "translated back" in entry["problem"] for entry in entries)
    assert len(rows) == 4
    assert f"Language German: 0 of {len(entries)} prompts were adapted; {cache} says why the others were not." in (
        result.summary
    )
    again = GermanWriter()
    german_run(docs, tmp_path / "again", again)
    assert again.translations == 0, "failed translations are not paid for again"


def test_questions_in_another_language_are_refused(docs: Path, tmp_path: Path) -> None:
    result, rows = german_run(docs, tmp_path / "run", GermanWriter(asks="en"), mix="simple=1")
    assert (result.ending, rows) == ("short", [])
    rejects = [json.loads(line) for line in (tmp_path / "run" / "rejects.jsonl").read_text("utf-8").splitlines()]
    reasons = Counter((row["step"], row["reason"]) for row in rejects)
    assert reasons["language", "the question is in English, not German"] > 4
    assert record_of(tmp_path / "run")["counts"]["language"]["refused"] == sum(reasons.values())


def test_english_questions_need_no_adaptation(docs: Path, tmp_path: Path, cache: Path) -> None:
    writer = GermanWriter(asks="en")
    result, rows = german_run(docs, tmp_path / "run", writer, language="en")
    assert {row["language"] for row in rows} == {"en"}
    assert writer.translations == 0
    assert not cache.parent.exists()
    assert "Language English." in result.summary
    asked = [system for system in writer.systems if system.startswith("Write questions that a user")]
    assert all("Write questions and answers in English" in system for system in asked)


def test_other_modes_ask_only_about_chunks_in_the_language(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    english = "The mill of Orsle was built beside the river, and the miller lived in it with all his children."
    german = "Die Mühle von Orsle wurde am Fluss gebaut, und der Müller wohnte darin mit allen seinen Kindern."
    for name, text in (("english", english), ("german", german)):
        (docs / f"{name}.md").write_text(f"# {name}\n\n{text}\n", "utf-8")
    result = generate(docs, tmp_path / "run", language="de", mode="sentence", parser="none")
    assert record_of(tmp_path / "run")["language"] == {"code": "de", "chunks": 1}
    assert "Language German: 1 of 2 chunks are in it; --mode free asks about all chunks." in result.summary


@pytest.mark.parametrize(("code", "hint"), [("xx", "such as de"), ("German", "did you mean de"), ("DE", "mean de")])
def test_unknown_language_is_refused(code: str, hint: str) -> None:
    with pytest.raises(InputError, match=rf"--language {code}: no known ISO 639-1 code.*{hint}"):
        make_config({"documents": ("a",), "language": code})
