"""Facts of several chunks that make one question: names that tie them together, and what can be compared."""

import pytest
from scripted_program import BROCK, FOUNDED, context_of, languages_with, with_names

from programs.facts import LinkedFacts, link_facts, names_in, rare_names
from programs.types import Context

LANGUAGES = languages_with(None)
GEGRUENDET = ("Die Werft Lodrin wurde 1911 von Anna Brock gegründet.", "1911")
BROCK_DE = ("Anna Brock wuchs in Sandtor auf und lernte Navigation.", "Sandtor")


def linked(*contexts: Context) -> list[LinkedFacts]:
    return link_facts(with_names(*contexts), LANGUAGES)


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("en", "The Henn Lady was built at the Lodrin yard.", {"Henn Lady", "Lodrin"}),
        ("en", "Ferries cross the sound. Boats sank near Ebbing.", {"Ebbing"}),  # "Ferries" only opens
        ("en", "It left Sandgate in May, on Monday.", {"Sandgate"}),
        ("en", "The Museum of Ebbing is open.", {"Museum of Ebbing"}),
        ("de", "Die Henn Lady wurde im Juni in Lodrin gebaut.", {"Henn Lady", "Lodrin"}),
        ("de", "Dort lebte Otto von Moss.", {"Otto von Moss"}),
        ("en", "", set()),
    ],
)
def test_names_in(language, text, names):
    assert names_in(text, LANGUAGES[language]) == names


def test_rare_names_are_shared_by_few_chunks():
    sentence = "They live in Ebbing and read the {} there."
    papers = ["Star", "Star", *("Herald" for _ in range(6)), "Echo"]
    contexts = [context_of(f"c{place}", (sentence.format(paper), paper)) for place, paper in enumerate(papers)]
    names = rare_names(contexts, LANGUAGES)
    assert list(names) == [f"c{place}" for place in range(9)]
    assert [names[f"c{place}"] for place in (0, 1, 2, 7, 8)] == [("Star",), ("Star",), ("Herald",), ("Herald",), ()]


@pytest.mark.parametrize(("language", "fact", "other"), [("en", FOUNDED, BROCK), ("de", GEGRUENDET, BROCK_DE)])
def test_bridge_describes_a_shared_name(language, fact, other):
    first, second = context_of("yard", fact, language=language), context_of("brock", other, language=language)
    (found,) = linked(first, second)
    assert [each.sentence for each in found.facts] == [other[0], fact[0]]
    assert [each.chunk.chunk_id for each in found.contexts] == ["brock", "yard"]
    assert (found.names, found.compare, found.answer) == (("Anna Brock",), "", "1911")
    (swapped,) = linked(second, first)
    assert swapped == found


@pytest.mark.parametrize(
    ("fact", "other"),
    [
        ((FOUNDED[0], "Anna Brock"), BROCK),  # the name is the answer
        ((FOUNDED[0], "the shipwright Anna Brock"), BROCK),  # ... or in it
        (FOUNDED, ("Anna Brock opened the yard in 1911 as a young widow.", "widow")),  # tells the answer
        (FOUNDED, ("In the year of the great storm they elected Anna Brock.", "storm")),  # does not begin with the name
        (FOUNDED, ("Anna Brock was rich.", "rich")),  # says too little
        (FOUNDED, ("Anna Brock founded the Lodrin yard.", "Lodrin")),  # says what the first one says
        (FOUNDED, ("Anna Brockmann grew up in Sandgate, and so did Anna Brock.", "Sandgate")),  # of somebody else
        (FOUNDED, ("Karl Moss grew up in Sandgate and studied navigation.", "Sandgate")),  # shares no name
    ],
)
def test_unsuitable_facts_make_no_bridge(fact, other):
    assert linked(context_of("yard", fact), context_of("brock", other)) == []


def test_bridge_over_three_chunks_has_two_names():
    lodrin = [("Lodrin is a town of weavers on the coast of Henn.", "Henn"), ("Few people leave Lodrin.", "few")]
    found = linked(context_of("yard", FOUNDED), context_of("brock", BROCK), context_of("lodrin", *lodrin))
    assert [each.names for each in found] == [("Anna Brock", "Lodrin")]
    assert found[0].facts[-1].sentence == FOUNDED[0]
    assert linked(context_of("yard", FOUNDED), context_of("brock", BROCK), context_of("brock2", BROCK)) == []


