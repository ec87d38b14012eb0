"""End-to-end runs in mode ``free`` with a scripted language model."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from free_writer import Writer, write_documents
from scripted_run import Encoder, lm_opener

from groundset.engine.config import make_config
from groundset.engine.generation import RunResult, run_generation
from groundset.engine.models import Openers
from programs.errors import RunMismatchError


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


def free_run(docs: Path, out: Path, writer: Writer, **options: Any) -> tuple[RunResult, list[dict[str, Any]], Any]:
    given = {"documents": (docs,), "lm": "writer", "parser": "none", "chunk_size": 600, "min_length": 50, **options}
    result = run_generation(make_config(given), out, openers=Openers(lm_opener(writer), Encoder))
    rows = [json.loads(line) for line in (out / "samples.jsonl").read_text("utf-8").splitlines()]
    return result, rows, json.loads((out / "run.json").read_text("utf-8"))


def test_free_mode_meets_the_mix(docs: Path, tmp_path: Path) -> None:
    writer = Writer()
    _, rows, record = free_run(docs, tmp_path / "run", writer, size=10)
    counts = {name: sum(row["evolution"] == name for row in rows) for name in {row["evolution"] for row in rows}}
    assert counts == {"simple": 5, "reasoning": 2, "conditional": 1, "multi_context": 2}
    for row in rows:
        answer, rests_on = writer.known[row["question"]]
        assert row["answer"] == answer
        passages = " ".join(context["text"] for context in row["contexts"])
        assert all(piece in passages for piece in rests_on)
        assert len(row["contexts"]) == len(row["retrieval_gt"]) == (2 if row["evolution"] == "multi_context" else 1)
    assert record["mode"]["name"] == "free"
    assert record["models"]["critic"]["name"] == "verdict"
    assert record["configuration"]["max_rank"] == 0, "retrieval does not filter questions"


def test_failed_evolutions_fall_back_to_simple(docs: Path, tmp_path: Path) -> None:
    writer = Writer(deaf_to="Change the question")
    _, rows, _ = free_run(docs, tmp_path / "run", writer, size=8, mix="simple=1,reasoning=1")
    assert [row["evolution"] for row in rows] == ["simple"] * 8
    refused = [json.loads(line) for line in (tmp_path / "run" / "rejects.jsonl").read_text("utf-8").splitlines()]
    assert {"reasoning"} <= {row["step"] for row in refused}


@pytest.mark.parametrize("workers", [1, 8])
def test_a_share_that_cannot_be_met_is_filled_with_what_was_kept(docs: Path, tmp_path: Path, workers: int) -> None:
    writer = Writer()
    mix = "simple=1,reasoning=1,table=3"
    _, rows, record = free_run(docs, tmp_path / "run", writer, size=10, mix=mix, workers=workers)
    assert Counter(row["evolution"] for row in rows) == {"reasoning": 6, "simple": 4}
    assert [row["metadata"]["round"] for row in rows] == [0] * 4 + [3] * 6
    assert record["attempts"] == 17
    assert sum(prompt.startswith("Write questions") for prompt in writer.asked) == 11, "6 attempts need no call"


def test_unreadable_output_yields_no_samples(docs: Path, tmp_path: Path) -> None:
    writer = Writer(deaf_to="Write questions")
    result, rows, _ = free_run(docs, tmp_path / "run", writer, size=3)
    assert rows == []
    assert "3 samples are missing" in " ".join(result.summary)
    assert "no question can be read" in (tmp_path / "run" / "rejects.jsonl").read_text("utf-8")


class StyleWriter(Writer):
    """Rewords every question in some way that each style allows, and finds that it asks for the same."""

    def answer(self, system: str, shown: str) -> str:
        if system.startswith("Word the question"):
            fields = dict(re.findall(r"(?m)^([A-Z][a-z]+): (.*)$", shown))
            year, thing, place = re.findall(r"(year) was the (\w+) of (\w+)", fields["Question"])[0]
            plain = f"{year} the {thing} of {place} was built"
            wordings = {
                "Conversational": f"Do you know in what {plain}?",
                "Terse": f"{year} {thing} {place} built",
                "Detailed": "I am painting a board for the footpath and there is room left for one more line on it. "
                f"Can you please tell me in what {plain}?",
                "Persona": f"Sorry, I am new here, what is the {plain}?",
                "Like the examples": f"whats the {plain} pls",
            }
            return wordings[fields["Style"].partition(":")[0]]
        said = super().answer(system, shown)
        return said.replace("Same: it is so - no", "Same: it is so - yes")


def test_styles_are_mixed_and_the_run_belongs_to_its_texts(docs: Path, tmp_path: Path) -> None:
    queries = tmp_path / "queries.txt"
    queries.write_text("whats the wifi code pls\nwho has the key pls\n", "utf-8")
    styles = ("conversational", "terse", "detailed", "persona", "like")
    options: dict[str, Any] = {
        "size": 5,
        "mix": ",".join(f"{name}=1" for name in styles),
        "like": str(queries),
        "personas": ("a nurse", "a clerk"),
    }
    writer = StyleWriter()
    _, rows, record = free_run(docs, tmp_path / "run", writer, **options)
    assert Counter(row["evolution"] for row in rows) == dict.fromkeys(styles, 1)
    for row in rows:
        assert row["answer"] == writer.known[row["metadata"]["seed_question"]][0]
        assert row["metadata"].get("persona") in (("a nurse", "a clerk") if row["evolution"] == "persona" else (None,))
    assert record["configuration"]["like"] == ["whats the wifi code pls", "who has the key pls"]
    before = (tmp_path / "run" / "samples.jsonl").read_bytes()
    moved = queries.rename(tmp_path / "moved.txt")
    free_run(docs, tmp_path / "run", writer, **{**options, "like": str(moved)})
    free_run(docs, tmp_path / "again", StyleWriter(), **{**options, "like": str(moved)})
    assert before == (tmp_path / "again" / "samples.jsonl").read_bytes()
    moved.write_text("who has the key pls\n", "utf-8")
    with pytest.raises(RunMismatchError, match=r"--like of 2 lines .* of 1 lines"):
        free_run(docs, tmp_path / "run", writer, **{**options, "like": str(moved)})


def test_options_are_read_again_from_the_record_of_a_run(docs: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"size": 2, "like": ("where is config.txt pls",), "personas": "a clerk"}
    free_run(docs, tmp_path / "run", StyleWriter(), **options)
    again = make_config({}, tmp_path / "run" / "run.json").options
    assert (again.model_dump()["like"], again.model_dump()["personas"]) == (options["like"], ("a clerk",))
