import random
from collections import Counter

from groundset.corpus.chunks import draw_order
from programs.types import Chunk


def make(sizes: dict[str, int]) -> list[Chunk]:
    return [
        Chunk(chunk_id=f"{doc}-{n:04d}", doc_id=doc, path=doc, title=doc, start=0, end=1, text="x")
        for doc, size in sizes.items()
        for n in range(size)
    ]


CHUNKS = make({"a": 50, "b": 3, "c": 10, "d": 1})


def test_documents_are_covered_evenly_in_rounds() -> None:
    order = draw_order(CHUNKS, 1)
    assert sorted(chunk.chunk_id for chunk in order) == sorted(chunk.chunk_id for chunk in CHUNKS)
    assert {chunk.doc_id for chunk in order[:4]} == {"a", "b", "c", "d"}
    assert Counter(chunk.doc_id for chunk in order[:10]) == {"a": 3, "b": 3, "c": 3, "d": 1}


def test_the_order_depends_on_the_seed_and_the_ids_alone() -> None:
    shuffled = random.Random(0).sample(CHUNKS, len(CHUNKS))
    assert draw_order(shuffled, 1) == draw_order(CHUNKS, 1)
    assert draw_order(CHUNKS, 2) != draw_order(CHUNKS, 1)


def test_it_is_never_the_first_ones() -> None:
    assert [chunk.chunk_id for chunk in draw_order(make({"a": 50}), 1)][:5] != [f"a-{n:04d}" for n in range(5)]


def test_another_document_leaves_the_others_in_order() -> None:
    more = [chunk for chunk in draw_order([*CHUNKS, *make({"e": 20})], 1) if chunk.doc_id != "e"]
    assert more == draw_order(CHUNKS, 1)
