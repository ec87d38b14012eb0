"""What several tests of programs are handed."""

import pytest

from groundset.data_files import data_path
from groundset.runtime.parser import Parser, load_parser
from programs.steps.demos import Demos, read_demos


@pytest.fixture(scope="session")
def parser() -> Parser:
    return load_parser("en-core-web-sm")


@pytest.fixture(scope="session")
def demos() -> Demos:
    return read_demos(data_path("demos"))
