"""What parsers make of files: text, title, headings and captions."""

import pytest
from foreign_files import PROSE, outline, parsed

from groundset.corpus.parsing import Parsed, UnparsableError, parse, suffix_of


# Markdown.
def test_hashes_in_code_are_not_headings():
    code = "```sh\n# not one\n```\n\n    # nor this\n\n~~~\n## no\n~~~"
    text = f"# Real\n\n{code}\n\nSetext\n------\n\n## `code` *here* #\n"
    found = parsed(text, ".md")
    assert outline(found) == [(1, "Real"), (2, "Setext"), (2, "code here")]
    assert (found.title, found.text) == ("Real", text.strip("\n"))


def test_headings_in_lists_and_quotations_are_ignored():
    assert outline(parsed("# A\n\n- # B\n\n> # C\n", ".md")) == [(1, "A")]


@pytest.mark.parametrize(
    ("front", "title"),
    [
        ('---\ntitle: "The guide"\ntags: [a]\n---\n', "The guide"),
        ("---\ntitle: >-\n  The\n  guide\n---\n", "The guide"),
        ('+++\ntitle = "The guide"\n+++\n', "The guide"),
        ("---\nbad: [yaml\n---\n", "Part"),
    ],
)
def test_front_matter_gives_the_title_and_is_removed(front, title):
    found = parsed(f"{front}\nText.\n\n# Part\n", ".md")
    assert (found.title, found.text) == (title, "Text.\n\n# Part")


def test_rule_at_the_start_is_not_front_matter():
    for text in (
        "\nNote: stock is counted.\n",
        "Stock is counted.\n",
        "Note: it is.",
        "Note: a: b",
        "We say: yes",
    ):
        assert parsed(f"---\n{text}\n---\n\nEnd", ".md").text == f"---\n{text}\n---\n\nEnd"


def test_html_without_text_is_removed():
    found = parsed(
        "<!-- image -->\n\n# A\n\n<p align=center><img src=x></p>\n\n<div>kept</div>\n\n## B",
        ".md",
    )
    assert "image" not in found.text
    assert "<img" not in found.text
    assert "kept" in found.text
    assert outline(found) == [(1, "A"), (2, "B")]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The fee is 9. <!-- was 7 -->", "The fee is 9."),
        ("- A <!-- margin\n\n12 % -->\n- B", "- A\n- B"),
        ("| a <!-- b --> | c |\n| --- | --- |", "| a | c |\n| --- | --- |"),
        ("<!--\n## Old\n\n3 euros\n--> It is due.", "It is due."),
        ("A.\n\n[//]: # (secret)\n[x]: /y", "A.\n\n[x]: /y"),
        ("A %%secret%% b.\n\n%%\nsecret\n%%\n\nB", "A b.\n\n\nB"),
        ("A{% comment %}secret{% endcomment %} {{/* secret */}}b.", "Ab."),
        ("`<!-- a -->` and\n\n    <!-- b -->", "`<!-- a -->` and\n\n    <!-- b -->"),
        ("~~~\n<!-- a -->\n~~~\n\n5%% of 9%%", "~~~\n<!-- a -->\n~~~\n\n5%% of 9%%"),
    ],
)
def test_comments_are_dropped_but_not_in_code(text, shown):
    assert parsed(text, ".md").text == shown


def test_components_show_their_labels():
    text = """import Tabs from '@theme/Tabs';

export const secret = {

  a: 1 };

# Undo {#undo}

<Tabs>
  <TabItem
    value="lin" label={"Linux"}>

    ```sh
    undo {/* kept */} <Kept a="b">
    ```
  </TabItem>
</Tabs>

<Step title="Open &amp; wait">Choose it.</Step> {/* secret */}

<ParamField query="limit" type="integer" default={40} required>
  <Card title="Hooks" href={`/x/${y}`} /> <img alt="A hook" src="x" />
</ParamField>
"""
    shown = """# Undo

Linux

```sh
undo {/* kept */} <Kept a="b">
```

Open & wait

Choose it.

query: limit, type: integer, default: 40, required

Hooks

A hook"""
    found = parsed(text, ".mdx")
    assert [line for line in found.text.split("\n") if line] == list(
        filter(None, shown.split("\n"))
    )
    assert outline(found) == [(1, "Undo")]
    assert parsed("Give <Name>.\n\n    <Name>", ".md").text == "Give <Name>.\n\n    <Name>"


