"""What English passages can easily be asked, with the real parser."""

from collections.abc import Callable

import pytest

from groundset.programs.english import Fact, easy_facts

Facts = Callable[..., list[Fact]]
pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def facts() -> Facts:
    from groundset.models.parser import open_parser

    parser = open_parser("en-core-web-sm")
    return lambda passage, topic="": easy_facts(passage, topic, parser)


@pytest.mark.parametrize(
    ("sentence", "answer", "opening"),
    [
        (
            (
                "Marrow Sound Navigation Ltd took over the Tollvik ferry on 1 January 1974, after"
                " its owner went bankrupt."
            ),
            "1 January 1974",
            "On what date did Marrow Sound Navigation Ltd take over the Tollvik ferry",
        ),
        (
            (
                "Gate 3 of Hollin Tarn Weir broke on 12 February 2016 and released 300,000 litres"
                " of water into the river."
            ),
            "300,000 litres",
            "How many litres of water did Gate 3 of Hollin Tarn Weir release into the river",
        ),
        (
            (
                "Councillor Stannard objected that the shops of Marsh Street depend on short visits"
                " by car."
            ),
            "Councillor Stannard",
            "Who objected that the shops of Marsh Street depend on short visits by car",
        ),
        (
            "The Flood programme of the Dryvane ends after 72 hours to protect the compressor.",
            "72 hours",
            "After how many hours does the Flood programme of the Dryvane end",
        ),
        (
            "The keepers of Orsle Weir close its gate for at least 15 minutes after a flood.",
            "at least 15 minutes",
            "For how many minutes do the keepers of Orsle Weir close its gate after a flood",
        ),
        (
            "The Marsh Street bakery, with its two ovens, was sold to Jonas Ebel in 1988.",
            "1988",
            "In which year was the Marsh Street bakery sold to Jonas Ebel",
        ),
        (
            "Heatwise Plus was introduced by the Lidgate company in 2019.",
            "2019",
            "In which year was Heatwise Plus introduced by the Lidgate company",
        ),
        (
            'Nira Vosk sold the play under the name "The Last Ferry" in 1988.',
            "1988",
            'In which year did Nira Vosk sell the play under the name "The Last Ferry"',
        ),
        (
            "Maria Kolb was born in Lowen in 1998, the youngest of five.",
            "1998",
            "In which year was Maria Kolb born in Lowen",
        ),
        (
            "Tidepool is a small job queue for Python that keeps its jobs in a single file.",
            "a small job queue for Python that keeps its jobs in a single file",
            "What is Tidepool",
        ),
        (
            "Hollin Tarn Weir was built in 1961 to supply the paper mills of Sellbridge.",
            "to supply the paper mills of Sellbridge",
            "Why was Hollin Tarn Weir built in 1961",
        ),
        (
            "Gridfold 4 puts an index in front of every block, so that a partial file can be read.",
            "so that a partial file can be read",
            "Why does Gridfold 4 put an index in front of every block",
        ),
    ],
)
def test_questions_are_begun_by_syntax(facts, sentence, answer, opening):
    found = {
        fact.answer: fact
        for fact in facts(sentence, opening[14:27] if "Heatwise" in opening else "Tidepool")
    }
    assert found[answer].opening == opening
    assert found[answer].sentence == sentence
    assert found[answer].defines is opening.startswith("What is")


