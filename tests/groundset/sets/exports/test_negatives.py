"""Mining of hard negatives."""

import numpy as np
import pytest
from evaluation_sets import sample

from groundset.sets import negatives
from groundset.sets.negatives import Anchor, mine
from programs.types import Chunk

TOWARDS = 0.8  # cosine of a question and its positive


def at(angle):
    return np.array([np.cos(angle), np.sin(angle), 0, 0], dtype=np.float32)


def chunk(name, text="Nothing to see.", start=0, doc_id=None):
    return Chunk(
        chunk_id=name, doc_id=doc_id or name, path="a.md", title="A", start=start, end=start + len(text), text=text
    )


POSITIVE = chunk("positive", "The ferry leaves at nine.", doc_id="ferry")
QUESTION = sample("q", POSITIVE, question="When does the ferry leave?", answer="at nine")
ASKED = at(0)
# The positive stands at 0.644, so that what is within 0.76 of the question is too near: below 0.707.
PLACES = {"positive": (POSITIVE, at(np.arccos(TOWARDS)))}


def mined(wanted=5, question=QUESTION, **others):
    """Return the ids of negatives among the positive and other chunks, each with its vector, in that order."""
    found = {**PLACES, **others}
    chunks, vectors = [each for each, _ in found.values()], np.stack([vector for _, vector in found.values()])
    names = list(found)
    [places] = mine([Anchor(question, 0, ASKED)], chunks, vectors, wanted)
    return [names[place] for place in places]


def test_negatives_are_nearest_first_up_to_the_limit():
    far = {f"c{number}": (chunk(f"c{number}"), at(-0.8 - number / 10)) for number in range(8)}
    assert mined(**dict(reversed(far.items()))) == ["c0", "c1", "c2", "c3", "c4"]
    assert mined(2, **far) == ["c0", "c1"]


def test_negatives_exclude_chunks_within_the_margin():
    inside, outside = at(-np.arccos(TOWARDS * 0.96)), at(-np.arccos(TOWARDS * 0.94))
    assert mined(inside=(chunk("inside"), inside), outside=(chunk("outside"), outside)) == ["outside"]


def test_negatives_exclude_near_duplicates_of_the_positive():
    angle = np.arccos(TOWARDS)
    twin, cousin = at(angle + np.arccos(0.951)), at(angle + np.arccos(0.949))
    assert mined(twin=(chunk("twin"), twin), cousin=(chunk("cousin"), cousin)) == ["cousin"]


def test_negatives_exclude_chunks_that_may_answer():
    far = at(-1.0)
    other = sample(
        "q", POSITIVE, chunk("context", start=90, doc_id="ferry"), answer="at nine",
        retrieval_gt=(("positive", "as-good"),),
    )  # fmt: skip
    found = mined(
        question=other,
        **{
            "as-good": (chunk("as-good"), far),
            "context": (other.contexts[1], far),
            "overlaps": (chunk("overlaps", start=20, doc_id="ferry"), far),
            "says-it": (chunk("says-it", "Boats leave “At Nine”, too."), far),
            "neighbour": (chunk("neighbour", start=25, doc_id="ferry"), far),
            "nine": (chunk("nine", "It has nine decks, at least."), far),
        },
    )
    assert found == ["neighbour", "nine"]


def test_random_negatives_fill_up(monkeypatch):
    monkeypatch.setattr(negatives, "_DEPTH", 2)
    near = {f"near{number}": (chunk(f"near{number}"), at(-0.1 * number)) for number in range(6)}
    far = {f"far{number}": (chunk(f"far{number}"), at(-1.0 - number / 50)) for number in range(6)}
    found = mined(**near, **far)
    assert len(found) == len(set(found)) == 5
    assert all(name.startswith("far") for name in found), "the rules hold for these too"
    assert found == mined(**near, **far)


def test_small_corpus_has_fewer_negatives():
    assert mined() == []
    assert mined(only=(chunk("only"), at(-1.2))) == ["only"]


@pytest.mark.parametrize("questions", [1, 7])
def test_questions_are_searched_in_batches(monkeypatch, questions):
    monkeypatch.setattr(negatives, "_BATCH", 3)
    chunks = [POSITIVE, *(chunk(f"c{number}") for number in range(9))]
    vectors = np.stack([PLACES["positive"][1], *(at(-0.8 - number / 10) for number in range(9))])
    found = list(mine([Anchor(QUESTION, 0, ASKED)] * questions, chunks, vectors, 2))
    assert found == [[1, 2]] * questions
