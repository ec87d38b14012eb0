import pytest
from foreign_files import pdf

from groundset.corpus.parsing.pages import Line, Page, PageTable, without_running_heads
from groundset.corpus.parsing.pdf import pages_to_markdown, parse_pdf, plain_line, split_page_marks


def line(text, y, *, box=0, size=10.0, x0=50.0, bold=False):
    return Line(text, box, x0, x0 + 5 * len(text), y + size, y, size, bold)


def page(*lines, tables=None):
    return Page(800.0, list(lines), tables or [])


def test_lines_become_paragraphs_and_hyphenated_words_are_rejoined():
    texts = (
        "The trans-",
        "former was bro-",
        "ken, a fact about every",
        "transformer of 2019-",
        "2020.",
    )
    lines = [line(text, 500 - 12 * n) for n, text in enumerate(texts)]
    text = pages_to_markdown([page(*lines, line("Next paragraph here.", 425, box=1))])
    assert (
        text == "The transformer was broken, a fact about every transformer of 2019-2020.\n\nNext"
        " paragraph here."
    )


def test_compound_used_elsewhere_keeps_its_hyphen():
    text = pages_to_markdown(
        [page(line("A well-known case is well-", 500), line("known to all of us here.", 488))]
    )
    assert text == "A well-known case is well-known to all of us here."


def test_document_without_hyphenation_keeps_every_hyphen():
    lines = [line(f"Line number {n} is here", 700 - 12 * n) for n in range(60)]
    text = pages_to_markdown([page(*lines, line("a nine-", -20), line("minute wait.", -32))])
    assert text.endswith("a nine-minute wait.")


def test_indentation_starts_a_paragraph_but_not_in_list_items():
    lines = [line("First one.", 500), line("Second one is", 488, x0=60), line("longer.", 476)]
    assert pages_to_markdown([page(*lines)]) == "First one.\n\nSecond one is longer."
    items = [line("• one item that", 500), line("goes on", 488, x0=60), line("• two", 476)]
    assert pages_to_markdown([page(*items)]) == "- one item that goes on\n\n- two"


def test_headings_by_font_size_and_bold_text():
    lines = [
        line("The title of", 600, size=20.0),
        line("this paper", 576, size=20.0),
        line("Introduction", 540, box=1, size=14.0),
        line("Text that is long enough to set the size of the body text.", 500, box=2),
        line("A bold heading", 480, box=3, bold=True),
        line("A bold sentence is no heading.", 460, box=4, bold=True),
    ]
    headings = [
        part for part in pages_to_markdown([page(*lines)]).split("\n\n") if part.startswith("#")
    ]
    assert headings == ["# The title of this paper", "## Introduction", "### A bold heading"]


def test_running_heads_and_page_numbers_are_dropped():
    pages = [
        page(
            line("Report 2020", 780, box=0),
            line(f"Sentence number {number} is on this page.", 400, box=1),
            line(f"Page {number} of 3", 20, box=2),
        )
        for number in (1, 2, 3)
    ]
    shown, dropped = without_running_heads(pages)
    text, starts = split_page_marks(pages_to_markdown(shown))
    assert dropped[0] == "running head (3): Page 1 of 3 Page 2 of 3 Page 3 of 3"
    assert [(start.page, text[start.start :][:17]) for start in starts] == [
        (number, f"Sentence number {number}") for number in (1, 2, 3)
    ]
    assert text.count("\n\n") == 2
    assert "Report" not in text
    assert "of 3" not in text


BODY = "Sentences that are long enough to set the size of the text"


@pytest.mark.parametrize(
    ("texts", "y", "size"),
    [
        (["Rule 1", "Rule 2", "Rule 3", "Rule 4"], 750, 10),
        (["1991", "1992", "1993", "1994"], 750, 18),
        (["Rent: 300 EUR", "Rent: 310 EUR", "Rent: 320 EUR", "Rent: 330 EUR"], 750, 10),
        (["Dose for under 2 years.", "Dose for under 3 years."], 40, 8),
        (["1905"], 750, 18),
    ],
)
def test_lines_that_differ_in_numbers_are_text(texts, y, size):
    pages = [page(line(text, y, size=size), line(BODY, 400, box=1)) for text in texts]
    assert without_running_heads(pages) == (pages, [])


@pytest.mark.parametrize(
    ("heads", "named"),
    [
        (["Hut rules - Beds", "Hut rules - Keys", "Hut rules - Lost keys", "Hut rules"], 4),
        (["Hut rules", "Beds", "Hut rules", "Keys"], 3),
        (["Beds | 7", "Keys | 8", "Beds | 9", "Keys | 10"], 2),
        (["i", "ii", "1", "2"], 3),
    ],
)
def test_heads_of_chapters_and_of_odd_pages_are_dropped(heads, named):
    chapters = ("Beds", "Keys", "Lost keys", "Fees")
    texts = [[line(chapter, 700, box=1, size=16), line(BODY, 400, box=2)] for chapter in chapters]
    pages = [page(line(head, 770, size=8), *rest) for head, rest in zip(heads, texts, strict=True)]
    shown, dropped = without_running_heads(pages)
    assert [each.lines for each in shown] == texts
    assert len(dropped) == named


