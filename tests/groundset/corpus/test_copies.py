"""Which chunks are copies of earlier ones."""

import random
from time import process_time

from groundset.corpus.chunks import find_copies
from groundset.programs.types import Chunk

WORDS = [
    f"{a}{b}"
    for a in ("ka", "lo", "mi", "ne", "pu")
    for b in ("ra", "st", "ve", "zo", "qui", "ban")
]


def chunk(text, number, doc_id="", start=0):
    place = {"path": "p", "title": "", "start": start, "end": start + len(text)}
    return Chunk(chunk_id=f"c{number}", doc_id=doc_id or f"d{number}", text=text, **place)


def prose(seed, length=120):
    return " ".join(random.Random(seed).choices(WORDS, k=length))


def kept(*texts):
    copies = find_copies([chunk(text, number) for number, text in enumerate(texts)])
    assert not copies.keys() & copies.values()
    return [text for number, text in enumerate(texts) if f"c{number}" not in copies]


def test_case_space_and_punctuation_are_ignored():
    assert kept("The mill, 1887.", "the  mill 1887", "another") == ["The mill, 1887.", "another"]
    assert kept("one", "two words", "one", "***", "—") == ["one", "two words", "***"]


def test_first_of_near_copies_is_kept():
    text = prose(1)
    assert kept(text, text + " addendum", prose(2), text + " addendum") == [text, prose(2)]
    assert find_copies([chunk(text, 1), chunk(text + " addendum", 2)]) == {"c2": "c1"}


def test_nearly_all_near_copies_are_found():
    found = 0
    for seed in range(200):
        words = prose(seed, 150).split()
        changed = [*words[:70], "new", *words[73:]]
        found += len(kept(" ".join(words), " ".join(changed))) == 1
    assert found >= 199


def test_numbers_are_significant():
    texts = [f"{prose(1)} costs {price} crowns" for price in ("3.5", "35", "3,5", "-3.5", "3.6")]
    assert kept(*texts) == texts
    swapped = [f"{prose(1)} from 5 to 7", f"{prose(1)} from 7 to 5"]
    assert kept(*swapped) == swapped


def test_overlapping_chunks_are_kept():
    assert find_copies([chunk(prose(1), 1, "d", 0), chunk(prose(1), 2, "d", 10)]) == {}


def test_many_forms_are_compared_in_linear_time():
    def seconds(count):
        texts = [f"{prose(1, 100)} {prose(number, 40)}" for number in range(2, count + 2)]
        start = process_time()
        assert kept(*texts, texts[-1], texts[0]) == texts
        return process_time() - start

    assert seconds(1_200) / seconds(400) < 6
