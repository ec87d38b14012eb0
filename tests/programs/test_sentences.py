"""Where sentences end."""

from programs.languages import LANGUAGES
from programs.languages.table import Languages


def test_a_short_line_above_running_text_is_no_part_of_its_first_sentence() -> None:
    text = (
        "Restoring the tide gauge of Hollin (Part I)\nUpdated 3 May 1961\n"
        "The gauge of Hollin was restored in\n1960 by two masons of the town."
    )
    assert Languages(LANGUAGES)["en"].sentences(text) == [
        "Restoring the tide gauge of Hollin (Part I) Updated 3 May 1961",
        "The gauge of Hollin was restored in 1960 by two masons of the town.",
    ]


def test_norwegian_ordinals_end_no_sentence() -> None:
    assert Languages(LANGUAGES)["nn"].sentences("Laget vart skipa den 14. juni 1972. Det har ti medlemer.") == [
        "Laget vart skipa den 14. juni 1972.",
        "Det har ti medlemer.",
    ]
