"""Runs as one: what is the same is there once, what only shares a name is not confused, and ranks are measured anew."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripted_run import Encoder
from small_content import SETTINGS, content, cut

import groundset
from groundset.engine.config import make_config
from groundset.retrieval_eval.configs import own_retriever
from groundset.run import Run, save_run
from groundset.sets.transforms.merge import joined_settings, merge_runs, merged_content
from groundset.store.lineage import Parent
from groundset.store.reviews import Review
from programs.errors import InputError
from programs.types import Chunk, Document, Reject, Retrieval, Sample

ENCODER = Encoder("words")


def other(name: str = "second", *, text: str = "The mill of Skarn grinds rye.", **changes: Any) -> Run:
    """Return the content of a run with one document, one chunk and one question."""
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
    """Return a content with one sample alone, changed."""
    one = of.only([place])
    return one.replace(samples=[one.samples[0].model_copy(update=changes)])


def is_sound(of: Run) -> None:
    """Check that everything refers to what is there, and that texts are those of their documents."""
    chunks = {chunk.chunk_id: chunk for chunk in of.chunks}
    texts = {document.doc_id: document.text for document in of.documents}
    assert len(chunks) == len(of.chunks)
    assert len(texts) == len(of.documents)
    for chunk in of.chunks:
        assert texts[chunk.doc_id][chunk.start : chunk.end] == chunk.text
    assert np.array_equal(of.chunk_vectors, ENCODER.encode([chunk.text for chunk in of.chunks]))
    assert np.array_equal(of.question_vectors, ENCODER.encode([sample.question for sample in of.samples]))
    for sample in of.samples:
        assert {name for group in sample.retrieval_gt for name in group} <= set(chunks)
        assert all(chunks[chunk.chunk_id] == chunk for chunk in sample.contexts)


def test_two_runs_about_different_things_are_joined(tmp_path: Path) -> None:
    save_run(tmp_path / "a", content(), content().lineage("sample"))
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
    is_sound(after)
    assert [sample.metadata["run"] for sample in after.samples] == ["a"] * 4 + ["b"]
    assert after.samples[4].retrieval == Retrieval(
        rank=1, retrieved_id="mill-0001", retrieved_content=after.chunks[4].text, score=1
    ), "measured anew"
    assert merged.record["corpus"]["documents"] == 3
    assert [parent["name"] for parent in merged.record["lineage"]["parents"]] == ["a", "b"]


def test_a_question_finds_what_another_run_holds_sooner() -> None:
    twin = other(text="When does the ferry Henn leave Tollvik? The ferry Henn does leave Tollvik at nine.")
    after = merged_content([content(), twin])
    first = after.samples[0]
    assert (first.id, first.retrieval.rank, first.retrieval.score) == ("q-1", 2, 0)
    assert first.retrieval.retrieved_id == "mill-0001"


def test_the_same_document_and_its_chunks_are_kept_once_whatever_they_are_called() -> None:
    first = content()
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
    is_sound(after)
    assert [document.doc_id for document in after.documents] == ["ferry", "clock"]
    assert after.chunks == first.chunks
    assert after.samples[-1].retrieval_gt == (("ferry-0001", "ferry-0002"),)
    assert after.samples[-1].contexts[0].path == "ferry.md"
    assert after.samples[-1].metadata["source_rank"] is not None
    assert [each.chunk_id for each in after.rejects] == ["ferry-0001", "ferry-0002"]


def test_one_name_for_two_things_does_not_confuse_them() -> None:
    first = other("one")
    second = other("two", text="The mill of Brenn saws oak.")
    [sample] = second.samples
    changed = sample.model_copy(update={"question": "What does the mill of Brenn saw?", "answer": "oak"})
    [chunk] = second.chunks
    linked = chunk.model_copy(update={"metadata": {"prev_id": "mill-0001", "next_id": None}})
    changed = changed.model_copy(update={"contexts": (linked,)})
    review = Review(item="m-1", verdict="good")
    after = merged_content([first, made_of(list(second.documents), [linked], [changed], reviews=[review])])
    is_sound(after)
    assert [document.doc_id for document in after.documents] == ["mill", "mill-2"]
    assert [each.chunk_id for each in after.chunks] == ["mill-0001", "mill-0001-2"]
    assert after.chunks[1].metadata == {"prev_id": "mill-0001-2", "next_id": None}
    assert [each.id for each in after.samples] == ["m-1", "m-1-2"]
    assert after.samples[1].retrieval_gt == (("mill-0001-2",),)
    assert [each.item for each in after.reviews] == ["m-1-2"]


def test_documents_that_were_cut_otherwise_are_refused_and_missing_chunks_are_not() -> None:
    first = content()
    ferry = first.documents[0]
    whole = Chunk(
        chunk_id="w",
        start=0,
        end=len(ferry.text),
        text=ferry.text,
        **ferry.model_dump(include={"doc_id", "path", "title"}),
    )
    sample = first.samples[0].model_copy(update={"contexts": (whole,), "retrieval_gt": (("w",),)})
    with pytest.raises(InputError, match=r"^second cuts ferry.md otherwise than the runs before it.*--chunk-size"):
        merged_content([first, made_of([ferry], [whole], [sample])])
    fewer = first.replace(chunks=first.chunks[1:], chunk_vectors=first.chunk_vectors[1:]).only([1])
    assert len(merged_content([fewer, first]).chunks) == 4
    overlapping = [whole, *first.chunks[:2]]
    both = made_of([ferry], overlapping, [sample], name="one")
    less = made_of([ferry], overlapping[:2], [sample], name="two")
    assert len(merged_content([both, less]).chunks) == 3, "one run may hold chunks that overlap"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_questions_that_repeat_each_other_the_signed_or_better_one_is_kept(order: tuple[int, int]) -> None:
    first, again = content(), "when does the FERRY Henn leave Tollvik"
    better = asked(first, 0, id="b", question=again, probability=0.9, answer="at 9")
    better = better.replace(reviews=[], rejects=[], parents=(Parent(name="better", identity="c", samples=1),))
    better = better.replace(question_vectors=ENCODER.encode([again]))
    unread = first.replace(reviews=[])
    for known, kept in ((unread, "b"), (first, "q-1")):
        after = merged_content([(known, better)[place] for place in order])
        is_sound(after)
        assert {sample.id for sample in after.samples} == {kept, "q-2", "q-3", "q-4"}
        assert after.rejects[-1].step == "duplicate"
        assert after.rejects[-1].reason.startswith("repeats an accepted question: ")


def test_reviews_follow_what_they_are_about_and_readers_of_one_question_are_joined() -> None:
    early, late = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2))
    first = content().replace(reviews=[Review(item="q-1", verdict="bad", reader="ann", read_at=late)])
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


def test_parts_of_one_set_have_its_rejects_and_their_reviews_once() -> None:
    whole = content()
    later = Reject(step="judge", reason="vague", chunk_id="clock-0001", question="Why?")
    parts = [whole.only([0, 1]), whole.only([2, 3]).replace(rejects=[later, *whole.rejects])]
    moved = [review.model_copy(update={"item": "2"}) for review in whole.reviews if review.kind == "reject"]
    parts[1] = parts[1].replace(reviews=[*whole.reviews[:2], *moved])
    after = merged_content(parts)
    assert after.rejects == [*whole.rejects, later]
    assert after.reviews == whole.reviews
    assert len(after.samples) == 4


def test_other_embedders_and_too_few_runs_are_refused(tmp_path: Path) -> None:
    models = {**SETTINGS["models"], "embedder": {"name": "bge", "sha256": "0" * 64}}
    save_run(tmp_path / "a", content(), content().lineage("sample"))
    save_run(tmp_path / "b", other(settings={**SETTINGS, "models": models}), content().lineage("sample"))
    with pytest.raises(InputError, match=r"b was embedded by bge, .*a by words, .* make both with one --embedder"):
        merge_runs([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    for runs in ([tmp_path / "a"], [tmp_path / "a", tmp_path / "." / "a"]):
        with pytest.raises(InputError, match="takes two runs or more, each once"):
            merge_runs(runs, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_settings_say_what_the_runs_share() -> None:
    first = SETTINGS["configuration"]
    promise = {"judge": {"threshold": 0.4, "expected_good": 0.6, "interval": [0.5, 0.7]}}

    def joined(**changes: Any) -> dict[str, Any]:
        second = {**SETTINGS, "configuration": {**first, "documents": ["/data/more"], **changes}, "compiled": promise}
        return joined_settings([{**SETTINGS, "compiled": promise}, second], 3, 5)

    same = joined()
    assert same["configuration"] == {**first, "documents": ["/data/docs", "/data/more"], "chunks": None}
    assert same["models"] == SETTINGS["models"]
    assert same["compiled"] == promise
    noted = {"judge": {**promise["judge"], "measured_on": 120}}
    for compiled in ((noted, promise), (promise, noted)):
        told = joined_settings([{**SETTINGS, "compiled": each} for each in compiled], 3, 5)
        assert told["compiled"] == noted, "an older run did not note it"
    other = {"judge": {**promise["judge"], "threshold": 0.5}}
    assert joined_settings([{**SETTINGS, "compiled": each} for each in (promise, other)], 3, 5)["compiled"] == {}
    assert same["corpus"] == {**SETTINGS["corpus"], "files": 4, "documents": 3, "chunks": 5}
    mixed = joined(chunk_size=80, seed=1)["configuration"]
    assert (mixed["chunker"], mixed["chunk_size"], mixed["seed"], mixed["embedder"]) == (None, None, None, "words")
    assert joined(embedder="/models/words")["configuration"]["embedder"] == "words"
    judged = {**SETTINGS["models"], "critic_lm": {"name": "big", "sha256": None}}
    for several in ([SETTINGS, {**SETTINGS, "models": judged}], [{**SETTINGS, "models": judged}, SETTINGS]):
        assert joined_settings(several, 3, 5)["models"] == judged, "who judged in one of them"
    elsewhere = {**SETTINGS["models"], "embedder": {**SETTINGS["models"]["embedder"], "name": "/models/words"}}
    assert joined_settings([SETTINGS, {**SETTINGS, "models": elsewhere}], 3, 5)["models"] == SETTINGS["models"]
    own = joined(chunks="/data/own.jsonl")["configuration"]
    assert own["chunks"] == "/data/own.jsonl"
    for configuration, chunker in ((same["configuration"], "recursive"), (mixed, "own chunks"), (own, "own chunks")):
        is_mixed = configuration.get("chunker", "") is None
        assert own_retriever(make_config(configuration), mixed=is_mixed).chunker == chunker


def test_what_parts_of_one_set_read_is_counted_once() -> None:
    part = {**SETTINGS, "skipped": [{"path": "plan.pdf", "reason": "encrypted"}]}
    elsewhere = {**part, "configuration": {**SETTINGS["configuration"], "documents": ["/data/more"]}}
    told = joined_settings([part, dict(part), elsewhere], 3, 5)
    assert told["corpus"]["files"] == 4
    assert told["skipped"] == part["skipped"] * 2
