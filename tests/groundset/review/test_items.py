import time

import pytest

from groundset.review.items import mark


def marked(text, foci, answer):
    """Return the text with (focus) and [answer] in brackets."""
    formats = {(False, False): "{}", (True, False): "({})", (False, True): "[{}]", (True, True): "([{}])"}
    pieces = mark(text, foci, answer)
    assert "".join(piece.text for piece in pieces) == text
    return "".join(formats[piece.focus, piece.answer].format(piece.text) for piece in pieces)


@pytest.mark.parametrize(
    ("text", "focus", "answer", "expected"),
    [
        ("A. The ferry left. B.", "The ferry left.", "ferry", "A. (The )([ferry])( left). B."),
        ("Run `tool jobs.db` **now**\nand wait.", "Run tool jobs.db now and wait.", "tool jobs.db",
         "(Run `)([tool jobs.db])(` **now**\nand wait)."),
        ("It is within reach, in May.", "", "in", "It is within reach, [in] May."),
        ("in May. It left in June.", "It left in June.", "in", "in May. (It left )([in])( June)."),
        ("Straße 9", "", "STRASSE", "[Straße] 9"),
        ("東京は大きい。", "", "大きい", "東京は[大きい]。"),
        ("Nothing here.", "Something else.", "at nine", "Nothing here."),
        ("Nothing here.", "…", "?!", "Nothing here."),
        ("", "x", "x", ""),
    ],
)  # fmt: skip
def test_mark_focus_and_answer(text, focus, answer, expected):
    assert marked(text, [focus], answer) == expected


def test_mark_takes_linear_time():
    began = time.monotonic()
    assert marked("a" * 300_000, [], "a" * 1000) == "a" * 300_000
    assert time.monotonic() - began < 2
