"""End-to-end runs in mode ``free`` with a scripted language model."""

import json
from pathlib import Path
from typing import Any

import pytest
from free_writer import Writer, write_documents
from scripted_run import Encoder, lm_opener

from groundset.engine.config import make_config
from groundset.engine.generation import RunResult, run_generation
from groundset.engine.models import Openers


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


def test_unreadable_output_yields_no_samples(docs: Path, tmp_path: Path) -> None:
    writer = Writer(deaf_to="Write questions")
    result, rows, _ = free_run(docs, tmp_path / "run", writer, size=3)
    assert rows == []
    assert "3 samples are missing" in " ".join(result.summary)
    assert "no question can be read" in (tmp_path / "run" / "rejects.jsonl").read_text("utf-8")
