"""Metrics: what is right, what is wrong and why, as DSPy calls them."""

from types import SimpleNamespace

import dspy
import pytest
from dspy.utils.exceptions import AdapterParseError
from labelled import PASSAGE

from groundset import metrics
from groundset.programs.forms import EVOLUTIONS
from groundset.programs.step import STEPS, step

KEPT = {"reason": "", "independent": True, "clear": True, "answerable": True, "confidence": 90}
ASKED = {
    **{
        "form": "simple",
        "kind": "fact",
        "question": "Who built the weir at Ebbing?",
        "answer": "Jonas Alder",
    },
    "evidence": ["built in 1891 by the miller Jonas Alder"],
}
GOLD = dspy.Example(passage=PASSAGE, topic="Ebbing", language="en", **ASKED)
ASK = GOLD.copy(answer="40 metres", question="How long is the weir at Ebbing?")  # another question
JUDGED = dspy.Example(
    passage=PASSAGE,
    question="?",
    good=True,
    fault="",
    answer="Jonas Alder",
    reason="it names the weir",
    language="en",
)


def scored(metric, example: dspy.Example, **outputs) -> tuple[float, str]:
    """Return the score and the feedback of a prediction."""
    prediction = dspy.Prediction(**outputs)
    found = metric(example, prediction, pred_name="step")
    assert metric(example, prediction) == found.score
    return found.score, found.feedback


def judge(**parts):
    """Return a judge that always says the same."""
    return lambda **_: dspy.Prediction(**{**KEPT, "answer": "Jonas Alder", **parts})


def test_a_verdict_counts_most_and_its_reason_some():
    bad = JUDGED.copy(good=False, fault="independent", reason="nobody knows what it is")
    assert scored(metrics.judge, JUDGED, **KEPT, answer="Jonas Alder") == (1, "It is right.")
    assert scored(metrics.judge, JUDGED, **KEPT, answer="Ada Bell")[0] == pytest.approx(2 / 3)
    value, feedback = scored(metrics.judge, JUDGED, **{**KEPT, "clear": False}, answer="")
    assert value == 0
    assert feedback == "It is good, yet refused (not clear): it names the weir"
    unsure = {**KEPT, "confidence": 60}
    assert scored(metrics.judge, JUDGED, **unsure, answer="Jonas Alder")[0] == 0, "as it is served"
    assert scored(metrics.judge, bad, **unsure)[0] == pytest.approx(2 / 3)
    assert scored(metrics.judge, bad, **{**KEPT, "independent": False})[0] == 1
    value, feedback = scored(metrics.judge, bad, **{**KEPT, "clear": False})
    assert value == pytest.approx(2 / 3)
    assert "not independent" in feedback
    assert (
        scored(metrics.judge, bad, **KEPT)[1]
        == "It is bad (not independent): nobody knows what it is"
    )


@pytest.mark.parametrize(
    ("changed", "feedback"),
    [
        ({"question": "none"}, "A gold question is: How long is the weir at Ebbing?"),
        ({"evidence": ["It is made of oak."]}, "its evidence is not in the passage: ['It is made"),
    ],
)
def test_what_code_refuses_in_a_written_question(changed, feedback):
    value, said = scored(metrics.ask, ASK, **{**ASKED, **changed})
    assert value == 0
    assert feedback in said


def test_questions_are_in_the_language_of_their_passage():
    passage = (
        "Das Wehr bei Ebbing wurde 1891 von dem Müller Jonas Alder gebaut. Es ist 40 Meter lang."
    )
    asked = {**ASKED, "evidence": ["von dem Müller Jonas Alder gebaut"]}
    german = dspy.Example(**{**asked, "question": "Wer baute das Wehr bei Ebbing?"})
    german = german.copy(passage=passage, topic="Ebbing", language="de")
    assert scored(metrics.ask, german, **asked) == (0, "The question is in English, not German")
    assert (
        scored(metrics.ask, german, **{**asked, "question": "Wer hat das Wehr bei Ebbing gebaut?"})[
            0
        ]
        == 1
    )


