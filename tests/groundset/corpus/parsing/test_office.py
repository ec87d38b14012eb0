"""What parsers make of Word documents, books, notebooks, e-mails, records and tables of values."""

import json

import pytest
from foreign_files import PROSE, archive, docx, outline, parsed

from groundset.corpus.parsing import UnparsableError, parse
from groundset.corpus.parsing.office import sheets

MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"


TYPE = '<!DOCTYPE w:styles [<!ENTITY e "a">]>'


@pytest.mark.parametrize(
    ("data", "suffix", "reason"),
    [
        (
            b"\xd0\xcf\x11\xe0 ... " + "EncryptedPackage".encode("utf-16-le"),
            ".docx",
            "password-protected",
        ),
        (b"\xd0\xcf\x11\xe0 an old document", ".docx", "not a file of the format"),
        (b"PK\x05\x06" + b"\0" * 18, ".docx", "damaged docx file"),
        (b"{not json", ".ipynb", "damaged ipynb file"),
        (
            archive({"word/styles.xml": f"{TYPE}<a>&e;</a>"}),
            ".docx",
            "declares an XML document type",
        ),
        (
            archive({"xl/workbook.xml": f"{TYPE}<a/>".encode("utf-16")}),
            ".xlsx",
            "declares an XML document type",
        ),
    ],
)
def test_unparsable_file(data, suffix, reason):
    with pytest.raises(UnparsableError, match=reason):
        parse(data, suffix)


def test_word():
    def paragraph(text, style=""):
        return f"<w:p>{style}<w:r><w:t>{text}</w:t></w:r></w:p>"

    def cell(text, merge=""):
        return f"<w:tc><w:tcPr>{merge}</w:tcPr>{paragraph(text)}</w:tc>"

    first = cell("EU", '<w:vMerge w:val="restart"/>') + cell("Lamp")
    rows = (cell("Region") + cell("Product"), first, cell("", "<w:vMerge/>") + cell("Hub"))
    table = f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"
    style = '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
    raised = f"<w:p><w:r><w:t>10</w:t></w:r><w:r>{style}<w:t>6</w:t></w:r></w:p>"
    raised += raised.replace('vertAlign w:val="superscript"', 'position w:val="6"')
    text = "It says &lt;!DOCTYPE html&gt; here."
    found = parse(docx(paragraph(text) + raised + table, one=bytes(9 << 20)), ".docx")
    assert found.text.startswith(
        "It says <!DOCTYPE html> here.\n\n10⁶\n\n10⁶\n\n| Region | Product |"
    )
    assert "| EU | Hub |" in found.text


def test_word_equations():
    names, inner = (
        ("rad", "limLow", "borderBox", "nary"),
        "<m:sub/><m:e><m:r><m:t>x</m:t></m:r></m:e>",
    )
    parts = [f"<m:{name}><m:{name}Pr></m:{name}Pr>{inner}</m:{name}>" for name in names]
    run = "<m:r><m:t>1</m:t></m:r>"
    parts.append(f"<m:f><m:num>{run}</m:num><m:den>{run}</m:den></m:f>")
    math = "".join(f'<m:oMath xmlns:m="{MATH}">{part}</m:oMath>' for part in parts)
    assert parse(docx(f"<w:p>{math}</w:p>"), ".docx").text == (
        r"$\sqrt{x}$$x$$_{}x$$\int_{}x$$\frac{1}{1}$"
    )


def test_table_of_values():
    found = parse("Name,Größe\nKöln,5\nBonn\n".encode("latin-1"), ".csv")
    assert found.text == "| Name | Größe |\n| --- | --- |\n| Köln | 5 |\n| Bonn |  |"
    assert parsed('a;b\n"x;|y";"1,5"', ".csv").text == "| a | b |\n| --- | --- |\n| x;\\|y | 1,5 |"
    assert parsed("a, b;c, d, e\n1,5;2\n3;4", ".csv").text.startswith("| a, b | c, d, e |\n")
    assert parsed("a;c\tb\n1;2\t3", ".tsv").text.endswith("| 1;2 | 3 |")


def test_mail():
    parts = (
        "--b\nContent-Type: text/html; charset=odd\n\n<p>Größe</p>\n--b\nContent-Disposition:"
        " attachment\n\nx"
    )
    found = parsed(
        f"Subject: A\nFrom: b@c.d\nContent-Type: multipart/mixed; boundary=b\n\n{parts}", ".eml"
    )
    assert (found.title, found.text) == (
        "A",
        "# A\n\nFrom: b@c.d\nAttachment (not read): unnamed\n\nGröße",
    )


def test_forwarded_mail_is_read():
    inner = "From: d@e.f\nSubject: Heat\n\nIt is warm."
    parts = f"--b\n\nSee.\n--b\nContent-Type: message/rfc822\n\n{inner}\n--b--"
    found = parsed(f"Subject: A\nContent-Type: multipart/mixed; boundary=b\n\n{parts}", ".eml")
    assert found.title == "A"
    assert found.text.endswith("See.\n\n## Heat\n\nFrom: d@e.f\n\nIt is warm.")


