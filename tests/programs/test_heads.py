"""Judges with fitted heads: the shipped ones decide as they were fitted, and wrong files are
refused.
"""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusal import refuses

from groundset.programs.errors import AnswerError, StateError
from groundset.programs.heads import HEAD_STEPS, HeadJudge, LinearHead, StepHeads, load_heads
from groundset.programs.outcome import verdict
from groundset.programs.text import MAX_READ

SHIPPED = Path(__file__).parents[2] / "data/compiled/head"
PASSAGE = (
    "The Lowen harbour bridge was opened in 1931 after nine years of work led by the engineer Maria"
    " Kolb. The bridge replaced a ferry that had carried up to 400 people a day. It is painted with"
    " a green enamel, and the town of Lowen has repainted it every twelve years since then."
)
REFERENCES = (
    "1. Kolb, M. (1931). The bridge. Journal of Harbours, vol. 3, pp. 4-9. doi:10.1/x\n"
    "2. Reuss, J. (1932). Retrieved 3 May 2001 from https://example.org\n3. Lowen Press, ISBN 1-23."
)
QUESTION = "Which engineer led the work on the Lowen harbour bridge?"
# Their probabilities by the code that the shipped heads were fitted with; any change of a feature
# shows.
GOLDEN = [0.73180187, 0.00185779, 0.35437079, 0.88175857]
NO_VECTORS = np.zeros((2, 384), dtype=np.float32)


@pytest.fixture(scope="module")
def judges(word_encoder) -> dict[str, HeadJudge]:
    heads = {step: load_heads(SHIPPED / f"{step}.json") for step in HEAD_STEPS}
    return {
        step: HeadJudge(step, each, word_encoder(each.embedder)) for step, each in heads.items()
    }


def one_feature(step="judge", **changes):
    """Return heads that weigh the number of words."""
    head = {"weights": {"words": [-1.0, 10.0, 2.0]}, "bias": 0.0}
    outputs = HEAD_STEPS[step if step in HEAD_STEPS else "judge"].outputs
    return {
        "step": step,
        "embedder": "0" * 64,
        "threshold": 0.5,
        "heads": dict.fromkeys(outputs, head),
        **changes,
    }


def test_shipped_heads_decide_as_they_were_fitted(judges, monkeypatch):
    monkeypatch.setattr(judges["score"].encoder, "encode", lambda _: NO_VECTORS)
    good, bad = judges["score"].batch([{"passage": PASSAGE}, {"passage": REFERENCES}])
    kept = judges["judge"](passage=PASSAGE, question=QUESTION)
    asked = {"passage": PASSAGE, "question": QUESTION}
    grounded, *others = judges["grounding"].batch(
        [{**asked, "answer": answer} for answer in ("Maria Kolb", "Jakob Reuss", "")]
    )
    found = [each.probability for each in (good, bad, kept, grounded)]
    assert found == pytest.approx(GOLDEN, abs=1e-6)
    assert good.fit is True
    assert good.reason == ""
    assert good.confidence == 73
    assert bad.fit is False
    assert bad.content is False
    assert bad.reason == "not content"
    assert verdict(bad).reason == "not content"
    assert {(each.fit, each.reason) for each in others} == {(False, "not grounded")}
    assert judges["score"].batch([]) == []
    assert copy.deepcopy(judges["score"]) is judges["score"], "copies of a program share the judge"


@pytest.mark.parametrize(
    "worse",
    [
        "Which engineer is mentioned in the passage?",
        "Who led it?",
        "The Lowen harbour bridge was opened in 1931.",
        "Which engineer led the work on the Lowen harbour bridge? And when?",
        "Which architect of Paris signed the treaty of 1648?",
    ],
)
def test_good_question_scores_above_bad_ones(judges, worse):
    judge = judges["judge"]
    better, lower = judge.batch(
        [{"passage": PASSAGE, "question": each} for each in (QUESTION, worse)]
    )
    assert better.answer == ""
    assert better.probability > lower.probability
    alone = judge(passage=PASSAGE, question=worse, topic="Lowen", before="… of the town.")
    assert alone.probability == pytest.approx(lower.probability)


@settings(max_examples=50, deadline=None)
@given(st.text(), st.text())
def test_any_text_gets_a_probability(passage, question):
    heads = load_heads(SHIPPED / "grounding.json").heads["grounded"]
    features = HEAD_STEPS["grounding"].features(
        [{"passage": passage, "question": question, "answer": passage}], None
    )
    assert 0 <= heads.probability(features[0]) <= 1


def test_long_texts_are_cut(word_encoder):
    judge = HeadJudge("score", StepHeads(**one_feature("score")), word_encoder())
    assert (
        judge(passage="a " * MAX_READ).probability
        == judge(passage="a " * (MAX_READ // 2)).probability
    )


def test_missing_parts_are_never_the_reason(word_encoder):
    heads = one_feature()
    only = StepHeads(**{**heads, "heads": {"fit": heads["heads"]["fit"]}})
    judged = HeadJudge("judge", only, word_encoder())(passage=PASSAGE, question=QUESTION * 9)
    assert judged.fit is False
    assert judged.clear is True
    assert judged.reason == "not fit"


def test_features_that_are_no_numbers_are_told():
    with refuses("check the weights of the --embedder", AnswerError):
        LinearHead(weights={"a": (1.0, 0.0, 1.0)}, bias=0.0).probability({"a": float("nan")})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step": "answer"}, "no heads are fitted for the step 'answer'"),
        ({"heads": {}}, "no head of 'fit'"),
        ({"heads": {"good": {"weights": {}, "bias": 0}}}, "no output 'good'"),
        ({"heads": {"fit": {"weights": {"colour": [1, 0, 1]}, "bias": 0}}}, "no feature 'colour'"),
        (
            {"heads": {"fit": {"weights": {"words": [1, 0, 0]}, "bias": 0}}},
            "heads.fit.weights.words.2: ",
        ),
        (
            {"heads": {"fit": {"weights": {}, "bias": 0, "embedding": [1]}}},
            "need the feature 'embedding'",
        ),
        ({"record": {"auc": float("inf")}}, "not finite"),
    ],
)
def test_wrong_files_are_refused_in_one_line(tmp_path, changes, message):
    file = tmp_path / "judge.json"
    file.write_text(json.dumps(one_feature(**changes)))
    with refuses(rf"^{file}: not valid heads \(.*{message}", StateError):
        load_heads(file)


@pytest.mark.parametrize(("content", "message"), [(None, "No such file"), (b"\xff", "not UTF-8")])
def test_unreadable_files_are_refused(tmp_path, content, message):
    if content:
        (tmp_path / "judge.json").write_bytes(content)
    with refuses(message, StateError):
        load_heads(tmp_path / "judge.json")


def test_another_step_is_refused(judges, word_encoder):
    with refuses("heads of judge cannot judge the step score", StateError):
        HeadJudge("score", judges["judge"].heads, word_encoder())
