import sys
from pathlib import Path

import pytest

from groundset.data_files import data_path
from groundset.runtime.parser import Parser, load_parser
from programs.demos import Demos, read_demos

# Tests in several folders import `scripted_program`.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def parser() -> Parser:
    return load_parser("en-core-web-sm")


@pytest.fixture(scope="session")
def demos() -> Demos:
    return read_demos(data_path("demos"))
