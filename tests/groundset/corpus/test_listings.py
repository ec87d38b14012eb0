"""Lists of sources, links and contents, which are not cut into chunks; and pages of chunks."""

import pytest
from cut_documents import CHUNKERS, chunks, document

from groundset.corpus.parts import text_spans
from groundset.programs.types import PageStart

PROSE = (
    "The ferry Henn crosses the sound of Tollvik every hour, and it carries forty cars on its lower"
    " deck. " * 3
)
SOURCES = (
    "- Brenn, Aldis (1931). The Ferries of the Sound. Orsle: Nord Press. ISBN 0-00-000000-0.\n"
    "- Timetable of the Tollvik line, retrieved 2 May 2019.\n"
    "- Harbour office of Tollvik\n"
)


def left_out(text, suffix=".md"):
    """Return what is cut out."""
    found = document(text, suffix)
    edges = [0, *(edge for span in text_spans(found) for edge in span), len(found.text)]
    parts = (
        found.text[start:end].strip() for start, end in zip(edges[::2], edges[1::2], strict=True)
    )
    return [part for part in parts if part]


@pytest.mark.parametrize(
    "name",
    ["References", "7. Further reading:", "LITERATUR", "Fußnoten", "Liens externes", "Notas"],
)
def test_named_list_is_cut_off_up_to_the_next_section(name):
    text = f"# Henn\n\n{PROSE}\n\n## {name}\n\n### Books\n\n{SOURCES}\n\n## Crew\n\n{PROSE}"
    assert left_out(text) == [f"## {name}\n\n### Books\n\n{SOURCES.strip()}"]


def test_section_of_sentences_stays():
    notes = (
        "- The lower deck carries at most forty cars.\n- The bow opens to the north side of the"
        " quay.\n"
    )
    for name, body in (("Sources", PROSE), ("Notes", notes), ("Contents", PROSE), ("Sources", "")):
        assert left_out(f"# Henn\n\n{PROSE}\n\n## {name}\n\n{body}") == []


def test_line_that_names_a_list_without_being_a_heading():
    text = f"{PROSE}\nReferences\n{SOURCES}"
    assert left_out(text, ".txt") == [f"References\n{SOURCES.strip()}"]
    for line in ("The list of references", "- References"):
        assert left_out(f"{PROSE}\n{line}\n{SOURCES}", ".txt") == []


def test_navigation_behind_the_sources():
    menu = "## Tools\n\n- Print\n- Cite this page\n\n"
    text = f"# Henn\n\n{PROSE}\n\n## See also\n\n- Orsle\n\n"
    assert left_out(text + menu + menu) == [f"## See also\n\n- Orsle\n\n{menu}{menu}".strip()]
    assert left_out(f"{text}{menu}## Crew\n\n{PROSE}\n\n{menu}") == ["## See also\n\n- Orsle"]


@pytest.mark.parametrize("chunker", CHUNKERS)
def test_chunks_never_reach_into_lists(chunker):
    found = document(
        f"# Henn\n\n{PROSE}\n\n## See also\n\n- Orsle\n\n## Crew\n\n{PROSE}\n\n##"
        f" References\n\n{SOURCES}"
    )
    spans = text_spans(found)
    made = chunks(found, chunker, 40, 10)
    assert [chunk.chunk_id for chunk in made] == [
        f"d-{number:04d}" for number in range(1, len(made) + 1)
    ]
    for chunk in made:
        assert any(start <= chunk.start and chunk.end <= end for start, end in spans)
    assert {chunk.headings[-1] for chunk in made[1:]} == {"Henn", "Crew"}


def test_document_of_lists_alone_has_no_chunk():
    assert chunks(document(f"## References\n\n{SOURCES}")) == []


def test_pages_of_chunks():
    starts = ((1, 0), (3, 250), (1, 320), (4, 400))
    pages = tuple(PageStart(page=page, start=start) for page, start in starts)
    found = document("word " * 100, ".txt").model_copy(update={"pages": pages})
    made = chunks(found, "word", 20)
    assert [(chunk.start, chunk.metadata) for chunk in made] == [
        (0, {"page": 1}),
        (100, {"page": 1}),
        (200, {"page": 1, "pages": [1, 3]}),
        (300, {"page": 1, "pages": [1, 3]}),
        (400, {"page": 4}),
    ]
    assert chunks(document("word " * 100, ".txt"))[0].metadata == {}
