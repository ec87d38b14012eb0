"""What a sentence states as a condition, with the real parser and without one."""

import pytest

from groundset.runtime.parser import Parser
from programs.conditions import condition_in
from programs.languages import LANGUAGES
from programs.languages.base import Condition
from programs.languages.en.reading import EnglishSyntax
from programs.types import Focus

ENGLISH = LANGUAGES["en"]
SENTENCE = (
    "On 22 February 2009 the Henn Lady struck the Grey Widow, an unlit rock south of Sandgate, while avoiding a "
    "small fishing boat."
)


def test_condition_is_a_clause_not_in_the_question() -> None:
    focus = Focus(sentence=SENTENCE, answer="22 February 2009")
    assert condition_in(focus, "On what date did it strike?", ENGLISH) == Condition(
        "while avoiding a small fishing boat"
    )
    assert condition_in(focus, "What did it strike while avoiding a small fishing boat?", ENGLISH) is None
    stop = Focus(sentence="The village was evacuated, because the dam had failed at 01:50.", answer="01:50")
    assert condition_in(stop, "When?", ENGLISH) is None
    assert condition_in(focus.model_copy(update={"answer": "fishing boat"}), "When?", ENGLISH) is None
    assert condition_in(focus.model_copy(update={"answer": "a rock"}), "What did it strike?", ENGLISH) is not None


def test_opening_phrase_is_a_condition() -> None:
    focus = Focus(
        sentence="Under the charter of 1604, the town of Ambel kept one third of the toll.", answer="one third"
    )
    assert condition_in(focus, "How much of the toll did Ambel keep?", ENGLISH) == Condition(
        "under the charter of 1604"
    )
    assert condition_in(focus, "How much did Ambel keep under the charter of 1604?", ENGLISH) is None
    assert condition_in(focus.model_copy(update={"answer": "1604"}), "When?", ENGLISH) is None
    later = focus.model_copy(update={"sentence": "The town of Ambel kept one third of the toll under the charter."})
    assert condition_in(later, "How much of the toll did Ambel keep?", ENGLISH) is None


@pytest.mark.parametrize(
    ("sentence", "answer", "question", "composed"),
    [
        (
            "Marrow Sound took over the ferry on 1 January 1974, after the previous owner went bankrupt.",
            "1 January 1974",
            "On what date did Marrow Sound take over the ferry?",
            "After the previous owner went bankrupt, on what date did Marrow Sound take over the ferry?",
        ),
        (
            "The factory of the Pradel brothers produced watch springs until it closed in 1957.",
            "watch springs",
            "What did the factory of the Pradel brothers produce?",
            "What did the factory of the Pradel brothers produce until it closed in 1957?",
        ),
        (
            "If the red lamp stays lit, the filter of the Orrin 3 must be rinsed within 20 minutes.",
            "20 minutes",
            "Within how many minutes must the filter of the Orrin 3 be rinsed?",
            "If the red lamp stays lit, within how many minutes must the filter of the Orrin 3 be rinsed?",
        ),
    ],
)
def test_adverbial_clause_is_joined_to_the_question(
    parser: Parser, sentence: str, answer: str, question: str, composed: str
) -> None:
    found = condition_in(Focus(sentence=sentence, answer=answer), question, ENGLISH, EnglishSyntax(parser))
    assert found is not None
    assert found.composed == composed


@pytest.mark.parametrize(
    ("sentence", "answer", "question"),
    [
        # The condition is the time that is asked for.
        (
            "The deflector was removed in 2011, when Penhale replaced the sill.",
            "2011",
            "When was the deflector removed?",
        ),
        # A reason is no condition.
        ("The Flood programme ends after 72 hours, because pumps get hot.", "72 hours", "When does Flood end?"),
        # Whose ship it was is not said.
        ("Ambel kept one third of the toll until his ship sank off Tarn.", "one third", "How much did Ambel keep?"),
    ],
)
def test_unsuitable_clauses_are_no_conditions(parser: Parser, sentence: str, answer: str, question: str) -> None:
    assert condition_in(Focus(sentence=sentence, answer=answer), question, ENGLISH, EnglishSyntax(parser)) is None
