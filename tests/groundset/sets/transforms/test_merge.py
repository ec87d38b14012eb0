"""Merging runs: deduplication, conflicting ids, ranks, reviews and settings."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loaded_run import SETTINGS, cut, loaded_run
from scripted_run import Encoder

import groundset
from groundset.engine.config import make_config
from groundset.retrieval_eval.configs import own_retriever
from groundset.run import Run, save_run
from groundset.sets.transforms.merge import merge_runs, merged_content, merged_settings
from groundset.store.lineage import Parent
from groundset.store.reviews import Review
from programs.errors import InputError
from programs.types import Chunk, Document, Reject, Retrieval, Sample

ENCODER = Encoder("words")


def other(name: str = "second", *, text: str = "The mill of Skarn grinds rye.", **changes: Any) -> Run:
    """Return a run with one document, one chunk and one question."""
    document = Document(doc_id="mill", path="mill.md", title="Mill", text=text)
    chunks = cut(document)
    sample = Sample(
        id="m-1",
        question="What does the mill of Skarn grind?",
        answer="rye",
        evolution="simple",
        language="en",
        contexts=(chunks[0],),
        retrieval_gt=((chunks[0].chunk_id,),),
        retrieval=Retrieval(rank=9, retrieved_id="?", retrieved_content="?", score=0),
        probability=0.5,
        trail=(),
    )
    return made_of([document], chunks, [sample], name=name, **changes)


def made_of(
    documents: list[Document], chunks: list[Chunk], samples: list[Sample], *, name: str = "second", **changes: Any
) -> Run:
    return Run.of(
        **{
            "samples": samples,
            "question_vectors": ENCODER.encode([sample.question for sample in samples]),
            "chunks": chunks,
            "chunk_vectors": ENCODER.encode([chunk.text for chunk in chunks]),
            "documents": documents,
            "settings": SETTINGS,
            "parents": (Parent(name=name, identity="b" * 64, samples=len(samples)),),
            **changes,
        },
    )


def asked(of: Run, place: int, **changes: Any) -> Run:
    """Return a run with only one sample, changed."""
    one = of.only([place])
    return one.replace(samples=[one.samples[0].model_copy(update=changes)])


def check_consistent(run: Run) -> None:
    """Check references between samples, chunks and documents, and all texts and vectors."""
    chunks = {chunk.chunk_id: chunk for chunk in run.chunks}
    texts = {document.doc_id: document.text for document in run.documents}
    assert len(chunks) == len(run.chunks)
    assert len(texts) == len(run.documents)
    for chunk in run.chunks:
        assert texts[chunk.doc_id][chunk.start : chunk.end] == chunk.text
    assert np.array_equal(run.chunk_vectors, ENCODER.encode([chunk.text for chunk in run.chunks]))
    assert np.array_equal(run.question_vectors, ENCODER.encode([sample.question for sample in run.samples]))
    for sample in run.samples:
        assert {name for group in sample.retrieval_gt for name in group} <= set(chunks)
        assert all(chunks[chunk.chunk_id] == chunk for chunk in sample.contexts)


def test_merge_two_runs(tmp_path: Path) -> None:
    save_run(tmp_path / "a", loaded_run(), loaded_run().lineage("sample"))
    save_run(tmp_path / "b", other(), other().lineage("sample"))
    groundset.merge([groundset.open_run(tmp_path / "a"), str(tmp_path / "b")], out=tmp_path / "out")
    with pytest.raises(groundset.InputError, match=r"^out .*holds a run already"):
        groundset.merge([tmp_path / "a", tmp_path / "b"], out=tmp_path / "out")
    merged = groundset.open_run(tmp_path / "out")
    assert (
        merged.summary.split("\n")[0]
        == "5 samples (simple 4, reasoning 1) on 5 chunks of 3 documents, made by `groundset merge a b`."
    )
    after = Run.loaded(tmp_path / "out")
    check_consistent(after)
    assert [sample.metadata["run"] for sample in after.samples] == ["a"] * 4 + ["b"]
    assert after.samples[4].retrieval == Retrieval(
        rank=1, retrieved_id="mill-0001", retrieved_content=after.chunks[4].text, score=1
    ), "measured anew"
    assert merged.record["corpus"]["documents"] == 3
    assert [parent["name"] for parent in merged.record["lineage"]["parents"]] == ["a", "b"]


def test_merge_ranks_among_all_chunks() -> None:
    twin = other(text="When does the ferry Henn leave Tollvik? The ferry Henn does leave Tollvik at nine.")
    after = merged_content([loaded_run(), twin])
    first = after.samples[0]
    assert (first.id, first.retrieval.rank, first.retrieval.score) == ("q-1", 2, 0)
    assert first.retrieval.retrieved_id == "mill-0001"


def test_merge_deduplicates_documents_and_chunks() -> None:
    first = loaded_run()
    named = {"doc_id": "boat", "path": "other/boat.md"}
    boat = first.documents[0].model_copy(update=named)
    chunks = [
        chunk.model_copy(update={**named, "chunk_id": f"boat-{number}"})
        for number, chunk in enumerate(first.chunks[:2])
    ]
    sample = first.samples[0].model_copy(
        update={
            "id": "b-1",
            "question": "From which town does the ferry sail?",
            "contexts": (chunks[0],),
            "retrieval_gt": (("boat-0", "boat-1"),),
        }
    )
    reject = Reject(step="judge", reason="not clear", chunk_id="boat-1", question="Where?")
    after = merged_content([first, made_of([boat], chunks, [sample], rejects=[reject])])
    check_consistent(after)
    assert [document.doc_id for document in after.documents] == ["ferry", "clock"]
    assert after.chunks == first.chunks
    assert after.samples[-1].retrieval_gt == (("ferry-0001", "ferry-0002"),)
    assert after.samples[-1].contexts[0].path == "ferry.md"
    assert after.samples[-1].metadata["source_rank"] is not None
    assert [each.chunk_id for each in after.rejects] == ["ferry-0001", "ferry-0002"]


def test_merge_renames_conflicting_ids() -> None:
    first = other("one")
    second = other("two", text="The mill of Brenn saws oak.")
    [sample] = second.samples
    changed = sample.model_copy(update={"question": "What does the mill of Brenn saw?", "answer": "oak"})
    [chunk] = second.chunks
    linked = chunk.model_copy(update={"metadata": {"prev_id": "mill-0001", "next_id": None}})
    changed = changed.model_copy(update={"contexts": (linked,)})
    review = Review(item="m-1", verdict="good")
    after = merged_content([first, made_of(list(second.documents), [linked], [changed], reviews=[review])])
    check_consistent(after)
    assert [document.doc_id for document in after.documents] == ["mill", "mill-2"]
    assert [each.chunk_id for each in after.chunks] == ["mill-0001", "mill-0001-2"]
    assert after.chunks[1].metadata == {"prev_id": "mill-0001-2", "next_id": None}
    assert [each.id for each in after.samples] == ["m-1", "m-1-2"]
    assert after.samples[1].retrieval_gt == (("mill-0001-2",),)
    assert [each.item for each in after.reviews] == ["m-1-2"]


def test_merge_rejects_overlapping_chunks() -> None:
    first = loaded_run()
    ferry = first.documents[0]
    whole = Chunk(
        chunk_id="w",
        start=0,
        end=len(ferry.text),
        text=ferry.text,
        **ferry.model_dump(include={"doc_id", "path", "title"}),
    )
    sample = first.samples[0].model_copy(update={"contexts": (whole,), "retrieval_gt": (("w",),)})
    with pytest.raises(InputError, match=r"^second: chunks of ferry.md overlap .*--chunk-size"):
        merged_content([first, made_of([ferry], [whole], [sample])])
    fewer = first.replace(chunks=first.chunks[1:], chunk_vectors=first.chunk_vectors[1:]).only([1])
    assert len(merged_content([fewer, first]).chunks) == 4
    overlapping = [whole, *first.chunks[:2]]
    both = made_of([ferry], overlapping, [sample], name="one")
    less = made_of([ferry], overlapping[:2], [sample], name="two")
    assert len(merged_content([both, less]).chunks) == 3, "one run may hold chunks that overlap"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_merge_keeps_the_signed_or_better_duplicate(order: tuple[int, int]) -> None:
    first, again = loaded_run(), "when does the FERRY Henn leave Tollvik"
    better = asked(first, 0, id="b", question=again, probability=0.9, answer="at 9")
    better = better.replace(reviews=[], rejects=[], parents=(Parent(name="better", identity="c", samples=1),))
    better = better.replace(question_vectors=ENCODER.encode([again]))
    unread = first.replace(reviews=[])
    for known, kept in ((unread, "b"), (first, "q-1")):
        after = merged_content([(known, better)[place] for place in order])
        check_consistent(after)
        assert {sample.id for sample in after.samples} == {kept, "q-2", "q-3", "q-4"}
        assert after.rejects[-1].step == "duplicate"
        assert after.rejects[-1].reason.startswith("repeats an accepted question: ")


def test_merge_maps_reviews_to_new_ids() -> None:
    early, late = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2))
    first = loaded_run().replace(reviews=[Review(item="q-1", verdict="bad", reader="ann", read_at=late)])
    reject = Reject(step="judge", reason="vague", chunk_id="ferry-0001", question="Why?")
    second = first.replace(
        rejects=[reject],
        reviews=[
            Review(item="q-1", verdict="good", reader="ann", read_at=early),
            Review(kind="reject", item="1", verdict="good", read_at=early),
        ],
        parents=(Parent(name="first", identity="d", samples=4),),
    )
    after = merged_content([first, second])
    assert [(each.kind, each.item, each.verdict) for each in after.reviews] == [
        ("sample", "q-1", "good"),
        ("reject", "2", "good"),
        ("sample", "q-1", "bad"),
    ]
    assert after.rejects[1] == reject
    assert len(after.samples) == 4
    assert {sample.metadata["run"] for sample in after.samples} == {"first"}


def test_merge_of_subsets_keeps_rejects_and_reviews_once() -> None:
    whole = loaded_run()
    later = Reject(step="judge", reason="vague", chunk_id="clock-0001", question="Why?")
    parts = [whole.only([0, 1]), whole.only([2, 3]).replace(rejects=[later, *whole.rejects])]
    moved = [review.model_copy(update={"item": "2"}) for review in whole.reviews if review.kind == "reject"]
    parts[1] = parts[1].replace(reviews=[*whole.reviews[:2], *moved])
    after = merged_content(parts)
    assert after.rejects == [*whole.rejects, later]
    assert after.reviews == whole.reviews
    assert len(after.samples) == 4


def test_merge_validates_its_runs(tmp_path: Path) -> None:
    models = {**SETTINGS["models"], "embedder": {"name": "bge", "sha256": "0" * 64}}
    save_run(tmp_path / "a", loaded_run(), loaded_run().lineage("sample"))
    save_run(tmp_path / "b", other(settings={**SETTINGS, "models": models}), loaded_run().lineage("sample"))
    for names, message in (
        (["a", "b"], r"b was embedded by bge, .*a by words; .*--embedder"),
        (["a"], "two or more runs"),
        (["a", "./a"], "RUN: .*a is named twice"),
    ):
        with pytest.raises(InputError, match=message):
            merge_runs([tmp_path / name for name in names], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_merged_settings() -> None:
    first = SETTINGS["configuration"]
    estimate = {"judge": {"threshold": 0.4, "expected_good": 0.6, "interval": [0.5, 0.7]}}

    def joined(**changes: Any) -> dict[str, Any]:
        second = {**SETTINGS, "configuration": {**first, "documents": ["/data/more"], **changes}, "compiled": estimate}
        return merged_settings([{**SETTINGS, "compiled": estimate}, second], 3, 5)

    same = joined()
    assert same["configuration"] == {**first, "documents": ["/data/docs", "/data/more"], "chunks": None}
    assert same["models"] == SETTINGS["models"]
    assert same["compiled"] == estimate
    newer = {"judge": {**estimate["judge"], "measured_on": 120}}
    for pair in ((newer, estimate), (estimate, newer)):
        merged = merged_settings([{**SETTINGS, "compiled": compiled} for compiled in pair], 3, 5)
        assert merged["compiled"] == newer, "older runs lack measured_on"
    other = {"judge": {**estimate["judge"], "threshold": 0.5}}
    pair = estimate, other
    assert merged_settings([{**SETTINGS, "compiled": compiled} for compiled in pair], 3, 5)["compiled"] == {}
    assert same["corpus"] == {**SETTINGS["corpus"], "files": 4, "documents": 3, "chunks": 5}
    mixed = joined(chunk_size=80, seed=1)["configuration"]
    assert (mixed["chunker"], mixed["chunk_size"], mixed["seed"], mixed["embedder"]) == (None, None, None, "words")
    assert joined(embedder="/models/words")["configuration"]["embedder"] == "words"
    judged = {**SETTINGS["models"], "critic_lm": {"name": "big", "sha256": None}}
    for several in ([SETTINGS, {**SETTINGS, "models": judged}], [{**SETTINGS, "models": judged}, SETTINGS]):
        assert merged_settings(several, 3, 5)["models"] == judged, "only one run has a critic_lm"
    elsewhere = {**SETTINGS["models"], "embedder": {**SETTINGS["models"]["embedder"], "name": "/models/words"}}
    assert merged_settings([SETTINGS, {**SETTINGS, "models": elsewhere}], 3, 5)["models"] == SETTINGS["models"]
    own = joined(chunks="/data/own.jsonl")["configuration"]
    assert own["chunks"] == "/data/own.jsonl"
    for configuration, chunker in ((same["configuration"], "recursive"), (mixed, "own chunks"), (own, "own chunks")):
        is_mixed = configuration.get("chunker", "") is None
        assert own_retriever(make_config(configuration), mixed=is_mixed).chunker == chunker


def test_merged_settings_count_a_shared_corpus_once() -> None:
    part = {**SETTINGS, "skipped": [{"path": "plan.pdf", "reason": "encrypted"}]}
    elsewhere = {**part, "configuration": {**SETTINGS["configuration"], "documents": ["/data/more"]}}
    merged = merged_settings([part, dict(part), elsewhere], 3, 5)
    assert merged["corpus"]["files"] == 4
    assert merged["skipped"] == part["skipped"] * 2
