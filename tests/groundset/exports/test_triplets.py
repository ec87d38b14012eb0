"""Training data for retrievers, and its hard negatives."""

import json
from pathlib import Path

import numpy as np
import pytest
from evaluation_sets import evaluation_set, many_documents, run_of, sample
from refusal import refuses

from groundset.exports.sets import EvaluationSet, Splits
from groundset.exports.triplets import Anchor, negatives_of, write_triplets
from groundset.programs.types import Chunk
from groundset.retrieval import embed

COLUMNS = ["anchor", "positive", *(f"negative_{number}" for number in range(1, 6))]
TOWARDS = 0.8  # cosine of a question and its positive


ROWS = {}  # by chunk; a question is embedded as the chunk that it names


@pytest.fixture(autouse=True)
def embedder(monkeypatch):
    class Named:
        def encode(self, texts: list[str]) -> np.ndarray:
            return np.stack([ROWS[text.split()[-1].rstrip("?")] for text in texts])

    monkeypatch.setattr(embed, "open_embedder", lambda spec: Named())


def with_chunks(found: EvaluationSet, samples: int, chunks: int) -> EvaluationSet:
    """Return a set with its first samples and chunks only."""
    vectors = found.vectors()[:chunks]
    run = run_of(
        found.samples[:samples],
        [*found.documents.values()][:1],
        found.chunks[:chunks],
        vectors=vectors,
    )
    return evaluation_set(run)


def exported(found: EvaluationSet, out: Path) -> dict[str, list[dict[str, str]]]:
    out.mkdir()
    ROWS.update(zip(found.runs[0].chunks, found.vectors(), strict=True))
    write_triplets(found, out)
    return {
        file.stem: [json.loads(line) for line in file.read_text().splitlines()]
        for file in sorted(out.glob("*.jsonl"))
    }


def test_rows_have_a_positive_and_negatives_of_their_own_split(tmp_path):
    found = many_documents()
    rows = exported(found, tmp_path / "out")
    assert {name: len(members) for name, members in rows.items()} == {
        "dev": 1,
        "test": 1,
        "train": 10,
    }
    positives = {each.question: each.contexts[0].text for each in found.samples}
    of = {chunk.text: chunk.doc_id for chunk in found.chunks}
    for row in (row for members in rows.values() for row in members):
        assert list(row) == COLUMNS
        assert row["positive"] == positives[row["anchor"]]
        assert len({*row.values()}) == len(COLUMNS)
    seen = {
        name: {of[text] for row in members for text in list(row.values())[1:]}
        for name, members in rows.items()
    }
    assert (
        not seen["train"] & seen["dev"] | seen["train"] & seen["test"] | seen["dev"] & seen["test"]
    )


def test_rows_follow_given_splits(tmp_path):
    found = many_documents()
    documents = {name: "test" if name == "d00" else "validation" for name in found.documents}
    splits = Splits(
        {each.id: documents[each.contexts[0].doc_id] for each in found.samples}, documents
    )
    rows = exported(found._replace(splits=splits), tmp_path / "out")
    assert {name: len(members) for name, members in rows.items()} == {"test": 1, "validation": 11}
    odd = Splits(dict.fromkeys(splits.samples, "rest"), dict.fromkeys(documents, "rest"))
    with refuses("--splits rest: the format triplets has no such split; name train, dev"):
        exported(found._replace(splits=odd), tmp_path / "odd")


def test_a_question_has_a_row_for_each_needed_chunk(tmp_path):
    found = many_documents()
    both = (found.chunks[1], found.chunks[25])
    pair = found.samples[0].model_copy(
        update={"contexts": both, "retrieval_gt": tuple((c.chunk_id,) for c in both)}
    )
    lost = found.samples[1].model_copy(update={"retrieval_gt": ()})
    rows = exported(found._replace(samples=[pair, lost, *found.samples[3:]]), tmp_path / "out")
    mine = [row for members in rows.values() for row in members if row["anchor"] == pair.question]
    assert [row["positive"] for row in mine] == [chunk.text for chunk in both]
    assert not {chunk.text for chunk in both} & {
        text for row in mine for text in list(row.values())[2:]
    }
    assert lost.question not in {row["anchor"] for members in rows.values() for row in members}
    with refuses("--format triplets: every question is unanswerable"):
        exported(found._replace(samples=[lost]), tmp_path / "none")


