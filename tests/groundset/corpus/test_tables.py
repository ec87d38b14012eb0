"""Tables and figures: chunks keep them whole and say what they are."""

import pytest
from cut_documents import chunks, document

from groundset.corpus.parts import tables_of

PROSE = (
    "The kiln of Orsle burns lime for the fields of the valley, and it is fired with peat from"
    " Wendmoor. " * 3
)
TABLE = (
    "| Kiln | Fired | Tons |\n|---|---|---|\n| Orsle | 1902 | 40 |\n| Wend | 1911 | 65 |\n| Tarn |"
    " 1920 | 12 |"
)
LONG = "| Kiln | Tons |\n|---|---|\n" + "\n".join(
    f"| Kiln number {n} of the valley | {n * 17} |" for n in range(40)
)
CAPTION = "Table 3: Kilns of the valley"


def captions(text, suffix=".md"):
    return [table.caption for table in tables_of(document(text, suffix))]


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
def test_caption_before_or_after_a_table(caption):
    shown = " ".join(caption.replace("*", "").replace("#", "").split())
    assert captions(f"{PROSE}\n\n{caption}\n\n{TABLE}\n\n{PROSE}") == [shown]
    assert captions(f"{PROSE}\n\n{caption}\n{TABLE}") == [shown]
    assert captions(f"{TABLE}\n\n{caption}") == ["" if caption.startswith("#") else shown]


@pytest.mark.parametrize(
    "line",
    [
        "Table 3 shows the kilns.",
        "Figure 3-5 shows it:",
        "Tables of the valley",
        "The table 3: kilns",
        PROSE,
        "Table",
    ],
)
def test_other_lines_are_no_captions(line):
    assert captions(f"{line}\n\n{TABLE}") == [""]


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n|---|---|",
        "a | b\nc | d\ne | f",
        f"```\n{TABLE}\n```",
        "a\n|---|\nb",
        "| a\n\n|---|\n| b |",
    ],
)
def test_what_is_no_table(text):
    assert captions(f"{CAPTION}\n\n{text}") == []


def test_two_tables_in_a_row():
    one, other = "Table 1: Kilns", "Table 2: Quarries"
    for blocks, expected in (
        ((one, TABLE, other, TABLE), [one, other]),
        ((TABLE, one, TABLE, other), [one, other]),
        ((TABLE, other, TABLE), ["", other]),
        ((one, TABLE, TABLE), [one, ""]),
        ((TABLE, TABLE, other), ["", other]),
        ((one, TABLE, other, PROSE), [one]),
    ):
        found = tables_of(document("\n\n".join(blocks)))
        assert [each.caption for each in found] == expected


@pytest.mark.parametrize("overlap", [0, 60])
def test_chunkers_keep_tables_with_their_captions(overlap):
    table = f"{CAPTION}\n\n{TABLE}"
    for text in (
        f"{table}\n\n{PROSE}",
        f"{PROSE}\n\n{table}",
        f"{PROSE}\n\n{PROSE}\n\n{table}\n\n{PROSE}\n\n{table}",
    ):
        found = chunks(document(text), "recursive", 300, overlap)
        holding = [chunk for chunk in found if "|" in chunk.text or "Table 3" in chunk.text]
        assert holding
        for chunk in holding:
            assert (
                chunk.text.count(table)
                == chunk.text.count("Table 3")
                == chunk.text.count("Orsle | 1902")
            )
            assert chunk.metadata == {"kind": "table", "caption": CAPTION}
        assert all(not chunk.metadata for chunk in found if chunk not in holding)


@pytest.mark.parametrize("overlap", [0, 40])
def test_long_table_is_cut_between_rows(overlap):
    source = document(f"{PROSE}\n\n{CAPTION}\n\n{LONG}\n\n{PROSE}")
    pieces = [chunk for chunk in chunks(source, "recursive", 300, overlap) if chunk.metadata]
    first = next(piece for piece in pieces if f"{CAPTION}\n\n{LONG[:60]}" in piece.text)
    for piece in pieces:
        lines = [line for line in piece.text.split("\n") if "|" in line]
        assert all(line.startswith("|") and line.endswith("|") for line in lines)
        assert piece.metadata["caption"] == CAPTION
        is_cut = piece.start > first.start and piece.text.startswith("|")
        assert piece.metadata.get("header") == ("| Kiln | Tons |" if is_cut else None)
    assert len(pieces) > 4


def test_topic_shows_caption_and_header():
    source = document(f"# Lime\n\n## Kilns\n\n{PROSE}\n\n{CAPTION}\n\n{LONG}")
    prose, first, *rest = chunks(source, size=400)
    assert prose.topic == "Lime > Kilns"
    assert prose.model_copy(update={"title": "Notes: kilns"}).topic == "Notes: kilns > Lime"
    assert first.topic == f"Lime > Kilns > {CAPTION}"
    assert rest[0].topic == f"Lime > Kilns > {CAPTION} > | Kiln | Tons |"


def test_caption_is_part_of_a_chunk_even_as_a_heading_of_the_section():
    source = document(f"{PROSE}\n\n### Table 1. Kilns\n\n{TABLE}\n\n### Crew\n\n{PROSE}")
    [chunk] = [chunk for chunk in chunks(source) if "|" in chunk.text]
    assert chunk.text == f"### Table 1. Kilns\n\n{TABLE}"
    assert chunk.metadata == {"kind": "table", "caption": "Table 1. Kilns"}


def test_html_marks_captions():
    rows = "".join(f"<tr><td>Kiln {n}</td><td>{n}</td></tr>" for n in range(4))
    table = (
        "<table><caption>What the <code>kilns</code>"
        f" burn.</caption><tr><th>Kiln</th><th>Tons</th></tr>{rows}</table>"
    )
    figure = "<figure><img src=a.png alt=Kiln><figcaption>A kiln at night</figcaption></figure>"
    source = document(
        f"<h1>Lime</h1><p>{PROSE}</p>{table}<h2>Night</h2><p>{PROSE}</p>{figure}", ".html"
    )
    assert source.captions == ("What the kilns burn.", "A kiln at night")
    assert [chunk.metadata for chunk in chunks(source, size=400) if chunk.metadata] == [
        {"kind": "table", "caption": "What the kilns burn."}
    ]
    table = (
        "<table><caption>"
        " </caption><tr><td>Kiln</td><td>Tons</td></tr><tr><td>Orsle</td><td>3</td></tr></table>"
    )
    source = document(f"{table}<p>{PROSE}</p><caption>stray</caption>", ".html")
    assert [table.caption for table in tables_of(source)] == [""]
    assert source.captions == ("stray",)


def test_rows_of_values():
    rows = "\n".join(f"Kiln {n},fired in the year {1900 + n}" for n in range(30))
    first, *rest = chunks(document(f"Kiln,Year\n{rows}\n", ".csv"), size=400)
    assert first.metadata == {"kind": "table"}
    assert {str(chunk.metadata) for chunk in rest} == {
        str({"kind": "table", "header": "| Kiln | Year |"})
    }
