"""A small run in memory: four questions about two documents, two reviewed samples and a reject."""

from typing import Any

from scripted_run import Encoder

from groundset.run import Run
from groundset.store.lineage import Parent
from groundset.store.reviews import Review
from programs.types import Chunk, Document, Reject, Retrieval, Sample, StepRecord

TEXTS = {
    "ferry": "The ferry Henn leaves Tollvik at nine.\nIt crosses the sound in forty minutes.",
    "clock": "The clock of Brenn was cast in 1931.\nA fire of 1950 stopped it.",
}
ASKED = [
    ("q-1", "When does the ferry Henn leave Tollvik?", "at nine", "ferry-0001", "simple"),
    ("q-2", "How long does the crossing take?", "forty minutes", "ferry-0002", "simple"),
    ("q-3", "When was the clock of Brenn cast?", "1931", "clock-0001", "reasoning"),
    ("q-4", "Which event stopped the clock?", "a fire", "clock-0002", "simple"),
]
SETTINGS: dict[str, Any] = {
    "configuration": {"documents": ["/data/docs"], "embedder": "words", "chunk_size": 40, "min_length": 1, "seed": 0},
    "models": {
        "lm": {"name": "scripted", "sha256": "e" * 64},
        "embedder": {"name": "words", "sha256": Encoder.sha256},
        "parser": {"name": "none", "sha256": None},
        "critic": {"name": "head", "compiled": "judge"},
    },
    "compiled": {},
    "corpus": {"files": 2, "documents": 2, "chunks": 4, "skipped": 0, "dropped_short": 0, "dropped_duplicates": 0},
    "skipped": [],
}


def documents() -> list[Document]:
    return [Document(doc_id=name, path=f"{name}.md", title=name.title(), text=text) for name, text in TEXTS.items()]


def cut(document: Document) -> list[Chunk]:
    """Return a chunk for each line of a document."""
    chunks: list[Chunk] = []
    start = 0
    for number, line in enumerate(document.text.split("\n"), 1):
        place = {"start": start, "end": start + len(line), "text": line}
        named = document.model_dump(include={"doc_id", "path", "title"})
        chunks.append(Chunk(chunk_id=f"{document.doc_id}-{number:04d}", **named, **place))
        start += len(line) + 1
    return chunks


def loaded_run(**changes: Any) -> Run:
    """Return the run, with fields changed."""
    sources = documents()
    chunks = [chunk for document in sources for chunk in cut(document)]
    by_id = {chunk.chunk_id: chunk for chunk in chunks}
    samples = [
        Sample(
            id=name,
            question=question,
            answer=answer,
            evolution=evolution,
            language="en",
            contexts=(by_id[chunk],),
            retrieval_gt=((chunk,),),
            retrieval=Retrieval(rank=1, retrieved_id=chunk, retrieved_content=by_id[chunk].text, score=1),
            probability=0.75,
            trail=(StepRecord(step="judge", probability=0.75, verdict="good"),),
            metadata={"kind": "time"} if question.startswith("When") else {},
        )
        for name, question, answer, chunk, evolution in ASKED
    ]
    encoder = Encoder("words")
    made = Run.of(
        samples=samples,
        question_vectors=encoder.encode([sample.question for sample in samples]),
        chunks=chunks,
        chunk_vectors=encoder.encode([chunk.text for chunk in chunks]),
        documents=sources,
        settings=SETTINGS,
        rejects=[Reject(step="judge", reason="not clear", chunk_id="ferry-0001", question="It?")],
        reviews=[
            Review(item="q-1", verdict="good"),
            Review(item="q-4", verdict="bad", reason="vague"),
            Review(kind="reject", item="1", verdict="bad"),
        ],
        parents=(Parent(name="first", identity="a" * 64, samples=4),),
    )
    return made.replace(**changes)
