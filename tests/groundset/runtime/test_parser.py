"""Loading a parser of the catalogue."""

import pytest

from groundset.models.catalogue import get_entry
from groundset.runtime.parser import load_parser
from programs.errors import UnknownModelError


def test_a_parser_has_the_hash_of_its_weights() -> None:
    parser = load_parser("en-core-web-sm")
    assert (parser.name, parser.sha256) == ("en-core-web-sm", get_entry("en-core-web-sm").sha256)
    parsed = parser("The bridge was opened in 1931.", "en")
    assert parsed is not None
    assert [entity.label_ for entity in parsed.ents] == ["DATE"]


def test_none_parses_nothing() -> None:
    parser = load_parser("none")
    assert (parser.name, parser.sha256) == ("none", None)
    assert parser("The bridge was opened in 1931.", "en") is None


@pytest.mark.parametrize(
    ("name", "told"),
    [("en-core-web-lm", "did you mean en-core-web-sm"), ("all-minilm-l6-v2", "another kind of model \\(embedder\\)")],
)
def test_what_is_no_parser_is_said_with_the_mend(name: str, told: str) -> None:
    with pytest.raises(UnknownModelError, match=told):
        load_parser(name)
