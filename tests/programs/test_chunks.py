"""Questions that need several passages."""

import dspy
from scripted import ScriptedEngine, scripted_lm

from groundset.programs.chunks import SeveralChunks
from groundset.programs.types import Hit

PUMP = (
    "The Orrin 5 lifts water by 19 metres. It must never run dry: the seal is ruined within"
    " seconds."
)
PRICE = (
    "The guarantee covers motor and housing. Seals are parts that wear; a new seal for the Orrin 5"
    " costs 34 crowns."
)
COMBINE = (
    "Kind: Bridge\nQuestion: What does the owner of an Orrin 5 pump pay if it runs dry?\nAnswer: 34"
    " crowns\nEvidence: the seal is ruined within seconds | a new seal for the Orrin 5 costs 34"
    " crowns"
)
GOOD = (
    "Reason: fine\nAnswer: 34 crowns\nIndependent: yes\nClear: yes\nAnswerable: yes\nConfidence: 88"
)
NO = GOOD.replace("34 crowns", "not stated").replace("Answerable: yes", "Answerable: no")


def made(
    judge: list[str], combine: str = COMBINE, program: SeveralChunks | None = None
) -> tuple[dspy.Prediction, ScriptedEngine]:
    lm, engine = scripted_lm(
        {"combine": combine, "judge": judge, "compare": "Reason: no\nHolds: no"}
    )
    with dspy.context(lm=lm):
        return (program or SeveralChunks())(
            passages=[PUMP, PRICE], topics=["Pump", "Guarantee"]
        ), engine


def test_a_question_needs_every_passage_without_which_it_has_another_answer():
    found, engine = made([NO, NO, GOOD])
    assert found.evolution == "multi_context"
    assert found.kind == "bridge"
    assert found.needed == [0, 1]
    assert found.evidence == [
        "the seal is ruined within seconds",
        "a new seal for the Orrin 5 costs 34 crowns",
    ]
    assert engine.steps() == ["combine", "judge", "judge", "judge"]
    assert "[2] Guarantee" in str(engine.requests[2][1].messages[-1])


def test_a_question_that_one_passage_answers_is_about_that_one():
    found, _ = made([GOOD, NO])
    assert found.evolution == "simple"
    assert found.needed == [1]
    assert found.evidence == ["a new seal for the Orrin 5 costs 34 crowns"]


def test_an_answer_that_agrees_means_that_a_passage_is_not_needed_whatever_the_verdict():
    found, _ = made([GOOD.replace("Independent: yes", "Independent: no")])
    assert found.rejects[0].step == "needed"
    assert found.rejects[0].reason.startswith(
        "1 of 2 passages answer it, and with these: not independent"
    )


def test_a_right_answer_that_the_judge_calls_not_answerable_leaves_a_passage_needed():
    unsure = GOOD.replace("Answerable: yes", "Answerable: no")
    assert made([unsure, unsure, GOOD])[0].needed == [0, 1]


def test_refusals_of_the_writer_and_of_evidence_are_rejects():
    found, _ = made([GOOD], "Question: none\nAnswer: they have little to do with each other")
    assert found.exhausted is True
    assert found.rejects[0].reason == "nothing to ask: they have little to do with each other"
    found, _ = made([GOOD], COMBINE.replace("seal is ruined within seconds", "pump breaks at once"))
    assert found.rejects[0].reason.startswith("its evidence is not in the passages")


def test_a_passage_that_can_stand_in_for_one_of_them_is_its_alternative():
    hit = Hit("copy", PRICE.replace("covers", "is for"), "Guarantee", 0.9)
    found, _ = made([NO, NO, GOOD], program=SeveralChunks(search=lambda *_: [hit]))
    assert found.alternatives == [[], ["copy"]]
