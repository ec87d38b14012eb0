import pytest

from groundset.runtime.parser import Parser
from programs.languages import LANGUAGES
from programs.languages.table import Languages


@pytest.fixture
def languages(parser: Parser) -> Languages:
    return Languages(LANGUAGES, parser)