def test_bridges_are_ranked_by_ease_and_variety():
    facts = [
        ("Anna Brock gave Karl Moss a boat called Swift.", "Swift"),
        ("Anna Brock sold the yard to a bank for 900 crowns.", "900 crowns"),
        ("Karl Moss bought the boat back in the autumn of 1920.", "1920"),
        ("In 1933 Anna Brock lost her house to a flood.", "1933"),
    ]
    first = context_of("yard", *facts)
    easy = first.foci[3].model_copy(update={"easy": True})
    first = first.model_copy(update={"foci": (*first.foci[:3], easy)})
    second = context_of("people", BROCK, ("Karl Moss taught weaving at a school for girls.", "weaving"))
    found = [(each.names, each.answer) for each in linked(first, second) if each.contexts[-1].topic == "yard"]
    brock, moss = ("Anna Brock",), ("Karl Moss",)
    assert found == [(brock, "1933"), (moss, "1920"), (brock, "Swift"), (brock, "900 crowns")]


def compared(first: tuple[str, str], second: tuple[str, str], *titles: str, language: str = "en") -> list[LinkedFacts]:
    topics = titles or ("Grey Mill", "Tarn Dairy")
    contexts = [
        context_of(name, fact, topic=topic, language=language)
        for name, fact, topic in zip("ab", (first, second), topics, strict=True)
    ]
    return linked(*contexts)


def test_comparison_of_years_answers_the_earlier():
    mill, dairy = ("The mill was built by two brothers in 1822.", "1822"), ("Two brothers built it in 1907.", "1907")
    (found,) = compared(dairy, mill, "Tarn Dairy", "Grey Mill")
    assert (found.names, found.compare, found.answer) == ((), "which was earlier", "Grey Mill")
    assert [each.answer for each in found.facts] == ["1907", "1822"]
    assert compared(mill, (dairy[0].replace("1907", "1822"), "1822")) == []  # nothing is earlier
    assert compared(mill, ("The price of butter fell in 1907.", "1907")) == []  # says something else
    assert compared(mill, dairy, "Grey Mill", "Grey Mill") == []  # of one document


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        ("12 metres", "19 metres", "Tarn Dairy"),
        ("1,200 metres", "190 metres", "Grey Mill"),
        ("12.5%", "12.4%", "Grey Mill"),
        ("12 metres", "19 feet", None),
        ("12", "19", None),  # of what?
        ("12 metres", "1907", None),
        ("metres", "feet", None),
    ],
)
def test_comparison_of_amounts_answers_the_larger(first, second, answer):
    facts = [(f"The pump lifts water by {amount} each day.", amount) for amount in (first, second)]
    found = compared(*facts)
    assert [each.answer for each in found] == ([] if answer is None else [answer])
    assert all(each.compare == "which is more" for each in found)


def test_shared_unit_alone_makes_no_comparison():
    assert (
        compared(("The mill is 12 metres tall.", "12 metres"), ("Its mill pond is 19 metres deep.", "19 metres")) == []
    )


def test_comparison_needs_words_of_the_language():
    mill, dairy = ("Dort wohnten sie 1822 zu zweit.", "1822"), ("Sie wohnten 1907 zu zweit hier.", "1907")
    (found,) = compared(mill, dairy, language="de")
    assert (found.compare, found.answer) == ("was früher war", "Grey Mill")
    assert compared(mill, dairy, language="sw") == []


def test_facts_in_different_languages_are_not_linked():
    assert linked(context_of("yard", FOUNDED), context_of("brock", BROCK_DE, language="de")) == []
    german = context_of("dairy", ("Zwei Brüder bauten sie 1907.", "1907"), language="de")
    assert linked(context_of("mill", ("Two brothers built it in 1822.", "1822")), german) == []


def test_chunk_without_foci_is_not_linked():
    assert linked(context_of("yard"), context_of("brock", BROCK)) == []
