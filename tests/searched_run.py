"""A run of chunks about a word each, with a question about every word, and rankings of them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evaluation_sets import chunk, sample
from json_lines import write

from groundset.evaluation import Comparison, RoundtripOptions, compare, roundtrip
from groundset.programs.types import Sample

WORDS = [
    *("amber", "birch", "cedar", "delta", "frost", "fjord", "grove", "heath"),
    *("islet", "knoll", "ledge", "marsh", "nadir", "orbit", "pearl", "quartz"),
]


# Of documents of three chunks each, every one about a word of its own.
CHUNKS = [
    chunk(
        f"d{n // 3}-{n % 3}",
        f"{word} stone path",
        doc_id=f"d{n // 3}",
        title="T",
        start=20 * (n % 3),
        end=20 * (n % 3) + len(f"{word} stone path"),
    )
    for n, word in enumerate(WORDS)
]


def about_words() -> list[Sample]:
    return [sample(f"q{n}", each, question=f"find {WORDS[n]}") for n, each in enumerate(CHUNKS)]


def ranked(file: Path, found: Callable[[int], int | None], samples: Sequence[Sample] = ()) -> Path:
    """Write a ranking in which the chunk of a question has the rank ``found`` of its number; None
    is never found.
    """
    rows = []
    for n, each in enumerate(samples or about_words()):
        own = each.contexts[0].chunk_id
        ids = [chunk.chunk_id for chunk in CHUNKS if chunk.chunk_id != own]
        if rank := found(n):
            ids.insert(rank - 1, own)
        rows.append({"id": each.id, "chunk_ids": ids})
    return write(file, rows)


def compared(**options: Any) -> Comparison:
    return compare(RoundtripOptions.parse(options))


def round_trip(**options: Any) -> int:
    return roundtrip(RoundtripOptions.parse(options))
