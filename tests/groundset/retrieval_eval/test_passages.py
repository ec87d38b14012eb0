import pytest

from groundset.retrieval_eval.passages import Passage, PassageFinder, source_passages
from programs.types import Chunk, Retrieval, Sample

TEXT = "The ferry leaves Tollvik at nine. It carries\nforty  cars. Nobody pays on Sundays."


def chunk(start: int, end: int, name: str = "d", text: str | None = None) -> Chunk:
    text = TEXT[start:end] if text is None else text
    return Chunk(chunk_id=f"{name}-{start}", doc_id=name, path=name, title="D", start=start, end=end, text=text)


def sample(*groups: tuple[Chunk, ...], focus: object = None) -> Sample:
    return Sample(
        id="q",
        question="When?",
        answer="nine",
        evolution="simple",
        language="en",
        contexts=tuple(group[0] for group in groups),
        retrieval_gt=tuple(tuple(chunk.chunk_id for chunk in group) for group in groups),
        retrieval=Retrieval(rank=1, retrieved_id="c", retrieved_content="", score=1),
        probability=0.9,
        trail=(),
        metadata={} if focus is None else {"focus": focus},
    )


def test_focus_with_other_whitespace():
    source = chunk(10, len(TEXT))
    [[passage]] = source_passages(sample((source,), focus="It carries forty cars."), {source.chunk_id: source})
    assert TEXT[passage.start : passage.end] == passage.text == "It carries\nforty  cars."
    assert passage.is_sentence


@pytest.mark.parametrize("focus", [None, "", "Something else."])
def test_passage_without_focus_is_the_chunk(focus):
    source = chunk(10, 40)
    [[passage]] = source_passages(sample((source,), focus=focus), {})
    assert passage == Passage("d", 10, 40, TEXT[10:40], is_sentence=False)


def test_passages_of_groups():
    one, other, twin = chunk(0, 33), chunk(34, 57), chunk(0, 20, "twin", "x" * 20)
    known = {chunk.chunk_id: chunk for chunk in (one, other, twin)}
    foci = ["It carries forty cars.", "The ferry leaves Tollvik at nine."]
    first, second = source_passages(sample((one, twin), (other,), focus=foci), known)
    assert [(passage.doc_id, passage.is_sentence) for passage in first] == [("d", True), ("twin", False)]
    assert [(passage.start, passage.is_sentence) for passage in second] == [(34, True)]


def held(passage: Passage, *chunks: Chunk) -> set[int]:
    return set(PassageFinder(chunks).find(passage))


def test_half_overlap():
    passage = Passage("d", 0, 20, TEXT[:20], is_sentence=True)
    assert held(passage, chunk(0, 10), chunk(10, 30)) == {0, 1}
    assert held(passage, chunk(0, 9), chunk(9, 30)) == {1}
    assert held(passage, chunk(0, 30), chunk(5, 40), chunk(19, 60)) == {0, 1}
    assert held(passage, chunk(20, 40), chunk(0, 20, "other", "x" * 20)) == set()


def test_largest_overlap():
    passage = Passage("d", 0, 60, TEXT[:60], is_sentence=False)
    assert held(passage, chunk(0, 20), chunk(20, 42), chunk(42, 60)) == {1}
    assert held(passage, chunk(0, 20), chunk(20, 40), chunk(40, 60)) == {0}


def test_dropped_sentence_is_found_in_another_document():
    sentence = Passage("d", 34, 57, "It carries\nforty  cars.", is_sentence=True)
    twin = chunk(0, 40, "other", "Look. It carries forty cars. Yes.")
    assert held(sentence, chunk(0, 33), twin) == {1}
    assert held(sentence, chunk(0, 57), twin) == {0}
    assert held(sentence._replace(is_sentence=False), chunk(0, 33), twin) == set()
