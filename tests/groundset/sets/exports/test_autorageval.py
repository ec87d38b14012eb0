"""Auto RAG Eval's benchmark and what its transformer makes of it, by the rules of its README."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from groundset.run import Run
from groundset.sets.exporting import export_run, write_set
from groundset.sets.exports import EXPORTS
from groundset.sets.imports.autorageval import read_autorageval
from programs.errors import InputError

PROFILE = {"Type": "How-to", "Persona": "The Expert"}


@pytest.fixture
def profiled(full_run: Run) -> Run:
    first, *others = full_run.samples
    return full_run.replace(samples=[first.model_copy(update={"metadata": {"profile": PROFILE}}), *others])


def written(run: Run, name: str, folder: Path, **options: Any) -> Any:
    write_set(run, [EXPORTS[name]], folder, **options)
    return json.loads((folder / EXPORTS[name].last).read_text("utf-8"))


def test_adk_is_what_the_published_transformer_makes_of_the_benchmark(profiled: Run, tmp_path: Path) -> None:
    benchmark = written(profiled, "autorageval", tmp_path / "benchmark")
    transformed = [{"query": row["Question"], "expected_tool_use": [], "reference": row["Answer"]} for row in benchmark]
    assert written(profiled, "adk", tmp_path / "adk") == transformed
    text = (tmp_path / "adk" / "evaluation.json").read_text("ascii")
    assert text == json.dumps(transformed, indent=2) + "\n"


def test_adk_is_indented_as_asked(profiled: Run, tmp_path: Path) -> None:
    written(profiled, "adk", tmp_path, indent=4)
    assert '\n        "query"' in (tmp_path / "evaluation.json").read_text("utf-8")


def test_a_benchmark_is_read_again(profiled: Run, tmp_path: Path) -> None:
    benchmark = written(profiled, "autorageval", tmp_path)
    assert [list(row) for row in benchmark] == [["context", "Q&A Gen Profile", "Question", "Answer"]] * 2
    assert [row["Q&A Gen Profile"] for row in benchmark] == [PROFILE, {"evolution": profiled.samples[1].evolution}]
    found = read_autorageval([tmp_path / "benchmark.json"])
    texts = {chunk.chunk_id: chunk.text for chunk in found.chunks}
    for question, sample in zip(found.questions, profiled.samples, strict=True):
        assert (question.question, question.answer) == (sample.question, sample.answer)
        assert [texts[name] for [name] in question.groups] == ["\n\n".join(chunk.text for chunk in sample.contexts)]
    assert found.questions[0].metadata == {"profile": PROFILE}


def test_rows_that_the_transformer_leaves_out_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "benchmark.json"
    row = {"context": "The ferry leaves at nine.", "Question": "When does the ferry leave?", "Answer": "at nine"}
    rows = [row, {**row, "Answer": ""}, {"Question": "Why?"}, {**row, "Question": "Which vessel leaves?", "Score": 3}]
    file.write_text(json.dumps(rows), encoding="utf-8")
    found = read_autorageval([file])
    assert [question.question for question in found.questions] == [row["Question"], "Which vessel leaves?"]
    assert found.questions[1].metadata == {"imported": {"Score": 3}}
    assert (len(found.chunks), len(found.notes)) == (1, 1)


@pytest.mark.parametrize("text", ["{}", "[1]", "no JSON", "[" * 100_000])
def test_a_file_of_another_kind_is_refused_by_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "benchmark.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"benchmark\.json"):
        read_autorageval([file])


@pytest.mark.parametrize(
    ("flat", "expected"),
    [("and", ["clock-0000", "ferry-0001"]), ("or", ["clock-0000", "ferry-0002", "ferry-0001"])],
)
def test_autorag_writes_one_list_of_ids(full_run: Run, tmp_path: Path, flat: str, expected: list[str]) -> None:
    groups = (("clock-0000", "ferry-0002"), ("ferry-0001", "clock-0000"))
    asked = full_run.samples[0].model_copy(update={"retrieval_gt": groups})
    write_set(full_run.replace(samples=[asked]), [EXPORTS["autorag"]], tmp_path, flat=flat)
    assert pq.read_table(tmp_path / "qa.parquet").column("retrieval_gt").to_pylist() == [expected]


def test_an_option_of_a_format_that_is_not_chosen_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^--flat: .*autorag"):
        export_run(tmp_path, "csv,adk", tmp_path / "out", flat="or")
    assert not (tmp_path / "out").exists()
