"""Further reference answers: which exports hold them, and what becomes of them when an answer is corrected."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from groundset.run import Run
from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS
from groundset.sets.exports.base import other_answers
from groundset.store.reviews import Consensus, corrected
from programs.types import Sample


def with_metadata(sample: Sample, **metadata: Any) -> Sample:
    return sample.model_copy(update={"metadata": metadata})


def test_exports_with_a_place_for_them(full_run: Run, samples: list[Sample], tmp_path: Path) -> None:
    varied = full_run.replace(samples=[with_metadata(samples[0], answer_variants=["It is fine."]), samples[1]])
    write_set(varied, [EXPORTS[name] for name in ("autorag", "beir", "deepeval", "parquet")], tmp_path)
    references = pd.read_parquet(tmp_path / "autorag" / "qa.parquet")["generation_gt"]
    assert [list(answers) for answers in references] == [[samples[0].answer, "It is fine."], [samples[1].answer]]
    queries = [json.loads(line)["metadata"] for line in (tmp_path / "beir" / "queries.jsonl").read_text().splitlines()]
    assert [row.get("answers") for row in queries] == [["It is fine."], None]
    goldens = json.loads((tmp_path / "deepeval" / "goldens.json").read_text())
    assert [row["additional_metadata"].get("answer_variants") for row in goldens] == [["It is fine."], None]
    rows = pd.read_parquet(tmp_path / "parquet" / "questions.parquet")["metadata"]
    assert json.loads(rows[0])["answer_variants"] == ["It is fine."]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, []),
        ({"answer_variants": ["a", 5, "b"]}, ["a", "b"]),
        ({"answer_variants": "a"}, []),
        ({"other_answers": ["a"]}, ["a"]),
    ],
)
def test_other_answers_are_texts(samples: list[Sample], metadata: dict[str, Any], expected: list[str]) -> None:
    assert other_answers(with_metadata(samples[0], **metadata)) == expected


def test_corrected_answer_loses_its_other_wordings(samples: list[Sample]) -> None:
    varied = with_metadata(samples[0], answer_variants=["It is fine."], kind="thing")
    assert corrected(varied, Consensus("good", "Who?", None)).metadata == varied.metadata
    after = corrected(varied, Consensus("good", None, "That it is not."))
    assert (after.answer, after.metadata) == ("That it is not.", {"kind": "thing"})
    assert corrected(varied, None) == varied