def test_all_rows_have_as_many_negatives(tmp_path):
    few = with_chunks(many_documents(), 1, 4)
    assert [list(row) for row in exported(few, tmp_path / "few")["train"]] == [COLUMNS[:5]], (
        "three are all there are"
    )
    many = many_documents(21)
    lost = many.samples[0].model_copy(update={"answer": "says that"})  # in every chunk
    rows = exported(many._replace(samples=[lost, *many.samples[1:]]), tmp_path / "many")
    assert sum(map(len, rows.values())) == 20
    assert {tuple(row) for members in rows.values() for row in members} == {tuple(COLUMNS)}


def at(angle: float) -> np.ndarray:
    return np.array([np.cos(angle), np.sin(angle), 0, 0], dtype=np.float32)


def chunk(name: str, text: str = "Nothing to see.", start: int = 0, doc_id: str = "") -> Chunk:
    place = {"start": start, "end": start + len(text), "text": text}
    return Chunk(chunk_id=name, doc_id=doc_id or name, path="a.md", title="A", **place)


POSITIVE = chunk("positive", "The ferry leaves at nine.", doc_id="ferry")
QUESTION = sample("q", POSITIVE, question="When does the ferry leave?", answer="at nine")
ANGLE = float(np.arccos(TOWARDS))  # what is within 0.76 of the question is too near


def mined(*others: tuple[Chunk, np.ndarray], limit: int = 5) -> list[str]:
    """Return the ids of the negatives among the positive and other chunks, each with its vector."""
    chunks, vectors = zip((POSITIVE, at(ANGLE)), *others, strict=True)
    [found] = negatives_of([Anchor(QUESTION, 0, at(0))], chunks, np.stack(vectors), limit)
    return [chunks[place].chunk_id for place in found]


def test_negatives_are_nearest_first_up_to_the_limit():
    far = [(chunk(f"c{number}"), at(-0.8 - number / 10)) for number in range(8)]
    assert mined(*reversed(far)) == ["c0", "c1", "c2", "c3", "c4"]
    assert mined(*far, limit=2) == ["c0", "c1"]
    near = [(chunk(f"n{number}"), at(-0.1 * number)) for number in range(70)]
    assert mined(*near[:7], *far) == ["c0", "c1", "c2", "c3", "c4"], (
        "those within the margin are passed over"
    )
    assert mined() == []


def test_negatives_are_neither_near_the_question_nor_like_the_positive():
    inside, outside = at(-float(np.arccos(TOWARDS * 0.96))), at(-float(np.arccos(TOWARDS * 0.94)))
    assert mined((chunk("inside"), inside), (chunk("outside"), outside)) == ["outside"]
    twin, cousin = at(ANGLE + float(np.arccos(0.951))), at(ANGLE + float(np.arccos(0.949)))
    assert mined((chunk("twin"), twin), (chunk("cousin"), cousin)) == ["cousin"]


def test_negatives_do_not_answer():
    found = mined(
        (chunk("overlaps", start=20, doc_id="ferry"), at(-1)),
        (chunk("says-it", "Boats leave “At Nine”, too."), at(-1)),
        (chunk("neighbour", start=25, doc_id="ferry"), at(-1)),
        (chunk("nine", "It has nine decks, at least."), at(-1)),
    )
    assert found == ["neighbour", "nine"]
    known = QUESTION.model_copy(update={"retrieval_gt": (("positive", "as-good"),)})
    chunks, vectors = [POSITIVE, chunk("as-good")], np.stack([at(ANGLE), at(-1)])
    assert list(negatives_of([Anchor(known, 0, at(0))], chunks, vectors, 5)) == [[]]
