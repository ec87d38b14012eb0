from collections.abc import Sequence
from typing import Any

import pytest
from loaded_run import cut, loaded_run

from groundset.corpus.documents import document_id
from groundset.sets.transforms.update import CorpusTexts, NewContexts, Remap, reuse_ids
from programs.types import Chunk, Document, Sample

FERRY = "The ferry Henn leaves Tollvik at nine.\nIt crosses the sound in forty minutes."
CLOCK = "The clock of Brenn was cast in 1931.\nA fire of 1950 stopped it."


def texts(*documents: tuple[str, str]) -> CorpusTexts:
    """Return documents by path and text, with a chunk for each line."""
    made = [
        Document(doc_id=document_id(path, text), path=path, title=path.title(), text=text) for path, text in documents
    ]
    return CorpusTexts(made, [chunk for document in made for chunk in cut(document)])


def asked(chunks: Sequence[Chunk], **changes: Any) -> Sample:
    groups = tuple((chunk.chunk_id,) for chunk in chunks)
    return loaded_run().samples[0].model_copy(update={"contexts": tuple(chunks), "retrieval_gt": groups, **changes})


BEFORE = texts(("ferry.md", FERRY), ("clock.md", CLOCK))


def move(now: CorpusTexts, place: int = 0, **changes: Any) -> NewContexts | str:
    return Remap(BEFORE, now).remap(asked([BEFORE.chunks[place]], **changes))


def text_of(moved: NewContexts | str) -> str:
    assert isinstance(moved, NewContexts), moved
    (chunk,) = moved.contexts
    assert moved.groups == ((chunk.chunk_id,),)
    return chunk.text


def test_renamed_document_keeps_its_ids() -> None:
    renamed = texts(("old/boat.md", FERRY), ("clock.md", CLOCK))
    assert renamed.documents[0].doc_id != BEFORE.documents[0].doc_id
    now = reuse_ids(BEFORE, renamed)
    assert [document.doc_id for document in now.documents] == [document.doc_id for document in BEFORE.documents]
    assert [chunk.chunk_id for chunk in now.chunks] == [chunk.chunk_id for chunk in BEFORE.chunks]
    assert [chunk.path for chunk in now.chunks[:2]] == ["old/boat.md"] * 2
    assert reuse_ids(BEFORE, BEFORE) == BEFORE


def test_user_document_ids_stay() -> None:
    own = Document(doc_id="mine", path="mine.jsonl", title="", text=FERRY)
    assert reuse_ids(BEFORE, CorpusTexts([own], cut(own))) == CorpusTexts([own], cut(own))


def test_user_chunk_ids_stay_in_a_renamed_document() -> None:
    renamed = texts(("boat.md", FERRY))
    given = [chunk.model_copy(update={"chunk_id": f"c{place}"}) for place, chunk in enumerate(renamed.chunks)]
    now = reuse_ids(BEFORE, CorpusTexts(renamed.documents, given))
    known = BEFORE.documents[0].doc_id
    assert [(chunk.doc_id, chunk.chunk_id) for chunk in now.chunks] == [(known, "c0"), (known, "c1")]


def test_chunks_match_by_text() -> None:
    changed = texts(("ferry.md", "News of the ferry.\n" + FERRY))
    assert text_of(move(changed)) == FERRY.split("\n")[0]
    moved_elsewhere = texts(("clock.md", CLOCK), ("all.md", FERRY + "\nAnd more."))
    assert text_of(move(moved_elsewhere)) == FERRY.split("\n")[0], "in whatever document"


def test_match_prefers_the_same_document() -> None:
    now = texts(("a.md", FERRY + "\nA copy."), ("ferry.md", "New.\n" + FERRY))
    moved = move(now)
    assert isinstance(moved, NewContexts)
    assert moved.contexts[0].path == "ferry.md"


def test_chunks_match_by_the_sentence_asked_about() -> None:
    changed = texts(("ferry.md", "In summer, **all** is else.  The ferry Henn\tleaves Tollvik at nine. So they say."))
    noted = {"metadata": {"focus": "The ferry Henn leaves Tollvik at nine."}}
    assert text_of(move(changed, **noted)).startswith("In summer")
    assert text_of(move(changed)).startswith("In summer"), "without one, all of the chunk must be there"
    shorter = {"metadata": {"focus": ["Nowhere.", "leaves Tollvik"]}}
    halved = texts(("ferry.md", "It leaves Tollvik at nine."))
    assert text_of(move(halved, **shorter)) == "It leaves Tollvik at nine."
    assert move(halved) == "passage gone from its document: ferry.md"


def test_sentences_do_not_match_in_other_documents() -> None:
    now = texts(("ferry.md", "Nothing."), ("boat.md", "They say: The ferry Henn leaves Tollvik at nine."))
    assert move(now) == "passage gone from its document: ferry.md"


def test_missing_reasons() -> None:
    assert move(texts(("clock.md", CLOCK))) == "document gone: ferry.md"
    assert move(texts(("ferry.md", "The ferry Henn\nleaves Tollvik at nine."))) == (
        "passage in no one chunk any more: ferry.md"
    )
    assert move(texts(("ferry.md", CLOCK))) == "document gone: ferry.md", "another that is known has taken its path"


def test_all_contexts_but_not_all_alternatives_must_match() -> None:
    ferry, _, clock, _ = BEFORE.chunks
    both = asked([ferry, clock], metadata={"focus": ["The ferry Henn leaves Tollvik at nine."]})
    gone = texts(("ferry.md", FERRY))
    assert Remap(BEFORE, gone).remap(both) == "document gone: clock.md"
    as_good = asked([ferry], retrieval_gt=((clock.chunk_id, ferry.chunk_id),))
    moved = Remap(BEFORE, gone).remap(as_good)
    assert isinstance(moved, NewContexts)
    assert moved.groups == ((ferry.chunk_id,),)


def test_merged_chunks_become_one_context() -> None:
    joined = texts(("ferry.md", FERRY.replace("\n", " ")))
    moved = Remap(BEFORE, joined).remap(asked(BEFORE.chunks[:2]))
    assert isinstance(moved, NewContexts)
    assert (len(moved.contexts), len(moved.groups)) == (1, 1)


@pytest.mark.parametrize("place", [0, 1])
def test_nearest_of_several_matches_is_used(place: int) -> None:
    twice = "Ships go.\n" * 2 + "\n".join(f"{number}: Ships go." for number in range(3))
    before = texts(("ferry.md", twice))
    now = texts(("ferry.md", twice + "\nMore."))
    chunk = before.chunks[place]
    moved = Remap(before, now).remap(asked([chunk]))
    assert isinstance(moved, NewContexts)
    assert moved.contexts[0].start == chunk.start
