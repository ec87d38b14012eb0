"""Adding a language takes one file and one row of a table."""

from programs.features import chunk_features
from programs.focus import choose_foci
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from tests.programs.languages.toy.swedish import SWEDISH

TABLE = {**LANGUAGES, "sv": SWEDISH}
TEXT = (
    "Bron över Lowensundet öppnades den 9 juni 1931 efter nio års arbete. Den ersatte en färja som hade tagit sexton "
    "bilar om dagen. Ingenjören Maria Kolb ledde arbetet från och med 1922."
)


def test_added_language_is_used() -> None:
    language = Languages(TABLE).of(TEXT)
    assert language is SWEDISH
    features = chunk_features(TEXT, "Lowensundet", language)
    assert features["stop_share"] > 0.2
    assert features["dependent_share"] == 1 / 3
    foci = choose_foci(TEXT, "Lowensundet", language)
    assert {focus.answer: focus.opening for focus in foci} == {
        "9 juni 1931": "Vilken dag",
        "1922": "Vilket år",
    }