def test_names_are_written_in_full(facts):
    (fact,) = facts("The museum was founded in 1962 by a dentist.", "Museum of Small Clocks")
    assert fact.opening == "In which year was the Museum of Small Clocks founded by a dentist"
    (fact,) = facts(
        "The museum was founded in 1962 by a dentist.", "About the Museum of Small Clocks"
    )
    assert fact.opening == "In which year was the Museum of Small Clocks founded by a dentist"
    passage = "Thessaly Brandreth ran the inn. Brandreth sold the inn at Port Ellory in 1946."
    assert "In which year did Thessaly Brandreth sell the inn at Port Ellory" in [
        fact.opening for fact in facts(passage, "Inns")
    ]
    passage = (
        "The Lampkeepers' League had ten lodges. The First World War divided the League in May"
        " 1916."
    )
    assert all(
        "Lampkeepers' League" in fact.opening for fact in facts(passage, "Lampkeepers' League")
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "It was founded in 1962 by a dentist from the town.",  # what "it" is stands elsewhere
        "The festival was cancelled from 1914 to 1918.",  # one end of a period is no answer
        "If the lamp stays lit, rinse the filter of the lamp.",  # there is no subject
        "A list of the forty clocks of Maria Kolb.",  # nor a verb
        "Maria Kolb moved away from Lowen in the May of the year",  # nor an end
        "Gate 3 is the oldest part of Hollin Tarn Weir.",  # many things are that
        # "Who" is for persons only.
        "Carrow Reach is designed to hold back the water of Tarn.",
        "Such tiles are reported with the error code E207.",  # which tiles
        "Assays in Tarn are easy to perform with modern machines.",  # no purpose
        "As stated in the passage, Maria Kolb "
        + "very " * 60
        + "often left Lowen in 1998.",  # too long
        "x" * 3_000 + " was built by Maria Kolb of Lowen in 1998.",
    ],
)
def test_unclear_sentences_have_no_facts(facts, sentence):
    assert facts(sentence) == []


@pytest.mark.parametrize(
    ("sentence", "named"),
    [
        ("The Verrish Nature Trust started a rescue programme in 1998.", True),
        ("The county started a rescue programme for plants in 1998.", False),
        # A name elsewhere in the sentence does not say which strike, which League or which Kolb is
        # meant.
        ("The strike at the Tarn Works of Lowen ended in 1998.", True),
        ("The strike ended at the Tarn Works in 1998.", False),
        ("The League moved its office to Lowen in 1998.", False),
        ("The Lamp League moved to Lowen in 1998.", True),
        ("Kolb moved her office to Lowen in 1998.", False),
        ("Maria Kolb moved to Lowen in 1998.", True),
        ("In 1998, Maria Kolb moved from Tarn, where she was born, to Lowen.", True),
    ],
)
def test_the_subject_must_be_identifiable(facts, sentence, named):
    assert ("1998" in [fact.answer for fact in facts(sentence)]) is named


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        (
            "Afternoon winds from Lake Tsunguri seldom exceed 40 kilometres an hour.",
            "40 kilometres",
        ),
        ("Vantongeren Kelp sells dried fish and brown sugar on the quay.", "dried fish"),
        (
            "Vantongeren Kelp has no reliable market price for its stock.",
            "no reliable market price",
        ),
        ("Firefox was begun by Dave Hyatt, Joe Hewitt and Blake Ross in 2002.", "Dave Hyatt"),
        (
            "A road tunnel under Henn Sound has been proposed four times, most recently in 2021.",
            "2021",
        ),
        ("The Star of Lowen moved to a tower by Queens Quay.", "Queens Quay"),
        (
            "Tarn Press republished On the Range, a 1947 cookbook written by Ilse Marr, in 2012.",
            "1947 cookbook",
        ),
        ("Gate 3 was inspected by eye in 2012 and 2014.", "2012"),
    ],
)
def test_partial_answers_are_not_asked_for(facts, sentence, wrong):
    assert wrong not in [fact.answer for fact in facts(sentence, sentence)]


def test_general_statement_needs_no_name(facts):
    assert facts("Folded proteins can be combined with other proteins to block the receptor.")
    assert not facts("Electric lamps were combined with other lamps to block the signal.")


def test_several_facts_are_in_order(facts):
    passage = (
        "The council, which had met in 1911, wished for a bridge that no flood of the Lowen would"
        " carry away. The Lowen harbour bridge was opened in 1931 by the engineer Maria Kolb."
    )
    found = facts(passage, "Lowen harbour bridge")
    assert found[0].answer == "1931"
    assert len({fact.answer for fact in found}) == len(found)
    assert facts("", "") == []
