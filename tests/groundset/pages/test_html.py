"""Evidence and answer in a passage."""

import pytest

from groundset.pages.html import marked

TEXT = "The **MV *Henn Lady*** was delivered in June 1976, eleven weeks late. She sails in July."


def shown(pieces):
    return [(text, css) for text, css in pieces if css]


def test_evidence_and_answer_are_found_in_spite_of_markup_and_case():
    found = marked(
        TEXT, ["the MV Henn Lady was delivered in june 1976, eleven weeks late"], "Eleven weeks"
    )
    assert "".join(piece.text for piece in found) == TEXT
    assert shown(found) == [
        ("The **MV *Henn Lady*** was delivered in June 1976, ", "evidence"),
        ("eleven weeks", "evidence answer"),
        (" late", "evidence"),
    ]


@pytest.mark.parametrize(
    ("text", "evidence", "answer", "expected"),
    [
        ("It has 19 rooms and 9 doors.", [], "9", [("9", "answer")]),
        (
            "It opens at nine. At nine it sails.",
            ["At nine it sails"],
            "nine",
            [("nine", "evidence answer")],
        ),
        ("It opens.", ["It closes"], "never", []),
        ("It opens.", ["", "!!"], "", []),
        ("博物馆在星期天开放。", [], "星期天", [("星期天", "answer")]),
    ],
)
def test_what_is_marked(text, evidence, answer, expected):
    found = marked(text, evidence, answer)
    assert [piece for piece in shown(found) if "answer" in piece[1] or not answer] == expected
    assert "".join(piece.text for piece in found) == text


def test_many_near_matches_take_no_time():
    text = "a-" * 50_000
    assert shown(marked(text, ["a " * 300 + "b"], "ab")) == []
