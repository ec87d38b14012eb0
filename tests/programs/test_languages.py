"""Language detection, the words of languages, neutral languages, and sentences."""

import pytest

from groundset.programs.languages import ENGLISH, LANGUAGES, language_of, name_of

SWEDISH = (
    "Bron över sundet öppnades år 1931 efter nio års arbete. Den ersatte en färja som hade burit"
    " fyrahundra människor om dagen, och ingenjören ledde arbetet in i det sista."
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The bridge was opened in 1931 after nine years of work.", "en"),
        ("Das Schloss wurde 1754 von der Familie verkauft.", "de"),
        ("Le château a été vendu par la famille en 1754.", "fr"),
        ("El castillo fue vendido por la familia en 1754.", "es"),
        (SWEDISH, "sv"),
    ],
)
def test_language_is_detected(text, code):
    assert language_of(text) == LANGUAGES[language_of(text)].code == code


def test_names():
    assert [name_of(code) for code in ("en", "gd", "xx")] == ["English", "Scottish Gaelic", "xx"]


def test_unknown_language_is_neutral():
    swedish = LANGUAGES["sv"]
    assert swedish is LANGUAGES["sv"]
    assert list(LANGUAGES) == ["en", "de", "fr", "es"], "asking for one does not make it known"
    assert swedish.stop_words == swedish.question_words == frozenset()
    assert swedish.content_words("arbetet") == swedish.content_words("arbete")
    assert len(swedish.sentences(SWEDISH)) == 2
    assert not swedish.dependent_start.match("It replaced a ferry.")
    assert not swedish.loose_pronoun.search("It replaced their ferry.")
    assert not swedish.alternative.search("the weir or the mill")
    assert swedish.asked_for("When was it?") is None
    assert LANGUAGES["xx"].content_words("bridges") == ["bridges"]


def test_words_of_english():
    assert ENGLISH.content_words("The bridges of Lowen's 2 harbours") == [
        "bridg",
        "lowen",
        "2",
        "harbour",
    ]
    assert ENGLISH.in_digits("fifteen ewes and one ram") == "15 ewes and one ram"
    assert ENGLISH.alternative.search("Which is older, the weir or the mill?")
    assert ENGLISH.dependent_start.match("However, the mill burned.")
    assert ENGLISH.loose_pronoun.findall("It replaced their ferry.") == ["It", "their"]


@pytest.mark.parametrize(
    ("code", "text", "refers"),
    [
        ("en", "Which year is mentioned in the passage?", True),
        ("en", "According to the law, who pays?", False),
        ("de", "Welches Jahr wird im Text genannt?", True),
        ("fr", "Que dit le texte ?", True),
        ("es", "¿Qué dice el pasaje?", True),
    ],
)
def test_references_to_the_text(code, text, refers):
    assert LANGUAGES[code].refers_to_text(text) is refers


@pytest.mark.parametrize(
    ("code", "answer", "stated"),
    [
        ("en", "Not stated.", False),
        ("de", "not stated", False),  # the instructions are English
        ("de", "Nicht angegeben", False),
        ("en", "nicht angegeben", True),
        ("sv", "not stated", False),
        ("en", "", False),
        ("en", "Nottingham", True),
    ],
)
def test_is_stated(code, answer, stated):
    assert LANGUAGES[code].is_stated(answer) is stated


def test_question_marks_are_spaced_as_usual():
    assert LANGUAGES["fr"].punctuated("Où est le pont?") == "Où est le pont ?"
    assert LANGUAGES["de"].punctuated("Wo ist die Brücke ?") == "Wo ist die Brücke?"
    assert LANGUAGES["fr"].punctuated("le pont") == "le pont"


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("fr", "M. Dupont et Mme. Roy sont là. Le port date du Ier siècle av. J.-C. et brûla.", 2),
        (
            "de",
            "Die Kirche stammt aus dem 16. Jahrhundert. Der Bau dauerte bis 1880. Er war teuer.",
            3,
        ),
        ("es", "El Sr. Paz llegó a las 3 p. m. con su hija. Llovía.", 2),
        ("nn", "Laget vart skipa den 14. juni 1972. Det har ti medlemer.", 2),
    ],
)
def test_abbreviations_do_not_end_sentences(code, text, expected):
    assert len(LANGUAGES[code].sentences(text)) == expected
    assert " ".join(LANGUAGES[code].sentences(text)) == text


def test_heading_line_is_not_part_of_a_sentence():
    text = (
        "Restoring the tide gauge of Hollin (Part I)\nUpdated 3 May 1961\n"
        "The gauge of Hollin was restored in\n1960 by two masons of the town."
    )
    assert ENGLISH.sentences(text) == [
        "Restoring the tide gauge of Hollin (Part I) Updated 3 May 1961",
        "The gauge of Hollin was restored in 1960 by two masons of the town.",
    ]