def test_template_is_what_it_makes():
    text = "# A <%# secret %>\n\n<% if x %>\nText <b>here</b>.\n<% end %>"
    assert parsed(text, ".md.erb").text == "# A\n\nText <b>here</b>."
    assert parsed(text, suffix_of("a.erb")).text.endswith("Text here.")


def test_heading_at_the_start_is_the_title():
    assert parsed("### Opening\n\ntext\n\n# Real", ".md").title == "Real"
    assert parsed("### Opening\n\ntext", ".md").title == "Opening"
    assert parsed("text\n\n### Later", ".md").title is None


# Plain text and other light marks.
@pytest.mark.parametrize("link", ["Jump to content", "Skip to main content", "Zum Inhalt springen"])
def test_skip_link_is_not_the_title(link):
    found = parsed(f"{link}\n\nHenn ferry\n\n{PROSE}\n", ".txt")
    assert found.title == "Henn ferry"
    assert link in found.text


def test_marked_headings():
    text = (
        f"A title\n=======\n\n{PROSE}\n\nPart one\n--------\n\n{PROSE}\n\nPart"
        " two\n--------\n\nDetail\n~~~~~~\n"
    )
    found = parsed(text, ".txt")
    assert found.title == "A title"
    assert outline(found) == [(1, "Part one"), (1, "Part two"), (2, "Detail")]
    wiki = parsed(f"T\n\n== A ==\n\n{PROSE}\n\n=== B ===\n\n{PROSE}", ".txt")
    assert outline(wiki) == [(2, "A"), (3, "B")]


def test_unmarked_headings():
    lines = (
        "Title",
        "SUMMARY",
        PROSE,
        "1. First part",
        PROSE,
        "1.1 Detail",
        PROSE,
        "7 Dwarfs at work",
        PROSE,
    )
    assert outline(parsed("\n\n".join(lines), ".txt")) == [
        (2, "SUMMARY"),
        (2, "1. First part"),
        (3, "1.1 Detail"),
    ]
    lines = (
        "Title",
        "A caption below the title",
        PROSE,
        "Early life",
        PROSE,
        "It ended.",
        PROSE,
        "short",
        "x",
    )
    assert outline(parsed("\n\n".join(lines), ".txt")) == [(4, "Early life")]


@pytest.mark.parametrize(
    "text", [PROSE, f"{PROSE}\n{PROSE}", "1. An item.\n2. Another.", "Line\nfollowed at once"]
)
def test_no_title_and_no_headings(text):
    assert parsed(text, ".txt") == Parsed(text, None, [])


# HTML.
def html(page):
    return parsed(page, ".html").text


PAGE = """<html><head><title>Cats | Example.org</title><style>p{}</style>
    <script>x</script></head><body>
        <header>Site</header><nav><a href="/">Home</a></nav>
    <div class="cookie-banner">Accept</div>
        <main><h1>On cats</h1>
        <p>A <b>cat</b> sleeps <a href="http://x.y/z">sixteen hours</a> a day.<sup
        class="reference">[1]</sup></p><h2 id="cookies">Cookies</h2><p>snake_case and 2 * 3</p>
        <aside><h2>Aside</h2><p>by the way</p></aside><h3>Last</h3><p>words</p>
        <table><tr><td>A</td><td>B</td></tr><tr><td>1</td><td>2</td></tr></table></main>
        <footer>Imprint</footer></body></html>"""


def test_main_content_without_inline_markup():
    found = parsed(PAGE, ".html")
    assert found.title == "On cats"
    assert outline(found) == [(1, "On cats"), (2, "Cookies"), (3, "Last"), (2, "Aside")]
    assert "A cat sleeps sixteen hours a day." in found.text
    assert "snake_case and 2 * 3" in found.text
    assert "| A | B |\n| --- | --- |\n| 1 | 2 |" in found.text
    for noise in ("Site", "Home", "Accept", "Imprint", "[1]", "http", "p{}"):
        assert noise not in found.text


def test_title_without_site_name():
    assert parsed("<title>Cats | Example.org</title><p>Cats sleep.</p>", ".html").title == "Cats"


