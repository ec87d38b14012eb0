from collections.abc import Sequence
from typing import Any

import pytest
from small_content import content, cut

from groundset.corpus.documents import document_id
from groundset.sets.transforms.update import Moved, Remap, Texts, with_known_ids
from programs.types import Chunk, Document, Sample

FERRY = "The ferry Henn leaves Tollvik at nine.\nIt crosses the sound in forty minutes."
CLOCK = "The clock of Brenn was cast in 1931.\nA fire of 1950 stopped it."


def texts(*documents: tuple[str, str]) -> Texts:
    """Return documents by path and text, with a chunk for each line."""
    made = [
        Document(doc_id=document_id(path, text), path=path, title=path.title(), text=text) for path, text in documents
    ]
    return Texts(made, [chunk for document in made for chunk in cut(document)])


def asked(chunks: Sequence[Chunk], **changes: Any) -> Sample:
    groups = tuple((chunk.chunk_id,) for chunk in chunks)
    return content().samples[0].model_copy(update={"contexts": tuple(chunks), "retrieval_gt": groups, **changes})


BEFORE = texts(("ferry.md", FERRY), ("clock.md", CLOCK))


def move(now: Texts, place: int = 0, **changes: Any) -> Moved | str:
    return Remap(BEFORE, now).move(asked([BEFORE.chunks[place]], **changes))


def text_of(moved: Moved | str) -> str:
    assert isinstance(moved, Moved), moved
    (chunk,) = moved.contexts
    assert moved.groups == ((chunk.chunk_id,),)
    return chunk.text


def test_a_file_with_another_name_is_the_same_document() -> None:
    renamed = texts(("old/boat.md", FERRY), ("clock.md", CLOCK))
    assert renamed.documents[0].doc_id != BEFORE.documents[0].doc_id
    now = with_known_ids(BEFORE, renamed)
    assert [document.doc_id for document in now.documents] == [document.doc_id for document in BEFORE.documents]
    assert [chunk.chunk_id for chunk in now.chunks] == [chunk.chunk_id for chunk in BEFORE.chunks]
    assert [chunk.path for chunk in now.chunks[:2]] == ["old/boat.md"] * 2
    assert with_known_ids(BEFORE, BEFORE) == BEFORE


def test_ids_that_somebody_gave_stay() -> None:
    own = Document(doc_id="mine", path="mine.jsonl", title="", text=FERRY)
    assert with_known_ids(BEFORE, Texts([own], cut(own))) == Texts([own], cut(own))


def test_chunk_ids_that_somebody_gave_stay_in_a_document_with_another_name() -> None:
    renamed = texts(("boat.md", FERRY))
    given = [chunk.model_copy(update={"chunk_id": f"c{place}"}) for place, chunk in enumerate(renamed.chunks)]
    now = with_known_ids(BEFORE, Texts(renamed.documents, given))
    known = BEFORE.documents[0].doc_id
    assert [(chunk.doc_id, chunk.chunk_id) for chunk in now.chunks] == [(known, "c0"), (known, "c1")]


def test_a_chunk_with_the_same_text_stands_for_it() -> None:
    changed = texts(("ferry.md", "News of the ferry.\n" + FERRY))
    assert text_of(move(changed)) == FERRY.split("\n")[0]
    moved_elsewhere = texts(("clock.md", CLOCK), ("all.md", FERRY + "\nAnd more."))
    assert text_of(move(moved_elsewhere)) == FERRY.split("\n")[0], "in whatever document"


def test_the_same_text_in_the_same_document_comes_first() -> None:
    now = texts(("a.md", FERRY + "\nA copy."), ("ferry.md", "New.\n" + FERRY))
    moved = move(now)
    assert isinstance(moved, Moved)
    assert moved.contexts[0].path == "ferry.md"


def test_a_sentence_that_was_asked_about_is_enough() -> None:
    changed = texts(("ferry.md", "In summer, **all** is else.  The ferry Henn\tleaves Tollvik at nine. So they say."))
    noted = {"metadata": {"focus": "The ferry Henn leaves Tollvik at nine."}}
    assert text_of(move(changed, **noted)).startswith("In summer")
    assert text_of(move(changed)).startswith("In summer"), "without one, all of the chunk must be there"
    shorter = {"metadata": {"focus": ["Nowhere.", "leaves Tollvik"]}}
    halved = texts(("ferry.md", "It leaves Tollvik at nine."))
    assert text_of(move(halved, **shorter)) == "It leaves Tollvik at nine."
    assert move(halved) == "passage gone from its document: ferry.md"


def test_a_sentence_of_another_document_is_none() -> None:
    now = texts(("ferry.md", "Nothing."), ("boat.md", "They say: The ferry Henn leaves Tollvik at nine."))
    assert move(now) == "passage gone from its document: ferry.md"


def test_what_is_gone_is_told() -> None:
    assert move(texts(("clock.md", CLOCK))) == "document gone: ferry.md"
    assert move(texts(("ferry.md", "The ferry Henn\nleaves Tollvik at nine."))) == (
        "passage in no one chunk any more: ferry.md"
    )
    assert move(texts(("ferry.md", CLOCK))) == "document gone: ferry.md", "another that is known has taken its path"


def test_a_question_needs_all_its_chunks_but_not_all_that_are_as_good() -> None:
    ferry, _, clock, _ = BEFORE.chunks
    both = asked([ferry, clock], metadata={"focus": ["The ferry Henn leaves Tollvik at nine."]})
    gone = texts(("ferry.md", FERRY))
    assert Remap(BEFORE, gone).move(both) == "document gone: clock.md"
    as_good = asked([ferry], retrieval_gt=((clock.chunk_id, ferry.chunk_id),))
    moved = Remap(BEFORE, gone).move(as_good)
    assert isinstance(moved, Moved)
    assert moved.groups == ((ferry.chunk_id,),)


def test_two_chunks_that_became_one_are_one() -> None:
    joined = texts(("ferry.md", FERRY.replace("\n", " ")))
    moved = Remap(BEFORE, joined).move(asked(BEFORE.chunks[:2]))
    assert isinstance(moved, Moved)
    assert (len(moved.contexts), len(moved.groups)) == (1, 1)


@pytest.mark.parametrize("place", [0, 1])
def test_of_several_that_hold_a_sentence_the_nearest_stands_for_it(place: int) -> None:
    twice = "Ships go.\n" * 2 + "\n".join(f"{number}: Ships go." for number in range(3))
    before = texts(("ferry.md", twice))
    now = texts(("ferry.md", twice + "\nMore."))
    chunk = before.chunks[place]
    moved = Remap(before, now).move(asked([chunk]))
    assert isinstance(moved, Moved)
    assert moved.contexts[0].start == chunk.start
