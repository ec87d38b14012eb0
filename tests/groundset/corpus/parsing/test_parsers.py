import pytest

from groundset.corpus.parsing.html import parse_html
from groundset.corpus.parsing.markdown import parse_markdown
from groundset.corpus.parsing.office import parse_office
from groundset.corpus.parsing.plain import parse_plain
from groundset.corpus.parsing.text import Parsed, UnparsableError

PROSE = "This paragraph is long enough to count as prose, since it has more than eighty characters in it."


def outline(parsed: Parsed) -> list[tuple[int, str]]:
    for heading in parsed.headings:
        first_word = heading.text.split()[0].strip("`")
        assert first_word in parsed.text[heading.start :].split("\n")[0]
    return [(heading.level, heading.text) for heading in parsed.headings]


class TestMarkdown:
    def test_hashes_in_code_are_not_headings(self) -> None:
        code = "```sh\n# not one\n```\n\n    # nor this\n\n~~~\n## no\n~~~"
        text = f"# Real\n\n{code}\n\nSetext\n------\n\n## `code` *here* #\n"
        parsed = parse_markdown(text)
        assert outline(parsed) == [(1, "Real"), (2, "Setext"), (2, "code here")]
        assert parsed.title == "Real"
        assert parsed.text == text.strip("\n")

    def test_headings_in_lists_and_quotations_are_ignored(self) -> None:
        assert outline(parse_markdown("# A\n\n- # B\n\n> # C\n")) == [(1, "A")]

    def test_front_matter_gives_the_title_and_is_removed(self) -> None:
        parsed = parse_markdown('---\ntitle: "The guide"\ntags: [a]\n---\n\nText.\n\n# Part\n')
        assert (parsed.title, parsed.text) == ("The guide", "Text.\n\n# Part")

    def test_html_without_text_is_removed(self) -> None:
        parsed = parse_markdown("<!-- image -->\n\n# A\n\n<p align=center><img src=x></p>\n\n<div>kept</div>\n\n## B")
        assert "image" not in parsed.text
        assert "<img" not in parsed.text
        assert "kept" in parsed.text
        assert outline(parsed) == [(1, "A"), (2, "B")]

    def test_heading_at_the_start_is_the_title(self) -> None:
        assert parse_markdown("### Opening\n\ntext").title == "Opening"
        assert parse_markdown("text\n\n### Later").title is None


class TestPlain:
    @pytest.mark.parametrize("link", ["Jump to content", "Skip to main content", "Zum Inhalt springen"])
    def test_skip_link_is_not_the_title(self, link: str) -> None:
        parsed = parse_plain(f"{link}\n\nHenn ferry\n\n{PROSE}\n")
        assert parsed.title == "Henn ferry"
        assert link in parsed.text

    def test_title_and_marked_headings(self) -> None:
        text = f"A title\n=======\n\n{PROSE}\n\nPart one\n--------\n\n{PROSE}\n\nPart two\n--------\n\nDetail\n~~~~~~\n"
        parsed = parse_plain(text)
        assert parsed.title == "A title"
        assert outline(parsed) == [(1, "Part one"), (1, "Part two"), (2, "Detail")]

    def test_wiki_headings(self) -> None:
        assert outline(parse_plain(f"T\n\n== A ==\n\n{PROSE}\n\n=== B ===\n\n{PROSE}")) == [(2, "A"), (3, "B")]

    def test_upper_case_and_consecutively_numbered_headings(self) -> None:
        lines = ("Title", "SUMMARY", PROSE, "1. First part", PROSE, "1.1 Detail", PROSE, "7 Dwarfs at work", PROSE)
        text = "\n\n".join(lines)
        assert outline(parse_plain(text)) == [(2, "SUMMARY"), (2, "1. First part"), (3, "1.1 Detail")]

    def test_bare_lines_are_headings_only_before_prose(self) -> None:
        lines = ("Title", "A caption below the title", PROSE, "Early life", PROSE, "It ended.", PROSE, "short", "x")
        text = "\n\n".join(lines)
        assert outline(parse_plain(text)) == [(4, "Early life")]

    @pytest.mark.parametrize("text", [PROSE, f"{PROSE}\n{PROSE}", "1. An item.\n2. Another.", "Line\nfollowed at once"])
    def test_no_title_and_no_headings(self, text: str) -> None:
        assert parse_plain(text) == Parsed(text, None, [])


