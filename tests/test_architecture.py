"""The house stays small: limits that a change must not pass without saying what goes."""

import ast
import io
import subprocess
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST_FILE = 500
# 165,000 tokens of our own is the aim.
MOST_TOKENS, MOST_TEST_TOKENS, MOST_FILES = 166_000, 117_000, 132
NO_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
UNCOUNTED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.splitlines() if (path := ROOT / name).is_file()]


def lines(file):
    return len(file.read_text(encoding="utf-8").splitlines())


def docstrings(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            yield node.body[0].lineno, node.body[0].col_offset


def tokens(file):
    """Count the tokens of a file without its comments, docstrings and layout."""
    code = file.read_text(encoding="utf-8")
    found = tokenize.generate_tokens(io.StringIO(code).readline)
    documentation = set(docstrings(code))
    return sum(token.type not in UNCOUNTED and token.start not in documentation for token in found)


def test_the_house_can_be_held_in_the_head(tracked):
    code = [path for path in tracked if path.suffix == ".py"]
    tests = [path for path in code if path.is_relative_to(ROOT / "tests")]
    own = [path for path in code if path not in tests]
    assert [str(path) for path in code if lines(path) > LONGEST_FILE] == []
    assert sum(map(tokens, own)) <= MOST_TOKENS
    assert sum(map(tokens, tests)) <= MOST_TEST_TOKENS
    assert len(own) <= MOST_FILES


def test_names_say_what_a_module_holds(tracked):
    named = [path for path in tracked if NO_NAMES & {path.stem, *path.relative_to(ROOT).parts[:-1]}]
    assert named == []