@pytest.mark.parametrize(
    ("changed", "value"),
    [
        ({}, 1),
        ({"question": "By whom was the weir at Ebbing built?"}, 1),
        ({"question": "Who was it at Ebbing?"}, 0.4),  # does not name the weir
        ({"answer": "the miller"}, 0.4),
        ({"evidence": ["It is 40 metres long."]}, 0.4),
    ],
)
def test_what_the_gold_row_has_needs_no_judge(changed, value):
    assert scored(metrics.ask, GOLD, **{**ASKED, **changed})[0] == value
    refused = scored(metrics.ask.using(judge(clear=False)), GOLD, **{**ASKED, **changed})[0]
    assert (refused == 1) == (value == 1)


def test_a_judge_decides_about_what_code_accepts():
    assert "no judge read" in scored(metrics.ask, ASK, **ASKED)[1]
    assert scored(metrics.ask.using(judge()), ASK, **ASKED)[0] == pytest.approx(0.95)
    value, feedback = scored(
        metrics.ask.using(judge(clear=False, confidence=40, reason="dull")), ASK, **ASKED
    )
    assert value == 0.1
    assert "not clear: dull" in feedback
    value, feedback = scored(metrics.ask.using(judge(answer="a lord")), ASK, **ASKED)
    assert value < 0.25
    assert "answers it with 'a lord', not 'Jonas Alder'" in feedback
    open_question = ASK.copy(form="unanswerable", forms=[EVOLUTIONS["unanswerable"].form])
    assert scored(metrics.ask.using(judge()), open_question, **ASKED)[0] <= 0.25
    assert (
        scored(
            metrics.ask.using(judge(answerable=False, answer="not stated")), open_question, **ASKED
        )[0]
        == 1
    )


def test_completions_of_a_judge_that_cannot_be_read_score_nothing():
    def broken(**_):
        raise AdapterParseError(
            "PlainTextAdapter", STEPS["judge"].signature, "I am sorry", "neither yes nor no"
        )

    assert scored(metrics.ask.using(broken), ASK, **ASKED) == (
        0,
        "The judge's decision cannot be read.",
    )


def test_questions_about_several_passages_need_evidence_of_each():
    asked = {
        "kind": "bridge",
        "question": "When did the builder of the weir at Ebbing die?",
        "answer": "in 1902",
    }
    both = dspy.Example(
        passages=f"[1] Ebbing\n{PASSAGE}\n\n[2] Ebbing\nJonas Alder died in 1902.",
        language="en",
        evidence=["Jonas Alder died in 1902."],
        **asked,
    )
    value, feedback = scored(metrics.combine, both, **asked, evidence=["died in 1902"])
    assert value == 0.25
    assert "every passage" in feedback


@pytest.mark.parametrize(
    ("facts", "outputs", "value"),
    [
        ({}, ("Who made the weir at Ebbing?", "Jonas Alder"), 1),
        ({}, ("Who built the weir at Ebbing in 1891?", "Jonas Alder"), 0),  # unchanged
        ({}, ("Who made the weir at Ebbing in 1891?", "Ada Bell"), 0.25),
        (
            {"style": "persona"},
            ("Whose work is the weir at Ebbing?", "Jonas Alder"),
            0,
        ),  # lost the year
        (
            {"style": "follow_up"},
            ("Who built the weir at Ebbing, in 1891?", "Jonas Alder"),
            0,
        ),  # refers to nothing
    ],
)
def test_changed_questions(facts, outputs, value):
    question = "Who built the weir at Ebbing in 1891?"
    change = (
        "Word it as the next message: User: How long is the weir at Ebbing? Assistant: 40 metres"
    )
    example = dspy.Example(
        question=question,
        new_question=outputs[0] if value == 1 else "Whose is it?",
        new_answer="Jonas Alder",
        change=change,
        language="en",
        **facts,
    )
    assert (
        scored(metrics.revise, example, new_question=outputs[0], new_answer=outputs[1])[0] == value
    )


