from itertools import pairwise

import pytest
from cut_documents import CHUNKERS, chunks, cut, document
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset.corpus.chunkers import Span, sections, sentence_spans
from groundset.corpus.parsing import clean
from groundset.corpus.parts import text_spans

SENTENCE = "The mill on the river was built by the brothers Anton and Louis in 1887."


PIECES = st.sampled_from(
    [
        "# Head",
        "## Sub",
        "a",
        "Ein Satz. Am 12. Juni.",
        "🙂👩‍👩‍👧",
        "- item",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "```\n# x\n\ny\n```",
        "x" * 400,
        SENTENCE,
        "key: value",
        "\u3000",
        "text\n====",
        "(open “quote",
    ]
)
NOISE = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=30)
PARTS = st.lists(st.one_of(PIECES, NOISE), max_size=12)
TEXTS = PARTS.map("\n\n".join).map(clean).filter(str.strip)


@pytest.mark.parametrize("name", CHUNKERS)
@settings(max_examples=25, deadline=None)
@given(
    text=TEXTS,
    size=st.integers(1, 500),
    merge=st.integers(1, 3),
    min_length=st.integers(0, 100),
    data=st.data(),
)
def test_chunks_match_their_offsets_and_cover_the_text(name, text, size, merge, min_length, data):
    overlap = data.draw(st.integers(0, size - 1))
    source = document(text)
    found, _ = cut(source, name, size, overlap, merge=merge, min_length=min_length)
    for chunk in found:
        assert chunk.text == chunk.text.strip()
        assert len(chunk.text) >= max(1, min_length)
    if min_length == 0:
        covered = {place for chunk in found for place in range(chunk.start, chunk.end)}
        wanted = [place for span in text_spans(source) for place in range(*span)]
        assert all(place in covered or source.text[place].isspace() for place in wanted)


def test_recursive_splits_between_sentences():
    found = chunks(" ".join([SENTENCE] * 20))
    assert all(
        chunk.text.endswith("1887.") and chunk.text.startswith("The mill") for chunk in found
    )
    assert max(len(chunk.text) for chunk in found) <= 300


def test_recursive_prefers_paragraphs():
    paragraph = " ".join([SENTENCE] * 3)
    assert [chunk.text for chunk in chunks("\n\n".join([paragraph] * 4))] == [paragraph] * 4


def test_recursive_splits_at_headings():
    text = f"# T\n\n## A\n\n{SENTENCE}\n\n## B\n\n{SENTENCE}\n\n### C\n\n{SENTENCE}"
    found = chunks(text)
    assert [chunk.headings for chunk in found] == [("T", "A"), ("T", "B"), ("T", "B", "C")]
    assert found[0].text.startswith("# T\n\n## A")
    assert found[2].text.startswith("### C")


def test_recursive_list_stays_with_its_introduction():
    found = chunks(
        f"{SENTENCE}\n\n{SENTENCE} {SENTENCE}\n\nDo not take it:\n\n- {SENTENCE}\n- {SENTENCE}"
    )
    assert any(chunk.text.startswith("Do not take it:\n\n- ") for chunk in found)


def test_recursive_very_long_line_is_split():
    found = chunks("word " * 20_000 + "x" * 5_000)
    assert max(len(chunk.text) for chunk in found) <= 300
    assert sum(len(chunk.text.replace(" ", "")) for chunk in found) == 85_000


def test_recursive_overlap_repeats_whole_sentences():
    found = chunks(" ".join(f"{SENTENCE[:-5]}{n}." for n in range(1000, 1020)), overlap=100)
    for one, other in pairwise(found):
        assert other.start < one.end
        assert other.text.startswith("The mill")


def test_short_chunks_join_a_neighbour_in_the_same_section():
    text = f"# T\n\n## A\n\n### A1\n\nTiny.\n\n### A2\n\n{SENTENCE}"
    found = chunks(text, min_length=60)
    assert len(found) == 1
    assert found[0].headings == ("T", "A", "A1")


def test_short_chunks_are_dropped_without_a_neighbour():
    source = document(f"# T\n\n## A\n\nTiny.\n\n## B\n\n{SENTENCE}")
    found, dropped = cut(source, "recursive", 300, min_length=60)
    assert [chunk.headings for chunk in found] == [("T", "B")]
    assert dropped == ["# T ## A Tiny."]


def test_merge_joins_consecutive_chunks():
    text = " ".join([SENTENCE] * 20)
    single, merged = chunks(text), chunks(text, merge=3)
    assert len(merged) == -(-len(single) // 3)
    assert merged[0].end == single[2].end


def test_word_and_token_chunkers_count_their_units():
    assert [chunk.text for chunk in chunks("a b c d e", "word", 2, 1)] == [
        "a b",
        "b c",
        "c d",
        "d e",
    ]
    for text, name, size, parts in (
        ("東京は首都。PC 用", "word", 2, ["東京", "は首", "都。PC", "用"]),
        ("กำแพง", "word", 2, ["กำ", "แพ", "ง"]),
        ("Ärger 🙂 in KÖLN, sagt sie.", "token", 4, ["Ärger 🙂 in KÖLN", ", sagt sie."]),
    ):
        assert [chunk.text for chunk in chunks(text, name, size)] == parts


@pytest.mark.parametrize(
    "text",
    [
        "Am 12. Juni 1893 wurde sie eröffnet.",
        "Dr. Smith of Washington, D.C. paid $3.50 for tea, e.g. on Jan. 5.",
        "A hard-wrapped sentence that\ngoes on in the next line.",
    ],
)
def test_sentences_stay_whole(text):
    assert sentence_spans(text) == [(0, len(text))]


def test_unmatched_bracket_does_not_stop_sentence_splitting():
    assert len(sentence_spans(f"(1 {SENTENCE} " + " ".join([SENTENCE] * 20))) > 15


def test_headings_without_text_join_the_next_section():
    source = document("# T\n\n## A\n\n### B\n\ntext\n\n## C")
    starts = [
        [source.text[atom.start :][:5] for atom in section]
        for section in sections(source, Span(0, len(source.text)), 100, (), 0)
    ]
    assert starts == [["# T\n\n", "## A\n", "### B", "text\n"], ["## C"]]