def test_notebook():
    cells = [
        {"cell_type": "markdown", "source": ["# Kilns\n", "They burn lime."]},
        {
            "cell_type": "code",
            "source": ["lime = 3"],
            "outputs": [{"data": {"text/plain": ["3"]}}],
        },
    ]
    found = parsed(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}), ".ipynb")
    assert (found.title, found.text) == (
        "Kilns",
        "# Kilns\nThey burn lime.\n\n```python\nlime = 3\n```\n\n```\n3\n```",
    )


@pytest.mark.parametrize(
    ("text", "suffix", "title", "shown"),
    [
        (
            '{"rows": [{"id": 7, "text": "x"}, {"name": "B"}]}',
            ".json",
            None,
            "## rows\n\n### id 7\n\ntext: x\n\n### B",
        ),
        (
            '{"b": {"E1": {"fix": "x"}, "E": {"name": "N", "d": {"a": 1}, "o": true}}, "a": 1}',
            ".json",
            None,
            "a: 1\n\n## b\n\n### E1\n\nfix: x\n\n### E: N\n\no: true\n\n#### d\n\na: 1",
        ),
        (
            '{"t": "x\u2028y", "m": {"title": "M"}}\n{"t": "z"}',
            ".jsonl",
            None,
            "# record 1\n\nt: x\ny\n\n## m: M\n\n# record 2\n\nt: z",
        ),
        (
            '{"name": "A", "b": "<h1>B</h1><p>x<br>y</p><script>z</script><!-- z -->", "c": 1}',
            ".json",
            "A",
            "# A\n\nc: 1\n\nb:\n\n## B\n\nx\ny",
        ),
        (
            "name,b\nA,<p>x</p><ul><li>y</li></ul>,z\nB,w",
            ".csv",
            None,
            "# A\n\nb:\n\nx\n\n* y\n\nz\n\n# B\n\nb: w",
        ),
        ("a,b\n<b>x</b>,y\u2028z", ".csv", None, "| a | b |\n| --- | --- |\n| x | y z |"),
        ('{"subject": "A", "tags": ["x", "y"]}\n', ".jsonl", "A", "# A\n\ntags: x, y"),
    ],
)
def test_records(text, suffix, title, shown):
    found = parsed(text, suffix)
    assert (found.title, found.text) == (title, shown)


def test_word_text_box_without_a_fallback():
    box = "<w:txbxContent><w:p><w:r><w:t>In the box.</w:t></w:r></w:p></w:txbxContent>"
    shape = f"<w:drawing><wps:wsp xmlns:wps='s'><wps:txbx>{box}</wps:txbx></wps:wsp></w:drawing>"
    name = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    choice = (
        f"<mc:AlternateContent xmlns:mc='{name}' x='y'><mc:Choice Requires='wps'>{shape}"
        "</mc:Choice></mc:AlternateContent>"
    )
    for shown in (shape, choice):
        assert parse(docx(f"<w:p><w:r>{shown}</w:r></w:p>"), ".docx").text == "In the box."


def test_word_headings_by_outline_level():
    def style(name, inside):
        return f'<w:style w:type="paragraph" w:styleId="{name}">{inside}</w:style>'

    def paragraph(text, properties):
        return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"

    level = '<w:outlineLvl w:val="%d"/>'
    styles = (
        style("Nadpis", f"<w:pPr>{level % 1}</w:pPr>"),
        style("Own", '<w:basedOn w:val="Nadpis"/>'),
        style("Text", f'<w:basedOn w:val="Own"/><w:pPr>{level % 9}</w:pPr>'),
        style("Deep", '<w:name w:val="heading 8"/>'),
    )
    names = {"Nadpis": "One", "Own": "Two", "Text": "Words", "Deep": "Three"}
    body = [paragraph(text, f'<w:pStyle w:val="{name}"/>') for name, text in names.items()]
    found = parse(
        docx("".join([*body, paragraph("Four", level % 0)]), styles="".join(styles)), ".docx"
    )
    assert outline(found) == [(2, "One"), (2, "Two"), (6, "Three"), (1, "Four")]
    assert found.title == "Four"


def test_book():
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Lime</dc:title></metadata><manifest><item'
        ' id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/></spine></package>'
    )
    container = '<container><rootfiles><rootfile full-path="o/c.opf"/></rootfiles></container>'
    page = f"<html><body><h1>Kilns</h1><p>{PROSE}</p></body></html>"
    files = {"META-INF/container.xml": container, "o/c.opf": package, "o/a.xhtml": page}
    assert f"# Kilns\n\n{PROSE}" in parse(archive(files), ".epub").text


def test_the_title_of_a_sheet_is_no_header():
    converted = """## Tolls
| Tolls of the Lower Bridge | Unnamed: 1 | Unnamed: 2 |
| --- | --- | --- |
| NaN | NaN | NaN |
| Vehicle | Crowns | Valid |
| Cart | 4 | NaN |

## Hours
| Day | Opens |
| --- | --- |
| Monday | 9 |
"""
    assert sheets(converted).splitlines()[1:6] == [
        "Tolls of the Lower Bridge",
        "",
        "| Vehicle | Crowns | Valid |",
        "| --- | --- | --- |",
        "| Cart | 4 |  |",
    ]
    assert sheets(converted).endswith(converted[converted.index("## Hours") :])