@pytest.mark.parametrize(
    ("gold", "answer", "value"),
    [
        ("Jonas Alder", "the miller Jonas Alder", 2 / 3),  # a model has to compare
        ("Jonas Alder", "Ada Bell", 0),
        ("Jonas Alder", "not stated", 0),
        ("40 metres", "forty metres", 0.5),  # right, but not copied
        ("not stated", "in 1891", 0),
    ],
)
def test_answers(gold, answer, value):
    example = dspy.Example(passage=PASSAGE, question="?", answer=gold, language="en")
    assert scored(metrics.answer, example, answer=answer)[0] == value


@pytest.mark.parametrize(
    ("message", "value"),
    [
        ("the old wall at Ebbing leaks, whose work was it", 1),
        ("then who built that weir at Ebbing around 1891", 0.25),  # the reader's words
        ("Ebbing?", 0.25),
        ("Who built the weir at Ebbing in 1891?", 0),
        ("does the Ebbing wall or its leak go back to the miller Jonas Alder", 0),
        ("none", 0),
        (step("reword").demos[0].message, 0),
    ],
)
def test_questions_as_users_put_them(message, value):
    example = dspy.Example(
        question="Who built the weir at Ebbing in 1891?",
        answer="the miller Jonas Alder",
        message="the old wall at Ebbing leaks, whose work was it",
        wording="about 12 words, 4 in 10",
        passage=PASSAGE,
        language="en",
    )
    assert scored(metrics.reword, example, message=message)[0] == value
    judged = metrics.reword.using(judge(clear=False))
    assert scored(judged, example.copy(message=""), message=message)[0] <= 0.25


def test_questions_for_a_given_answer():
    example = dspy.Example(fact=PASSAGE, answer="Jonas Alder", language="en")
    example = example.copy(question="Who built the weir at Ebbing?")
    assert scored(metrics.fact, example, question="Who built the weir?")[0] == 1
    assert scored(metrics.fact, example, question="Whose work is the weir?")[0] == 0.4
    value, feedback = scored(metrics.fact, example, question="Who sells milk?")
    assert (value, feedback[:28]) == (0, "It is about something else t")
    assert scored(metrics.fact, example, question="Did Jonas Alder build it?")[0] == 0


def test_keyphrases():
    phrases = dspy.Example(passage=PASSAGE)
    value, feedback = scored(metrics.keyphrases, phrases, keyphrases=["the weir", "an old oak"])
    assert value == pytest.approx(1 / 3)
    assert "an old oak" in feedback


def test_programs_are_scored_by_another_judge():
    example = dspy.Example(
        passage=PASSAGE, topic="Ebbing", gold=[{"question": "How long is the weir?"}]
    )
    asked = {**ASKED, "rejects": []}
    assert scored(metrics.program.using(judge()), example, **asked)[0] == pytest.approx(0.95)
    assert scored(metrics.program.using(judge(clear=False, confidence=0)), example, **asked)[0] == 0
    reject = SimpleNamespace(step="judge", question="Who?", reason="not clear")
    refused = {"question": "", "answer": "", "rejects": [reject]}
    value, feedback = scored(metrics.program, example, **refused)
    assert value == 0.25
    assert feedback == "Judge refused 'Who?': not clear. A gold question is: How long is the weir?"
    assert scored(metrics.program, example.copy(gold=[GOLD.toDict()]), **asked)[0] == 1


def test_a_trace_asks_whether_it_may_be_a_demo():
    assert metrics.ask(GOLD, dspy.Prediction(**ASKED), trace=[]) is True
    assert metrics.ask(GOLD, dspy.Prediction(**{**ASKED, "evidence": []}), trace=[]) is False
    with pytest.raises(AttributeError, match="there is no metric 'nosuch'; there are score, judge"):
        metrics.nosuch  # noqa: B018
