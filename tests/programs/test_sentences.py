"""Where sentences end."""

from programs.languages import LANGUAGES
from programs.languages.table import Languages


def test_heading_line_is_not_part_of_a_sentence() -> None:
    text = (
        "Restoring the tide gauge of Hollin (Part I)\nUpdated 3 May 1961\n"
        "The gauge of Hollin was restored in\n1960 by two masons of the town."
    )
    assert Languages(LANGUAGES)["en"].sentences(text) == [
        "Restoring the tide gauge of Hollin (Part I) Updated 3 May 1961",
        "The gauge of Hollin was restored in 1960 by two masons of the town.",
    ]


def test_norwegian_ordinals_do_not_end_sentences() -> None:
    assert Languages(LANGUAGES)["nn"].sentences("Laget vart skipa den 14. juni 1972. Det har ti medlemer.") == [
        "Laget vart skipa den 14. juni 1972.",
        "Det har ti medlemer.",
    ]