@pytest.mark.parametrize(
    "page",
    [
        f"<body><div class='sidebar'>{PROSE}</div></body>",
        f"<main><h2><button>{PROSE}</button></h2><p>{PROSE * 2}</p></main>",
        f"<main><p>{PROSE * 2}</p><div hidden><p>{PROSE}</p></div></main>",
        f"<main><p>{PROSE * 2}</p><div class='menu-item'>Soup. At nine.</div></main>",
        (
            f"<main><p>{PROSE * 2}</p><h2><button>When?</button></h2><div hidden>At"
            " nine.</div></main>"
        ),
        f"<body><form><input value=x><p>{PROSE}</p></form></body>",
        f"<main><p>{PROSE * 2}</p><ul class='menu-items'><li>{PROSE}</li></ul></main>",
        (
            f"<p>{PROSE}</p><p class='pager'>It calls you twice daily. At"
            f" nine.</p><nav><p>{PROSE}</p></nav>"
        ),
        (
            f"<main><p>{PROSE}</p><div class='x-header'><button"
            " class='accordion'>When?</button></div><div id='a' aria-hidden='true'><p>At"
            " nine.</p></div></main>"
        ),
        f"<main><p>{PROSE}</p><div class='cookie-recipes'><p>{PROSE}</p></div></main>",
    ],
)
def test_running_text_is_content(page):
    assert html(page).count(PROSE) == page.count(PROSE)
    for short in ("When?", "At nine."):
        assert html(page).count(short) == page.count(short)


def test_what_is_left_out_is_named():
    page = f"<nav><a>Home</a></nav><main>{PROSE}<div hidden>Busy</div></main><div>Imprint</div>"
    assert parsed(page, ".html").left_out == [
        "nav: Home",
        "div: Busy",
        "outside the main part: Imprint",
    ]


@pytest.mark.parametrize(
    "banner",
    ["id='onetrust-sdk'", "class='cc-window x'", "id='CybotDialog'", "id=cookieNotice"],
)
def test_banner_is_no_content_of_a_short_page(banner):
    offer = f"<h1>We value privacy</h1><p>{PROSE}</p>Our cookies: <button>I accept</button>"
    page = f"<body><div {banner}>{offer}</div><h3>Help</h3><h1>Boats</h1><p>Rent one.</p>"
    found = parsed(page, ".html")
    assert (found.title, found.text) == ("Boats", "### Help\n\n# Boats\n\nRent one.")
    section = "<section id='cookie-notice'><h2>Cookie notice</h2>You accept it.</section>"
    assert "accept" in html(f"{section}<p>{PROSE * 3}</p>")


def test_storage_format_of_confluence():
    def macro(kind, title, text):
        settings = f"<ac:parameter ac:name='x'>secret</ac:parameter>{title}"
        return f"<ac:structured-macro ac:name='{kind}'>{settings}{text}</ac:structured-macro>"

    named = "<ac:parameter ac:name='title'>Lost?</ac:parameter>"
    code = "<ac:plain-text-body><![CDATA[run a\nrun b]]></ac:plain-text-body>"
    page = (
        "<p>Ask <ac:link><ri:user ri:username='bo'/></ac:link> by <time datetime='2031-04-05'/>"
        f". {macro('status', named, '')}</p>{macro('code', '', code)}"
        f"{macro('expand', named, '<ac:rich-text-body><p>Tell us.</p></ac:rich-text-body>')}"
        "<ac:task-list><ac:task><ac:task-id>secret</ac:task-id><ac:task-status>complete"
        "</ac:task-status><ac:task-body>Order it</ac:task-body></ac:task></ac:task-list>"
    )
    code = "```\nrun a\nrun b\n```"
    rest = "Lost?\n\nTell us.\n\n* [x] Order it"
    assert html(page) == f"Ask @bo by 2031-04-05. Lost?\n\n{code}\n\n{rest}"


def test_white_space_between_cells():
    page = """<table>
          <thead>
            <tr>
              <th>Kind</th>
              <th>Fee</th>
            </tr>
          </thead>
          <tbody>
            <tr>
              <td rowspan="2">Night</td>
              <td>

                <p>13</p>
              </td>
            </tr>
            <tr>
              <td>14</td>
            </tr>
          </tbody>
          <tfoot>
            <tr>
              <td>Sum</td>
              <td>27</td>
            </tr>
          </tfoot>
        </table>"""
    rows = (
        "| Kind | Fee |",
        "| --- | --- |",
        "| Night | 13 |",
        "| Night | 14 |",
        "| Sum | 27 |",
    )
    assert html(page) == "\n".join(rows)


