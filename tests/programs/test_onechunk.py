"""Questions about one passage."""

from collections.abc import Mapping

import dspy
import pytest
from scripted import Answer, ScriptedEngine, scripted_lm

from groundset.programs.onechunk import OneChunk
from groundset.programs.types import Hit
from groundset.programs.users import USERS

PASSAGE = (
    "Members deliver milk to the Moss Lane plant before nine in the morning. A delivery that"
    " arrives later is paid at two thirds of the day's price, unless the plant had asked for the"
    " delay. Milk above 6 degrees is refused."
)
ASK = (
    "Form: conditional\nKind: fact\nQuestion: How much does the Moss Lane plant pay for milk that"
    " arrives after nine?\nAnswer: two thirds of the day's price\nEvidence: A delivery that arrives"
    " later is paid at two thirds"
)
GOOD = (
    "Reason: fine\nAnswer: two thirds of the day's price\nIndependent: yes\nClear: yes\nAnswerable:"
    " yes\nConfidence: 91"
)
BAD = (
    "Reason: who are they?\nAnswer: x\nIndependent: no\nClear: yes\nAnswerable: yes\nConfidence: 40"
)
LOST = ASK.replace("later is paid", "later is lost, and paid").replace("day's price", "wages")
REVISED = (
    "New question: What does the Moss Lane plant pay for milk that arrives late?\nNew answer: two"
    " thirds"
)


def made(
    answers: Mapping[str, Answer], program: OneChunk | None = None, **inputs
) -> tuple[dspy.Prediction, ScriptedEngine]:
    lm, engine = scripted_lm(
        {"ask": ASK, "judge": GOOD, "compare": "Reason: ok\nHolds: yes", **answers}
    )
    with dspy.context(lm=lm.copy(temperature=0.7)):
        return (program or OneChunk())(passage=PASSAGE, topic="Dairy", **inputs), engine


def test_the_writer_chooses_among_the_forms_that_the_passage_carries():
    found, engine = made({}, wanted=("table", "conditional", "simple"), kinds=("why", "fact"))
    assert found.evolution == "conditional"
    assert found.kind == "fact"
    assert found.answer == "two thirds of the day's price"
    assert found.evidence == ["A delivery that arrives later is paid at two thirds"]
    assert found.needed == [0]
    assert found.probability == 0.91
    assert found.rejects == []
    assert engine.steps() == ["ask", "judge"]
    assert engine.requests[1][1].config.temperature == 0.7, "that of the model counts"
    prompt = str(engine.requests[1][1].messages[-1])
    assert "table:" not in prompt
    assert prompt.index("conditional:") < prompt.index("simple:")


@pytest.mark.parametrize("evidence", ["", "Evidence: A delivery is lost"])
def test_evidence_that_a_writer_leaves_out_is_found_by_the_answer(evidence):
    written, _, _ = ASK.partition("Evidence:")
    assert made({"ask": written + evidence})[0].evidence == ["two thirds of the day's price"]
    found, _ = made(
        {
            "ask": (
                written.replace("two thirds of the day's price", "the day's price, two thirds")
                + evidence
            )
        }
    )
    assert found.evidence[0].startswith("A delivery that arrives later is paid at two thirds")


@pytest.mark.parametrize(
    ("answers", "step", "reason", "exhausted"),
    [
        (
            {"ask": "Question: none\nAnswer: a list of links"},
            "ask",
            "nothing to ask: a list of links",
            True,
        ),
        ({"ask": LOST}, "ask", "its evidence is not in", False),
        ({"ask": ASK.replace("after nine?", "after nine.")}, "ask", "it is no question", False),
        (
            {"ask": ASK.replace("after nine", "at two thirds of the day's price")},
            "ask",
            "it gives its answer",
            False,
        ),
        (
            {"judge": GOOD.replace("Answerable: yes", "Answerable: no")},
            "judge",
            "not answerable: fine",
            False,
        ),
        ({"judge": "I am sorry."}, "judge", "what was written cannot be read", False),
        (
            {"judge": GOOD.replace("two thirds of the day's price", "half")},
            "answer",
            "another answer",
            False,
        ),
    ],
)
def test_a_refused_question_is_a_reject_with_step_and_reason(answers, step, reason, exhausted):
    found, _ = made({"compare": "Reason: differ\nHolds: no", **answers})
    assert not found.question
    assert found.rejects[0].step == step
    assert found.rejects[0].reason.startswith(reason)
    assert found.exhausted is exhausted


def test_a_rewrite_is_given_a_fault_and_never_that_the_judge_is_unsure():
    unsure = GOOD.replace("91", "70")
    found, engine = made({"judge": unsure.replace("fine", "no fault")})
    assert (engine.steps(), found.rejects[0].reason) == (["ask", "judge"], "not certain")
    _, engine = made({"judge": [unsure, GOOD], "revise": REVISED}, before="Of the dairy.")
    prompts = [str(request.messages[-1]) for _, request in engine.requests]
    [rewrite] = [prompt for prompt in prompts if "found: fine. Ask" in prompt]
    assert "Of the dairy." in rewrite


def test_a_badly_worded_question_is_rewritten_once_and_judged_again():
    found, engine = made({"judge": [BAD, GOOD], "revise": REVISED})
    assert found.question == "What does the Moss Lane plant pay for milk that arrives late?"
    assert engine.steps() == ["ask", "judge", "revise", "judge", "compare"]
    found, engine = made({"judge": BAD, "revise": REVISED})
    assert found.rejects[0].reason == "not independent: who are they?"
    assert engine.steps() == ["ask", "judge", "revise", "judge"]


