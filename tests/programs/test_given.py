"""The user's own questions, answered from passages that a search finds."""

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
NO = YES.format("not stated").replace("Answerable: yes", "Answerable: no").replace("90", "5")


def made(question, passages, read):
    """Return the outcome, and the calls of the judge, which says what is told for texts in the
    passages.
    """

    def judge(prompt):
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
        "variants": [
            {"answer": "1834", "chunk_id": "c2", "probability": 0.7, "reason": "two things"}
        ]
    }


def test_several_passages_answer_together_where_none_does_alone():
    read = {"built in 1820 & keeps a third": YES.format("a third")}
    found, _ = made("What does the miller beside the weir of 1820 keep?", [FERRY, WEIR, MILL], read)
    assert found.evolution == "multi_context"
    assert found.context_ids == ["c1", "c2"]
    assert found.evidence == ["The weir of Ebbing was built in 1820.", "a third"]


@pytest.mark.parametrize(
    ("question", "said", "form", "answer"),
    [
        # However it is worded, what a passage answers is answered.
        (
            "ferry leaves when",
            YES.format("at nine").replace("r: yes", "r: no"),
            "simple",
            "at nine",
        ),
        (
            "How?",
            YES.format("nine").replace("t: yes", "t: no").replace("90", "30"),
            "simple",
            "nine",
        ),
        ("why " * 2000, YES.format("at nine"), "simple", "at nine"),
        # What is sure is said, what is not is kept for a person.
        ("Who is Ann?", NO, "unanswerable", "The documents do not say."),
        ("Who is Ann?", NO.replace("5", "40"), "unsure", ""),
        ("Who is Ann?", NO.replace("not stated", "a miller"), "unsure", ""),
        ("Who is Ann?", YES.format("not stated"), "unsure", ""),
        ("Who is Ann?", YES.format("a miller").replace("90", "20"), "unsure", ""),
        ("Who is Ann?", "Answerable: perhaps", "unsure", ""),
    ],
)
def test_a_question_is_answered_or_not_or_kept_for_a_person(question, said, form, answer):
    found, _ = made(question, [MILL, FERRY, COPY], {FERRY: said})
    assert (found.evolution, found.answer) == (form, answer)
    assert [reject.step for reject in found.rejects] == ["unsure"] * (form == "unsure")
    readings = [each["chunk_id"] for each in found.metadata.get("readings", ())]
    assert readings == ([] if answer.endswith("nine") else ["c0", "c1", "c2"])


def test_passages_are_read_until_one_answers():
    others = [f"{MILL} {number}" for number in range(6)]
    assert made("When?", [*others, WEIR, FERRY], {WEIR: YES.format("1820")})[1] == 7
    assert made("When?", [FERRY, WEIR, COPY, *others], {WEIR: YES.format("1820")})[1] == 5


@pytest.mark.parametrize("question", ["  ", "?!", "Good morning, thanks!"])
def test_only_what_is_no_question_is_refused(question):
    assert [each.step for each in made(question, [MILL], {})[0].rejects] == ["question"]


@pytest.mark.parametrize(("share", "form"), [(0.04, "unanswerable"), (0.13, "unsure")])
def test_a_judge_with_log_probabilities_must_be_surer(share, form):
    program = Given(lambda query, limit: [Hit("c0", MILL, "Ebbing", 0.9)])
    said = {"answer": "not stated", "answerable": False, "shares": {"answerable": share}}
    program.judge = lambda **_: dspy.Prediction(**said)
    assert program(question="Who is Ann?").evolution == form