def test_raised_and_lowered_text():
    page = (
        "<p>10<sup>6</sup> m<sup>2</sup> of CO<sub>2</sub>, x<sup>n+1</sup>, 2<sup>1.5</sup>,"
        " the 4<sup>th</sup>, in 1998<sup><a href='#n1'>1</a></sup>, 2000², 2<sup>k</sup>,"
        " 10<span style='vertical-align: super'>6</span>, x<a role='doc-noteref'>4</a>, 3 m"
        " s⁻¹</p>"
    )
    shown = "10⁶ m² of CO₂, xⁿ⁺¹, 2^(1.5), the 4th, in 1998 [1], 2000², 2^(k), 10⁶, x [4], 3 m s⁻¹"
    assert html(page) == shown
    markdown = "640<sup>2</sup> x<sub>i</sub>, CO<sub>2</sub>, 2<sup>1.5</sup>, the 4<sup>th</sup>"
    assert parsed(markdown, ".md").text == "640² xi, CO₂, 2^(1.5), the 4th"
    code = "`x<sup>2</sup>`\n\n```html\n<p>x<sup>2</sup></p>\n```"
    assert parsed(code, ".md").text == code
    assert parsed("In 1998¹ and, later, 2004².", ".txt").text == "In 1998 [1] and, later, 2004 [2]."


def test_formula_stands_once():
    tex = '<math><mi>E</mi><annotation encoding="application/x-tex">E = mc^2</annotation></math>'
    page = f"<p>Energy: <span>{tex}</span><span aria-hidden='true'>E=mc2</span></p>"
    assert html(page) == "Energy: $E = mc^2$"
    drawn = (
        "<mjx-math aria-hidden='true'>E</mjx-math><math><msup><mi>c</mi><mn>2</mn></msup></math>"
    )
    assert html(f"<p>Energy: <mjx-container>{drawn}</mjx-container></p>") == "Energy: $c^{2}$"
    page = "<p>Energy: <span class='MathJax'>mc2</span><script type='math/tex'>mc^2</script></p>"
    assert html(page) == "Energy: $mc^2$"


def test_cells_that_span_rows_and_columns():
    page = (
        "<table><tr><th>Region</th><th>Product</th><th>Units</th></tr><tr><td"
        " rowspan=2>EU</td><td>Lamp</td><td>5</td></tr><tr><td>Hub</td><td"
        " rowspan=2>7</td></tr><tr><td colspan=2>Other</td></tr><tr><td>a</td><td>b</td><td"
        " rowspan='x'>c</td></tr></table>"
    )
    rows = [line for line in html(page).split("\n") if "|" in line]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]
    assert cells == [
        ["EU", "Lamp", "5"],
        ["EU", "Hub", "7"],
        ["Other", "", "7"],
        ["a", "b", "c"],
    ]


def test_cells_stand_below_all_their_headers():
    page = (
        "<table><tr><td rowspan=2>Region</td><td"
        " colspan=2>Units</td></tr><tr><td>2001</td><td>2002</td></tr>"
        "<tr><td>EU|US</td><td>5</td><td>6</td></tr></table>"
    )
    table = "| Region | Units 2001 | Units 2002 |\n| --- | --- | --- |\n| EU\\|US | 5 | 6 |"
    assert html(page) == table


def test_layout_table_becomes_paragraphs():
    inner = "<table><tr><td>A</td><td>B</td></tr><tr><td>1</td><td>2</td></tr></table>"
    text = html(f"<table><tr><td>Menu</td><td><p>{PROSE}</p>{inner}</td></tr></table>")
    assert f"Menu\n\n{PROSE}" in text
    assert html(f"<table><tr><td>Menu<td><p>{PROSE}</table>") == f"Menu\n\n{PROSE}"
    assert "| A | B |\n| --- | --- |" in text


def test_encoding_and_oddities_of_html():
    page = '<meta charset="iso-8859-2"><p>Łódź</p>'
    assert "Łódź" in parse(page.encode("iso8859_2"), ".html").text
    page = (
        '<meta charset="idna"><p>Der Bäcker backt früh am Morgen in seiner Stube das Brot für'
        " alle.</p>"
    )
    assert "Bäcker backt früh" in parse(page.encode("latin-1"), ".html").text
    assert "Flour" in html("<ol start='²'><li>Flour</li></ol>")
    assert "deep" in html("<div>" * 3000 + "deep" + "</div>" * 3000)
    with pytest.raises(UnparsableError, match="no text"):
        parsed("<body><script>x</script></body>", ".html")
