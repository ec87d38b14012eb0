"""What a sentence can be asked by its syntax, with the real parser."""

import pytest

from groundset.runtime.parser import Parser
from programs.focus import choose_foci
from programs.languages import LANGUAGES
from programs.languages.en.askable import askable
from programs.languages.en.reading import EnglishSyntax


def openings(parser: Parser, sentence: str, title: str = "") -> dict[str, str]:
    return {asked.answer: asked.opening for asked in askable(parser(sentence, "en"), title)}


@pytest.mark.parametrize(
    ("sentence", "answer", "opening"),
    [
        (
            "Ultrasonic testing, which would have revealed the crack, was dropped from the inspection plan in 2009.",
            "2009",
            "In which year was ultrasonic testing dropped from the inspection plan",
        ),
        (
            "Marrow Sound Navigation Ltd took over the Tollvik ferry on 1 January 1974, after its owner went bankrupt.",
            "1 January 1974",
            "On what date did Marrow Sound Navigation Ltd take over the Tollvik ferry",
        ),
        (
            "Gate 3 broke on 12 February 2016 and released 300,000 litres of water into the river.",
            "300,000 litres",
            "How many litres of water did Gate 3 release into the river",
        ),
        (
            "Councillor Stannard objected that the shops of the street depend on short visits by car.",
            "Councillor Stannard",
            "Who objected that the shops of the street depend on short visits by car",
        ),
        (
            "The Petrel of Henn could carry 90 passengers and four motor cars.",
            "90 passengers",
            "How many passengers could the Petrel of Henn carry",
        ),
        (
            "The gate was designed by Maria Kolb, who lived in Lowen.",
            "Maria Kolb",
            "By whom was the gate designed",
        ),
        (
            "The Flood programme of the Dryvane ends after 72 hours to protect the compressor.",
            "72 hours",
            "After how many hours does the Flood programme of the Dryvane end",
        ),
        (
            "A road tunnel under the sound has been proposed in 2021.",
            "2021",
            "In which year has a road tunnel under the sound been proposed",
        ),
        (
            "Vosk entered the kitchen market in 1981 with the Vosk Range, — its oven doors made by Tarn Glass, — which "
            "became the basis of most ovens.",
            "1981",
            "In which year did Vosk enter the kitchen market with the Vosk Range",
        ),
        (
            "The Marsh Street bakery, with its two ovens, was sold to Jonas Ebel in 1988.",
            "1988",
            "In which year was the Marsh Street bakery sold to Jonas Ebel",
        ),
        (
            'Nira Vosk sold the play under the name "The Last Ferry" in 1988.',
            "1988",
            'In which year did Nira Vosk sell the play under the name "The Last Ferry"',
        ),
        (
            "The 'night boats' of the Henn Line were renamed in 1988.",
            "1988",
            "In which year were the 'night boats' of the Henn Line renamed",
        ),
    ],
)
def test_openings_by_syntax(parser: Parser, sentence: str, answer: str, opening: str) -> None:
    assert openings(parser, sentence)[answer] == opening


def test_bare_noun_is_replaced_by_the_title(parser: Parser) -> None:
    found = openings(parser, "The museum was founded in 1962 by a dentist.", "Museum of Small Clocks")
    assert found["1962"] == "In which year was Museum of Small Clocks founded by a dentist"


@pytest.mark.parametrize(
    "sentence",
    [
        "It was founded in 1962 by a dentist from the town.",  # what "it" is stands elsewhere
        "The festival was cancelled from 1914 to 1918.",  # one end of a period is no answer
        "If the lamp stays lit, rinse the filter.",  # there is no subject
        "A list of 40 clocks.",  # nor a verb
    ],
)
def test_unclear_sentences_have_no_questions(parser: Parser, sentence: str) -> None:
    assert not openings(parser, sentence)


def test_one_of_several_times_is_no_answer(parser: Parser) -> None:
    assert set(openings(parser, "Gate 3 was inspected by eye in 2012 and 2014.")) == {"Gate 3"}


def test_foci_by_syntax_come_before_foci_by_form(parser: Parser) -> None:
    passage = (
        "The council, which had met in 1911, wished for a bridge that no flood of the Lowen would carry away. "
        "The Lowen harbour bridge was opened in 1931 after nine years of work."
    )
    foci = choose_foci(passage, "Lowen harbour", LANGUAGES["en"], syntax=EnglishSyntax(parser))
    assert foci[0].opening == "In which year was the Lowen harbour bridge opened after nine years of work"
    assert [focus.opening for focus in foci if focus.answer == "1911"] == ["In which year"]
    without = choose_foci(passage, "Lowen harbour", LANGUAGES["en"])
    assert {focus.opening for focus in without if focus.answer == "1931"} == {"In which year"}


@pytest.mark.parametrize(
    ("sentence", "answer", "named"),
    [
        ("The Verrish Nature Trust started a rescue programme in 1998.", "1998", True),
        ("The county started a rescue programme for plants in 1998.", "1998", False),
        ("The median income for a household in the CDP was $47,500.", "$47,500", False),
        # A name elsewhere in the sentence does not say which strike, which League or which Kolb is meant.
        ("The strike at the Tarn Works ended in 1998.", "1998", True),
        ("The strike ended at the Tarn Works in 1998.", "1998", False),
        ("The strikers of 1996 left the Tarn Works in 1998.", "1998", True),
        ("The League moved to Lowen in 1998.", "1998", False),
        ("The Lamp League moved to Lowen in 1998.", "1998", True),
        ("The library LampKit was moved to Lowen in 1998.", "1998", True),
        ("Kolb moved to Lowen in 1998.", "1998", False),
        ("Maria Kolb moved to Lowen in 1998.", "1998", True),
        # A comma that keeps two things apart is lost.
        (
            "The Tarn Works shall return the files within 30 days, pay Imogen Kolb 400 crowns, and leave.",
            "30 days",
            False,
        ),
        ("Maria Kolb was born in Lowen in 1998, the youngest of five.", "1998", False),
        ("In 1998, Maria Kolb moved from Tarn, where she was born, to Lowen.", "1998", True),
    ],
)
def test_named_needs_an_identifiable_subject(parser: Parser, sentence: str, answer: str, named: bool) -> None:
    found = {asked.answer: asked.named for asked in askable(parser(sentence, "en"), "")}
    assert found[answer] is named


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        ("Afternoon winds from Lake Tsunguri seldom exceed 40 kilometres an hour.", "40 kilometres"),
        ("Vantongeren Kelp sells dried fish and brown sugar on the quay.", "dried fish"),
        ("Vantongeren Kelp has no reliable market price for its stock.", "no reliable market price"),
        ("Firefox was begun by Dave Hyatt, Joe Hewitt and Blake Ross in 2002.", "Dave Hyatt"),
        ("A road tunnel has been proposed four times, most recently in 2021.", "2021"),
        ("The Star moved to a tower by Queens Quay.", "Queens Quay"),
        ("Tarn Press republished On the Range, a 1947 cookbook written by Ilse Marr, in 2012.", "1947 cookbook"),
        ("Velmoprast works by relaxing the muscle of the bladder wall.", "Velmoprast"),
    ],
)
def test_partial_answers_are_not_asked_for(parser: Parser, sentence: str, wrong: str) -> None:
    assert wrong not in openings(parser, sentence)
