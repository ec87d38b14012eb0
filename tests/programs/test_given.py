"""The user's own questions, answered from passages that a search finds."""

from collections.abc import Mapping, Sequence

import dspy
import pytest
from scripted import scripted_lm

from groundset.programs.given import Given
from groundset.programs.types import Hit

WEIR = "The weir of Ebbing was built in 1820. The mill beside it grinds oats."
COPY = "Ebbing is a village on the Tarn. Its weir was built in 1820 by Brenn."
OTHER = "The weir of Ebbing was built in 1834, says the parish register."
MILL = "The mill of Ebbing grinds oats. Its miller keeps a third."
FERRY = "The ferry leaves Tollvik at nine. A ticket costs four crowns."
YES = (
    "Reason: two things\nAnswer: {}\nIndependent: yes\nClear: yes\nAnswerable: yes\nConfidence: 90"
)
NO = YES.format("not stated").replace("Answerable: yes", "Answerable: no")


def made(
    question: str, passages: Sequence[str], read: Mapping[str, str]
) -> tuple[dspy.Prediction, int]:
    """Return the outcome, and the calls of the judge, which says what is told for texts in the
    passages.
    """

    def judge(prompt: str) -> str:
        return next(
            (
                said
                for text, said in read.items()
                if all(part in prompt for part in text.split(" & "))
            ),
            NO,
        )

    lm, engine = scripted_lm({"judge": judge, "compare": "Reason: as claimed\nHolds: no"})
    hits = [Hit(f"c{place}", text, "Ebbing", 0.9) for place, text in enumerate(passages)]
    with dspy.context(lm=lm):
        return Given(lambda query, limit: hits[:limit])(question=question), engine.steps().count(
            "judge"
        )


def test_passages_that_agree_are_alternatives_and_others_variants():
    read = {"1834": YES.format("1834").replace("90", "70"), "1820": YES.format("in 1820")}
    found, calls = made("  When was the weir\nof Ebbing built?", [FERRY, WEIR, OTHER, COPY], read)
    assert found.question == "When was the weir of Ebbing built?"
    assert found.answer == "in 1820"
    assert found.evolution == "simple"
    assert found.context_ids == ["c1"]
    assert found.alternatives == [["c3"]]
    assert calls == 4
    assert found.evidence == ["in 1820"]
    assert found.probability == 0.9
    assert found.metadata == {
        "variants": [{"answer": "1834", "chunk_id": "c2", "probability": 0.7}]
    }


def test_several_passages_answer_together_where_none_does_alone():
    read = {"built in 1820 & keeps a third": YES.format("a third")}
    found, _ = made("What does the miller beside the weir of 1820 keep?", [FERRY, WEIR, MILL], read)
    assert found.evolution == "multi_context"
    assert found.context_ids == ["c1", "c2"]
    assert found.evidence == ["The weir of Ebbing was built in 1820.", "a third"]


@pytest.mark.parametrize(
    ("question", "said", "reason"),
    [
        (
            "When was it built and who keeps a third?",
            YES.format("1820").replace("r: yes", "r: no"),
            "not clear: two",
        ),
        (
            "Is oats ground on Sundays?",
            YES.format("not stated"),
            "not certain: no answer was written",
        ),
        (
            "How do I reset it?",
            NO.replace("Independent: yes", "Independent: no"),
            "not independent: two things",
        ),
        ("  ", NO, "it is empty"),
        ("Good morning, thanks!", NO, "it is a greeting"),
        ("why " * 2000, NO, "it is longer than"),
    ],
)
def test_faults_of_the_question_itself_are_rejects(question, said, reason):
    (reject,) = made(question, [MILL, FERRY, COPY], dict.fromkeys([MILL, FERRY], said))[0].rejects
    assert reject.reason.startswith(reason)
