"""Tables and figures: chunks keep them whole and say what they are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreign_files import docx
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset.corpus.chunkers import CHUNKERS, ChunkingTools
from groundset.corpus.chunks import chunk_document
from groundset.corpus.corpus import CorpusOptions, build_corpus
from groundset.corpus.parsing.formats import parse
from groundset.corpus.structure import Span
from groundset.corpus.tables import TableOrFigure, tables_and_figures
from groundset.options import ChunkerName
from programs.analysis import read_chunk
from programs.evolutions.table import has_table
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.types import Chunk, Document

PROSE = "The kiln of Orsle burns lime for the fields of the valley, and it is fired with peat from Wendmoor. " * 3
TABLE = "| Kiln | Fired | Tons |\n|---|---|---|\n| Orsle | 1902 | 40 |\n| Wend | 1911 | 65 |\n| Tarn | 1920 | 12 |"
LONG = "| Kiln | Tons |\n|---|---|\n" + "\n".join(f"| Kiln number {n} of the valley | {n * 17} |" for n in range(40))
CAPTION = "Table 3: Kilns of the valley"


def embed(texts: Sequence[str]) -> np.ndarray[Any, Any]:
    return np.array([[text.count("kiln"), text.count("|"), 0.1] for text in texts])


def document(text: str, suffix: str = ".md") -> Document:
    parsed = parse(text.encode(), suffix)
    return Document(
        doc_id="d",
        path=f"d{suffix}",
        title="Lime",
        text=parsed.text,
        headings=tuple(parsed.headings),
        captions=tuple(parsed.captions),
    )


def chunks(source: Document, chunker: ChunkerName = "recursive", size: int = 300, overlap: int = 0) -> list[Chunk]:
    found = chunk_document(source, CHUNKERS[chunker], size, overlap, 1, 0, ChunkingTools(embed=embed))[0]
    assert all(chunk.text == source.text[chunk.start : chunk.end] for chunk in found)
    assert len({chunk.chunk_id for chunk in found}) == len(found)
    return found


def captions(text: str, suffix: str = ".md") -> list[tuple[str, str]]:
    return [(each.kind, each.caption) for each in tables_and_figures(document(text, suffix))]


def corpus(folder: Path, name: str, data: bytes) -> tuple[Document, list[Chunk]]:
    (folder / name).write_bytes(data)
    built = build_corpus([folder / name], CorpusOptions(min_length=0, chunk_size=400))
    return built.documents[0], list(built.chunks)


@pytest.mark.parametrize(
    "caption",
    [
        "Table 3: Kilns of the valley",
        "**Table 3.** *Kilns* of the valley",
        "TABLE IV – Kilns",
        "Table 2-1   Kilns",
        "Table A.2. Kilns",
        "Table 7",
        "Table: Kilns",
        "Tab. 3: Öfen",
        "Tabelle 3: Öfen",
        "Tableau 3 : Fours",
        "Tabla 3. Hornos",
        "#### Table 3. Kilns",
    ],
)
def test_caption_before_or_after_a_table(caption: str) -> None:
    shown = " ".join(caption.replace("*", "").replace("#", "").split())
    assert captions(f"{PROSE}\n\n{caption}\n\n{TABLE}\n\n{PROSE}") == [("table", shown)]
    assert captions(f"{PROSE}\n\n{caption}\n{TABLE}") == [("table", shown)]
    assert captions(f"{TABLE}\n\n{caption}") == [("table", "" if caption.startswith("#") else shown)]


@pytest.mark.parametrize(
    "line",
    ["Table 3 shows the kilns.", "Figure 3-5 shows it:", "Tables of the valley", "The table 3: kilns", PROSE, "Table"],
)
def test_other_lines_are_no_captions(line: str) -> None:
    assert captions(f"{line}\n\n{TABLE}") == [("table", "")]


@pytest.mark.parametrize(
    "text",
    ["| a | b |\n|---|---|", "a | b\nc | d\ne | f", f"```\n{TABLE}\n```", "a\n|---|\nb", "| a\n\n|---|\n| b |"],
)
def test_what_is_no_table(text: str) -> None:
    assert captions(f"{CAPTION}\n\n{text}") == []


def test_two_tables_in_a_row() -> None:
    one, other = "Table 1: Kilns", "Table 2: Quarries"
    for blocks, expected in (
        ((one, TABLE, other, TABLE), [one, other]),
        ((TABLE, one, TABLE, other), [one, other]),
        ((TABLE, other, TABLE), ["", other]),
        ((one, TABLE, TABLE), [one, ""]),
        ((TABLE, TABLE, other), ["", other]),
        ((one, TABLE, other, PROSE), [one]),
    ):
        found = tables_and_figures(document("\n\n".join(blocks)))
        assert [each.caption for each in found] == expected


def test_figure_with_its_picture() -> None:
    picture, caption = "![A kiln with two doors](kiln.png)", "Figure 2. The kiln of Orsle"
    for text in (f"{picture}\n\n{caption}", f"{caption}\n\n{picture}", f"{picture}\n{caption}"):
        source = document(f"{PROSE}\n\n{text}\n\n{PROSE}")
        [figure] = tables_and_figures(source)
        assert (figure.kind, figure.caption[-len(caption) :]) == ("figure", caption)
        assert source.text[slice(*figure.rows[0])].strip() == text
        [chunk] = [chunk for chunk in chunks(source) if chunk.metadata]
        assert text in chunk.text
        assert chunk.metadata["kind"] == "figure"
        assert chunk.topic == "Lime"


def test_each_picture_belongs_to_one_figure() -> None:
    one, other = "![one](1.png)", "![other](2.png)"
    for text in (f"Abb. 1: A\n\n{one}\n\nAbb. 2: B\n\n{other}", f"{one}\n\nFigura 1. A\n\n{other}\n\nFigura 2. B"):
        source = document(text)
        found = [source.text[slice(*figure.rows[0])] for figure in tables_and_figures(source)]
        assert ["1.png" in found[0], "2.png" in found[0], "2.png" in found[1]] == [True, False, True]


@pytest.mark.parametrize("overlap", [0, 60])
@pytest.mark.parametrize("chunker", list(CHUNKERS))
def test_chunkers_keep_tables_with_their_captions(chunker: ChunkerName, overlap: int) -> None:
    size = {"word": 60, "token": 120}.get(chunker, 300)
    table = f"{CAPTION}\n\n{TABLE}"
    for text in (f"{table}\n\n{PROSE}", f"{PROSE}\n\n{table}", f"{PROSE}\n\n{PROSE}\n\n{table}\n\n{PROSE}\n\n{table}"):
        found = chunks(document(text), chunker, size, min(overlap, size // 2))
        holding = [chunk for chunk in found if "|" in chunk.text or "Table 3" in chunk.text]
        assert holding
        for chunk in holding:
            assert chunk.text.count(table) == chunk.text.count("Table 3") == chunk.text.count("Orsle | 1902")
            assert chunk.metadata == {"kind": "table", "caption": CAPTION}
        assert all(not chunk.metadata for chunk in found if chunk not in holding)


@pytest.mark.parametrize("overlap", [0, 40])
@pytest.mark.parametrize("chunker", list(CHUNKERS))
def test_long_table_is_cut_between_rows(chunker: ChunkerName, overlap: int) -> None:
    size = {"word": 50, "token": 80}.get(chunker, 300)
    source = document(f"{PROSE}\n\n{CAPTION}\n\n{LONG}\n\n{PROSE}")
    pieces = [chunk for chunk in chunks(source, chunker, size, overlap) if chunk.metadata]
    first = next(piece for piece in pieces if f"{CAPTION}\n\n{LONG[:60]}" in piece.text)
    for piece in pieces:
        lines = [line for line in piece.text.split("\n") if "|" in line]
        assert all(line.startswith("|") and line.endswith("|") for line in lines)
        assert piece.metadata["caption"] == CAPTION
        is_cut = piece.start > first.start and piece.text.startswith("|")
        assert piece.metadata.get("header") == ("| Kiln | Tons |" if is_cut else None)
    assert len(pieces) > 4


def test_table_longer_than_the_group_but_not_than_the_chunk_stays_whole() -> None:
    text = f"{PROSE}\n\n{TABLE}\n\n{PROSE}"
    for chunker in ("recursive", "sentence", "semantic"):
        found = chunks(document(text), chunker, len(TABLE) + 5, 80)
        assert any(TABLE in chunk.text for chunk in found)
        assert max(len(chunk.text) for chunk in found) <= len(TABLE) + 5


def test_prompts_show_caption_and_header_with_the_topic() -> None:
    source = document(f"# Lime\n\n## Kilns\n\n{PROSE}\n\n{CAPTION}\n\n{LONG}")
    prose, first, *rest = chunks(source, size=400)
    assert read_chunk(prose, Languages(LANGUAGES)).topic == "Lime > Kilns"
    assert read_chunk(first, Languages(LANGUAGES)).topic == f"Lime > Kilns > {CAPTION}"
    context = read_chunk(rest[0], Languages(LANGUAGES))
    assert context.topic == f"Lime > Kilns > {CAPTION} > | Kiln | Tons |"
    assert has_table(context)


@pytest.mark.parametrize(
    "facts", [{"caption": "Kilns"}, {"kind": "figure", "caption": "Kilns"}, {"kind": "table", "caption": 3}]
)
def test_topic_ignores_other_metadata(facts: dict[str, Any]) -> None:
    chunk = chunks(document(PROSE))[0].model_copy(update={"metadata": facts})
    assert chunk.topic == "Lime"


def test_header_without_text_is_left_out() -> None:
    source = document(LONG.replace("| Kiln | Tons |", "|  |  |"))
    assert all(chunk.metadata == {"kind": "table"} for chunk in chunks(source))


def test_caption_is_part_of_a_chunk_even_as_a_heading_of_the_section() -> None:
    source = document(f"{PROSE}\n\n### Table 1. Kilns\n\n{TABLE}\n\n### Crew\n\n{PROSE}")
    [chunk] = [chunk for chunk in chunks(source) if "|" in chunk.text]
    assert chunk.text == f"### Table 1. Kilns\n\n{TABLE}"
    assert chunk.metadata == {"kind": "table", "caption": "Table 1. Kilns"}


class TestFiles:
    def test_html(self, tmp_path: Path) -> None:
        rows = "".join(f"<tr><td>Kiln {n}</td><td>{n}</td></tr>" for n in range(4))
        rows = f"<tr><th>Kiln</th><th>Tons</th></tr>{rows}"
        table = f"<table><caption>What the <code>kilns</code> burn.</caption>{rows}</table>"
        figure = "<figure><img src=a.png alt=Kiln><figcaption>A kiln at night</figcaption></figure>"
        source, found = corpus(
            tmp_path, "kilns.html", f"<h1>Lime</h1><p>{PROSE}</p>{table}<h2>Night</h2><p>{PROSE}</p>{figure}".encode()
        )
        assert source.captions == ("What the kilns burn.", "A kiln at night")
        assert [chunk.metadata for chunk in found if chunk.metadata] == [
            {"kind": "table", "caption": "What the kilns burn."},
            {"kind": "figure", "caption": "A kiln at night"},
        ]

    def test_html_with_empty_or_stray_captions(self) -> None:
        rows = "<tr><td>Kiln</td><td>Tons</td></tr><tr><td>Orsle</td><td>3</td></tr>"
        html = f"<table><caption> </caption>{rows}</table><p>{PROSE}</p><caption>stray</caption>"
        source = document(html, ".html")
        assert source.captions == ("stray",)
        assert [(each.kind, each.caption) for each in tables_and_figures(source)] == [
            ("table", ""),
            ("figure", "stray"),
        ]

    def test_docx(self, tmp_path: Path) -> None:
        def paragraph(text: str) -> str:
            return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"

        rows = [["Kiln", "Tons"], *([f"Kiln {n}", str(n)] for n in range(4))]
        cells = ["".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows]
        table = f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"
        parts = (paragraph(PROSE), table, paragraph("Tabelle 1: Öfen im Tal"), paragraph(PROSE))
        _, found = corpus(tmp_path, "kilns.docx", docx("".join(parts)))
        [chunk] = [chunk for chunk in found if chunk.metadata]
        assert chunk.metadata == {"kind": "table", "caption": "Tabelle 1: Öfen im Tal"}
        assert "| Kiln 3 | 3 |\n\nTabelle 1" in chunk.text

    def test_csv(self, tmp_path: Path) -> None:
        rows = "\n".join(f"Kiln {n},fired in the year {1900 + n}" for n in range(30))
        _, found = corpus(tmp_path, "kilns.csv", f"Kiln,Year\n{rows}\n".encode())
        assert len(found) > 1
        assert found[0].metadata == {"kind": "table"}
        assert all(chunk.metadata == {"kind": "table", "header": "| Kiln | Year |"} for chunk in found[1:])

    def test_markdown(self, tmp_path: Path) -> None:
        _, found = corpus(tmp_path, "kilns.md", f"{PROSE}\n\n{CAPTION}\n{TABLE}\n\n{PROSE}\n".encode())
        assert [chunk.metadata for chunk in found if chunk.metadata] == [{"kind": "table", "caption": CAPTION}]


PIECES = st.sampled_from(
    [PROSE[:90], TABLE, LONG[:400], CAPTION, "Figure 1. Kiln", "![a](b)", "# Head", "## Table 2: x"]
)


@pytest.mark.parametrize("chunker", list(CHUNKERS))
@settings(max_examples=60, deadline=None)
@given(
    text=st.lists(PIECES, min_size=1, max_size=8).flatmap(
        lambda pieces: st.sampled_from(["\n\n", "\n"]).map(lambda gap: gap.join(pieces))
    ),
    size=st.integers(1, 500),
    data=st.data(),
)
def test_no_edge_of_a_chunk_is_in_a_table_that_fits(
    chunker: ChunkerName, text: str, size: int, data: st.DataObject
) -> None:
    source = document(text)
    found = tables_and_figures(source)
    made = chunks(source, chunker, size, data.draw(st.integers(0, size - 1)))
    covered = {place for chunk in made for place in range(chunk.start, chunk.end)}
    assert all(place in covered or letter.isspace() for place, letter in enumerate(source.text))
    for table in found:
        assert _length(table, source, chunker) > size or not any(
            table.start < edge < len(source.text[: table.rows[-1].end].rstrip())
            for chunk in made
            for edge in (chunk.start, chunk.end)
        )
    assert [row for each in found for row in each.rows] == sorted({row for each in found for row in each.rows})


def _length(table: TableOrFigure, source: Document, chunker: ChunkerName) -> int:
    span = Span(table.rows[0].start, table.rows[-1].end)
    part = source.model_copy(update={"text": source.text[slice(*span)], "headings": ()})
    if chunker in ("word", "token"):
        return len(CHUNKERS[chunker].split(part, 1, 0, ChunkingTools()))
    return span.end - span.start