def test_sentence_is_joined_across_pages_and_captions():
    pages = [
        page(
            line("The river rose until", 100, box=0),
            line("Figure 1: the bridge", 90, box=1, size=8.0),
        ),
        page(line("the bridge fell.", 700, box=0)),
    ]
    text, starts = split_page_marks(pages_to_markdown(pages))
    assert text == "The river rose until the bridge fell.\n\nFigure 1: the bridge"
    assert [(start.page, text[start.start :][:6]) for start in starts] == [
        (1, "The ri"),
        (2, "the br"),
        (1, "Figure"),
    ]


def test_marks_in_a_document_are_dropped():
    assert plain_line("\ufdd07\ufdd1 a\n b") == "7 a b"


def test_pages_without_text():
    text, starts = split_page_marks(pages_to_markdown([page(), page(), page(line("A line.", 500))]))
    assert text == "A line."
    assert [(start.page, start.start) for start in starts] == [(3, 0)]
    assert pages_to_markdown([page()]) == ""


def test_table_keeps_its_position():
    table = PageTable(50, 450, 300, 400, [["Item", "Cost"], ["A|B", "5"]])
    text = pages_to_markdown(
        [page(line("Before.", 500, box=0), line("After.", 300, box=1), tables=[table])]
    )
    assert text == "Before.\n\n| Item | Cost |\n| --- | --- |\n| A\\|B | 5 |\n\nAfter."


def test_table_goes_on_over_pages():
    parts = [["Item", "Cost"], ["Lamp", "5"]], [["Item", "Cost"], ["Hub", "6"]], [["Key", "7"]]
    pages = [page(tables=[PageTable(50, 450, 300, 400, rows)]) for rows in parts]
    other = PageTable(50, 450, 300, 400, [["Town", "Code"], ["Keld", "8"]], is_headed=True)
    text, starts = split_page_marks(pages_to_markdown([*pages, page(tables=[other])]))
    table = "| Item | Cost |\n| --- | --- |\n| Lamp | 5 |\n| Hub | 6 |\n| Key | 7 |\n\n"
    assert text == f"{table}| Town | Code |\n| --- | --- |\n| Keld | 8 |"
    assert [text[start.start :][2:6] for start in starts] == ["Item", "Hub ", "Key ", "Town"]


def test_table_with_rules_above_and_below_only():
    cells = (("Pump", "Use of it"), ("K1", "lifts water from"), ("", "deep wells"), ("K2", "none"))
    words = "".join(
        f"BT /F1 12 Tf {x} {640 - 18 * row} Td ({text}) Tj ET "
        for row, line in enumerate(cells)
        for x, text in zip((60, 200), line, strict=True)
    )
    rules = " ".join(f"50 {y} m 400 {y} l S" for y in (660, 634, 570))
    text = parse_pdf(pdf(TEXT + f"{words} {rules}".encode())).text
    table = (
        "| Pump | Use of it |\n| --- | --- |\n| K1 | lifts water from deep wells |\n| K2 | none |"
    )
    assert text.endswith(f"1887.\n\n{table}")
    assert "|" not in parse_pdf(pdf(TEXT + b"50 760 m 400 760 l S 50 740 m 400 740 l S")).text


TEXT = b"BT /F1 12 Tf 50 750 Td (The mill was built by two brothers in the year 1887.) Tj ET\n"


def test_page_with_many_text_boxes_is_read_from_top_to_bottom():
    words = b"".join(
        b"1 0 0 1 %d %d Tm (w%d) Tj " % (n % 20 * 28 + 20, 700 - n // 20 * 30, n)
        for n in range(400)
    )
    text = parse_pdf(pdf(TEXT + b"BT /F1 4 Tf " + words + b"ET")).text
    assert text.split()[-400:] == [f"w{number}" for number in range(400)]


def test_raised_digits_stay_apart_from_the_number_before():
    raised = (
        b"BT /F1 12 Tf 50 700 Td (There are 10) Tj /F1 9.8 Tf 5 Ts (-6) Tj 0 Ts /F1 12 Tf ( stars"
        b" in it.) Tj ET"
    )
    assert "There are 10⁻⁶ stars in it." in parse_pdf(pdf(TEXT + raised)).text


def test_lines_from_right_to_left_are_read_from_the_right():
    letters = (
        b"/Own/FirstChar 0/LastChar"
        b" 255/Widths[%s]/Encoding<</Differences[97/uni05E9/uni05DC/uni05D5/uni05DD]>>"
    )
    shown = (
        b"BT /F1 18 Tf 464 700 Td (dcba) Tj ET BT /F1 12 Tf 200 670 Td (.\\(A 1\\) dcba 4.5%% %s)"
        b" Tj ET"
    )
    drawing = shown % b" ".join([b"dcba"] * 10)
    text = parse_pdf(pdf(drawing).replace(b"/Helvetica", letters % (b"500 " * 256))).text
    assert text == f"# שלום\n\n{'שלום ' * 10}4.5% שלום (A 1)."
