"""The gate of `groundset roundtrip --baseline`."""

import json
import re
import shutil

import pytest
from evaluation_sets import chunk
from json_lines import write
from refusal import refuses
from searched_run import CHUNKS, about_words, compared, ranked, round_trip

from groundset.searching import MEASURES


@pytest.mark.parametrize(
    ("found", "status", "said"),
    [
        (
            lambda n: None,
            4,
            r"\*\*Loss\*\* on 16 questions: nDCG@10 1\.00 → 0\.00 \(.* Not tested: recall@1 1\.00 ",
        ),
        (lambda n: 1 if n > 4 else None, 4, r"\*\*Loss\*\* .* nDCG@10 1\.00 → 0\.69 "),
        (lambda n: 1 if n > 3 else None, 0, r"\*\*No loss seen\*\* .* nDCG@10 1\.00 → 0\.75 "),
        (
            lambda n: 1,
            0,
            r"\*\*No loss seen\*\* .* nDCG@10 1\.00 → 1\.00 .* Losses below about 0\.\d\d could ",
        ),
    ],
)
def test_gate(make_run, tmp_path, capsys, found, status, said):
    run, new = make_run(about_words()), ranked(tmp_path / "new.jsonl", found)
    old = ranked(tmp_path / "old.jsonl", lambda n: 1)
    options = {"run": run, "ranking": (new,), "baseline": old}
    assert round_trip(**options) == status
    assert re.match(said, capsys.readouterr().out.splitlines()[-1])
    assert round_trip(**options, as_json=True) == status
    record = json.loads(capsys.readouterr().out)["gate"]
    assert record["passed"] == (status == 0)
    assert len(record["changes"]) == 1


def test_gate_finds_a_loss_in_a_stratum(make_run, tmp_path):
    asked = [
        each.model_copy(
            update={
                "id": f"q{n}",
                "evolution": "`x|y`" if n < 12 else f"e{n % 2}",
                "language": "de" if n < 18 else "en",
            }
        )
        for n, each in enumerate(about_words() + about_words()[:8])
    ]
    new = ranked(tmp_path / "new.jsonl", lambda n: None if n < 12 else 1, asked)
    old = ranked(tmp_path / "old.jsonl", lambda n: 1 if n < 12 else None, asked)
    found = compared(run=make_run(asked), ranking=(new,), baseline=old).gate
    assert [change.stratum for change in found.changes] == ["all questions", "evolution `x|y`"]
    assert [change.is_loss for change in found.changes] == [False, True]
    assert "; `evolution 'x|y'`: 1.00 → 0.00 (" in found.markdown()


def test_the_measure_that_is_named_decides(make_run, tmp_path):
    new = ranked(tmp_path / "new.jsonl", lambda n: 5)
    old = ranked(tmp_path / "old.jsonl", lambda n: 1)
    options = {"run": make_run(about_words()), "ranking": (new,), "baseline": old}
    assert round_trip(**options, measure="recall@5") == 0
    assert round_trip(**options, measure="recall@1") == 4


def test_a_baseline_of_out_survives_other_chunks_and_refused_questions(make_run, tmp_path):
    ranking = ranked(tmp_path / "main.jsonl", lambda n: 1)
    rows = tmp_path / "rows.jsonl"
    run = make_run(about_words())
    compared(run=run, ranking=(ranking,), out=rows)
    shutil.rmtree(run)

    chunks = [chunk(f"new-{each.chunk_id}", each.text) for each in CHUNKS]
    asked = [
        each.model_copy(
            update={
                "contexts": (chunk,),
                "retrieval_gt": ((chunk.chunk_id,),),
                "aligned": "moved",
            }
        )
        for each, chunk in zip(about_words(), chunks[:15], strict=False)
    ]
    write(ranking, [{"id": each.id, "chunk_ids": [*each.retrieval_gt[0]]} for each in asked])
    options = {"run": make_run(asked, chunks, refused=["q0", "q1"]), "ranking": (ranking,)}
    found = compared(**options, baseline=rows)
    assert len(found.samples) == 13
    assert "Questions that a reviewer refused are left out: 2." in found.notes
    assert (found.gate.losses, found.gate.notes) == (
        [],
        ["Left out, as only the run or only the baseline has them: 3 questions."],
    )
    with refuses("ranks chunks, which differ since the run was aligned"):
        compared(**options, baseline=ranking)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"id": "q0", "retriever": "x", "recall@1": "1"},
            "line 1, column recall@1: must be a number from 0 to 1",
        ),
        ({"id": "other", "retriever": "x"}, "has no row of a question of the run"),
        ({"id": "q0", "chunk_ids": []}, r"has no ranking of 15 of 16 questions \(q1, q2, q3, …\)"),
        (dict.fromkeys(MEASURES, 1) | {"id": "q0", "retriever": "x"}, "1 question cannot show any"),
        (None, "--baseline: name one --ranking FILE"),
    ],
)
def test_wrong_baselines(make_run, tmp_path, row, message):
    old = write(tmp_path / "old.jsonl", [row])
    rankings = (ranked(tmp_path / "new.jsonl", lambda n: 1),) if row else ()
    with refuses(message):
        compared(run=make_run(about_words()), ranking=rankings, baseline=old)
