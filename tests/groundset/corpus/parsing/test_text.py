"""Encodings, control characters and names."""

import pytest

from groundset.corpus.parsing import (
    UnparsableError,
    clean,
    decode,
    name_title,
    parse,
    telling_title,
)
from groundset.corpus.read import document_name

GERMAN = "Grüße aus Köln: schöne Straßen, süße Brötchen und über 20 Brücken."
FRENCH = "Le château était situé près de la rivière. Où êtes-vous allés hier ? Ça coûte 5 €."
RUSSIAN = "Москва является столицей России и крупнейшим городом страны."
JAPANESE = "東京は日本の首都であり、世界最大級の都市です。"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((GERMAN, name) for name in ("utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-32")),
        (FRENCH, "cp1252"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "utf-16"),
        ("㈱北星の受付は①本館、②別館です。", "cp932"),
        *((JAPANESE, name) for name in ("shift_jis", "cp932", "euc_jp", "iso2022_jp")),
        ("서울은 대한민국의 수도이며 한강을 끼고 있다. 똠방각하.", "cp949"),
        ("Zażółć gęślą jaźń.", "cp1250"),
        ("北京是中华人民共和国的首都，人口超过两千万。", "gb18030"),
        *((f"“{GERMAN}”", name) for name in ("mac_roman", "utf-16-le")),
        ("Smiles 🙂 and families 👩‍👩‍👧.", "utf-8"),
    ],
)
def test_encodings(text, encoding):
    assert decode(text.encode(encoding)) == text
    assert decode("Łódź".encode("iso8859_2"), "iso-8859-2") == "Łódź"


def test_stray_byte_changes_no_other():
    assert decode("Gebühr für Größe".encode() + b" it\x92s") == "Gebühr für Größe it’s"
    for text, encoding in ((JAPANESE, "cp932"), (GERMAN, "mac_roman"), (RUSSIAN, "cp1251")):
        assert decode(text.encode(encoding) + b"\xff " + text.encode(encoding)).startswith(text)


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", bytes(range(256)) * 4, b"\xff\xfe\x00\xd8"]
)
def test_binary_data_is_unparsable(data):
    with pytest.raises(UnparsableError):
        clean(decode(data))


def test_newlines_and_invisible_characters():
    dirty = "\ufeffone\r\ntwo\rthree\u2028four\x0cfive\x01 soft\u00adhyphen no\xa0break ﬁne  \n\n"
    assert (
        clean(dirty + "x" * 60)
        == "one\ntwo\nthree\nfour\nfive softhyphen no break fine\n\n" + "x" * 60
    )
    assert clean("a\ud800b").encode() == b"a?b"


@pytest.mark.parametrize(
    ("path", "title", "name"),
    [
        ("a/user_guide-v2.md", "user guide v2", "user-guide-v2"),
        ("___.txt", "___", ""),
        ("README", "README", "readme"),
        (".env", "env", "env"),
        (r"C:\Users\Ann\docs\Größe.pdf", "Größe", "groe"),
    ],
)
def test_names_of_files(path, title, name):
    assert (name_title(path), document_name(path)) == (title, name)


@pytest.mark.parametrize(
    ("title", "text", "suffix", "told"),
    [
        (
            "technote 012",
            "Empty the queue.\n\nThen wait.",
            ".txt",
            "Empty the queue.",
        ),
        ("Topics", "# Topics\n\n## Valves of Tarn\n\nTurn it off.", ".md", "Valves of Tarn"),
        (
            "scan 3",
            "| no | name |\n| 1 | pump |\n\nWe have old pumps.",
            ".txt",
            "We have old pumps.",
        ),
        ("Pumps", "# Pumps\n\nOurs are old.", ".md", ""),
        ("tarn-client", "# tarn-client\n\n## Usage\n\nCall it.", ".md", ""),
    ],
)
def test_a_title_that_any_document_may_have_is_followed_by_what_the_text_says(
    title, text, suffix, told
):
    parsed = parse(text.encode(), suffix)
    assert telling_title(title, parsed) == (f"{title}: {told}" if told else title)
