"""The form of translations."""

import pytest

from programs.steps.translate import lines_of, lost_name, translation_problem

LINES = ("Why did Tarn Dairy pay 1,400 crowns in 2019?", 'Write "not stated" if 2.5 is missing.')
GERMAN = ("Warum zahlte Tarn Dairy 2019 1 400 Kronen?", 'Schreibe "not stated", wenn 2,5 fehlt.')


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (GERMAN, ""),
        (GERMAN[:1], "1 lines instead of 2"),
        (("Warum zahlte Tarn Dairy 2018 1.400 Kronen?", GERMAN[1]), "lost 2019"),
        ((GERMAN[0], 'Schreibe "keine Angabe", wenn 2,5 fehlt.'), 'lost "not stated"'),
        ((LINES[0], GERMAN[1]), "not in German: Why did Tarn Dairy pay"),
    ],
)
def test_problem_of_a_translation(written: tuple[str, ...], problem: str) -> None:
    found = translation_problem(LINES, written, "de")
    assert found.startswith(problem) if problem else found == ""


def test_few_words_do_not_tell_their_language() -> None:
    assert translation_problem(["the grey willow"], ["the grey willow"], "de") == ""


def test_names_inside_sentences_must_survive() -> None:
    line = "The weir broke. Did Lowen pay for it in May?"
    assert lost_name(line, "It broke. Did Lowen pay in May?") == ""
    assert lost_name(line, "It broke. Did the town pay in May?") == "Lowen"


def test_blank_lines_do_not_count() -> None:
    assert lines_of(" one\n\n two ") == ["one", "two"]


def test_names_are_compared_in_any_case() -> None:
    assert lost_name("Who paid for the Lowen Harbour bridge?", "who paid for the lowen harbour bridge?") == ""
