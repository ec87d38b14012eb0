"""Which chunks a question about several can be asked about."""

import pytest
from evaluation_sets import chunk, sample

from groundset.programs.types import Hit
from groundset.run.plan import Pairs
from groundset.run.subjects import unasked

FILLER = (
    "The water of the valley is led through a channel of stone and over a wheel that turns the"
    " stones of the house. "
)
TEXTS = {
    "a": (
        FILLER
        + "It was built by Ada Rowan, who had learned the trade in the north and came back with two"
        " sons."
    ),
    "b": (
        FILLER
        + "A flood in the spring took the bank away, and the channel was dug again a little higher"
        " up the hill."
    ),
    "c": (
        FILLER
        + "In the year of the drought it stood still, and flour had to be fetched from the town on"
        " the plain."
    ),
    "d": (
        FILLER
        + "The school was paid for by Ada Rowan in her will, with a room for the teacher and a"
        " stove of iron."
    ),
    "e": (
        FILLER
        + "Oats and barley were ground in turn, and each farmer brought his own sacks on the day"
        " that was his."
    ),
    "copy": (
        FILLER
        + "It was built by Ada Rowan, who had learned the trade in the north and came back with two"
        " sons!"
    ),
    "title": "The mills of the valley",
}
DOCUMENTS = {"a": "1", "b": "1", "c": "1", "d": "2", "e": "2", "copy": "3", "title": "3"}
SIMILAR = {"copy": 0.97, "b": 0.8, "c": 0.7, "title": 0.7, "e": 0.6, "d": 0.55}


@pytest.fixture
def pairs() -> Pairs:
    chunks = {name: chunk(name, text, doc_id=DOCUMENTS[name]) for name, text in TEXTS.items()}

    def nearest(chunk_id, limit):
        return [
            Hit(name, "", "", similarity)
            for name, similarity in SIMILAR.items()
            if name != chunk_id
        ][:limit]

    return Pairs(chunks, nearest)


def test_a_rare_name_comes_first(pairs):
    # neither its neighbour, nor its copy, nor a title page
    assert pairs.partners("a") == ["d", "c", "e"]


def test_a_title_page_has_no_partners(pairs):
    assert pairs.partners("title") == []


def test_subjects_without_a_question_are_what_headings_name_and_chunks_speak_of():
    texts = [
        "Sick leave is paid.",
        "Ask the desk about sick leaves.",
        "The tool shed opens at six.",
    ]
    headings = ("Sick leave", "Tool shed")
    chunks = [chunk(f"c{n}", text, headings=headings) for n, text in enumerate(texts)]
    assert unasked(chunks, ()) == ["Sick leave"]
    asked = sample("s", chunks[0], question="How long is my sick leave paid?")
    assert unasked(chunks, [asked]) == []
