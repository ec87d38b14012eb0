"""Questions and answers in another language than the requested one are refused."""

from dataclasses import replace

import pytest
from scripted_program import context_of, tools_of, trail_of

from programs.language_detection import language_among
from programs.languages.names import NAMES, name_of
from programs.stages.language import is_in_language
from programs.types import Attempt

GERMAN = "Warum hielt die Mühle von Orsle an?"


def refused(question: str, answer: str = "", language: str = "de", passage: str = "en") -> list[str]:
    contexts = (context_of("mill", ("Le moulin de Veld tourne.", "Veld"), language=passage),)
    trail, _ = trail_of(Attempt(number=0, contexts=contexts, wanted="simple"))
    good = is_in_language(replace(tools_of(), language=language), trail, question, answer)
    rejects = trail.outcome().rejects
    assert good is not bool(rejects)
    assert {reject.step for reject in rejects} <= {"language"}
    return [reject.reason for reject in rejects]


def test_without_a_requested_language_nothing_is_refused() -> None:
    assert refused("Why did it stop?", language="") == []


def test_requested_language_passes() -> None:
    assert refused(GERMAN, "weil das Wehr gebrochen war und kein Wasser kam") == []


@pytest.mark.parametrize(
    ("question", "answer", "passage", "reason"),
    [
        ("Why did the mill of Orsle stop?", "", "en", "the question is in English, not German"),
        ("Quand le moulin de Veld a-t-il été construit ?", "", "fr", "the question is in French, not German"),
        (GERMAN, "because the sluice of the mill had rotted", "en", "the answer is in English, not German"),
    ],
)
def test_other_languages_are_refused(question: str, answer: str, passage: str, reason: str) -> None:
    assert refused(question, answer, passage=passage) == [reason]


def test_detection_knows_all_languages() -> None:
    assert {language_among("Wo?", [code]) for code in NAMES} == NAMES.keys()
    assert name_of("xx") == "xx"


@pytest.mark.parametrize("answer", ["Mill of the Moor", "“The Wheel of the Upper Orsle Mill”"])
def test_answers_may_be_short_or_names(answer: str) -> None:
    assert refused(GERMAN, answer) == []


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Wie heißt das Gedicht über die Mühle?", "“The wheel of the old mill has stopped”"),
        ("Was prüft die Stelle?", "die Regeln des Land Registration Act von 1957"),
        ("Was ist der Old Mill Trust?", ""),
        ("Wie groß ist die Blackwater Mill?", ""),
    ],
)
def test_names_and_quotations_may_be_in_another_language(question: str, answer: str) -> None:
    assert refused(question, answer) == []