def test_an_unanswerable_question_is_answered_by_no_passage() -> None:
    ask = ASK.replace("conditional", "unanswerable").replace("pay for milk", "pay for cream")
    no = GOOD.replace("Answerable: yes", "Answerable: no").replace(
        "two thirds of the day's price", "not stated"
    )
    found, engine = made({"ask": ask, "judge": no}, wanted=("unanswerable",))
    assert found.evolution == "unanswerable"
    assert found.needed == []
    assert found.answer == "The documents do not say."
    assert engine.steps() == ["ask", "judge", "compare"]
    hit = Hit("c2", "Cream that arrives after nine is paid at half.", "Dairy", 0.8)
    found, _ = made(
        {"ask": ask, "judge": [no, GOOD]},
        OneChunk(search=lambda *_: [hit]),
        wanted=("unanswerable",),
    )
    assert found.rejects[0].reason == "another chunk answers it: c2"
    message = "came late with the cream, am I losing money"
    put = {"ask": ask, "judge": no, "reword": f"Situation: late again\nMessage: {message}"}
    found, engine = made(put, OneChunk(users=USERS["staff"]), wanted=("unanswerable",))
    assert (found.question, found.metadata["missing"]) == (message, "two thirds of the day's price")
    assert "cream" in found.metadata["seed_question"]
    [(_, premise)] = [each for each in engine.requests if each[0] == "compare"]
    assert message not in str(premise.messages), "a situation is not borne out"


def test_a_persona_keeps_what_a_question_asks():
    wording = "What will the Moss Lane plant pay for milk if it arrives after nine?"
    written = f"New question: {wording}\nNew answer: two thirds"
    found, _ = made({"revise": written}, wanted=("persona",), persona="a miller")
    assert (found.evolution, found.question) == ("persona", wording)
    assert found.metadata["seed_question"].startswith("How much")
    assert found.metadata["persona"] == "a miller"
    found, _ = made({"revise": written.replace("after nine", "late")}, wanted=("persona",))
    assert found.rejects[0].reason == "it lost numbers: 9"


def test_a_conversation_has_a_follow_up_that_depends_on_the_first_turn():
    second = (
        "Form: simple\nKind: fact\nQuestion: Which milk does the Moss Lane plant refuse?\nAnswer:"
        " above 6 degrees\nEvidence: Milk above 6 degrees is refused"
    )
    answers = {
        "ask": [ASK, second],
        "judge": [GOOD, GOOD.replace("two thirds of the day's price", "above 6 degrees")],
        "revise": "New question: And which do they refuse?\nNew answer: above 6 degrees",
    }
    found, _ = made(answers, wanted=("conversation",))
    assert found.question == "Which milk does the Moss Lane plant refuse?"
    assert [turn["content"] for turn in found.metadata["conversation"]][
        -1
    ] == "And which do they refuse?"
    found, _ = made(
        {**answers, "revise": "New question: Which milk does the Moss Lane plant refuse?"},
        wanted=("conversation",),
    )
    assert found.rejects[0].reason.startswith("the follow-up leaves nothing out")


def test_found_passages_that_hold_the_same_answer_are_alternatives():
    hits = [
        Hit("same", PASSAGE.replace("is refused", "is not taken"), "Copy", 0.9),
        Hit("other", "Milk is paid at the day's price.", "Dairy", 0.8),
    ]
    found, engine = made({}, OneChunk(search=lambda *_: hits))
    assert found.alternatives == [["same"]]
    assert engine.steps() == ["ask", "judge", "judge"]


def test_a_message_in_the_words_of_the_documents_is_put_once_more():
    read = "what does the dairy plant pay for milk delivered late"
    for again, taken in (("came in at ten, what now", "came in at ten, what now"), ("none", read)):
        written = [f"Situation: late\nMessage: {message}" for message in (read, again)]
        found, engine = made({"reword": written}, OneChunk(users=USERS["staff"]))
        assert (found.question, engine.steps()[1:4]) == (taken, ["reword", "reword", "judge"])
    assert f"so fewer than here: {read}" in str(engine.requests[3][1].messages[-1])


def test_alternatives_of_a_message_hold_its_answer_until_three_in_a_row_do_not() -> None:
    queries = []

    def search(query: str, _: int) -> list[Hit]:
        queries.append(query)
        said = "After the bell the rate is two thirds of the day's price."
        return [Hit(f"c{n}", f"{n}. {said}", "Rates", 0.5) for n in range(8)]

    message = "my cans came in at ten, am I losing money"
    no = GOOD.replace("Answerable: yes", "Answerable: no")
    answers = {
        "reword": f"Situation: late again\nMessage: {message}",
        "judge": [GOOD, GOOD, no, no, GOOD, no, no, no],
    }
    found, engine = made(answers, OneChunk(search, users=USERS["consumers"]))
    assert (found.question, found.alternatives) == (message, [["c0", "c3"]])
    assert engine.steps().count("judge") == 8
    assert queries == [f"{message} {found.metadata['seed_question']} {found.answer}"]


def test_found_passages_that_contradict_are_variants() -> None:
    other = PASSAGE.replace("two thirds", "one third")
    program = OneChunk(search=lambda *_: [Hit("other", other, "Dairy, 2019", 0.9)])
    judged = [GOOD, GOOD.replace("two thirds", "one third")]
    found, engine = made({"judge": judged, "compare": "Reason: other\nHolds: no"}, program)
    assert (found.alternatives, engine.steps()) == ([[]], ["ask", "judge", "judge", "compare"])
    variant = {"answer": "one third of the day's price", "chunk_id": "other", "place": 0}
    assert found.metadata["variants"] == [variant]


def test_questions_in_another_language_are_refused():
    found, _ = made({}, language="de")
    assert found.rejects[0].step == "language"
    assert found.rejects[0].reason == "the question is in English, not German"
