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


def test_rounds_draw_one_chunk_of_each_document() -> None:
    order = draw_order(CHUNKS, 1)
    assert sorted(chunk.chunk_id for chunk in order) == sorted(chunk.chunk_id for chunk in CHUNKS)
    assert {chunk.doc_id for chunk in order[:4]} == {"a", "b", "c", "d"}
    assert Counter(chunk.doc_id for chunk in order[:10]) == {"a": 3, "b": 3, "c": 3, "d": 1}


def test_order_depends_only_on_seed_and_ids() -> None:
    shuffled = random.Random(0).sample(CHUNKS, len(CHUNKS))
    assert draw_order(shuffled, 1) == draw_order(CHUNKS, 1)
    assert draw_order(CHUNKS, 2) != draw_order(CHUNKS, 1)


def test_adding_a_document_keeps_the_order_of_the_others() -> None:
    more = [chunk for chunk in draw_order([*CHUNKS, *make({"e": 20})], 1) if chunk.doc_id != "e"]
    assert more == draw_order(CHUNKS, 1)
