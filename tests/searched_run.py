"""A run of chunks about a word each, with a question about every word, and rankings of them."""

import json
from collections.abc import Callable
from pathlib import Path

from groundset.programs.types import Chunk, Retrieval, Sample

WORDS = [
    *("amber", "birch", "cedar", "delta", "frost", "fjord", "grove", "heath"),
    *("islet", "knoll", "ledge", "marsh", "nadir", "orbit", "pearl", "quartz"),
]


def chunks_of(count: int) -> list[Chunk]:
    """Return chunks of documents of three chunks each, every one about a word of its own."""
    return [
        Chunk(
            chunk_id=f"d{n // 3}-{n % 3}",
            doc_id=f"d{n // 3}",
            path=f"d{n // 3}.md",
            title="T",
            start=0,
            end=20,
            text=f"{WORDS[n]} stone path",
        )
        for n in range(count)
    ]


def sample(number: int, question: str, *groups: tuple[str, ...], chunk: Chunk) -> Sample:
    found = Retrieval(rank=1, retrieved_id="", retrieved_content="", score=0)
    return Sample(
        id=f"q{number}",
        question=question,
        answer="a",
        evolution="simple",
        language="en",
        contexts=(chunk,),
        retrieval_gt=groups,
        retrieval=found,
        probability=0.9,
    )


def about_words(count: int = 16) -> list[Sample]:
    chunks = chunks_of(count)
    return [
        sample(n, f"find {WORDS[n]}", (chunks[n].chunk_id,), chunk=chunks[n]) for n in range(count)
    ]


def ranked(
    file: Path, found: Callable[[int], int | None], asked: list[Sample] | None = None
) -> Path:
    """Write a ranking in which the chunk of a question has the rank ``found`` of its number; None
    is never found.
    """
    lines = []
    for n, each in enumerate(asked or about_words()):
        others = [
            chunk.chunk_id for chunk in chunks_of(16) if chunk.chunk_id != each.contexts[0].chunk_id
        ]
        rank = found(n)
        ids = (
            others
            if rank is None
            else [*others[: rank - 1], each.contexts[0].chunk_id, *others[rank - 1 :]]
        )
        lines.append(json.dumps({"id": each.id, "chunk_ids": ids}) + "\n")
    file.write_text("".join(lines), encoding="utf-8")
    return file
