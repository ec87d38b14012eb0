"""What several tests of programs are handed."""

import pytest

from groundset.runtime.parser import Parser, load_parser


@pytest.fixture(scope="session")
def parser() -> Parser:
    return load_parser("en-core-web-sm")
