"""A run about a small guide: a question about each of its passages, two rejects, and reviews."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation_sets import sample

from groundset.corpus.corpus import Corpus
from groundset.programs.types import Chunk, Document, Reject, Retrieval
from groundset.run.run import Run, save_run
from groundset.run.store import Review

PASSAGES = (
    "The **ferry** leaves Tollvik at nine, except on Sundays.",
    "The bridge was built by Ada Lund in 1931, after the ferry sank.",
    "The tower is forty metres high. It was painted in 1952.",
    "The museum opens on Sundays. It has three rooms.",
)
ASKED = (
    ("When does the ferry leave Tollvik?", "at nine"),
    ("Who built the bridge?", "Ada Lund"),
    ("How high is the tower?", "forty metres"),
    ("When does the museum open?", "on Sundays"),
)
RANKS = (1, 2, 7, None)
# What a stranger's text could try: markup, closed elements, templates, invisible characters.
EVIL = (
    "</textarea></h1><script>document.title='taken'</script><img src=x"
    " onerror=\"document.title='taken'\">"
)
EVILS = (EVIL, "\u202egnp.exe\u2028\x1b[31m", "{{ 7*7 }} ${1} `x` ]]>", 'id="made" ' + "x" * 5_000)
RECORD = {
    "configuration": {"recipe": "evolved", "max_rank": 5},
    "models": {"lm": {"name": "scripted"}, "embedder": {"name": "words", "sha256": "f" * 64}},
}


def make_run(
    folder: Path,
    name: str = "run",
    *,
    asked: Sequence[tuple[str, str]] = ASKED,
    reviews: Iterable[Review] = (),
    changes: Mapping[int, Mapping[str, Any]] | None = None,
    paths: Sequence[str] = ("guide.md", "guide.md", "north.md", "north.md"),
    evil: str = "",
    **record: Any,
) -> Run:
    """Make a run of these questions and answers; ``changes`` are other fields of the samples, by
    number.

    Ids of samples are s0, s1, …; ``record`` are other values of the run's record.
    """
    documents = {}
    for path in dict.fromkeys(paths):
        text = "\n".join(
            f"{passage}{evil}" for passage, own in zip(PASSAGES, paths, strict=True) if own == path
        )
        documents[path] = Document(
            doc_id=path, path=path, title=f"Guide {path[0]}{evil}", text=text
        )
    chunks = []
    for number, (passage, path) in enumerate(zip(PASSAGES, paths, strict=True)):
        start = documents[path].text.index(passage)
        place = {"doc_id": path, "path": path, "title": documents[path].title, "start": start}
        text = f"{passage}{evil}"
        chunks.append(Chunk(chunk_id=f"c{number}", **place, end=start + len(text), text=text))
    samples = [_sample(number, *texts, chunks, changes or {}) for number, texts in enumerate(asked)]
    rejects = [
        Reject(
            step="judge",
            reason=f"not clear: why{evil}",
            question=f"Why so?{evil}",
            chunk_id="c1",
            probability=0.1,
        ),
        Reject(step="score", reason="not content", chunk_id="c3"),
    ]
    run = save_run(
        folder / name,
        Corpus(documents, chunks),
        samples=samples,
        vectors=None,
        rejects=rejects,
        record=RECORD | record,
        reviews=reviews,
    )
    return Run(run.folder, record=run.record | record)


def review(
    sample_id: str, verdict: Any = "signed", *reasons: str, reviewer: str = "ann", note: str = ""
) -> Review:
    return Review(
        sample_id=sample_id, reviewer=reviewer, verdict=verdict, reasons=reasons, note=note
    )


def _sample(number, question, answer, chunks, changes):
    chunk, place = chunks[number % len(chunks)], number % 4
    found = {"retrieved_id": chunk.chunk_id, "retrieved_content": chunk.text, "score": 1}
    evidence = PASSAGES[place].split(",")[0].split(".")[0].replace("*", "")
    fields = {
        "question": question,
        "answer": answer,
        "probability": 0.4321,
        "retrieval": Retrieval(rank=RANKS[place], **found),
        "metadata": {"evidence": [evidence], "kind": "fact"},
    }
    return sample(f"s{number}", chunk, **{**fields, **changes.get(number, {})})
