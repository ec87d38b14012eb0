"""What is shown of a run."""

import json

import numpy as np
import pytest
from refusal import refuses
from run_parts import CHUNKS, DOCUMENT, sample

from groundset.corpus.corpus import Corpus
from groundset.programs.types import Reject
from groundset.run.run import Run, open_run, save_run
from groundset.run.show import ShowOptions, show


@pytest.fixture
def run(tmp_path) -> Run:
    other = {"answer": "in 1900", "chunk_id": "c0"}
    hostile = sample(2).model_copy(update={"question": "[red]What?\x1b[2J", "variants": (other,)})
    rejects = [
        Reject(
            step="judge",
            reason="not clear: two things",
            question="What and why?",
            chunk_id="c1",
            probability=0.2,
        ),
        *(Reject(step="score", reason="not content", chunk_id=name) for name in ("c0", "c1")),
    ]
    return save_run(
        tmp_path / "run",
        Corpus({DOCUMENT.doc_id: DOCUMENT}, list(CHUNKS)),
        samples=[sample(1), hostile],
        vectors=np.eye(2, dtype=np.float32),
        rejects=rejects,
        record={"source": "test", "thresholds": {"judge": 0.5}},
    )


def shown(run, capsys, **options):
    show(ShowOptions.parse({"run": run.folder, **options}))
    return capsys.readouterr().out


def test_samples_are_shown_with_their_passages(run, capsys):
    text = shown(run, capsys, trail=True)
    assert "When was weir 1 built?" in text
    assert "The weir of Ebbing was built in 1820." in text
    assert "s001  simple, rank 1, 0.90" in text
    assert "Kept 2 of 2 samples (simple 2)" in text
    assert "[red]What?\\u001b[2J" in text
    assert "\x1b" not in text
    assert f"{DOCUMENT.path} says: in 1900" in text
    assert "weir 1" not in shown(run, capsys, id="s002")


def test_rejects_are_shown_with_the_passage_of_their_chunk(run, capsys):
    text = shown(run, capsys, rejects=True)
    assert "judge  not clear: two things (0.20 of at least 0.50)" in text
    assert "The mill beside it grinds oats." in text
    assert "Refused 1 question: judge 1 (not clear 1)." in text
    assert "score  not content (2 times)" in text
    assert "Refused 2 passages: score 2 (not content 2)." in text
    assert "not clear" not in shown(run, capsys, rejects=True, step=("score",)).partition("Kept")[0]


def test_a_file_that_was_changed_by_hand_is_named(run, capsys):
    file = run.folder / "samples.jsonl"
    file.write_text(file.read_text().partition("\n")[2])
    assert len(open_run(run.folder)) == 2
    assert capsys.readouterr().err.startswith(
        f"{file} was changed by hand, which has no effect: refuse samples with"
    )


def test_json_is_for_programs(run, capsys):
    found = json.loads(shown(run, capsys, as_json=True, limit=1))
    assert [row["id"] for row in found["samples"]] == ["s001"]
    found = json.loads(shown(run, capsys, as_json=True, rejects=True, limit=1))
    assert found["rejects"][0] | {"probability": None} == {
        "step": "judge",
        "reason": "not clear: two things",
        "question": "What and why?",
        "probability": None,
        "chunk_id": "c1",
        "passage": "The mill beside it grinds oats.",
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"id": "x"}, "--id x: no sample"),
        ({"id": "s", "rejects": True}, "--id: not together with --rejects"),
        (
            {"step": ("ask",)},
            "--step ask: it refused nothing; steps that did: judge, score",
        ),
    ],
)
def test_wrong_options_are_one_line(run, options, message):
    with refuses(message):
        show(ShowOptions.parse({"run": run.folder, **options}))