class TestHtml:
    PAGE = """<html><head><title>Cats | Example.org</title><style>p{}</style><script>x</script></head><body>
        <header>Site</header><nav><a href="/">Home</a></nav><div class="cookie-banner">Accept</div>
        <main><h1>On cats</h1><p>A <b>cat</b> sleeps <a href="http://x.y/z">sixteen hours</a> a day.<sup
        class="reference">[1]</sup></p><h2 id="cookies">Cookies</h2><p>snake_case and 2 * 3</p>
        <aside><h2>Aside</h2><p>by the way</p></aside><h3>Last</h3><p>words</p>
        <table><tr><td>A</td><td>B</td></tr><tr><td>1</td><td>2</td></tr></table></main>
        <footer>Imprint</footer></body></html>"""

    def test_main_content_without_inline_markup(self) -> None:
        parsed = parse_html(self.PAGE.encode())
        assert parsed.title == "On cats"
        assert outline(parsed) == [(1, "On cats"), (2, "Cookies"), (3, "Last"), (2, "Aside")]
        assert "A cat sleeps sixteen hours a day." in parsed.text
        assert "snake_case and 2 * 3" in parsed.text
        assert "| A | B |\n| --- | --- |\n| 1 | 2 |" in parsed.text
        for noise in ("Site", "Home", "Accept", "Imprint", "[1]", "http", "p{}"):
            assert noise not in parsed.text

    def test_title_without_site_name(self) -> None:
        assert parse_html(b"<title>Cats | Example.org</title><p>Cats sleep.</p>").title == "Cats"

    def test_sidebar_with_all_the_text_is_kept(self) -> None:
        assert "Only text" in parse_html(b"<body><div class='sidebar'>Only text here.</div></body>").text

    def test_declared_encoding(self) -> None:
        page = '<meta charset="iso-8859-2"><p>Łódź</p>'
        assert "Łódź" in parse_html(page.encode("iso8859_2")).text

    @pytest.mark.parametrize("name", ["undefined", "no-such-encoding", "idna"])
    def test_invalid_declared_encoding_is_ignored(self, name: str) -> None:
        page = f'<meta charset="{name}"><p>Der Bäcker backt früh am Morgen in seiner Stube das Brot für alle.</p>'
        assert "Bäcker backt früh" in parse_html(page.encode("latin-1")).text

    def test_list_with_invalid_start_number(self) -> None:
        assert "Flour" in parse_html("<ol start='²'><li>Flour</li></ol>".encode()).text

    def test_error_of_the_converter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object, **__: object) -> None:
            raise ValueError("odd")

        monkeypatch.setattr("markitdown.converters.HtmlConverter.convert", fail)
        with pytest.raises(UnparsableError, match="ValueError"):
            parse_html(b"<p>Cats sleep.</p>")

    def test_deep_nesting(self) -> None:
        assert "deep" in parse_html(b"<div>" * 3000 + b"deep" + b"</div>" * 3000).text

    def test_no_text(self) -> None:
        with pytest.raises(UnparsableError, match="no text"):
            parse_html(b"<body><script>x</script></body>")


class TestOffice:
    @pytest.mark.parametrize(
        ("data", "suffix", "reason"),
        [
            (b"\xd0\xcf\x11\xe0 ... " + "EncryptedPackage".encode("utf-16-le"), ".docx", "password-protected"),
            (b"\xd0\xcf\x11\xe0 an old document", ".docx", "not a file of the format"),
            (b"nonsense", ".docx", "damaged docx file"),
            (b"PK\x05\x06" + b"\0" * 18, ".docx", "damaged docx file"),
            (b"{not json", ".ipynb", "damaged ipynb file"),
        ],
    )
    def test_unparsable_file(self, data: bytes, suffix: str, reason: str) -> None:
        with pytest.raises(UnparsableError, match=reason):
            parse_office(data, suffix)

    def test_csv_becomes_a_table(self) -> None:
        assert parse_office("Name,Größe\nKöln,5\n".encode("latin-1"), ".csv").text.startswith("| Name | Größe |")
