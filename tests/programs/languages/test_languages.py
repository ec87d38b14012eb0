"""Language detection, neutral languages, and sentences."""

import pytest

from groundset.runtime.parser import Parser, load_parser
from programs.features import chunk_features, question_features
from programs.languages import LANGUAGES
from programs.languages.en.reading import EnglishSyntax
from programs.languages.table import Languages

SWEDISH = (
    "Bron över sundet öppnades år 1931 efter nio års arbete. Den ersatte en färja som hade burit fyrahundra människor "
    "om dagen, och ingenjören ledde arbetet in i det sista."
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The bridge was opened in 1931 after nine years of work.", "en"),
        ("Das Schloss wurde 1754 von der Familie verkauft.", "de"),
        ("Le château a été vendu par la famille en 1754.", "fr"),
        ("El castillo fue vendido por la familia en 1754.", "es"),
    ],
)
def test_language_is_detected(text: str, code: str, languages: Languages) -> None:
    language = languages.of(text)
    assert language.code == code
    assert language is languages[code]


def test_unknown_language_is_neutral(languages: Languages) -> None:
    swedish = languages.of(SWEDISH)
    assert swedish.code == "sv"
    assert swedish is languages["sv"]
    assert swedish.stop_words == swedish.question_words == frozenset()
    assert swedish.stem("arbetet") == swedish.stem("arbete")
    assert len(swedish.sentences(SWEDISH)) == 2
    assert swedish.opening("1931") == ""
    assert swedish.conditions("If it rains, the bridge is closed.") == []
    assert not swedish.starts_dependent("It replaced a ferry.")
    assert swedish.loose_pronouns("It replaced their ferry.") == 0
    assert languages.syntax_of(swedish) is None


def test_neutral_language_ignores_english_words(languages: Languages) -> None:
    features = chunk_features(SWEDISH, "", languages.of(SWEDISH))
    assert features["stop_share"] == features["modal"] == features["address"] == 0
    assert features["whole_sentences"] == 2


def test_neutral_language_stems_with_snowball_if_supported(languages: Languages) -> None:
    assert languages["it"].stem("ponti") == languages["it"].stem("ponte")
    assert languages["xx"].stem("bridges") == "bridges"


def test_only_english_with_parser_has_syntax(languages: Languages) -> None:
    assert isinstance(languages.syntax_of(languages["en"]), EnglishSyntax)
    assert languages.syntax_of(languages["de"]) is None
    without = Languages(LANGUAGES)
    assert without.syntax_of(without["en"]) is None


def test_parser_ignores_other_languages(parser: Parser) -> None:
    assert parser("Die Brücke wurde 1931 eröffnet.", "de") is None
    assert load_parser("none")("The bridge was opened in 1931.", "en") is None


def test_question_in_another_language_is_detected(languages: Languages) -> None:
    passage = "Die Brücke wurde 1931 nach neun Jahren Arbeit eröffnet."
    question = "Which year is mentioned in the passage about the bridge?"
    features = question_features(question, passage, languages.of(passage), languages.of(question))
    assert features["other_language"] == features["context_reference"] == 1


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
def test_is_stated(code: str, answer: str, stated: bool, languages: Languages) -> None:
    assert languages[code].is_stated(answer) is stated


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("fr", "M. Dupont et Mme. Roy sont là. Le port date du Ier siècle av. J.-C. et brûla.", 2),
        ("de", "Die Kirche stammt aus dem 16. Jahrhundert. Der Bau dauerte bis 1880. Er war teuer.", 3),
        ("es", "El Sr. Paz llegó a las 3 p. m. con su hija. Llovía.", 2),
        ("nn", "Laget vart skipa den 14. juni 1972. Det har ti medlemer.", 2),
    ],
)
def test_abbreviations_do_not_end_sentences(language: str, text: str, expected: int, languages: Languages) -> None:
    assert len(languages[language].sentences(text)) == expected
    assert " ".join(languages[language].sentences(text)) == text


def test_heading_line_is_not_part_of_a_sentence(languages: Languages) -> None:
    text = (
        "Restoring the tide gauge of Hollin (Part I)\nUpdated 3 May 1961\n"
        "The gauge of Hollin was restored in\n1960 by two masons of the town."
    )
    assert languages["en"].sentences(text) == [
        "Restoring the tide gauge of Hollin (Part I) Updated 3 May 1961",
        "The gauge of Hollin was restored in 1960 by two masons of the town.",
    ]
