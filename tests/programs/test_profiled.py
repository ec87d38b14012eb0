"""Questions for profiles."""

from pathlib import Path

import dspy
import pytest
from refusal import refuses
from scripted import scripted_lm

from groundset.programs.profiled import Profiled, read_profiles
from groundset.programs.types import Hit

TABLE = read_profiles(Path(__file__).parents[2] / "data" / "profiles" / "default.json")
PASSAGE = (
    "A delivery of milk to Tarn Dairy that arrives after nine is paid at two thirds of the day's"
    " price."
)
LINE = "Type: multiple choice | Persona: newcomer | Scope: one statement | Difficulty: easy"
ANSWERS = {
    "clues": (
        "Clue: What does a late delivery cost?\nExample: A tenth is deducted.\nDescription: A"
        " member asks."
    ),
    "review": "Reason: fine\nApproved: yes",
    "distil": "Needed: 1\nMissing: nothing",
    "profiles": f"1. {LINE}\nType: nonsense",
    "ask_profiled": (
        "Question: Which share of the day's price does Tarn Dairy pay for milk that arrives after"
        " nine?\nOptions: A) half | B) two thirds | C) nine tenths\nAnswer: two thirds\nEvidence:"
        " is paid at two thirds"
    ),
    "judge": (
        "Reason: fine\nAnswer: two thirds\nIndependent: yes\nClear: yes\nAnswerable:"
        " yes\nConfidence: 90"
    ),
}


def made(turn=0, **answers):
    lm, engine = scripted_lm(ANSWERS | answers)
    program = Profiled(lambda *_: [Hit("c1", PASSAGE, "Dairy", 0.9)], TABLE)
    with dspy.context(lm=lm):
        return program(passage=PASSAGE, topic="Dairy", turn=turn), engine.steps()


def test_a_question_fits_its_profile_and_carries_its_options():
    found, steps = made()
    assert found.evolution == "profiled"
    assert found.context_ids == ["c1"]
    assert found.metadata["profile"]["Type"] == "multiple choice"
    assert found.question.count(")") == 3
    assert found.answer[3:] == "two thirds"
    assert steps == ["clues", "review", "distil", "profiles", "ask_profiled", "judge", "review"]


@pytest.mark.parametrize(
    ("step", "text", "reason"),
    [
        (
            "distil",
            "Needed: 1\nMissing: what cream costs",
            "the passages do not say: what cream costs",
        ),
        ("profiles", "a profile", "no profile can be read from what was written"),
        ("ask_profiled", "Question: none", "the passages have nothing that fits the profile"),
        (
            "ask_profiled",
            ANSWERS["ask_profiled"].replace("B) two thirds", "B) all"),
            "the answer is not among the options",
        ),
    ],
)
def test_a_refusal_is_a_reject_with_its_reason(step, text, reason):
    found, _ = made(**{step: text})
    assert [reject.reason for reject in found.rejects] == [reason]


def test_a_passage_without_further_clues_is_exhausted():
    found, _ = made(turn=1)
    assert found.exhausted


def test_a_wrong_file_of_dimensions_is_one_line(tmp_path):
    file = tmp_path / "profiles.json"
    file.write_text('{"parameters": {"Type": {"description": "", "values": {}}}}', "utf-8")
    with refuses(r"profiles\.json: parameters\.Type\.description: must not be empty"):
        read_profiles(file)
