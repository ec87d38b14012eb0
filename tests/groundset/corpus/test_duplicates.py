import random
import tracemalloc
from time import process_time

import pytest

from groundset.corpus import duplicates
from groundset.corpus.duplicates import drop_duplicates
from programs.types import Chunk

WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "ne", "pu") for b in ("ra", "st", "ve", "zo", "qui", "ban")]


def chunk(text: str, number: int, doc_id: str = "", start: int = 0) -> Chunk:
    return Chunk(
        chunk_id=f"c{number}",
        doc_id=doc_id or f"d{number}",
        path="p",
        title="",
        start=start,
        end=start + len(text),
        text=text,
    )


def prose(seed: int, length: int = 120) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=length))


def kept(*texts: str, threshold: float = 0.85) -> list[str]:
    found, dropped = drop_duplicates([chunk(text, n) for n, text in enumerate(texts)], threshold)
    assert dropped == len(texts) - len(found)
    return [chunk.text for chunk in found]


def test_case_space_and_punctuation_are_ignored() -> None:
    assert kept("The mill, 1887.", "the  mill 1887", "another") == ["The mill, 1887.", "another"]


def test_first_of_near_duplicates_is_kept() -> None:
    text = prose(1)
    assert kept(text, text + " addendum", prose(2)) == [text, prose(2)]


def test_numbers_are_significant() -> None:
    texts = [f"{prose(1)} costs {price} crowns" for price in ("3.5", "35", "3,5", "-3.5", "3.6")]
    assert kept(*texts) == texts
    swapped = [f"{prose(1)} from 5 to 7", f"{prose(1)} from 7 to 5"]
    assert kept(*swapped) == swapped


def test_threshold_of_one_drops_only_exact_duplicates() -> None:
    text = prose(1)
    assert kept(text, text + " addendum", text, threshold=1) == [text, text + " addendum"]


def test_overlapping_chunks_are_kept() -> None:
    text = prose(1)
    overlapping = [chunk(text, 1, "d", 0), chunk(text, 2, "d", 10)]
    assert drop_duplicates(overlapping) == (overlapping, 0)


def test_short_and_wordless_chunks() -> None:
    assert kept("one", "two words", "one", "***", "—") == ["one", "two words", "***"]


def test_peak_memory() -> None:
    chunks = [chunk(prose(number, 200), number) for number in range(400)]
    drop_duplicates(chunks[:2])  # imports
    tracemalloc.start()
    try:
        drop_duplicates(chunks)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 * sum(len(chunk.text) for chunk in chunks)


@pytest.mark.parametrize("different", ["numbers", "words"])
def test_time_is_not_quadratic_for_forms(different: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "_MAX_CANDIDATES", 10)

    def best(count: int) -> float:
        texts = [
            f"{prose(1)} {number}" if different == "numbers" else f"{prose(1, 100)} {prose(number, 40)}"
            for number in range(count)
        ]
        chunks = [chunk(text, number) for number, text in enumerate(texts)]
        times = []
        for _ in range(2):
            start = process_time()
            kept, _ = drop_duplicates(chunks)
            times.append(process_time() - start)
            assert len(kept) == count
        return min(times)

    assert best(1_000) / best(500) < 3


def test_exact_duplicates_are_dropped_beyond_the_candidate_limit() -> None:
    texts = [f"{prose(1, 100)} {prose(number, 40)}" for number in range(2, 130)]
    assert kept(*texts, texts[-1], texts[0]) == texts


@pytest.mark.parametrize(("threshold", "seed"), [(0.85, 1), (0.5, 2), (0.2, 3)])
def test_divided_group_has_the_same_duplicates(threshold: float, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdefg", k=2)) for _ in range(400)]
    texts = [rng.choices(words, k=rng.randint(0, 60)) for _ in range(40)]
    while len(texts) < 160:
        text = list(rng.choice(texts))
        for _ in range(rng.randint(0, 6)):
            text[rng.randrange(len(text) + 1) :][:1] = [rng.choice(words)]
            text.insert(rng.randrange(len(text) + 1), rng.choice(words))
        texts.append(text)
    rng.shuffle(texts)
    chunks = [
        chunk(" ".join(text), number, doc_id=f"d{number % 7}", start=rng.randrange(200))
        for number, text in enumerate(texts)
    ]
    whole = drop_duplicates(chunks, threshold)
    monkeypatch.setattr(duplicates, "_CHARACTERS_OF_PART", 1_000)
    searched: list[int] = []
    find = duplicates._duplicates
    monkeypatch.setattr(
        duplicates, "_duplicates", lambda group, *rest: searched.append(len(group)) or find(group, *rest)
    )
    assert drop_duplicates(chunks, threshold) == whole
    assert len(searched) > 1
    assert whole[1] > 20
